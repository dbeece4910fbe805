// Package read reads records of every form that a topic may have. A [Reader] makes one [Message] of a record, once:
//
//  1. open: headers say which form the record has, and a registry has its schema. A record that is mapped becomes one
//     JSON document, and one pass over it finds all values that may matter (open.go, document.go).
//  2. classify: the record is an arrival, an edge of its own, a label, asks to forget an id, or is passed over
//     (classify.go).
//  3. fill: the values become the message (fill.go). What cannot be read is its [Message.Fault].
//
// Everything behind the reader looks at the message and not at the record again, but for dead letters, which repeat the
// record's bytes.
package read
