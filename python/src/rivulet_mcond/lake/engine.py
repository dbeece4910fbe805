"""Tables of Parquet in a work directory, made by SQL and by programs over their parts.

A table is named after what it was made of: its name is followed by a hash of its statement and of the tables
that the statement reads, back to the user's files. It is written beside and renamed when it is whole. So a run
that was killed goes on, a finished table is not made again, and a changed option or file makes anew what
depends on it.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class LakeError(ValueError):
    """Tables or options that do not fit; the message names the table, the column and the row or the id."""


ROWS_A_GROUP = 61_440
"""Rows of a row group of Parquet: the trainer reads one at a time."""


class Engine(ABC):
    """Statements of SQL over the tables of a work directory."""

    def __init__(self, work: pathlib.Path, program: str, tasks: int) -> None:
        """Keep tables in work. The program is the trainer; so many of it run at a time on this machine."""
        self.work, self.program, self.tasks = work, program, tasks
        self.keys: dict[str, str] = {}  # of a table's name, the hash of what it was made of
        self.paths: dict[str, pathlib.Path] = {}
        (work / "tables").mkdir(parents=True, exist_ok=True)

    # What differs between engines.

    @abstractmethod
    def source(self, name: str, location: str) -> None:
        """Make a user's table readable under a name: files of Parquet, or a table of the catalogue."""

    @abstractmethod
    def view(self, name: str, path: pathlib.Path) -> None:
        """Make the files of a directory readable under a name."""

    @abstractmethod
    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""

    @abstractmethod
    def columns(self, name: str) -> dict[str, str]:
        """Return the names of a table's columns with their types: integer, number, text, list or other."""

    @abstractmethod
    def write(self, sql: str, path: pathlib.Path, order: str) -> None:
        """Write the rows of a statement to part files in a directory; with an order to one sorted file there."""

    @abstractmethod
    def each_part(
        self, source: str, arguments: Sequence[str], schema: Mapping[str, str], path: pathlib.Path
    ) -> None:
        """Run the trainer on each part of a table; it makes a file of this schema of each."""

    @abstractmethod
    def columns_of_sums(self, nodes: int) -> int:
        """Return how many columns a hop of so many nodes should sum at a time."""

    @abstractmethod
    def literal(self, text: str) -> str:
        """Return a text as SQL."""

    @abstractmethod
    def list_of(self, element: str) -> str:
        """Return the type of a list as SQL."""

    @abstractmethod
    def name(self, column: str) -> str:
        """Return a column's name as SQL."""

    failures: tuple[type[Exception], ...]  # errors of the engine, such as a limit of memory that is too low
    number: str  # SQL: consecutive or at least ascending numbers from 1 on, in the order of the table
    array: str  # SQL: the function that makes a list of its arguments
    unfit: str  # SQL: whether a list of doubles, {}, has a number that is no feature
    size: str  # SQL: the length of a list, {}
    largest: str  # SQL: the largest number of a list, {}
    smallest: str  # SQL: the smallest number of a list, {}
    locality: str  # SQL behind the edges: their order, where that makes sums over neighbours faster

    # What does not.

    def made(
        self, name: str, of: str, make: Callable[[pathlib.Path], None], reads: Sequence[str] = ()
    ) -> pathlib.Path:
        """Return the directory that is made of a text and of the tables that are read, made if need be."""
        key = hashlib.sha256("\n".join([of, *(self.keys[r] for r in sorted(reads))]).encode()).hexdigest()[:12]
        path = self.work / "tables" / f"{name}-{key}"
        self.keys[name], self.paths[name] = key, path
        if path.exists():
            say(f"{name}: kept")
            return path
        start, partial = time.monotonic(), path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            make(partial)
        except self.failures as error:
            raise LakeError(f"{name}: {error}") from error
        os.rename(partial, path)
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
        say(f"{name}: {rows_of(path)}{size / 1e6:,.1f} MB, {time.monotonic() - start:.1f} s")
        return path

    def table(self, name: str, sql: str, order: str = "") -> None:
        """Make a table by a statement, unless it is there. The statement reads tables that were made before."""
        self.view(
            name, self.made(name, sql + order, lambda path: self.write(sql, path, order), self.read_by(sql))
        )

    def mapped(
        self, name: str, source: str, arguments: Sequence[str], schema: Mapping[str, str], reads: str
    ) -> None:
        """Make a table by the trainer, part by part, of another table and of the draft."""
        of = " ".join([source, *arguments[:1], *arguments[3:], str(schema)])  # without the directory's path
        self.view(
            name,
            self.made(name, of, lambda path: self.each_part(source, arguments, schema, path), [source, reads]),
        )

    def read_by(self, sql: str) -> list[str]:
        """Return the tables whose names a statement has."""
        return sorted(set(re.findall(r"\w+", sql)) & self.keys.keys())

    def parts(self, name: str) -> list[str]:
        """Return the files of a table."""
        return part_files(self.paths[name])

    def tidy(self) -> None:
        """Remove the tables that this run has neither made nor kept: those of an earlier state of the data."""
        kept = set(self.paths.values())
        for path in (self.work / "tables").iterdir():
            if path not in kept:
                shutil.rmtree(path, ignore_errors=True)


def part_files(path: pathlib.Path) -> list[str]:
    """Return the files of Parquet in a directory, in order."""
    return [str(f) for f in sorted(path.glob("*.parquet")) if not f.name.startswith(("_", "."))]


def rows_of(path: pathlib.Path) -> str:
    """Return how many rows the tables in a directory have, as a text."""
    from pyarrow import parquet

    files = part_files(path)
    return f"{sum(parquet.read_metadata(f).num_rows for f in files):,} rows, " if files else ""


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def kind_of(sql_type: str) -> str:
    """Return integer, number, text, list (of numbers) or other, of the name that an engine has for a type."""
    t = sql_type.lower()
    if of := re.fullmatch(r"array<(.*)>|(.*)\[\d*\]", t):
        return "list" if kind_of(of[1] or of[2]) in ("integer", "number") else "other"
    if re.fullmatch(r"u?(tiny|small|big|huge)?int(eger)?|hugeint|long|short|byte", t):
        return "integer"
    if t in ("float", "double", "real") or t.startswith("decimal"):
        return "number"
    return "text" if t.startswith(("varchar", "string", "char", "enum")) else "other"
