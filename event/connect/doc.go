// Package connect reads values as Kafka Connect's converters and Debezium's connectors write them. A row of a table is
// a JSON object there whose members are simpler than the columns: a date is a number of days, a timestamp a number of
// milli-, micro- or nanoseconds, a decimal the bytes of an integer in base64. The meaning of a number is given by the
// schema beside the row, if the converter writes one ("schemas.enable": true), or in the Avro schema of a registry:
//
//	{"type": "int64", "name": "io.debezium.time.MicroTimestamp", "field": "joined"}
//
// [ParseType] reads such a schema, and [Reader] reads a value by its [Type]. Without a type the reader makes the safe
// guesses: the text "41.50" is a number, too; an integer is a time, too, if its magnitude leaves one unit only
// ([guess]). The feature that the value becomes (package schema) then takes the number, the text or the time.
//
// A connector that does not know the value of an unchanged column sends a placeholder in its place. The reader finds it
// in every form in which Debezium writes it, and never takes it for a value.
//
// The package is a leaf: it imports only package schema, whose values it makes.
package connect
