package event

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

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
// for long should clone it. The error is a *[FieldError]; then the content of a is undefined.
func (Protobuf) DecodeArrival(data []byte, a *Arrival) error {
	return Protobuf{}.decodeArrival(data, a, false)
}

func (Protobuf) decodeArrival(data []byte, a *Arrival, p inPlace) error {
	if met, ok := plainProtobuf(data, a, p); ok {
		if met&metFeatures == 0 {
			return errNoFeatures
		}
		return nil
	}
	return a.walkProtobuf(data)
}

// walkProtobuf is [Protobuf.DecodeArrival] for a record in any form, and says what is wrong with it.
func (a *Arrival) walkProtobuf(data []byte) error {
	e := wireEdgesPool.Get().(*wireEdges)
	defer e.release()
	a.ID, a.Edges, a.Time = "", a.Edges[:0], time.Time{}
	if len(data) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	var hasFeatures bool
	err := walk(data, 0, arrivalTable.Wire, func(v wireValue) (err error) {
		switch f := arrivalTable.ByNumber[v.num]; f.Kind {
		case table.Features:
			if hasFeatures {
				return fieldErrorf(ReasonUnparsable, "features", "is given twice (byte %d)", v.at)
			}
			hasFeatures = true
			err = a.Features.read(v)
		case table.IDs:
			err = e.add(v)
		default:
			err = v.field(f, unsafe.Pointer(a))
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case a.ID == "":
		return fieldErrorf(ReasonUnparsable, "id", "is missing")
	}
	if a.Edges = e.appendTo(a.Edges); !hasFeatures {
		return errNoFeatures
	}
	return nil
}

func wireID(v wireValue, p inPlace) (string, error) {
	id, err := v.text("id")
	if err == nil && len(id) == 0 {
		err = fieldErrorf(ReasonUnparsable, "id", "is empty")
	}
	return p.text(id), err
}

// read reads DenseFeatures, SparseFeatures or NamedFeatures.
func (f *Features) read(v wireValue) error {
	switch v.num {
	case sparseNumber:
		return f.readSparse(v)
	case namedNumber:
		return f.readNamed(v)
	}
	values := f.Values[:0]
	err := walk(v.bytes, v.at, denseFields, func(v wireValue) (err error) {
		values, err = v.floats(values, "features")
		return err
	})
	*f = Features{Values: values}
	if err != nil {
		return err
	}
	return checkFinite(f.Values, "features")
}

func (f *Features) readSparse(v wireValue) error {
	f.Sparse, f.Indices, f.Values, f.Named = true, f.Indices[:0], f.Values[:0], nil
	if !f.plainSparse(v.bytes) {
		f.Indices, f.Values = f.Indices[:0], f.Values[:0]
		err := walk(v.bytes, v.at, sparseFields, func(v wireValue) (err error) {
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
		for range f.Indices {
			f.Values = append(f.Values, 1)
		}
	}
	if err := f.checkPairs(); err != nil {
		return err
	}
	if err := checkFinite(f.Values, "features.values"); err != nil {
		return err
	}
	return f.order()
}

// indices appends one index or a packed list of them to list.
func (v wireValue) indices(list []int32) ([]int32, error) {
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
			return list, wireError(v.num, element(field, len(list)), n, v.at+len(v.bytes)-len(b))
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
		return list, fieldErrorf(ReasonFeatureLength, element("features.indices", len(list)),
			"%d is outside 0…2147483647", i)
	}
	return append(list, int32(i)), nil
}

// wireEdges gathers the edge ids of one record as parts of one string.
type wireEdges struct {
	ids  []byte
	ends []int // edge i is ids[ends[i-1]:ends[i]]
}

var wireEdgesPool = sync.Pool{New: func() any { return new(wireEdges) }}

func (e *wireEdges) release() {
	e.ids, e.ends = e.ids[:0], e.ends[:0]
	if cap(e.ids) <= maxScratch && cap(e.ends) <= maxScratch/8 {
		wireEdgesPool.Put(e)
	}
}

func (e *wireEdges) add(v wireValue) error {
	if len(v.bytes) == 0 {
		return fieldErrorf(ReasonUnparsable, element("edges", len(e.ends)), "is empty")
	}
	id, err := v.text("")
	if err != nil {
		return inside(element("edges", len(e.ends)), err)
	}
	e.ids = append(e.ids, id...)
	e.ends = append(e.ends, len(e.ids))
	return nil
}

func (e *wireEdges) appendTo(edges []string) []string {
	all, start := string(e.ids), 0
	for _, end := range e.ends {
		edges = append(edges, all[start:end])
		start = end
	}
	return edges
}
