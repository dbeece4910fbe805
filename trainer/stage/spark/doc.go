// Package spark runs the stages of a training run on Apache Spark: Spark schedules, shuffles, sorts, stores and repeats
// failed tasks; the mathematics are in the program cmd/worker, through which SQL's TRANSFORM passes the records. There
// is no code of ours in Java or Python.
//
//	Open     an engine on a [Runner]
//	Connect  a Runner: a Spark Connect server, Spark 4
//	Command  a Runner: the program spark-sql, Spark 3.5.2 or newer, which works with YARN, EMR and Dataproc
//	Workers  finds the programs that are sent to Spark's machines
//
// # Tables
//
// A stage is one statement, and its outputs one directory of Parquet below the working directory, which is a path that
// all of Spark's machines see:
//
//	WORK/STAGE-HASH/rows-RUN  t (output), k (key), o (order), p (payload), and a row with t = -1 for each worker: its
//	                          Summary
//	WORK/STAGE-HASH/done      one row that describes the tables, and names their directory of rows
//
// Each run writes rows in directories of its own: Spark goes on for minutes with the statement of a driver that was
// killed, and two statements that write one directory would mix their files. done is written when rows are complete.
//
// No catalog and no names of tables in Spark are needed. A stage that is done is not run again, by a driver that goes
// on after it was killed, or by another run on the same data with the same options.
//
// # Files
//
// engine.go is the engine and its tables, run.go a stage as a statement, sql.go how texts get into one. runner.go says
// what runs statements: server.go (Spark Connect), command.go (spark-sql). worker.go finds the programs to send,
// inplace.go reads tables where they lie, clean.go removes what a run has left.
//
// # Statements
//
// Every path and every column name of a user passes through [literal] or [identifier]; nothing else of a user gets into
// a statement. A stage's options and weights are files that are sent along, called after their SHA-256, as is the
// worker: an older file of the same name cannot be taken for it. No statement, command line or file that is sent has a
// token.
package spark
