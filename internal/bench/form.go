package bench

import (
	"fmt"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/kafka"
)

// formRecords are the arrivals of a stream in a wire form.
type formRecords struct {
	name     string
	codec    event.Codec
	headers  []kafka.Header // of every arrival
	arrivals *texts         // key and value of each
}

// newForm encodes arrivals.
func newForm(name string, all []event.Arrival) (*formRecords, error) {
	codec, ok := read.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("there is no form %s", name)
	}
	f := &formRecords{name: name, codec: codec,
		headers: []kafka.Header{{Key: event.HeaderContentType, Value: []byte(codec.ContentType())}}}
	made := textWriter{parts: 2}
	for i := range all {
		made.add([]byte(all[i].ID))
		value, err := codec.AppendArrival(made.bytes, &all[i])
		if err != nil {
			return nil, err
		}
		made.grown(value)
	}
	var err error
	f.arrivals, err = made.texts()
	return f, err
}

// len is the number of arrivals.
func (f *formRecords) len() int { return f.arrivals.len() }

// records are arrivals from one number up to another, without times.
func (f *formRecords) records(from, to int) []kafka.Record {
	out := make([]kafka.Record, to-from)
	for i := range out {
		out[i] = kafka.Record{Key: f.arrivals.part(from+i, 0), Value: f.arrivals.part(from+i, 1), Headers: f.headers}
	}
	return out
}

// close gives the memory back.
func (f *formRecords) close() { f.arrivals.free() }

// numberOf returns the number of an arrival in its stream, which ends its id.
func numberOf(id string) (int, bool) {
	k, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return k, err == nil && k >= 0
}

// texts are byte strings by number, each in the same number of parts. Their bytes lie outside of Go's heap: a
// consumer does not hold its topic in memory, so the garbage collections that are measured with it should not find one
// there.
type texts struct {
	bytes []byte
	ends  []int // end of each part
	parts int
	free  func()
}

// len is the number of texts.
func (t *texts) len() int { return len(t.ends) / t.parts }

// part returns a part of a text. It is valid until close.
func (t *texts) part(k, p int) []byte {
	begin, at := 0, k*t.parts+p
	if at > 0 {
		begin = t.ends[at-1]
	}
	return t.bytes[begin:t.ends[at]:t.ends[at]]
}

// textWriter makes texts, part by part.
type textWriter struct {
	bytes []byte
	ends  []int
	parts int
}

// add appends a part.
func (w *textWriter) add(part []byte) { w.grown(append(w.bytes, part...)) }

// grown takes bytes to which somebody has appended a part.
func (w *textWriter) grown(bytes []byte) { w.bytes, w.ends = bytes, append(w.ends, len(bytes)) }

// texts moves the written text out of the heap.
func (w *textWriter) texts() (*texts, error) {
	bytes, free, err := outside(len(w.bytes))
	if err != nil {
		return nil, err
	}
	copy(bytes, w.bytes)
	return &texts{bytes: bytes, ends: w.ends, parts: w.parts, free: free}, nil
}
