// Package avro writes and reads the payload of records whose Avro schema is in a registry. [Codec] writes and reads
// records of Rivulet's own schemas. [Schema] reads records of other writers' schemas: it finds an arrival's or a
// label's fields by name, by the aliases of Rivulet's own schemas, and by type.
//
// github.com/twmb/avro parses the schemas and resolves their names. Records are read here, because fields of others'
// schemas are found by name, alias and type, for which the library has no Go type, and because an arrival's ids and
// values go straight into memory that is used again. For a sparse arrival of Amazon Photo's shape that takes 7 µs, and
// 27 by the library (BenchmarkAvroReaders of package event). A stream of these, framed as a registry's clients do, is
// drained at 11,700 arrivals a second by this reader, and at 7,100 (0.61 of it) where the library decodes into its
// generic types and these are copied: medians of three consumers each, in turn in one process with an embedded Kafka.
// Both bound what a hostile count can ask for.
//
// The reader has types of its own, which a schema's [Parse] makes of the library's tree. The tree cannot be read by: a
// type that contains itself is in it by its name, and the library does not export the link to the definition; kinds are
// words, and a node has 400 bytes, so that the 745 columns of Photo by name take 19 µs to walk in place of 12.
//
// Records are written here, by the table of fields that all forms have. The library writes the same bytes of a
// prediction in 500 ns, the table in 240, checks included (UTF-8, finite numbers, ranges). Named features are a map:
// the library writes a Go map, which has no order, and the same arrival would have other bytes each time.
package avro
