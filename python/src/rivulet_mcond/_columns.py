"""Columns of a table as plain values: the rules by which `tables` writes and `frames` sends them.

A table is a DataFrame of pandas or polars, a Table of pyarrow or what exports itself as one, a mapping from
names to columns, or a list of mappings, one a row. A plain value is None for missing, or a bool, int, float,
str, datetime with a zone, or a list of numbers or texts.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

INDEX_COLUMNS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""Names of columns that are an index which was left in a table by mistake."""

_EXACT = 1 << 53
"""A float64 holds every integer below it."""


class ColumnError(ValueError):
    """A value or a column of a table that cannot be read; the message names the place."""


class Table:
    """The columns of a table by their names, which are texts."""

    def __init__(self, frame: Any) -> None:
        """Read the names; ColumnError if two columns have one, or if it is no table."""
        self.names: list[str]
        self._raw: Callable[[str], tuple[Any, bool]]
        self._extra: dict[str, Any] = {}
        self._labels: Sequence[Any] | None = None
        if type(frame).__module__.partition(".")[0] == "polars":
            self._polars(frame)
        elif hasattr(frame, "iloc") and hasattr(frame, "columns"):
            self._pandas(frame)
        elif isinstance(frame, Mapping):
            self._mapping(frame)
        elif isinstance(frame, Sequence) and all(isinstance(row, Mapping) for row in frame):
            names = list(dict.fromkeys(str(name) for row in frame for name in row))
            self._mapping({name: [row.get(name) for row in frame] for name in names}, len(frame))
        else:
            self._arrow(frame)
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise ColumnError(f"columns {twice} are there twice")

    def _pandas(self, frame: Any) -> None:
        self.names, self.rows, self._labels = [_name(c) for c in frame.columns], len(frame), frame.index
        at = {name: k for k, name in enumerate(self.names)}
        for level, name in enumerate(frame.index.names):
            if name is not None and str(name) not in at:
                self._extra[str(name)] = frame.index.get_level_values(level)
        self._raw = lambda name: _of_pandas(
            self._extra[name] if name in self._extra else frame.iloc[:, at[name]]
        )

    def _polars(self, frame: Any) -> None:
        frame = frame.collect() if hasattr(frame, "collect") else frame
        if not hasattr(frame, "get_column"):
            raise ColumnError(f"{type(frame).__name__} is no table: want a DataFrame")
        self.names, self.rows = list(frame.columns), len(frame)
        self._raw = lambda name: (
            frame.get_column(name).to_list(),
            str(frame.schema[name]).startswith(("Categorical", "Enum")),
        )

    def _mapping(self, columns: Mapping[Any, Any], rows: int | None = None) -> None:
        by_name = {_name(name): values for name, values in columns.items()}
        self.names, sizes = list(by_name), {name: len(values) for name, values in by_name.items()}
        self.rows = next(iter(sizes.values()), 0) if rows is None else rows
        for name, size in sizes.items():
            if size != self.rows:
                raise ColumnError(f"column {name} has {size} values, column {self.names[0]} has {self.rows}")
        self._raw = lambda name: (by_name[name], False)

    def _arrow(self, frame: Any) -> None:
        if not hasattr(frame, "column_names"):
            if not hasattr(frame, "__arrow_c_stream__"):
                raise ColumnError(
                    f"{type(frame).__name__} is no table: want a DataFrame of pandas or polars, a Table of "
                    "pyarrow, columns by their names, or a list of rows"
                )
            import pyarrow

            frame = pyarrow.table(frame)
        self.names, self.rows = list(frame.column_names), frame.num_rows
        self._raw = lambda name: _of_arrow(frame.column(name))

    def has(self, name: str) -> bool:
        """Whether there is a column, or an index of pandas, of the name."""
        return name in self.names or name in self._extra

    def want(self, name: str, what: str) -> str:
        """Return the name of a column that must be there."""
        if not self.has(name):
            advice = (
                '; the index holds it? name it: df.rename_axis("id")'
                if self._labels is not None and what == "id"
                else ""
            )
            raise ColumnError(f"no column {name} among {self.names[:30]}: say which one is the {what}{advice}")
        return name

    def place(self, name: str, row: int) -> str:
        """Return the place of a cell, for errors."""
        return f"column {name}, row {self.label(row)}"

    def label(self, row: int) -> Any:
        """Return the label of a row: that of the index, or its number from 0."""
        return row if self._labels is None else self._labels[row]

    def categorical(self, name: str) -> bool:
        """Whether the table declares a column's values to be categories."""
        return self._raw(name)[1]

    def numbers(self, name: str) -> NDArray[Any] | None:
        """Return a column that is an array of bools or numbers as it is, NaN where it is missing; else None."""
        raw = self._raw(name)[0]
        return raw if isinstance(raw, np.ndarray) and raw.ndim == 1 and raw.dtype.kind in "biuf" else None

    def rows_of_numbers(self, name: str) -> NDArray[Any] | None:
        """Return a column that is an array with a row of numbers for each node; else None."""
        raw = self._raw(name)[0]
        is_rows = isinstance(raw, np.ndarray) and raw.ndim == 2 and raw.shape[1] > 0 and raw.dtype.kind in "biuf"
        return raw if is_rows else None

    def cells(self, name: str) -> list[Any]:
        """Return a column as it is in the table, as objects of Python."""
        raw = self._raw(name)[0]
        if isinstance(raw, np.ndarray):
            return list(raw) if raw.dtype.kind in "mM" or raw.ndim > 1 else list(raw.tolist())
        return list(raw)

    def values(self, name: str) -> list[Any]:
        """Return a column as plain values; ColumnError names the row of one that has none."""
        out = []
        for row, cell in enumerate(self.cells(name)):
            try:
                out.append(plain(cell))
            except ColumnError as error:
                raise ColumnError(f"{self.place(name, row)}: {error}") from None
        return out

    def ids(self, name: str) -> list[str]:
        """Return a column as ids, none of which is missing."""
        out = []
        for row, cell in enumerate(self.cells(name)):
            try:
                out.append(identity(cell))
            except ColumnError as error:
                raise ColumnError(f"{self.place(name, row)}: {error}") from None
        return out


