// Package local runs stages in this process: with tables in memory, or in files of a directory.
//
//	memory.go   tables in memory
//	disk.go     tables in files: a directory a table, a file a key; a table is whole or missing
//	engine.go   running stages whose tables were not made before
//	run.go      keys over the processors, within the allowed memory
//	hop.go      a hop without messages: the sums of as many blocks as there is memory for, past all sources
//
// Both give the same records. A directory belongs to one process at a time; a later process finds tables of finished
// stages, and removes half-written ones. Files are not synced: after a crash of the machine, not of the process, remove
// the directory.
package local
