// Package avro writes and reads the payload of records whose Avro schema is in a registry. [Codec] writes and reads
// records of Rivulet's own schemas. [Schema] reads records of other writers' schemas: it finds an arrival's or a
// label's fields by name, by the aliases of Rivulet's own schemas, and by type.
//
// github.com/twmb/avro parses the schemas and decodes the records. Lists of an arrival are decoded straight into its
// memory, each field of the root by a schema of its own; other values are Go values ([part]). Of reading only the
// bounds are here: the library does not bound what all arrays of a record become together ([bounder]).
//
// Records are written here, by the table of fields that all forms have. The library writes the same bytes of a
// prediction in 500 ns, the table in 240, checks included (UTF-8, finite numbers, ranges). Named features are a map:
// the library writes a Go map, which has no order, and the same arrival would have other bytes each time.
package avro