def _name(column: Any) -> str:
    if isinstance(column, tuple):
        raise ColumnError(f"column {column} has a name of several levels: join them into one text")
    return str(column)


def _of_pandas(values: Any) -> tuple[Any, bool]:
    """Return a Series or an Index as an array of NumPy or a list, and whether it has categories."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return values.to_numpy(), False
    of_arrow = str(getattr(dtype, "pyarrow_dtype", "")).startswith("dictionary")
    return values.tolist(), of_arrow or type(dtype).__name__ == "CategoricalDtype"


def _of_arrow(column: Any) -> tuple[Any, bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    categorical = pa.types.is_dictionary(column.type)
    if categorical:
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # Python's own times have microseconds
        column = pc.cast(column, pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_duration(column.type) and column.type.unit == "ns":
        column = pc.cast(column, pa.duration("us"), safe=False)
    if pa.types.is_time64(column.type) and column.type.unit == "ns":
        column = pc.cast(column, pa.time64("us"), safe=False)
    return column.to_pylist(), categorical


def missing(cell: Any) -> bool:
    """Whether a cell has no value: None, NaN, NaT, pandas' NA, the empty text."""
    if cell is None or isinstance(cell, str):
        return not cell
    if isinstance(cell, float | np.floating | decimal.Decimal | np.datetime64 | np.timedelta64 | dt.date):
        return bool(cell != cell)
    return type(cell).__name__ in ("NAType", "NaTType")


def plain(cell: Any) -> Any:
    """Return the plain value of a cell; ColumnError says what is wrong with it."""
    kind = type(cell)
    if kind is bool or kind is int:
        return cell
    if missing(cell):
        return None
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, float):
        return float(cell)
    for types, read in _READ:
        if isinstance(cell, types):
            return read(cell)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("Interval", "Period"):
        return str(cell)
    if hasattr(cell, "as_py"):
        return plain(cell.as_py())
    if isinstance(cell, Mapping):
        raise ColumnError("it is a struct or a map: make columns of it (pandas.json_normalize), or drop it")
    if hasattr(cell, "tolist") or isinstance(cell, Sequence | set | frozenset):
        return _list(cell)
    raise ColumnError(f"{str(cell)[:40]!r} is of {kind.__name__}, want a number, bool, text, time or list")


