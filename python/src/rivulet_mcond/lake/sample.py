"""A part of T in which models are fitted and S is made, and the nodes that are held out to measure: by hash of the id."""

from __future__ import annotations

import pathlib
import shutil

from .engine import Engine
from .graph import features_of

MOST_LABELLED, MOST_JUDGES = 16_384, 5_000

HASH = "md5({}.id), {}.node"
"""The order of nodes by which a sample is drawn: the same in every engine."""


def make_sample(engine: Engine, room: int) -> bool:
    """Make the tables sample_nodes and sample_edges, with at most so many nodes of T. Return whether they are all of T.

    A part of T begins with labelled nodes, and with validation nodes (judges) that have all their neighbours in it.
    Nodes one and two edges away follow.
    """
    whole = bool(engine.rows("SELECT count(*) FROM original")[0][0] <= room)
    if whole:
        engine.table("judges", "SELECT node FROM nodes WHERE split = 'val'")
        engine.table("chosen", "SELECT node FROM original")
    else:
        engine.table(
            "judges",
            "SELECT node FROM (SELECT v.node, sum(v.n) OVER (ORDER BY v.h, v.node ROWS UNBOUNDED PRECEDING) AS total "
            "FROM (SELECT n.node, md5(n.id) AS h, count(a.dst) AS n FROM nodes n "
            "LEFT JOIN (SELECT * FROM attach WHERE known) a ON a.src = n.node WHERE n.split = 'val' "
            f"GROUP BY n.node, n.id ORDER BY h, n.node LIMIT {MOST_JUDGES}) v) WHERE total <= {room // 4}",
        )
        labelled = min(room // 8, MOST_LABELLED)
        engine.table(
            "chosen0",
            "SELECT DISTINCT dst AS node FROM attach WHERE known AND src IN (SELECT node FROM judges) UNION "
            f"(SELECT node FROM nodes n WHERE split = 'train' ORDER BY {HASH.format('n', 'n')} LIMIT {labelled})",
        )
        for ring, name in enumerate(("chosen1", "chosen")):
            inner = f"chosen{ring}"
            left = room - engine.rows(f"SELECT count(*) FROM {inner}")[0][0]
            engine.table(
                name,
                f"SELECT node FROM {inner} UNION ALL (SELECT n.node FROM nodes n JOIN "
                f"(SELECT src AS node FROM edges WHERE dst IN (SELECT node FROM {inner}) EXCEPT SELECT node FROM {inner}) r "
                f"ON r.node = n.node ORDER BY {HASH.format('n', 'n')} LIMIT {max(0, left // (2 - ring))})",
            )
    engine.table(
        "sample_nodes",
        f"SELECT node, id, label, split, degree, {features_of('o', engine)} FROM original o WHERE node IN (SELECT node FROM chosen) "
        f"UNION ALL SELECT node, id, label, split, CAST(0 AS DOUBLE), {features_of('n', engine)} FROM nodes n "
        "WHERE node IN (SELECT node FROM judges)",
        order="node",
    )
    engine.table(
        "sample_edges",
        "SELECT src, dst FROM edges WHERE src IN (SELECT node FROM chosen) AND dst IN (SELECT node FROM chosen) UNION ALL "
        f"{attached('judges', 'chosen')} UNION ALL SELECT dst, src FROM attach WHERE known AND src IN (SELECT node FROM judges) "
        "AND dst IN (SELECT node FROM chosen)",
        order="src, dst",
    )
    return whole


def attached(held: str, known: str) -> str:
    """Return SQL of the edges of nodes that are held out: to each other, and to known ones."""
    of = f"SELECT src, dst FROM attach WHERE src IN (SELECT node FROM {held})"
    if known:
        return f"{of} AND (known AND dst IN (SELECT node FROM {known}) OR NOT known AND dst IN (SELECT node FROM {held}))"
    return f"{of} AND (known OR dst IN (SELECT node FROM {held}))"


def make_held(engine: Engine, validation: int, test: int) -> None:
    """Make the tables held_nodes and held_edges of at most so many validation and test nodes; 0 is all."""
    parts = []
    for role, most in (("val", validation), ("test", test)):
        limit = f" ORDER BY {HASH.format('n', 'n')} LIMIT {most}" if most else ""
        parts.append(f"(SELECT node FROM nodes n WHERE split = '{role}'{limit})")
    engine.table("held_out", " UNION ALL ".join(parts))
    engine.table(
        "held_nodes",
        f"SELECT node, id, label, split, {features_of('n', engine)} FROM nodes n WHERE node IN (SELECT node FROM held_out)",
        order="node",
    )
    engine.table("held_edges", attached("held_out", ""), order="src, dst")
    engine.table(
        "met", "SELECT DISTINCT dst AS node FROM attach WHERE known AND src IN (SELECT node FROM held_out)"
    )


def directory(engine: Engine, name: str) -> pathlib.Path:
    """Return a directory with nodes.parquet and edges.parquet of the tables NAME_nodes and NAME_edges."""
    tables = {kind: f"{name}_{kind}" for kind in ("nodes", "edges")}

    def make(path: pathlib.Path) -> None:
        for kind, table in tables.items():
            (part,) = engine.parts(table)
            shutil.copyfile(part, path / f"{kind}.parquet")

    return engine.made(name, "directory", make, list(tables.values()))
