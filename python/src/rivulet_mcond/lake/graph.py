"""The user's two tables, checked, as a graph: nodes by number, edges among T's nodes, and their degrees.

T is the original graph: its nodes have the role train or unlabelled. Degrees, and all sums over neighbours, are those
of T. Nodes that are held out (val, test) attach to it: the table attach has their edges.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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

MISSING = ("", "\\n", "null", "nan", "nat", "<na>", "na", "n/a", "none", "nil", "unknown", "missing", "-", "?")
"""Texts, in small letters, that stand for no label and no split, as in other tables (docs/data.md)."""

EDGES_WITH_MEANING = {"weight": "edges have weights", "type": "edges have types"}

IN_PART = 1 << 33  # Spark's numbers of rows begin anew, with one more of these, in each part of a table


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


def read_graph(engine: Engine, columns: Columns) -> None:
    """Make the tables nodes, pairs, edges, attach, degrees and original of the sources input_nodes and input_edges."""
    node_kinds, edge_kinds = engine.columns("input_nodes"), engine.columns("input_edges")
    for table, kinds, wanted in (
        ("nodes", node_kinds, (columns.id, columns.label, columns.split)),
        ("edges", edge_kinds, (columns.source, columns.target)),
    ):
        for column in wanted:
            if column not in kinds:
                raise LakeError(f"{table}: no column {column} among {', '.join(kinds)}")
    for column, meaning in EDGES_WITH_MEANING.items():
        if column in edge_kinds and not (column == "weight" and columns.drop_weights):
            hint = "--drop-weights reads each as 1" if column == "weight" else "name a table without that column"
            raise LakeError(f"edges: column {column}: {meaning}, which train reads in memory only: {hint}")
    faults: list[str] = []
    make_nodes(engine, columns, node_kinds, faults)
    make_edges(engine, columns, node_kinds, edge_kinds, faults)
    if faults:
        for fault in faults:
            say(f"fault: {fault}")
        raise LakeError(f"train refuses these tables: they have {len(faults)} kinds of faults")
    engine.table(
        "edges",
        "SELECT a AS src, b AS dst FROM pairs WHERE a > 0 AND a <> b "
        "UNION ALL SELECT b, a FROM pairs WHERE a > 0 AND a <> b" + engine.locality,
    )
    engine.table(
        "attach",
        "SELECT -a AS src, abs(b) AS dst, b > 0 AS known FROM pairs WHERE a < 0 AND b <> 0 AND a <> b "
        "UNION ALL SELECT -b, -a, false FROM pairs WHERE b < 0 AND a <> b",
    )
    engine.table("degrees", "SELECT dst AS node, count(*) AS degree FROM edges GROUP BY dst")
    engine.table(
        "original",
        f"SELECT n.node, n.id, n.label, n.split, CAST(coalesce(d.degree, 0) AS DOUBLE) AS degree, {features_of('n', engine)} "
        "FROM nodes n LEFT JOIN degrees d ON n.node = d.node WHERE n.split IN ('train', 'unlabelled')",
    )


def features_of(table: str, engine: Engine) -> str:
    """Return the columns of features of a table of nodes."""
    sparse = "indices" in engine.columns("nodes")
    return f"{table}.indices, {table}.values" if sparse else f"{table}.x"


def make_nodes(engine: Engine, columns: Columns, kinds: Mapping[str, str], faults: list[str]) -> None:
    """Make the table nodes: node, id, label, split and features. A split of one that has no role is null."""
    label, split = (as_label(engine, column, kinds) for column in (columns.label, columns.split))
    words = {word: role for role, of in ROLES.items() for word in of}
    words |= {value.lower(): words[role] for value, role in columns.split_values.items()}
    roles = " ".join(
        f"WHEN {engine.literal(word)} THEN {'NULL' if role == 'none' else engine.literal(role)}"
        for word, role in words.items()
    )
    engine.table(
        "nodes",
        "SELECT node, id, CASE WHEN split = 'unlabelled' THEN NULL ELSE label END AS label, split, "
        + ("indices, values" if columns.indices else "x")
        + " FROM (SELECT node, id, label, CASE WHEN word IS NULL THEN CASE WHEN label IS NULL THEN 'unlabelled' END "
        f"ELSE CASE lower(word) {roles} ELSE concat('?', word) END END AS split, {'indices, values' if columns.indices else 'x'} "
        f"FROM (SELECT {engine.number} AS node, {as_text(engine, columns.id, kinds)} AS id, {label} AS label, "
        f"{split} AS word, {features(engine, columns, kinds)} FROM input_nodes))",
    )
    check = Checks(engine, "nodes", faults)
    if twice := engine.rows(
        "SELECT id, min(node), count(*) FROM nodes WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1 LIMIT 1"
    ):
        at, first, _ = twice[0]
        times = engine.rows("SELECT count(id) - count(DISTINCT id) FROM nodes")[0][0]
        faults.append(
            f"{times} ids that another node has; the first: column {columns.id}: {quoted(at)} is already the id of nodes {row(first)}"
        )
    check("id IS NULL", "nodes without an id", lambda n: f"column {columns.id}: it is empty")
    check(
        "label IS NULL AND split IN ('train', 'val', 'test')",
        "train, val and test nodes without a label",
        lambda n: f"column {columns.label}: it is empty, but a {n['split']} node needs one",
    )
    check(
        "split LIKE '?%'",
        "values of the split that stand for no role",
        lambda n: (
            f"column {columns.split}: {quoted(n['split'][1:])} is not one of train, val, test, unlabelled: "
            "say which values stand for these (--split-values)"
        ),
    )
    if columns.indices:
        unfit = f"indices IS NULL OR values IS NULL OR {engine.size.format('indices')} <> {engine.size.format('values')} OR "
        unfit += engine.unfit.format("indices") + " OR " + engine.unfit.format("values")
        check(
            unfit,
            "features that are no numbers",
            lambda n: f"columns {columns.indices}, {columns.values}: a number for each index",
        )
    else:
        of = feature_columns(columns, kinds)
        width = engine.rows(f"SELECT {engine.size.format('x')} FROM nodes LIMIT 1")
        if not width:
            raise LakeError("nodes: the table has no rows")
        check(
            f"x IS NULL OR {engine.size.format('x')} <> {width[0][0]} OR {engine.unfit.format('x')}",
            "features that are no numbers",
            lambda n: no_number(n["x"], of, width[0][0]),
        )
    for role in ("train", "val", "test"):
        if not engine.rows(f"SELECT node FROM nodes WHERE split = '{role}' LIMIT 1"):
            faults.append(f"no node has the role {role}: column {columns.split}")


def no_number(x: list[float] | None, of: list[str], width: int) -> str:
    """Say which of a node's features is no number."""
    if x is None or len(x) != width:
        return f"column {of[0]}: {'it is missing' if x is None else f'{len(x)} values'}, want {width} as in the first row"
    at = next(k for k, v in enumerate(x) if v is None or not abs(v) <= 1e15)
    name = of[at] if len(of) == width else f"{of[0]}[{at}]"
    return f"column {name}: {'it is missing' if x[at] is None else f'it is {x[at]:g}'}, want a finite number up to 1e15"