def _whole(number: decimal.Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _datetime64(cell: np.datetime64) -> dt.datetime:
    return moment(cell.astype("datetime64[us]").item())


def moment(cell: dt.datetime) -> dt.datetime:
    """Return a time with a zone: one without it is taken for UTC, as in tables."""
    return cell.replace(tzinfo=dt.timezone.utc) if cell.utcoffset() is None else cell


def _bytes(cell: Any) -> str:
    try:
        return bytes(cell).decode()
    except UnicodeDecodeError:
        raise ColumnError("bytes are no text: drop the column, or decode it") from None


def _day(cell: dt.date) -> dt.datetime:
    return dt.datetime(cell.year, cell.month, cell.day, tzinfo=dt.timezone.utc)


def _clock(cell: dt.time) -> float:
    return cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6


_READ: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.datetime64, _datetime64),
    (np.timedelta64, lambda cell: float(cell / np.timedelta64(1, "s"))),
    (np.bool_, bool),
    (np.generic, lambda cell: plain(cell.item())),
    (enum.Enum, lambda cell: plain(cell.value)),
    (bool, bool),
    (int, int),
    (decimal.Decimal, _whole),
    (dt.datetime, moment),
    (dt.date, _day),
    (dt.time, _clock),
    (dt.timedelta, lambda cell: cell.total_seconds()),
    (uuid.UUID, str),
    (bytes | bytearray | memoryview, _bytes),
)
"""How cells of further types are read. Durations and times of day become seconds."""


def _list(cell: Any) -> list[Any]:
    """Return a list of numbers or of texts."""
    out = [plain(part) for part in (cell.tolist() if hasattr(cell, "tolist") else cell)]
    for k, part in enumerate(out):
        if part is None:
            raise ColumnError(f"element {k} of the list is missing, want a value")
        if isinstance(part, list):
            raise ColumnError("lists of lists have no place: make one list of each, or columns")
    if not all(isinstance(part, str) for part in out) and not all(isinstance(part, int | float) for part in out):
        raise ColumnError("a list has texts beside numbers, or times: want a list of numbers or of texts")
    return out


def identity(cell: Any) -> str:
    """Return an id as text. An integer that was read as a float, as beside missing values, is the integer."""
    value = plain(cell)
    if value is None:
        raise ColumnError("it is missing, an id is text or an integer")
    if isinstance(value, float) and value.is_integer():
        if abs(value) > _EXACT:
            raise ColumnError(f"{value!r} has lost digits: read the column as text or as integers")
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ColumnError(
            f"{str(value)[:40]}, an id is text or an integer; read the column as text or as integers"
        )
    return str(value)


_ITEM = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"\[\]()]+)""")


def listed(cell: Any) -> list[Any]:
    """Return the elements of a cell that holds several, such as the edges of an arrival, as they are.

    A text is a list in JSON, or as Python or NumPy print it, or words between commas, semicolons, bars or
    spaces. A number is a list of itself. Missing is the empty list.
    """
    if missing(cell):
        return []
    if hasattr(cell, "as_py"):
        return listed(cell.as_py())
    if isinstance(cell, Mapping):
        return [cell]
    if isinstance(cell, str):
        return _words(cell.strip())
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    return list(cell) if isinstance(cell, Sequence | set | frozenset) else [cell]


def _words(text: str) -> list[Any]:
    if text[:1] in ("[", "("):
        try:
            return list(json.loads(text))
        except ValueError:
            return list(_printed(text))
    marks = [mark for mark in ",;|" if mark in text]
    if len(marks) > 1:
        raise ColumnError(
            f"{text[:40]!r} has {' and '.join(marks)} between its words: want one of them, or JSON"
        )
    words = text.split(marks[0]) if marks else text.split()
    return [word.strip() for word in words if word.strip()]


def _printed(text: str) -> Iterator[Any]:
    """Yield the elements of a list as Python or NumPy print it."""
    if "{" in text or "..." in text or text[-1:] not in ("]", ")") or _ITEM.sub("", text[1:-1]).strip(" ,\t\n"):
        raise ColumnError(f"{text[:40]!r} is no list: want JSON, or words with commas or spaces between")
    for single, double, bare in _ITEM.findall(text[1:-1]):
        yield (single or double).replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\") or bare
