// Package readtest reads single records for tests, into an arrival or an edge whose memory was used before.
package readtest

import (
	"rivulet/event"
	"rivulet/event/read"
)

// Arrival reads a record that should be an arrival; the error is that of [read.Message.Err].
func Arrival(r *read.Reader, headers []event.Header, value []byte, a *event.Arrival) error {
	m := read.Message{Arrival: *a}
	r.Read(read.Record{Headers: headers, Value: value}, &m)
	*a = m.Arrival
	return m.Err(read.KindArrival)
}

// Edge reads a record, and reports whether it is an edge.
func Edge(r *read.Reader, headers []event.Header, value []byte, e *event.Edge) (is bool, err error) {
	m := read.Message{Edge: *e}
	r.Read(read.Record{Headers: headers, Value: value}, &m)
	if is = m.Kind == read.KindEdge; is {
		*e, err = m.Edge, m.Err(read.KindEdge)
	}
	return is, err
}