def make_edges(
    engine: Engine, columns: Columns, nodes: Mapping[str, str], edges: Mapping[str, str], faults: list[str]
) -> None:
    """Make the table pairs: each pair of nodes once, and how often it is listed.

    A node that is held out has the negative of its number here, so that its role needs no column, and 0 stands for all
    nodes without a role: what is attached and what is left out is told apart by the sign.
    """
    plain = all(kind == "integer" for kind in (nodes[columns.id], edges[columns.source], edges[columns.target]))
    source, target = (
        f"e.{engine.name(column)}" if plain else as_text(engine, column, edges)
        for column in (columns.source, columns.target)
    )
    ends = (
        f"(SELECT {'CAST(id AS BIGINT)' if plain else 'id'} AS id, "
        "CASE WHEN split IN ('val', 'test') THEN -node WHEN split IS NULL THEN 0 ELSE node END AS node FROM nodes)"
    )
    engine.table(
        "pairs",
        "SELECT least(s.node, t.node) AS a, greatest(s.node, t.node) AS b, count(*) AS times FROM input_edges e "
        f"JOIN {ends} s ON s.id = {source} JOIN {ends} t ON t.id = {target} GROUP BY 1, 2",
    )
    (listed,), (known,) = (
        engine.rows("SELECT count(*) FROM input_edges")[0],
        engine.rows("SELECT sum(times) FROM pairs")[0],
    )
    if faults or listed == (known or 0):  # with ids that are there twice, edges join twice
        return
    if columns.drop_unknown and known:
        say(f"{listed - known} of {listed} edges to or from ids that no node has are left out")
        return
    at, s, t, known_source = engine.rows(
        f"SELECT e.n, e.s, e.t, s.id IS NOT NULL FROM (SELECT {engine.number} AS n, {as_text(engine, columns.source, edges, '')} AS s, "
        f"{as_text(engine, columns.target, edges, '')} AS t FROM input_edges) e LEFT JOIN nodes s ON e.s = s.id "
        "LEFT JOIN nodes t ON e.t = t.id WHERE s.id IS NULL OR t.id IS NULL ORDER BY e.n LIMIT 1"
    )[0]
    column, end = (columns.target, t) if known_source else (columns.source, s)
    what = "it is empty" if end is None else f"{quoted(end)} is not the id of a node"
    faults.append(
        f"{listed - (known or 0)} edges to or from ids that no node has; the first: edges {row(at)}: column {column}: {what}"
    )


