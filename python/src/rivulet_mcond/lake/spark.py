"""Spark as the engine: a session of PySpark, local, of a cluster or of a Spark Connect server."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from .engine import Engine, LakeError, kind_of


class Spark(Engine):
    """Statements of Spark, and the trainer as a process of each task."""

    failures = (PySparkException,)
    number = "monotonically_increasing_id() + 1"
    array = "array"
    unfit = "exists({}, v -> v IS NULL OR NOT (abs(v) <= 1e15))"
    size = "size({})"
    largest = "array_max({})"
    smallest = "array_min({})"
    locality = ""  # sums over neighbours sort by themselves

    def __init__(
        self, work: pathlib.Path, program: str, tasks: int, master: str, settings: Mapping[str, str]
    ) -> None:
        """Take the session that is there (spark-submit, SPARK_REMOTE), or make one."""
        super().__init__(work, program, tasks)
        builder = SparkSession.builder.appName("rivulet lake").config("spark.ui.showConsoleProgress", "false")
        if master:
            builder = builder.master(master)
        for key, value in settings.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()

    def source(self, name: str, location: str) -> None:
        """Make a user's table readable: files of Parquet by their path or URL, or a table of the catalogue."""
        try:
            path = os.path.abspath(location) if os.path.exists(location) else location
            frame = self.session.read.parquet(path) if "/" in path else self.session.table(location)
            files = sorted(frame.inputFiles())
        except AnalysisException as error:
            raise LakeError(f"{location}: {error}") from error
        local = [f.removeprefix("file://") for f in files]
        state = [(f, s.st_size, s.st_mtime_ns) for f in local if os.path.exists(f) and (s := os.stat(f))]
        self.keys[name] = hashlib.sha256(repr((files, state)).encode()).hexdigest()[:12]
        frame.createOrReplaceTempView(name)

    def view(self, name: str, path: pathlib.Path) -> None:
        """Make the files of a directory readable under a name."""
        if any(path.glob("*.parquet")):
            self.session.read.parquet(str(path)).createOrReplaceTempView(name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        return [tuple(row) for row in self.session.sql(sql).collect()]

    def columns(self, name: str) -> dict[str, str]:
        """Return a table's columns with their types."""
        return {column: kind_of(sql_type) for column, sql_type in self.session.table(name).dtypes}

    def write(self, sql: str, path: pathlib.Path, order: str) -> None:
        """Write the rows of a statement."""
        frame = self.session.sql(sql)
        if order:
            frame = frame.repartition(1).sortWithinPartitions(*[c.strip() for c in order.split(",")])
        save(frame, path)

    def each_part(
        self, source: str, arguments: Sequence[str], schema: Mapping[str, str], path: pathlib.Path
    ) -> None:
        """Run the trainer on each partition, in the tasks of Spark."""
        columns = ", ".join(f"{name} {sql_type}" for name, sql_type in schema.items())
        save(
            self.session.table(source).mapInArrow(program_of([self.program, *arguments], list(schema)), columns),
            path,
        )

    def columns_of_sums(self, nodes: int) -> int:
        """Return all: sums are sorted on the disks of a shuffle."""
        return 1 << 16

    def literal(self, text: str) -> str:
        """Return a text as SQL."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def list_of(self, element: str) -> str:
        """Return the type of a list as SQL."""
        return f"ARRAY<{element}>"

    def name(self, column: str) -> str:
        """Return a column's name as SQL."""
        return "`" + column.replace("`", "``") + "`"


def save(frame: Any, path: pathlib.Path) -> None:
    """Write a frame into an empty directory; Spark writes its mark _SUCCESS last."""
    frame.write.mode("overwrite").option("compression", "snappy").parquet(str(path))


def program_of(command: list[str], columns: list[str]) -> Any:
    """Return a function for mapInArrow: the rows of a partition go through a file to the program, and back."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow.parquet as pq  # the executors' own

        directory, writer = tempfile.mkdtemp(), None
        try:
            for batch in batches:
                if writer is None:
                    writer = pq.ParquetWriter(os.path.join(directory, "part.parquet"), batch.schema)
                writer.write_batch(batch)
            if writer is None:
                return
            writer.close()
            out = os.path.join(directory, "out")
            os.mkdir(out)
            done = subprocess.run(
                [*command, "--out", out, os.path.join(directory, "part.parquet")],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
            made = pq.ParquetFile(os.path.join(out, "part.parquet"))
            yield from (batch.select(columns) for batch in made.iter_batches(10_000))
        finally:
            shutil.rmtree(directory)

    return run
