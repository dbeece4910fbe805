// Package avro writes and reads the payload of records whose Avro schema is in a registry. [Codec] writes and reads
// records of Rivulet's own schemas. [Schema] reads records of other writers' schemas: it finds an arrival's or a
// label's fields by name, by the aliases of Rivulet's own schemas, and by type.
//
// github.com/twmb/avro parses the schemas and resolves their names. Records are read here, because an arrival's ids and
// values go straight into memory that is used again (BenchmarkAvroReaders of package event: 7 µs for a sparse arrival
// of Amazon Photo's shape, 27 by the library), and because a reader of others' records must not believe their counts.
//
// The reader has types of its own, which a schema's [Parse] makes of the library's tree. The tree cannot be read by: a
// type that contains itself is in it by its name, and the library does not export the link to the definition; kinds are
// words, and a node has 400 bytes, so that the 745 columns of Photo by name take 19 µs to walk in place of 12.
//
// Records are written here, by the table of fields that all forms have. The library writes the same bytes of a
// prediction in 500 ns, the table in 240, checks included (UTF-8, finite numbers, ranges). Named features are a map:
// the library writes a Go map, which has no order, and the same arrival would have other bytes each time.
package avro
