package protobuf

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/fields"
)

// Tags of an arrival's fields by their numbers in the table, of wire type 2 (a length and as many bytes).
const (
	tagID     = fields.NumberID<<3 | byte(protowire.BytesType)
	tagDense  = fields.NumberDense<<3 | byte(protowire.BytesType)
	tagSparse = fields.NumberSparse<<3 | byte(protowire.BytesType)
	tagEdge   = fields.NumberEdges<<3 | byte(protowire.BytesType)
	tagTime   = fields.NumberTime<<3 | byte(protowire.BytesType)
	tagNamed  = fields.NumberNamed<<3 | byte(protowire.BytesType)

	tagWeights = fields.NumberWeights<<3 | byte(protowire.BytesType)
	// a varint, unlike the others
	tagEdgeCount = fields.NumberEdgeCount<<3 | byte(protowire.VarintType)
)

// Bits for the fields that have been met.
const (
	metID = 1 << iota
	metFeatures
	metEdges
	metTime
	metWeights
	metEdgeCount
)

// plainArrival reads an arrival in its plain form: the fields of the contract only, each once, the edges one after the
// other with ids of up to 127 bytes. Producers write this form, and no function is called for an edge. Like the scanner
// of JSON it refuses nothing itself: if a record is not plain or not right it gives up, and [walkArrival] reads it from
// the beginning and decides (TestPlainProtobufIsDecoded, FuzzDecodeProtobufArrival). It returns the set of the fields
// that it met; the other fields of a are empty, except the features.
func plainArrival(data []byte, a *event.Arrival, p fields.InPlace) (met int, ok bool) {
	fields.BeginArrival(a)
	for at := 0; at < len(data); {
		tag, field := data[at], 0
		if tag == tagEdge {
			if at, ok = plainEdges(a, data, at, p); !ok || met&metEdges != 0 {
				return met, false
			}
			met |= metEdges
			continue
		}
		size, n := binary.Uvarint(data[at+1:])
		if tag == tagEdgeCount {
			if at += 1 + n; n <= 0 || size > math.MaxUint32 || met&metEdgeCount != 0 {
				return met, false
			}
			a.EdgeCount, met = int(size), met|metEdgeCount
			continue
		}
		if at += 1 + n; n <= 0 || size > uint64(len(data)-at) {
			return met, false
		}
		v := value{num: protowire.Number(tag >> 3), bytes: data[at : at+int(size)], packed: true, at: at}
		at += int(size)
		var err error
		switch tag {
		case tagID:
			field = metID
			a.ID, err = wireID(v, p)
		case tagDense, tagSparse, tagNamed:
			field = metFeatures
			err = readFeatures(&a.Features, v)
		case tagWeights:
			field = metWeights
			if a.Weights, err = v.floats(nil, "weights"); err == nil {
				err = fields.CheckNumbers(a.Weights, "weights")
			}
		case tagTime:
			field = metTime
			a.Time, err = v.time("time")
		}
		if field == 0 || met&field != 0 || err != nil {
			return met, false
		}
		met |= field
	}
	return met, met&metID != 0
}

// plainSparse reads a sparse row in its plain form: the packed indices and then the packed values, if there are any.
// Like plainArrival it gives up if a row is not plain or not right.
func plainSparse(f *event.Features, data []byte) (ok bool) {
	indices, rest := packedList(data, sparseIndices)
	values, rest := packedList(rest, sparseValues)
	if len(rest) > 0 {
		return false
	}
	var err error
	if f.Indices, err = (value{bytes: indices, packed: true}).indices(f.Indices); err != nil {
		return false
	}
	f.Values, err = value{bytes: values, packed: true}.floats(f.Values, "")
	return err == nil
}

// packedList returns the bytes of the packed list with which data begins, and the bytes behind it; none and data if
// data begins with something else.
func packedList(data []byte, num byte) (list, rest []byte) {
	if len(data) == 0 || data[0] != num<<3|byte(protowire.BytesType) {
		return nil, data
	}
	size, n := binary.Uvarint(data[1:])
	if from := 1 + n; n > 0 && size <= uint64(len(data)-from) {
		return data[from : from+int(size)], data[from+int(size):]
	}
	return nil, data
}

// plainEdges appends the ids of the edges that begin at a place, one after the other, and returns where they end.
func plainEdges(a *event.Arrival, data []byte, from int, p fields.InPlace) (end int, ok bool) {
	end = from
	for end+1 < len(data) && data[end] == tagEdge {
		n := int(data[end+1])
		if end += 2 + n; n == 0 || n >= 1<<7 || end > len(data) {
			return end, false
		}
	}
	// Tags and lengths are ASCII, so the whole is UTF-8 where each id is.
	if end == from || !utf8.Valid(data[from:end]) {
		return end, false
	}
	for all := p.Text(data[from:end]); all != ""; {
		n := 2 + int(all[1])
		a.Edges = append(a.Edges, all[2:n])
		all = all[n:]
	}
	return end, true
}
