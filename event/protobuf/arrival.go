package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// Numbers of DenseFeatures and SparseFeatures in schema/arrival.proto.
const (
	denseValues   = 1
	sparseIndices = 1
	sparseValues  = 2
)

var (
	denseFields  = []table.WireField{denseValues: {Name: "features", Wire: table.FloatList}}
	sparseFields = []table.WireField{sparseIndices: {Name: "features.indices", Wire: table.VarintList},
		sparseValues: {Name: "features.values", Wire: table.FloatList}}
)

// DecodeArrival reads one Protobuf record into a. It overwrites all of a and reuses its slices; the strings are new,
// so ids of earlier records stay valid. The ids of a.Edges are parts of one string: a caller that keeps a single one
// for long should clone it. The error is a *[event.FieldError]; then the content of a is undefined.
func (Codec) DecodeArrival(data []byte, a *event.Arrival) error {
	return decodeArrival(data, a, false)
}

// DecodeInPlace is DecodeArrival with ids that are parts of data, which must not change while they are used.
func (Codec) DecodeInPlace(data []byte, a *event.Arrival) error {
	return decodeArrival(data, a, true)
}

func decodeArrival(data []byte, a *event.Arrival, p fields.InPlace) error {
	if met, ok := plainArrival(data, a, p); ok {
		if met&metFeatures == 0 {
			return event.ErrNoFeatures
		}
		return nil
	}
	return walkArrival(data, a)
}

// walkArrival is [Codec.DecodeArrival] for a record in any form, and names its fault.
func walkArrival(data []byte, a *event.Arrival) error {
	e, incoming, types := fields.NewEdgeIDs(), fields.NewEdgeIDs(), fields.NewEdgeIDs()
	defer e.Release()
	defer incoming.Release()
	defer types.Release()
	incoming.Field, types.Field = "incoming", "types"
	fields.BeginArrival(a)
	if len(data) == 0 {
		return event.Errorf(event.ReasonUnparsable, "", "the record is empty")
	}
	var hasFeatures bool
	err := walk(data, 0, fields.Arrival.Wire, func(v value) (err error) {
		switch f := fields.Arrival.ByNumber[v.num]; f.Kind {
		case table.Features:
			if hasFeatures {
				return event.Errorf(event.ReasonUnparsable, "features", "is given twice (byte %d)", v.at)
			}
			hasFeatures = true
			err = readFeatures(&a.Features, v)
		case table.IDs, table.Edges:
			of := e
			switch f.Number {
			case fields.NumberIncoming:
				of = incoming
			case fields.NumberTypes:
				of = types
			}
			err = of.Add(v.bytes)
		default:
			err = v.field(f, table.At(fields.Arrival, a))
		}
		return err
	})
	if err == nil {
		err = fields.CheckNumbers(a.Weights, "weights")
	}
	switch {
	case err != nil:
		return err
	case a.ID == "":
		return event.Errorf(event.ReasonUnparsable, "id", "is missing")
	}
	a.Incoming, a.Types = incoming.AppendTo(nil), types.AppendTo(nil)
	if a.Edges = e.AppendTo(a.Edges); !hasFeatures {
		return event.ErrNoFeatures
	}
	return nil
}

func wireID(v value, p fields.InPlace) (string, error) {
	id, err := v.text("id")
	if err == nil && len(id) == 0 {
		err = event.Errorf(event.ReasonUnparsable, "id", "is empty")
	}
	return p.Text(id), err
}

// readFeatures reads DenseFeatures, SparseFeatures or NamedFeatures.
func readFeatures(f *event.Features, v value) error {
	switch v.num {
	case fields.NumberSparse:
		return readSparse(f, v)
	case fields.NumberNamed:
		return readNamed(f, v)
	}
	values := f.Values[:0]
	err := walk(v.bytes, v.at, denseFields, func(v value) (err error) {
		values, err = v.floats(values, "features")
		return err
	})
	*f = event.Features{Values: values}
	if err != nil {
		return err
	}
	return event.CheckFinite(f.Values, "features")
}

func readSparse(f *event.Features, v value) error {
	f.Sparse, f.Indices, f.Values, f.Named = true, f.Indices[:0], f.Values[:0], nil
	if !plainSparse(f, v.bytes) {
		f.Indices, f.Values = f.Indices[:0], f.Values[:0]
		err := walk(v.bytes, v.at, sparseFields, func(v value) (err error) {
			if v.num == sparseIndices {
				f.Indices, err = v.indices(f.Indices)
			} else {
				f.Values, err = v.floats(f.Values, "features.values")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(f.Values) == 0 {
		fields.SetOnes(f)
	}
	if err := event.CheckFinite(f.Values, "features.values"); err != nil {
		return err
	}
	return fields.Order(f)
}

// indices appends one index or a packed list of them to list.
func (v value) indices(list []int32) ([]int32, error) {
	const field = "features.indices"
	if !v.packed {
		return appendIndex(list, v.bits)
	}
	for b := v.bytes; len(b) > 0; {
		if b[0] < 1<<7 {
			list, b = append(list, int32(b[0])), b[1:]
			continue
		}
		i, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return list, wireError(v.num, event.Element(field, len(list)), n, v.at+len(v.bytes)-len(b))
		}
		var err error
		if list, err = appendIndex(list, i); err != nil {
			return list, err
		}
		b = b[n:]
	}
	return list, nil
}

func appendIndex(list []int32, i uint64) ([]int32, error) {
	if i > math.MaxInt32 {
		return list, event.Errorf(event.ReasonFeatureLength, event.Element("features.indices", len(list)),
			"%d is outside 0…2147483647", i)
	}
	return append(list, int32(i)), nil
}
