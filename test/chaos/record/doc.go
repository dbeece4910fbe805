// Package record makes the records that package chaos sends: arrivals in each form that a consumer reads, and records
// that nobody can predict.
//
//	make.go      arrivals of a data set
//	form.go      an arrival in one of the forms of a stream
//	headers.go   headers by which the sender tells the reader what it sent
//	registry.go  a schema registry that can be away
//	poison.go    records that cannot be predicted, with the reason of their dead letters
package record
