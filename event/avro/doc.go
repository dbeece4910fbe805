// Package avro is the Avro form of Rivulet's records, in Avro's binary encoding, and the reader of records that were
// written with schemas of others: [Schema] maps their fields to an arrival's or a label's, by name, by the aliases of
// Rivulet's own schemas, and by type.
//
//	avro.go     Codec, and the writer of features
//	message.go  writer and reader by table
//	schema.go   Schema: the schema of a writer, and the fields of a message in it
//	read.go     the values of a record by that schema; arrival.go: the fields of an arrival
//	named.go    features by name
//	json.go     a record as JSON text, for a mapping; connect.go: rows of Kafka Connect and Debezium
//
// github.com/twmb/avro parses the schemas. Records are read here, because an arrival's ids and values go straight into
// memory that is used again (BenchmarkAvroReaders of package event compares both), and because a reader of others'
// records must not believe their counts.
package avro
