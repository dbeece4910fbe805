// Package fields has the shared parts of all forms' codecs: one table of fields for each message, and the checks and
// lists that readers and writers need.
//
//	fields.go     the tables Arrival, Label and Prediction, and checks of their values
//	namedlist.go  features by name, in memory that is used again from record to record
//	sparse.go     sparse rows
//	edgelist.go   EdgeIDs: ids of one record as parts of one string; inplace.go: ids that share their record's memory
//	writer.go     Writer: a record and the first error
//
// A row of a table has a field's name, its Protobuf number, its kind and its place in the Go struct (package table). A
// new field of a message is one row here, one field of the struct in package event, and one line in each file of
// event/schema; a test compares them.
package fields
