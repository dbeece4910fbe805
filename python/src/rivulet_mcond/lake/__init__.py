"""Train on a graph that lies in tables of a lake, and is larger than memory, by DuckDB or Spark.

    python -m rivulet_mcond.lake --engine duckdb --nodes users.parquet --edges follows.parquet --work w --out m
    python -m rivulet_mcond.lake --engine spark --nodes lake.users --edges lake.follows --work /mnt/w --out m

Three things are as large as the graph: degrees, hops (sums over neighbours of a few columns), and a row of M,
the mapping to synthetic nodes, for each node. The first two are joins and sums of SQL; the last is `trainer
rows` over the parts of a table. Models are fitted, and S is made, in a sample of the nodes by the trainer.
docs/scale.md is the manual.

    engine.py   tables in a work directory, each made once and whole; duck.py and spark.py: the two engines
    graph.py    the user's tables, checked, as a graph with degrees
    sample.py   the part of the graph in which models are fitted, and the nodes that are held out
    run.py      the run: layers and hops, rows of M, the artifact
"""
