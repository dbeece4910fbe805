package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	wire "rivulet/event/read"
)

// Limits of the consumers: bytes and edges of a record.
const (
	MaxBytes = 64 << 10
	MaxEdges = 1000
)

// MappedEdges is where a stream with a mapping has the list of neighbours, in JSON.
const MappedEdges = "links"

// Value is the value of a record, and the headers that it needs.
type Value struct {
	Bytes       []byte
	ContentType string // empty: JSON, or a schema of the registry
	Headers     []kgo.RecordHeader
	Reason      string // as ledger.Arrival.Reason; empty: it must be predicted
}

// Form is a way to write an arrival.
type Form string

// The forms. Absent leaves the features to the feature store.
const (
	JSON     Form = "JSON"
	Mapped   Form = "JSON with a mapping"
	Absent   Form = "without features"
	Protobuf Form = "Protobuf"
	ByAvro   Form = "Avro by the registry"
	ByProto  Form = "Protobuf by the registry"
	ByJSON   Form = "JSON by the registry"
)

// Arrival is an arrival in each of the forms that its streams use.
type Arrival struct {
	ID    string
	Value map[Form][]byte // of the forms by the registry, without the schema's id
	// Decoded is the arrival itself.
	Decoded *event.Arrival
}

// write writes an arrival in all forms.
func write(a *event.Arrival) (Arrival, error) {
	w := Arrival{ID: a.ID, Value: map[Form][]byte{}, Decoded: a}
	var err error
	for form, codec := range map[Form]interface {
		AppendArrival(dst []byte, a *event.Arrival) ([]byte, error)
	}{JSON: json.Codec{}, Protobuf: protobuf.Codec{}, ByAvro: avro.Codec{}} {
		data, failed := codec.AppendArrival(nil, a)
		w.Value[form], err = data, errors.Join(err, failed)
	}
	w.Value[ByJSON] = w.Value[JSON]
	w.Value[ByProto] = append([]byte{0}, w.Value[Protobuf]...) // the first message of its schema
	w.Value[Mapped] = renamed(w.Value[JSON])
	without := *a
	without.Features = event.Features{Absent: true}
	bare, failed := json.Codec{}.AppendArrival(nil, &without)
	w.Value[Absent] = renamed(bare)
	return w, errors.Join(err, failed)
}

// renamed has the neighbours where the mapping has them.
func renamed(value []byte) []byte {
	return bytes.Replace(value, []byte(`"edges":`), fmt.Appendf(nil, "%q:", MappedEdges), 1)
}

// In returns the arrival in one of some forms.
func (a *Arrival) In(forms []Form, rng *rand.Rand, by *Registry) Value {
	form := forms[rng.IntN(len(forms))]
	v := Value{Bytes: a.Value[form]}
	switch form {
	case Protobuf:
		v.ContentType = protobuf.Codec{}.ContentType()
	case ByAvro, ByProto, ByJSON:
		v.Bytes = append(wire.AppendConfluentHead(nil, by.ID(form)), v.Bytes...)
	}
	return v
}

// Of returns an arrival in a form of JSON.
func Of(a *event.Arrival, form Form) (Value, error) {
	text, err := json.Codec{}.AppendArrival(nil, a)
	if form == Mapped {
		text = renamed(text)
	}
	return Value{Bytes: text}, err
}

// OfEdge returns an edge in one of the forms that need no registry.
func OfEdge(from, to string, rng *rand.Rand) (Value, error) {
	type codec interface {
		AppendEdge(dst []byte, e *event.Edge) ([]byte, error)
		ContentType() string
	}
	with := []codec{json.Codec{}, protobuf.Codec{}}[rng.IntN(2)]
	data, err := with.AppendEdge(nil, &event.Edge{Source: from, Target: to, Weight: 1})
	return Value{Bytes: data, ContentType: with.ContentType()}, err
}

// Padded returns a record in JSON with spaces after it, which mean nothing.
func Padded(value []byte, spaces int) []byte {
	return append(bytes.Clone(value), bytes.Repeat([]byte{' '}, spaces)...)
}

// FeaturesKey returns the key under which the feature store has the features of an id.
func FeaturesKey(id string) string { return "features:" + id }

// Stored returns the arrival's features as the feature store has them, by features.format float32.
func (a *Arrival) Stored(d int) []byte {
	f := &a.Decoded.Features
	values := f.Values
	if f.Sparse {
		values = make([]float32, d)
		for k, at := range f.Indices {
			values[at] = f.Values[k]
		}
	}
	data, _ := wire.FeaturesFloat32.Append(nil, &event.Features{Values: values}) // they are finite
	return data
}
