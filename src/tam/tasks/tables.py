"""Tables with one example per row: CSV, TSV and Parquet files, data frames, Hugging Face datasets."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tam.errors import UserError, shown
from tam.tasks.jsonl_schema import FormatError, TasksFileError, located
from tam.tasks.rows import TableRow, is_missing

_SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
}
"""The splits, by what tables call them in upper or lower case."""


class Columns(NamedTuple):
    """The names of a table's columns; those for splits and roles are optional."""

    task: str = "task"
    x: str = "x"
    y: str = "y"
    split: str = "split"
    role: str = "role"

    @classmethod
    def named(cls, names: str | None) -> "Columns":
        """The columns with these names, in this order, separated by commas; the last two may be left out.

        >>> Columns.named("customer,message,label").x
        'message'
        """
        given = [] if names is None else [name.strip() for name in names.split(",")]
        if names is not None and not (3 <= len(given) <= len(cls._fields) and all(given)):
            raise UserError(
                "columns must name the columns of task, x, y and perhaps split and role, such as "
                f"customer,message,label: got {shown(names)}"
            )
        return cls(*given)


COLUMNS = Columns()


def read_table(file: Path, columns: Columns = COLUMNS) -> Iterator[TableRow]:
    """Yield the rows of a file."""
    return _parquet(file, columns) if file.suffix.lower() == ".parquet" else _csv(file, columns)


def table_rows(
    table: Any, columns: Columns = COLUMNS, source: str = "the table", split: str | None = None
) -> Iterator[TableRow]:
    """Yield the rows of a data frame, a pyarrow table or a dataset, perhaps all in one split."""
    is_frame = not hasattr(table, "column_names")
    _check_columns(list(map(str, table.columns if is_frame else table.column_names)), columns, source)
    if hasattr(table, "to_pylist"):
        records: Iterable[Mapping[str, Any]] = table.to_pylist()
    else:
        records = table.to_dict("records") if is_frame else table
    for number, values in enumerate(records):
        place = f"row {number}" if split is None else f"row {number} of {split}"
        cells = {str(name): value for name, value in values.items()}
        yield _row(f"{source}: {place}", cells, columns, split=split)


def is_table(value: Any) -> bool:
    """Whether this is a data frame, a pyarrow table or a Hugging Face dataset."""
    is_frame = hasattr(value, "to_dict") and hasattr(value, "columns")
    return not isinstance(value, Mapping) and (is_frame or hasattr(value, "column_names"))


def _row(
    where: str, values: Mapping[str, Any], columns: Columns, split: str | None = None, written: bool = False
) -> TableRow:
    given = values.get(columns.split) if split is None else split
    in_split = None if given is None else _SPLIT_NAMES.get(str(given).lower(), given)
    task, x, y = (values[name] for name in (columns.task, columns.x, columns.y))
    role = values.get(columns.role)
    role = None if role == "" or is_missing(role) else role
    return TableRow(where, task, x, y, in_split, role=role, written=written)


def _check_columns(names: Sequence[str], columns: Columns, where: str) -> None:
    for name in (columns.task, columns.x, columns.y):
        if name not in names:
            has = ", ".join(names) or "no columns"
            raise TasksFileError(
                f"{where}: no column {name!r}: there must be {columns.task}, {columns.x}, {columns.y} and "
                f"perhaps {columns.split}: got {has}; say which is which with columns (--columns)"
            )
    for name in columns:
        if names.count(name) > 1:
            raise TasksFileError(f"{where}: columns must differ: {name!r} occurs {names.count(name)} times")


def _csv(file: Path, columns: Columns) -> Iterator[TableRow]:
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    with located(str(file)), open(file, encoding="utf-8-sig", newline="") as stream:
        lines = _csv_lines(csv.reader(stream, delimiter=delimiter, strict=True), file)
        first, names = next(lines, (str(file), list[str]()))
        _check_columns(names, columns, first)
        for where, cells in lines:
            if len(cells) != len(names):
                raise TasksFileError(
                    f"{where}: there must be {len(names)} cells, as in the first line: got {len(cells)}"
                )
            yield _row(where, dict(zip(names, cells, strict=True)), columns, written=True)


def _csv_lines(reader: Any, file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the records that are not blank, each with the place of its first line."""
    while True:
        where = f"{file}:{reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TasksFileError(f"{where}: not CSV: {error}") from None
        except UnicodeDecodeError as error:  # somewhere in a block of many lines
            raise TasksFileError(f"{file}: not UTF-8: byte {error.object[error.start]:#04x}") from None
        if cells:
            yield where, cells


def _parquet(file: Path, columns: Columns) -> Iterator[TableRow]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table as read
    except ImportError:
        raise UserError(f"{file}: Parquet needs pyarrow: pip install 'tam-fewshot[data]'") from None
    with located(str(file)):
        try:
            with open(file, "rb") as stream:
                table = read(stream)
        except ArrowException as error:
            raise FormatError(f"not Parquet: {error}") from None
    return table_rows(table, columns, str(file))
