// Package local runs stages in this process: with tables in memory, or in files of a directory.
//
//	memory.go   tables in memory
//	disk.go     tables in files: a directory a table, a file a key; a table is whole or missing
//	engine.go   which stages are run, and what was made already
//	run.go      keys over the processors, within the memory that is allowed
//	hop.go      a hop without messages: the sums of as many blocks as there is memory for, past all sources
//
// Both give the same records. A directory belongs to one process at a time; tables of finished stages are found
// again by a later one. What was half written when a process ended is removed by the next. Files are not synced:
// after a crash of the machine, not of the process, remove the directory.
package local
