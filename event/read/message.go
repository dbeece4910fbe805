package read

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"rivulet/event"
	"rivulet/schema"
)

// Record is a record as Kafka has it.
type Record struct {
	Key, Value []byte // a Value that is nil is a tombstone
	Headers    []event.Header
}

// Kind is the kind of a message.
type Kind uint8

// Kinds of messages.
const (
	KindArrival Kind = iota + 1
	KindEdge         // an edge of its own
	KindLabel
	KindForget // the record asks to forget an id
	KindSkip   // nothing is wrong with the record, and it is none of the others
)

// Message is the content of a record.
type Message struct {
	Kind Kind
	// Fault says why the record cannot be read, nil if it can be. Kind is then the kind that it would have been, and no
	// other field is set.
	Fault *event.FieldError
	// Arrival is set for KindArrival, with incoming edges among the others.
	Arrival event.Arrival
	Edge    event.Edge
	Label   event.Label
	// ID is the id to forget, or the id of the row that a [SkipDelete] removes, empty if it cannot be read.
	ID string
	// Skip is the reason of KindSkip.
	Skip Skip
}

var messages = sync.Pool{New: func() any { return new(Message) }}

// NewMessage returns a message, perhaps with memory of one that was released.
func NewMessage() *Message { return messages.Get().(*Message) }

// Release gives the memory of messages back, some of which may be nil. Nothing of them is used afterwards.
func Release(list []*Message) {
	for _, m := range list {
		if m == nil {
			continue
		}
		a := &m.Arrival // its ids may be parts of records
		if 16*cap(a.Edges)+4*(cap(a.Features.Indices)+cap(a.Features.Values)) > maxKept {
			continue
		}
		clear(a.Edges)
		*m = Message{Arrival: event.Arrival{Edges: a.Edges[:0], Features: event.Features{Indices: a.Features.Indices[:0],
			Values: a.Features.Values[:0]}}}
		messages.Put(m)
	}
}

// maxKept bounds the memory, in bytes, of a message that is used again.
const maxKept = 64 << 10

// Skip is the reason why a record is passed over.
type Skip string

// Why records are passed over.
const (
	SkipDelete    Skip = "delete"    // a change that removes a row, or a record that asks to forget an id
	SkipTombstone Skip = "tombstone" // a record without a value
	// a connector's record that is about no row, such as a heartbeat or a change of a table
	SkipOther Skip = "other"
	// an edge of its own, where no arrival waits for edges (attach.wait); readers know it as KindEdge
	SkipEdge Skip = "edge"
)

// Skips lists all reasons for which a record is passed over.
var Skips = []Skip{SkipDelete, SkipTombstone, SkipOther, SkipEdge}

// Error says that the record is passed over.
func (s Skip) Error() string { return "the record is passed over: " + string(s) }

// Err returns nil for a message of the kind that is wanted, else an error that says what the record is: the fault, an
// *[event.FieldError], a [Skip], or another one.
func (m *Message) Err(want Kind) error {
	switch {
	case m.Fault != nil:
		return m.Fault
	case m.Kind == want:
		return nil
	}
	switch m.Kind {
	case KindEdge:
		return SkipEdge
	case KindForget:
		return fmt.Errorf("the record asks to forget %s", event.Cut(m.ID))
	case KindSkip:
		return m.Skip
	}
	return errors.New("the record is an arrival or a label")
}

// Copy makes m a copy of another message, in the memory that m has. Texts and vectors are shared.
func (m *Message) Copy(of *Message) {
	own := m.Arrival
	*m = *of
	a := &m.Arrival
	a.Features.Indices = append(own.Features.Indices[:0], a.Features.Indices...)
	a.Features.Values = append(own.Features.Values[:0], a.Features.Values...)
	if a.Features.Named != nil { // else the row is positional
		a.Features.Named = append(own.Features.Named[:0], a.Features.Named...)
	}
	a.Edges = append(own.Edges[:0], a.Edges...)
	a.Weights, a.Types, a.Relations = slices.Clone(a.Weights), slices.Clone(a.Types), slices.Clone(a.Relations)
}

// Size returns about how many bytes a message has in memory beside itself.
func (m *Message) Size() int {
	const text, field = int(unsafe.Sizeof("")), int(unsafe.Sizeof(schema.Field{}))
	a := &m.Arrival
	size := len(a.ID) + len(a.Key) + 4*(len(a.Features.Indices)+len(a.Features.Values)+len(a.Weights)+len(a.Relations))
	for _, list := range [][]string{a.Edges, a.Types} {
		for _, id := range list {
			size += text + len(id)
		}
	}
	for i := range a.Features.Named {
		f := &a.Features.Named[i]
		size += field + len(f.Name) + len(f.Value.Text) + 4*len(f.Value.Vector)
	}
	return size + len(m.Edge.Source) + len(m.Edge.Target) + len(m.Edge.Type) + len(m.ID)
}
