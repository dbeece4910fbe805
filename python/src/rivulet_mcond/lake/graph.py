"""The user's two tables, checked, as a graph: nodes by number, edges among T's nodes, and their degrees.

T is the original graph: its nodes have the role train or unlabelled. Degrees, and all sums over neighbours, are
those of T. Nodes that are held out (val, test) attach to it: the table attach has their edges.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .engine import Engine, LakeError, say

ROLES = {
    "train": ("train", "tr", "training"),
    "val": ("val", "va", "valid", "validation"),
    "test": ("test", "te"),
    "unlabelled": ("unlabelled", "un", "unlabeled"),
    "none": ("none",),
}

MISSING = ("", "\\n", "null", "nan", "nat", "<na>", "na", "n/a", "nil", "unknown", "missing", "-", "?")
"""Texts, in small letters, that stand for no label and no split, as in other tables (docs/data.md)."""

IN_PART = 1 << 33
"""Spark's numbers of rows begin anew, with one more of these, in each part of a table."""


@dataclass
class Columns:
    """What the columns of the user's tables mean."""

    id: str = "id"
    label: str = "label"
    split: str = "split"
    split_values: Mapping[str, str] = field(default_factory=dict)
    source: str = "source"
    target: str = "target"
    indices: str = ""
    values: str = ""
    width: int = 0
    drop: tuple[str, ...] = ()
    drop_unknown: bool = False
    drop_weights: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The columns of features in the lake's own tables of nodes."""
        return ("indices", "values") if self.indices else ("x",)


def read_graph(engine: Engine, columns: Columns) -> None:
    """Make the graph's tables of the sources input_nodes and input_edges.

    nodes and pairs are what the user has listed; of these, edges, degrees and original are T, and attach has the
    edges of nodes that are held out.
    """
    node_kinds, edge_kinds = engine.columns("input_nodes"), engine.columns("input_edges")
    for table, kinds, wanted in (
        ("nodes", node_kinds, (columns.id, columns.label, columns.split)),
        ("edges", edge_kinds, (columns.source, columns.target)),
    ):
        for column in wanted:
            if column not in kinds:
                raise LakeError(f"{table}: no column {column} among {', '.join(kinds)}")
    if "weight" in edge_kinds and not columns.drop_weights:
        raise LakeError(
            "edges: column weight: train reads weights of edges in memory only; --drop-weights reads each as 1"
        )
    faults: list[str] = []
    make_nodes(engine, columns, node_kinds, faults)
    make_pairs(engine, columns, node_kinds, edge_kinds, faults)
    if faults:
        for fault in faults:
            say(f"fault: {fault}")
        raise LakeError(f"train refuses these tables: they have {len(faults)} kinds of faults")
    of_t = "FROM pairs WHERE a > 0 AND a <> b"
    engine.table("edges", f"SELECT a AS src, b AS dst {of_t} UNION ALL SELECT b, a {of_t}{engine.locality}")
    engine.table(
        "attach",
        "SELECT -a AS src, abs(b) AS dst, b > 0 AS known FROM pairs WHERE a < 0 AND b <> 0 AND a <> b "
        "UNION ALL SELECT -b, -a, false FROM pairs WHERE b < 0 AND a <> b",
    )
    engine.table("degrees", "SELECT dst AS node, count(*) AS degree FROM edges GROUP BY dst")
    engine.table(
        "original",
        "SELECT n.node, n.id, n.label, n.split, CAST(coalesce(d.degree, 0) AS DOUBLE) AS degree, "
        f"{', '.join(columns.features)} FROM nodes n LEFT JOIN degrees d ON n.node = d.node "
        "WHERE n.split IN ('train', 'unlabelled')",
    )


