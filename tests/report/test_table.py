from tam.report.table import table


def test_numbers_to_the_right_words_to_the_left() -> None:
    assert table(["task", "n", "share"], [["a", 5, 0.25], ["long name", 1000, 12.5]]).splitlines() == [
        "task          n  share",
        "a             5   0.25",
        "long name  1000   12.5",
    ]


def test_a_column_with_a_word_in_it_is_words() -> None:
    assert table(["x"], [[1], ["many"]]).splitlines() == ["x", "1", "many"]


def test_no_rows() -> None:
    assert table(["one", "two"], []) == "one  two"
