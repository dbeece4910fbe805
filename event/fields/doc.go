// Package fields has the shared parts of all forms' codecs: one table of fields for each message, and the checks and
// lists that readers and writers need.
//
// A row of a table has a field's name, its Protobuf number, its kind and its place in the Go struct (package table). A
// new field of a message is one row here, one field of the struct in package event, and one line in each file of
// event/schema; a test compares them.
package fields