def make_nodes(engine: Engine, columns: Columns, kinds: Mapping[str, str], faults: list[str]) -> None:
    """Make the table nodes: node, id, label, split and features. The split of one without a role is null."""
    label, word = (as_label(engine, column, kinds) for column in (columns.label, columns.split))
    words = {word: role for role, of in ROLES.items() for word in of}
    words |= {value.lower(): role for value, role in columns.split_values.items()}
    roles = " ".join(
        f"WHEN {engine.literal(word)} THEN {'NULL' if role == 'none' else engine.literal(role)}"
        for word, role in words.items()
    )
    features = ", ".join(columns.features)
    engine.table(
        "nodes",
        f"SELECT node, id, CASE WHEN split = 'unlabelled' THEN NULL ELSE label END AS label, split, {features} "
        "FROM (SELECT node, id, label, CASE WHEN word IS NULL AND label IS NULL THEN 'unlabelled' "
        f"WHEN word IS NOT NULL THEN CASE lower(word) {roles} ELSE concat('?', word) END END AS split, "
        f"{features} "
        f"FROM (SELECT {engine.number} AS node, {as_text(engine, columns.id, kinds)} AS id, {label} AS label, "
        f"{word} AS word, {features_of(engine, columns, kinds)} FROM input_nodes))",
    )
    if not engine.rows("SELECT node FROM nodes LIMIT 1"):
        raise LakeError("nodes: the table has no rows")
    twice = engine.rows(
        "SELECT id, min(node) FROM nodes WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 ORDER BY 2 LIMIT 1"
    )
    if twice:
        times = engine.rows("SELECT count(id) - count(DISTINCT id) FROM nodes")[0][0]
        faults.append(
            f"{times} ids that another node has; the first: column {columns.id}: {quoted(twice[0][0])} is "
            f"already the id of nodes {row(twice[0][1])}"
        )
    check(
        engine,
        "id IS NULL",
        "nodes without an id",
        lambda n: f"column {columns.id}: it is empty",
        faults,
    )
    check(
        engine,
        "label IS NULL AND split IN ('train', 'val', 'test')",
        "train, val and test nodes without a label",
        lambda n: f"column {columns.label}: it is empty, but a {n['split']} node needs one",
        faults,
    )
    check(
        engine,
        "split LIKE '?%'",
        "values of the split that stand for no role",
        lambda n: (
            f"column {columns.split}: {quoted(n['split'][1:])} is not one of train, val, test, unlabelled: "
            "say which values stand for these (--split-values)"
        ),
        faults,
    )
    check_features(engine, columns, kinds, faults)
    for role in ("train", "val", "test"):
        if not engine.rows(f"SELECT node FROM nodes WHERE split = '{role}' LIMIT 1"):
            faults.append(f"column {columns.split}: no node has the role {role}")


def check_features(engine: Engine, columns: Columns, kinds: Mapping[str, str], faults: list[str]) -> None:
    """Add the fault of features that are missing, no finite numbers, or not as many as in the first row."""
    if columns.indices:
        size = " <> ".join(engine.size.format(column) for column in columns.features)
        unfit = " OR ".join(f"{c} IS NULL OR {engine.unfit.format(c)}" for c in columns.features)
        outside = f"{engine.smallest.format('indices')} < 0"
        if columns.width:
            outside += f" OR {engine.largest.format('indices')} >= {columns.width}"
        check(
            engine,
            f"{unfit} OR {size} OR {outside}",
            "nodes whose features are no numbers",
            lambda n: (
                f"columns {columns.indices}, {columns.values}: want a finite number for each index"
                + (f" from 0 to {columns.width - 1}" if columns.width else "")
            ),
            faults,
        )
        return
    size = engine.size.format("x")
    (width,) = engine.rows(f"SELECT {size} FROM nodes ORDER BY node LIMIT 1")[0]
    check(
        engine,
        f"x IS NULL OR {size} <> {width} OR {engine.unfit.format('x')}",
        "nodes whose features are no numbers",
        lambda n: no_number(n["x"], feature_columns(columns, kinds), width),
        faults,
    )


def no_number(x: list[float | None] | None, of: list[str], width: int) -> str:
    """Say which of a node's features is no number."""
    if x is None or len(x) != width:
        return f"column {of[0]}: {'it is missing' if x is None else f'{len(x)} values'}, want {width} numbers"
    at, value = next((k, v) for k, v in enumerate(x) if v is None or not abs(v) <= 1e15)
    name = of[at] if len(of) == width else f"{of[0]}[{at}]"
    return f"column {name}: {'it is missing' if value is None else f'it is {value:g}'}, want a number up to 1e15"


