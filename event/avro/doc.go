// Package avro writes and reads the payload of records whose Avro schema is in a registry. [Codec] writes and reads
// records of Rivulet's own schemas. [Schema] reads records of other writers' schemas: it finds an arrival's or a
// label's fields by name, by the aliases of Rivulet's own schemas, and by type.
//
// github.com/twmb/avro parses the schemas. Records are read here, because an arrival's ids and values go straight into
// memory that is used again (BenchmarkAvroReaders of package event compares both), and because a reader of others'
// records must not believe their counts.
package avro
