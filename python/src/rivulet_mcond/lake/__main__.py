"""Run the command."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys

from . import graph, run
from .engine import Engine, LakeError, say

MODELS = ("sgc", "gcn", "sage")


def main() -> None:
    """Parse the options, train, and print the report."""
    parser = argparse.ArgumentParser(
        prog="python -m rivulet_mcond.lake", description=run.__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--engine", choices=("duckdb", "spark"), required=True)
    add(
        "--nodes",
        required=True,
        help="table of nodes: a file, directory or pattern of Parquet, or a name of the catalogue",
    )
    add(
        "--edges",
        required=True,
        help="table of edges, which have no direction; self-loops and repeated edges count once",
    )
    add(
        "--work",
        required=True,
        type=pathlib.Path,
        help="directory of tables, on a disk that all machines see at this path",
    )
    add("--out", required=True, type=pathlib.Path, help="directory to write the artifact to")
    add("--force", action="store_true", help="replace the artifact that --out has")
    add("--id", default="id", help="column of a node's id")
    add("--label", default="label", help="column of its class")
    add("--split", default="split", help="column of its role")
    add(
        "--split-values",
        default="",
        help="what its values stand for: 0=train,1=val,2=test; also unlabelled, none",
    )
    add("--source", default="source", help="column of an edge's one end")
    add("--target", default="target", help="column of its other end")
    add(
        "--indices",
        default="",
        help="column of lists: the positions of a node's features that are not 0; with --values",
    )
    add("--values", default="", help="column of lists: those features")
    add("--width", type=int, default=0, help="number of features, with --indices; 0: the highest index and one")
    add("--drop", default="", help="columns of nodes that are no features, with commas between")
    add("--drop-unknown", action="store_true", help="leave out edges to and from ids that no node has")
    add("--drop-weights", action="store_true", help="read any weight of an edge as 1")
    add(
        "--sample",
        type=int,
        default=200_000,
        help="most nodes of the graph in which models are fitted; all if so few",
    )
    add("--validation", type=int, default=5_000, help="most validation nodes that calibrate; 0: all")
    add("--test", type=int, default=10_000, help="most test nodes that are measured; 0: all")
    add(
        "--threads",
        type=int,
        default=os.cpu_count() or 1,
        help="threads, and programs at a time, of this machine",
    )
    add("--memory", default="2GB", help="duckdb: memory of the database; it spills to --work")
    add("--catalogue", default="", help="duckdb: a database file whose tables --nodes and --edges may name")
    add(
        "--master",
        default="",
        help="spark: local[4], or a cluster; empty: the session of spark-submit or SPARK_REMOTE",
    )
    add("--conf", action="append", default=[], help="spark: a setting, KEY=VALUE; may be given again")
    add("--models", default="sgc", help=f"models to fit and serve, of {', '.join(MODELS)}")
    add(
        "--propagate",
        action="store_true",
        help="have validation choose label and error propagation: nine more hops",
    )
    trainers = ("ratio", "synthetic", "entries", "hidden", "seed", "preprocess", "own", "coverage")
    for option in trainers:
        add(
            f"--{option}",
            help="as trainer train has it" if option != "synthetic" else "synthetic nodes, in place of --ratio",
        )
    args = parser.parse_args()
    try:
        if args.out.exists() and any(args.out.iterdir()) and not args.force:
            raise LakeError(f"--out {args.out} is not empty; nothing was trained. Another --out, or --force")
        for model in args.models.split(","):
            if model not in MODELS:
                raise LakeError(f"--models: {model} is fitted in memory only; here are {', '.join(MODELS)}")
        if bool(args.indices) != bool(args.values):
            raise LakeError("--indices and --values are given together")
        roles = dict(pair.split("=", 1) for pair in args.split_values.split(",") if "=" in pair)
        for role in roles.values():
            if role not in graph.ROLES:
                raise LakeError(f"--split-values: {role} is not one of {', '.join(graph.ROLES)}")
        columns = graph.Columns(
            args.id, args.label, args.split, roles, args.source, args.target, args.indices, args.values,
            args.width, tuple(c for c in args.drop.split(",") if c), args.drop_unknown, args.drop_weights,
        )  # fmt: skip
        prepare = ["--models", args.models]
        for option in trainers:
            if (value := getattr(args, option)) is not None:
                prepare += [f"--{'nodes' if option == 'synthetic' else option}", value]
        name = pathlib.PurePath(args.nodes).parent.name or args.nodes
        options = run.Options(
            name, columns, args.sample, args.validation, args.test, args.propagate, tuple(prepare)
        )
        engine = open_engine(args)
        engine.source("input_nodes", args.nodes)
        engine.source("input_edges", args.edges)
        report = run.Run(engine, options).train(args.out)
        engine.tidy()
    except (LakeError, OSError) as error:
        sys.exit(f"rivulet_mcond.lake: {error}")
    say(f"the artifact is in {args.out}: trainer publish --artifact {args.out}")
    print(json.dumps(report))


def open_engine(args: argparse.Namespace) -> Engine:
    """Return the engine that is asked for; its package is imported here, as nobody needs both."""
    program, work = os.environ.get("RIVULET_TRAINER", "trainer"), args.work.absolute()
    if args.engine == "duckdb":
        from .duck import DuckDB

        return DuckDB(work, program, args.threads, args.memory, args.catalogue)
    from .spark import Spark

    return Spark(work, program, args.threads, args.master, dict(pair.split("=", 1) for pair in args.conf))


if __name__ == "__main__":
    main()