def make_pairs(
    engine: Engine, columns: Columns, nodes: Mapping[str, str], edges: Mapping[str, str], faults: list[str]
) -> None:
    """Make the table pairs: each pair of nodes once, and how often it is listed.

    A node that is held out has the negative of its number here, and 0 stands for all nodes without a role: so
    the roles of both ends need no columns in the largest table.
    """
    ends = (columns.source, columns.target)
    whole = all(kind == "integer" for kind in (nodes[columns.id], *(edges[end] for end in ends)))
    source, target = (f"e.{engine.name(end)}" if whole else as_text(engine, end, edges) for end in ends)
    key = (
        f"(SELECT {'CAST(id AS BIGINT)' if whole else 'id'} AS id, "
        "CASE WHEN split IS NULL THEN 0 WHEN split IN ('val', 'test') THEN -node ELSE node END AS node "
        "FROM nodes)"
    )
    engine.table(
        "pairs",
        "SELECT least(s.node, t.node) AS a, greatest(s.node, t.node) AS b, count(*) AS times FROM input_edges e "
        f"JOIN {key} s ON s.id = {source} JOIN {key} t ON t.id = {target} GROUP BY 1, 2",
    )
    (listed,), (found,) = (
        engine.rows(f"SELECT {sql}")[0] for sql in ("count(*) FROM input_edges", "sum(times) FROM pairs")
    )
    unknown = listed - (found or 0)
    if faults or unknown == 0:  # of an id that is there twice, each edge is found twice
        return
    if columns.drop_unknown and found:
        say(f"{unknown} of {listed} edges are left out, as no node has the id of an end")
        return
    text = ", ".join(f"{as_text(engine, end, edges)} AS {name}" for end, name in zip(ends, "st", strict=True))
    number, s, t, known = engine.rows(
        f"SELECT e.n, e.s, e.t, s.id IS NOT NULL FROM (SELECT {engine.number} AS n, {text} FROM input_edges) e "
        "LEFT JOIN nodes s ON e.s = s.id LEFT JOIN nodes t ON e.t = t.id WHERE s.id IS NULL OR t.id IS NULL "
        "ORDER BY e.n LIMIT 1"
    )[0]
    column, end = (columns.target, t) if known else (columns.source, s)
    what = "it is empty" if end is None else f"{quoted(end)} is not the id of a node"
    faults.append(
        f"{unknown} edges to or from ids that no node has; the first: edges {row(number)}: "
        f"column {column}: {what}"
    )


def check(
    engine: Engine, where: str, kind: str, words: Callable[[dict[str, Any]], str], faults: list[str]
) -> None:
    """Add the fault of nodes for which a condition holds; words say what is wrong with the first of them."""
    count, first = engine.rows(f"SELECT count(*), min(node) FROM nodes WHERE {where}")[0]
    if count:
        values = engine.rows(f"SELECT * FROM nodes WHERE node = {first}")[0]
        node = dict(zip(engine.columns("nodes"), values, strict=True))
        place = f"nodes {row(first)}" + ("" if node["id"] is None else f", id {quoted(node['id'])}")
        faults.append(f"{count} {kind}; the first: {place}: {words(node)}")


def row(number: int) -> str:
    """Name a row of a user's table by its number, in the order of the table."""
    part, at = divmod(number - 1, IN_PART)
    return f"row {at + 1}" + (f" of part {part + 1}" if part else "")


def quoted(text: str) -> str:
    """Return a text in quotation marks, cut."""
    return json.dumps(text[:100], ensure_ascii=False)


def as_text(engine: Engine, column: str, kinds: Mapping[str, str]) -> str:
    """Return SQL of a column as an id: a number without a fraction is an integer, the empty text is none."""
    c = engine.name(column)
    if kinds[column] == "number":
        return (
            f"CASE WHEN {c} = floor({c}) THEN CAST(CAST({c} AS BIGINT) AS STRING) ELSE CAST({c} AS STRING) END"
        )
    if kinds[column] not in ("integer", "text"):
        raise LakeError(f"column {column}: ids, labels and splits are texts or numbers")
    return f"nullif(CAST({c} AS STRING), '')"


