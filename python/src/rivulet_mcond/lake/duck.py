"""DuckDB as the engine: one process, within a limit of memory, over files of Parquet."""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb

from .engine import ROWS_A_GROUP, Engine, LakeError, kind_of, part_files


class DuckDB(Engine):
    """Statements of DuckDB, and the trainer as processes of this machine."""

    failures = (duckdb.Error,)
    number = "row_number() OVER ()"
    array = "list_value"
    unfit = "len(list_filter({}, lambda v: v IS NULL OR NOT (abs(v) <= 1e15))) > 0"
    size = "len({})"
    largest = "list_max({})"
    smallest = "list_min({})"
    locality = " ORDER BY dst"  # neighbours of one node are added up together: a quarter of the time of a hop

    def __init__(self, work: pathlib.Path, program: str, tasks: int, memory: str, catalogue: str = "") -> None:
        """Open a database in memory that spills to work, with the tables of a database file as its catalogue."""
        super().__init__(work, program, tasks)
        self.connection = duckdb.connect()
        self.catalogue = catalogue
        for setting, value in {
            "memory_limit": memory,
            "threads": str(tasks),
            "temp_directory": str(work / "spill"),
            "preserve_insertion_order": "false",
            "enable_external_file_cache": "false",  # memory that programs beside it need
            "enable_progress_bar": "false",
        }.items():
            self.connection.execute(f"SET {setting} = '{value}'")
        if catalogue:
            self.connection.execute(f"ATTACH {self.literal(catalogue)} AS catalogue (READ_ONLY)")
            self.connection.execute("SET search_path = 'memory.main,catalogue.main'")

    def source(self, name: str, location: str) -> None:
        """Make a user's table readable: files of Parquet, or a table of the catalogue."""
        if self.catalogue and re.fullmatch(r"\w+(\.\w+)*", location):
            files, of = [self.catalogue], location
        else:
            where = location if not os.path.isdir(location) else os.path.join(location, "**", "*.parquet")
            try:
                found = self.connection.execute(f"SELECT file FROM glob({self.literal(where)})").fetchall()
            except duckdb.Error as error:
                raise LakeError(f"{location}: {error}") from error
            files = sorted(f for (f,) in found if not os.path.basename(f).startswith(("_", ".")))
            if not files:
                raise LakeError(f"{location}: no file of Parquet is there")
            of = f"read_parquet([{', '.join(map(self.literal, files))}], union_by_name = true)"
        state = [(f, s.st_size, s.st_mtime_ns) for f in files if (s := os.stat(f))]
        self.keys[name] = hashlib.sha256(repr((of, state)).encode()).hexdigest()[:12]
        try:
            self.connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {of}")
        except duckdb.Error as error:
            raise LakeError(f"{location}: {error}") from error

    def view(self, name: str, path: pathlib.Path) -> None:
        """Make the files of a directory readable under a name."""
        if files := part_files(path):
            of = f"read_parquet([{', '.join(map(self.literal, files))}])"
            self.connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {of}")

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return self.connection.execute(sql).fetchall()

    def columns(self, name: str) -> dict[str, str]:
        """Return a table's columns with their types."""
        return {row[0]: kind_of(row[1]) for row in self.rows(f"DESCRIBE SELECT * FROM {name}")}

    def write(self, sql: str, path: pathlib.Path, order: str) -> None:
        """Write the rows of a statement."""
        options = f"FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROWS_A_GROUP}"
        if order:
            to, sql = path / "part-0.parquet", f"{sql} ORDER BY {order}"
        else:
            to, options = (
                path,
                f"{options}, PER_THREAD_OUTPUT true, FILE_SIZE_BYTES '256MB', OVERWRITE_OR_IGNORE true",
            )
        self.connection.execute(f"COPY ({sql}) TO {self.literal(str(to))} ({options})")

    def each_part(
        self, source: str, arguments: Sequence[str], schema: Mapping[str, str], path: pathlib.Path
    ) -> None:
        """Run the trainer on the parts, as many at a time as there are threads."""

        def run(part: str) -> None:
            done = subprocess.run(
                [self.program, *arguments, "--out", str(path), part], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise LakeError(done.stderr.strip() or f"{self.program}: exit status {done.returncode}")

        with ThreadPoolExecutor(self.tasks) as pool:
            list(pool.map(run, self.parts(source)))

    def columns_of_sums(self, nodes: int) -> int:
        """Return how many columns' messages (4 bytes) and sums (16) take four tenths of the limit of memory."""
        limit = self.rows("SELECT current_setting('memory_limit')")[0][0]
        number, unit = limit.split()
        size = float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)
        return max(1, int(0.4 * size / (20 * max(1, nodes))))

    def literal(self, text: str) -> str:
        """Return a text as SQL."""
        return "'" + text.replace("'", "''") + "'"

    def list_of(self, element: str) -> str:
        """Return the type of a list as SQL."""
        return f"{element}[]"

    def name(self, column: str) -> str:
        """Return a column's name as SQL."""
        return '"' + column.replace('"', '""') + '"'
