"""The map of task embeddings."""

from blocks.results import Results
from blocks.tam_runs import NOT_RUN


def embedding_map(results: Results) -> str:
    """TAM's map, and how well a linear map reads the grid off it."""
    if (facts := results.embeddings.get("tam")) is None:
        return NOT_RUN
    first, second = facts["explained_variance"]
    trained = sum(point["trained"] for point in facts["points"])
    return (
        "![Task embeddings on two principal components, each marked with the row, and with the column, "
        "of its task's end.](figures/embeddings.svg)\n\n"
        f"The paper's Figure 1: path-finding from (4,4) to each of the other {len(facts['points'])} "
        f"cells. Each task was learned from {facts['shots']} examples by the pretrained model, whose "
        f"training had {trained} of them. The first two principal components of z explain {first:.0%} "
        f"and {second:.0%} of its variance. A linear map of all {facts['numbers']} components of z, "
        f"fitted to other tasks, predicts the row of the end with R² = {facts['r2']['row']:.2f} and its "
        f"column with R² = {facts['r2']['column']:.2f}."
    )