class Checks:
    """Faults of a table, counted, with the first of each kind."""

    def __init__(self, engine: Engine, table: str, faults: list[str]) -> None:
        """Collect faults of a table with a column node, which is the number of the row."""
        self.engine, self.table, self.faults = engine, table, faults

    def __call__(self, where: str, kind: str, words: Any) -> None:
        """Count the rows for which a condition holds; words say what is wrong with one of them."""
        count, first = self.engine.rows(f"SELECT count(*), min(node) FROM {self.table} WHERE {where}")[0]
        if count:
            names = list(self.engine.columns(self.table))
            found = dict(
                zip(names, self.engine.rows(f"SELECT * FROM {self.table} WHERE node = {first}")[0], strict=True)
            )
            of = f"{self.table} {row(first)}" + (
                f", id {quoted(found['id'])}" if found["id"] is not None else ""
            )
            self.faults.append(f"{count} {kind}; the first: {of}: {words(found)}")


def row(number: int) -> str:
    """Name a row of a user's table by its number, in the order of the table."""
    part, at = divmod(number - 1, IN_PART)
    return f"row {at + 1}" + (f" of part {part + 1}" if part else "")


def quoted(text: str) -> str:
    """Return a text in quotation marks, cut."""
    return json.dumps(text[:100], ensure_ascii=False)


def as_text(engine: Engine, column: str, kinds: Mapping[str, str], table: str = "") -> str:
    """Return SQL of a column as an id: numbers without a fraction are integers, the empty text is none."""
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


def features(engine: Engine, columns: Columns, kinds: Mapping[str, str]) -> str:
    """Return SQL of the features: x, or indices and values."""
    if columns.indices:
        for column in (columns.indices, columns.values):
            if kinds.get(column) != "list":
                raise LakeError(f"nodes: column {column} holds no lists of numbers")
        return (
            f"TRY_CAST({engine.name(columns.indices)} AS {engine.list_of('INTEGER')}) AS indices, "
            f"TRY_CAST({engine.name(columns.values)} AS {engine.list_of('FLOAT')}) AS values"
        )
    of = feature_columns(columns, kinds)
    if not of:
        raise LakeError("nodes: no column is left that is a feature")
    if len(of) == 1 and kinds[of[0]] == "list":
        return f"TRY_CAST({engine.name(of[0])} AS {engine.list_of('FLOAT')}) AS x"
    for column in of:
        if kinds[column] not in ("integer", "number"):
            raise LakeError(f"nodes: {no_feature(engine, columns, column, kinds)}")
    return f"{engine.array}({', '.join(f'TRY_CAST({engine.name(c)} AS FLOAT)' for c in of)}) AS x"


def no_feature(engine: Engine, columns: Columns, column: str, kinds: Mapping[str, str]) -> str:
    """Say why a column is no feature."""
    if kinds[column] == "list":
        return f"column {column}: a list is the only feature, or no feature: drop the column, or the others (--drop)"
    id_of = as_text(engine, columns.id, kinds)
    value = f"CAST({engine.name(column)} AS STRING)"
    found = engine.rows(
        f"SELECT n, id, v FROM (SELECT {engine.number} AS n, {id_of} AS id, {value} AS v FROM input_nodes) "
        "WHERE v IS NOT NULL AND TRY_CAST(v AS DOUBLE) IS NULL ORDER BY n LIMIT 1"
    )
    hint = "features are numbers here: drop the column (--drop), or write numbers"
    if not found:
        return f"column {column}: it is text, and {hint}"
    return f"{row(found[0][0])}, id {quoted(str(found[0][1]))}: column {column}: {quoted(found[0][2])} is not a number: {hint}"


def facts(engine: Engine, columns: Columns, name: str) -> dict[str, Any]:
    """Return the counts of the graph, and a text that changes with the data."""
    if columns.indices:
        width = columns.width or 1 + int(
            engine.rows(f"SELECT max({engine.largest.format('indices')}) FROM nodes")[0][0]
        )
    else:
        width = engine.rows(f"SELECT {engine.size.format('x')} FROM nodes LIMIT 1")[0][0]
    counts = {
        "name": name,
        "nodes": engine.rows("SELECT count(*) FROM original")[0][0],
        "edges": engine.rows("SELECT count(*) FROM pairs WHERE a > 0 AND a <> b")[0][0],
        "features": width,
        "classes": dict(
            engine.rows(
                "SELECT label, sum(CASE WHEN split = 'train' THEN 1 ELSE 0 END) FROM nodes "
                "WHERE label IS NOT NULL AND split IS NOT NULL GROUP BY label ORDER BY label"
            )
        ),
    }
    of = json.dumps([counts, engine.keys["nodes"], engine.keys["pairs"]])
    return counts | {"fingerprint": "sha256:" + hashlib.sha256(of.encode()).hexdigest()}
