from tam.report.table import table


def test_numbers_to_the_right_words_to_the_left() -> None:
    assert table(["task", "n", "x"], [["a", 5, 1], ["long name", 1000, "many"]]).splitlines() == [
        "task          n  x",
        "a             5  1",
        "long name  1000  many",
    ]
    assert table(["one", "two"], []) == "one  two"
