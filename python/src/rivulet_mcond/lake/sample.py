"""A part of T in which models are fitted and S is made, and nodes that are held out: by hash of the id."""

from __future__ import annotations

import pathlib
import shutil

from .engine import Engine, LakeError
from .graph import Columns

MOST_LABELLED, MOST_JUDGES = 16_384, 5_000


def some(of: str, most: int) -> str:
    """Return SQL of at most so many of some nodes n, by hash of the id: the same in every engine."""
    return f"(SELECT n.node FROM nodes n {of} ORDER BY md5(n.id), n.node LIMIT {most})"


def within(column: str, table: str) -> str:
    """Return SQL of the condition that a node is in a table of nodes."""
    return f"{column} IN (SELECT node FROM {table})"


def make_sample(engine: Engine, columns: Columns, room: int) -> bool:
    """Make sample_nodes and sample_edges, with at most so many nodes of T; return whether that is all.

    A part of T begins with labelled nodes, and with validation nodes (judges) that have all their neighbours in
    it. Nodes one and two edges away follow.
    """
    whole = bool(engine.rows("SELECT count(*) FROM original")[0][0] <= room)
    if whole:
        engine.table("judges", "SELECT node FROM nodes WHERE split = 'val'")
        engine.table("chosen", "SELECT node FROM original")
    else:
        engine.table(
            "judges",
            "SELECT node FROM (SELECT node, sum(n) OVER (ORDER BY h, node ROWS UNBOUNDED PRECEDING) AS total "
            "FROM (SELECT n.node, md5(n.id) AS h, count(a.dst) AS n FROM nodes n LEFT JOIN "
            "(SELECT * FROM attach WHERE known) a ON a.src = n.node WHERE n.split = 'val' GROUP BY n.node, n.id "
            f"HAVING count(a.dst) <= {room // 4} ORDER BY h, n.node LIMIT {MOST_JUDGES})) "
            f"WHERE total <= {room // 4}",
        )
        if not engine.rows("SELECT node FROM judges LIMIT 1"):
            raise LakeError(
                f"--sample {room} has no room for the neighbours of any validation node: give it more"
            )
        engine.table(
            "begin",
            f"SELECT dst AS node FROM attach WHERE known AND {within('src', 'judges')} UNION "
            + some("WHERE split = 'train'", min(room // 8, MOST_LABELLED)),
        )
        for inner, name, share in (("begin", "near", 2), ("near", "chosen", 1)):
            left = max(0, room - engine.rows(f"SELECT count(*) FROM {inner}")[0][0])
            ring = f"SELECT src AS node FROM edges WHERE {within('dst', inner)} EXCEPT SELECT node FROM {inner}"
            engine.table(
                name,
                f"SELECT node FROM {inner} UNION ALL "
                + some(f"JOIN ({ring}) r ON r.node = n.node", left // share),
            )
    features = ", ".join(columns.features)
    engine.table(
        "sample_nodes",
        f"SELECT node, id, label, split, degree, {features} FROM original WHERE {within('node', 'chosen')} "
        f"UNION ALL SELECT node, id, label, split, CAST(0 AS DOUBLE), {features} FROM nodes "
        f"WHERE {within('node', 'judges')}",
        order="node",
    )
    met = f"FROM attach WHERE {within('src', 'judges')} AND"
    engine.table(
        "sample_edges",
        f"SELECT src, dst FROM edges WHERE {within('src', 'chosen')} AND {within('dst', 'chosen')} UNION ALL "
        f"SELECT src, dst {met} known UNION ALL SELECT dst, src {met} known UNION ALL "
        f"SELECT src, dst {met} NOT known AND {within('dst', 'judges')}",
        order="src, dst",
    )
    return whole


def make_held(engine: Engine, columns: Columns, validation: int, test: int) -> None:
    """Make held_nodes and held_edges of so many validation and test nodes (0: all), and met: what they read."""
    roles = ((f"WHERE split = '{role}'", most) for role, most in (("val", validation), ("test", test)))
    engine.table(
        "held_out",
        " UNION ALL ".join(some(of, most) if most else f"SELECT node FROM nodes {of}" for of, most in roles),
    )
    engine.table(
        "held_nodes",
        f"SELECT node, id, label, split, {', '.join(columns.features)} FROM nodes "
        f"WHERE {within('node', 'held_out')}",
        order="node",
    )
    engine.table(
        "held_edges",
        f"SELECT src, dst FROM attach WHERE {within('src', 'held_out')} "
        f"AND (known OR {within('dst', 'held_out')})",
        order="src, dst",
    )
    engine.table("met", f"SELECT DISTINCT dst AS node FROM attach WHERE known AND {within('src', 'held_out')}")


def directory(engine: Engine, name: str) -> pathlib.Path:
    """Return a directory with nodes.parquet and edges.parquet of the tables NAME_nodes and NAME_edges."""
    tables = {kind: f"{name}_{kind}" for kind in ("nodes", "edges")}

    def make(path: pathlib.Path) -> None:
        for kind, table in tables.items():
            (part,) = engine.parts(table)
            shutil.copyfile(part, path / f"{kind}.parquet")

    return engine.made(name, "directory", make, list(tables.values()))
