// Package pipe runs a stage over standard input and output, a record a line: cmd/worker does so for an engine whose own
// machines cannot run Go, such as Spark's TRANSFORM.
//
//	Job     a stage, the files that it reads, the source of its records
//	Run     does it
//	Main    Run as a program
//
// # Lines
//
// Fields are divided by tabs. Bytes are in base64 without line breaks, as Spark's base64 writes them with
// spark.sql.chunkBase64String.enabled=false.
//
//	in    key, tag, order, payload    sorted by key, tag and order; a key's records one behind the other
//	in    number                      of a file of the job, where it has files: the records are in it
//	out   output, key, order, payload
//	out   -1, 0, [Summary], empty     the last line
//
// A cut input looks like its end. Therefore the last line counts the records that were read and written, and the engine
// compares the sums with the inputs: a difference fails the stage.
//
// # Errors
//
// Whoever feeds a process that has ended sees a broken pipe and no reason. A worker that fails therefore writes one
// line to standard error, [Prefix] and the reason, reads the rest of its input, and ends with status 1.
package pipe
