"""The words after `tam tasks` for small task sets of every sort."""

SMALL = ["--train", "5", "--valid", "2", "--test", "3", "--examples", "8"]
SETS = {
    "classification": ["classification", "--n", "3", *SMALL],
    "transduction": ["transduction", *SMALL],
    "pathfinding": ["pathfinding", *SMALL],
    "compositional": ["transduction", "--compositional", "--holdout", "0", *SMALL],
}