def as_label(engine: Engine, column: str, kinds: Mapping[str, str]) -> str:
    """Return SQL of a column as a label or the word of a split, null where it is missing."""
    text = as_text(engine, column, kinds)
    return f"CASE WHEN lower({text}) NOT IN ({', '.join(map(engine.literal, MISSING))}) THEN {text} END"


def feature_columns(columns: Columns, kinds: Mapping[str, str]) -> list[str]:
    """Return the columns that are features."""
    return [c for c in kinds if c not in (columns.id, columns.label, columns.split, *columns.drop)]


def features_of(engine: Engine, columns: Columns, kinds: Mapping[str, str]) -> str:
    """Return SQL of the features of the user's table: x, or indices and values."""
    of = [columns.indices, columns.values] if columns.indices else feature_columns(columns, kinds)
    if columns.indices or (len(of) == 1 and kinds[of[0]] == "list"):
        for column in of:
            if kinds.get(column) != "list":
                raise LakeError(f"nodes: column {column} holds no lists of numbers")
        types = ("INTEGER", "FLOAT") if columns.indices else ("FLOAT",)
        return ", ".join(
            f"TRY_CAST({engine.name(column)} AS {engine.list_of(element)}) AS {name}"
            for column, element, name in zip(of, types, columns.features, strict=True)
        )
    if not of:
        raise LakeError("nodes: no column is left that is a feature")
    for column in of:
        if kinds[column] not in ("integer", "number"):
            raise LakeError(f"nodes: {no_feature(engine, columns, column, kinds)}")
    return f"{engine.array}({', '.join(f'TRY_CAST({engine.name(c)} AS FLOAT)' for c in of)}) AS x"


def no_feature(engine: Engine, columns: Columns, column: str, kinds: Mapping[str, str]) -> str:
    """Say why a column is no feature, by the first of its values that is no number."""
    if kinds[column] != "text":
        return f"column {column}: it is neither a number nor the one list of numbers: drop it (--drop)"
    found = engine.rows(
        f"SELECT n, id, v FROM (SELECT {engine.number} AS n, {as_text(engine, columns.id, kinds)} AS id, "
        f"{engine.name(column)} AS v FROM input_nodes) WHERE v IS NOT NULL AND TRY_CAST(v AS DOUBLE) IS NULL "
        "ORDER BY n LIMIT 1"
    )
    hint = "features have positions here, and are numbers: drop the column (--drop), or write numbers"
    if not found:
        return f"column {column}: it is text; {hint}"
    number, of, value = found[0]
    place = row(number) + ("" if of is None else f", id {quoted(of)}")
    return f"{place}: column {column}: {quoted(value)} is not a number; {hint}"


def facts(engine: Engine, columns: Columns, name: str) -> dict[str, Any]:
    """Return the counts of the graph, and a text that changes with the data."""
    most = (
        "max("
        + (f"{engine.largest.format('indices')} + 1" if columns.indices else engine.size.format("x"))
        + ")"
    )
    counts = {
        "name": name,
        "nodes": engine.rows("SELECT count(*) FROM original")[0][0],
        "edges": engine.rows("SELECT count(*) FROM pairs WHERE a > 0 AND a <> b")[0][0],
        "features": columns.width or engine.rows(f"SELECT {most} FROM nodes")[0][0],
        "classes": dict(
            engine.rows(
                "SELECT label, sum(CASE WHEN split = 'train' THEN 1 ELSE 0 END) FROM nodes "
                "WHERE label IS NOT NULL AND split IS NOT NULL GROUP BY label ORDER BY label"
            )
        ),
    }
    of = json.dumps([counts, engine.keys["nodes"], engine.keys["pairs"]])
    return counts | {"fingerprint": "sha256:" + hashlib.sha256(of.encode()).hexdigest()}
