// Package avro is the payload of records by a registry's Avro schemas: [Codec] writes and reads those of Rivulet's own
// schemas, and [Schema] reads those of other writers' schemas. It maps their fields to an arrival's or a label's, by
// name, by the aliases of Rivulet's own schemas, and by type.
//
// github.com/twmb/avro parses the schemas. Records are read here, because an arrival's ids and values go straight into
// memory that is used again (BenchmarkAvroReaders of package event compares both), and because a reader of others'
// records must not believe their counts.
package avro
