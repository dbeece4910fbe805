package avro

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
)

// maxDepth bounds the nesting of values: a type may contain itself.
const maxDepth = 64

// reader reads the values of one record by the writer's schema. It believes no count: it allocates only for values that
// it has read, and a record has no more values than its bytes and its schema allow.
type reader struct {
	data []byte
	at   int
	// left is how many more values may be read, counting values that take no bytes, too.
	left    int
	inPlace fields.InPlace // of the arrival's ids
}

func newReader(s *Schema, data []byte) reader {
	return reader{data: data, left: 4*len(data) + 8*s.types + 64}
}

// short says that the record ends too early.
func (r *reader) short(field string) error {
	return event.Errorf(event.ReasonUnparsable, field, "the record ends inside of it (byte %d)", r.at)
}

// spend counts a value.
func (r *reader) spend(field string) error {
	if r.left--; r.left < 0 {
		return event.Errorf(event.ReasonUnparsable, field, "more values than the record has bytes for (byte %d)", r.at)
	}
	return nil
}

// long reads a zig-zag integer of up to 64 bits.
func (r *reader) long(field string) (int64, error) {
	if r.at < len(r.data) && r.data[r.at] < 1<<7 { // one byte
		u := r.data[r.at]
		r.at++
		return int64(u>>1) ^ -int64(u&1), nil
	}
	u, n := binary.Uvarint(r.data[r.at:])
	switch {
	case n == 0:
		return 0, r.short(field)
	case n < 0:
		return 0, event.Errorf(event.ReasonUnparsable, field, "an integer of more than 64 bits (byte %d)", r.at)
	}
	r.at += n
	return int64(u>>1) ^ -int64(u&1), nil
}

// int reads an integer of 32 bits, or of 64 where t is a long.
func (r *reader) integer(t *schemaType, field string) (int64, error) {
	v, err := r.long(field)
	if err == nil && t.kind == kindInt && (v < math.MinInt32 || v > math.MaxInt32) {
		err = event.Errorf(event.ReasonUnparsable, field, "%d is no int of 32 bits (byte %d)", v, r.at)
	}
	return v, err
}

// take returns the next n bytes, which are a part of the record.
func (r *reader) take(n int64, field string) ([]byte, error) {
	if n < 0 || n > int64(len(r.data)-r.at) {
		return nil, r.short(field)
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b, nil
}

// bytes reads the bytes of a string, bytes or a fixed.
func (r *reader) bytes(t *schemaType, field string) ([]byte, error) {
	if t.kind == kindFixed {
		return r.take(int64(t.size), field)
	}
	n, err := r.long(field)
	if err != nil {
		return nil, err
	}
	return r.take(n, field)
}

// boolean reads true or false.
func (r *reader) boolean(field string) (bool, error) {
	b, err := r.take(1, field)
	if err != nil {
		return false, err
	}
	if b[0] > 1 {
		return false, event.Errorf(event.ReasonUnparsable, field, "%d, want 0 or 1 (byte %d)", b[0], r.at-1)
	}
	return b[0] == 1, nil
}

// symbol reads the word of an enum.
func (r *reader) symbol(t *schemaType, field string) (string, error) {
	i, err := r.long(field)
	if err != nil {
		return "", err
	}
	if i < 0 || i >= int64(len(t.symbols)) {
		return "", event.Errorf(event.ReasonUnparsable, field, "%d is no symbol of the enum, which has %d", i, len(t.symbols))
	}
	return t.symbols[i], nil
}

// resolve returns the type of the next value: the branch that a union has taken.
func (r *reader) resolve(t *schemaType, field string) (*schemaType, error) {
	if t.kind != kindUnion {
		return t, nil
	}
	return r.branch(t, field)
}

// branch reads which branch of a union is taken, as often as that is a union, too.
func (r *reader) branch(t *schemaType, field string) (*schemaType, error) {
	for depth := 0; t.kind == kindUnion; depth++ {
		i, err := r.long(field)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= int64(len(t.branches)) || depth == maxDepth {
			return nil, event.Errorf(event.ReasonUnparsable, field, "%d is no branch of the union, which has %d (byte %d)", i,
				len(t.branches), r.at)
		}
		t = t.branches[i]
	}
	return t, nil
}

// block reads the count of the next block of an array or a map, 0 at its end. size is its length in bytes where the
// writer says it, else -1.
func (r *reader) block(field string) (count int, size int64, err error) {
	n, err := r.long(field)
	if err != nil || n == 0 {
		return 0, -1, err
	}
	size = -1
	if n < 0 {
		if size, err = r.long(field); err != nil {
			return 0, -1, err
		}
		if size < 0 || size > int64(len(r.data)-r.at) {
			return 0, -1, r.short(field)
		}
		n = -n
	}
	if n < 0 || n > int64(r.left) {
		return 0, -1, event.Errorf(event.ReasonUnparsable, field, "%d values in a record of %d bytes (byte %d)", n,
			len(r.data),
			r.at)
	}
	return int(n), size, nil
}

// number reads a number as float64.
func (r *reader) number(t *schemaType, field string) (float64, error) {
	switch t.kind {
	case kindFloat:
		b, err := r.take(4, field)
		if err != nil {
			return 0, err
		}
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
	case kindDouble:
		b, err := r.take(8, field)
		if err != nil {
			return 0, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case kindInt, kindLong:
		v, err := r.integer(t, field)
		return float64(v), err
	}
	b, err := r.bytes(t, field) // a decimal
	if err != nil {
		return 0, err
	}
	v, _ := avro.RatFromBytes(b, t.scale).Float64()
	return v, nil
}

// isNumber reports whether number can read the type.
func (t *schemaType) isNumber() bool {
	switch t.kind {
	case kindFloat, kindDouble, kindInt, kindLong:
		return true
	case kindBytes, kindFixed:
		return t.logical == "decimal"
	}
	return false
}

// isText reports whether a value of the type is read as text.
func (t *schemaType) isText() bool {
	return t.kind == kindString || (t.kind == kindBytes || t.kind == kindFixed) && t.logical == ""
}

// units are the nanoseconds of one unit of the logical types that are times.
var units = map[string]int64{"date": 86400e9, "timestamp-millis": 1e6, "timestamp-micros": 1e3,
	"timestamp-nanos": 1, "local-timestamp-millis": 1e6, "local-timestamp-micros": 1e3, "local-timestamp-nanos": 1}

// unit returns the nanoseconds of one unit of a time, 0 for other types.
func (t *schemaType) unit() int64 {
	if t.kind != kindInt && t.kind != kindLong {
		return 0
	}
	return units[t.logical]
}

// moment reads a time of the years 1 to 9999. A string is one as in RFC 3339.
func (r *reader) moment(t *schemaType, field string) (at time.Time, err error) {
	switch unit := t.unit(); {
	case unit > 0 || t.stamp() > 0:
		v, err := r.integer(t, field)
		if err != nil {
			return at, err
		}
		at = connect.Since(v, max(unit, t.stamp()))
	case t.kind == kindString:
		b, err := r.bytes(t, field)
		if err != nil {
			return at, err
		}
		if at.UnmarshalText(b) != nil {
			return at, event.Errorf(event.ReasonUnparsable, field, "%s, want an RFC 3339 string", fields.Quoted(b))
		}
		at = at.UTC()
	default:
		return at, event.Errorf(event.ReasonUnparsable, field, "the schema has %s %s, want a timestamp", t.word(), t.logical)
	}
	return at, fields.CheckYears(at, field)
}

// skip passes over a value.
func (r *reader) skip(t *schemaType, depth int) (err error) {
	if depth > maxDepth {
		return event.Errorf(event.ReasonUnparsable, "", "values lie deeper in one another than %d (byte %d)", maxDepth, r.at)
	}
	if err = r.spend(""); err != nil {
		return err
	}
	if t, err = r.resolve(t, ""); err != nil {
		return err
	}
	switch t.kind {
	case kindBoolean:
		_, err = r.take(1, "")
	case kindInt, kindLong, kindEnum:
		_, err = r.long("")
	case kindFloat:
		_, err = r.take(4, "")
	case kindDouble:
		_, err = r.take(8, "")
	case kindBytes, kindString, kindFixed:
		_, err = r.bytes(t, "")
	case kindRecord:
		for i := range t.fields {
			if err = r.skip(t.fields[i].typ, depth+1); err != nil {
				return err
			}
		}
	case kindArray, kindMap:
		err = r.skipBlocks(t, depth)
	}
	return err
}

func (r *reader) skipBlocks(t *schemaType, depth int) error {
	for {
		n, size, err := r.block("")
		if err != nil || n == 0 {
			return err
		}
		if size >= 0 {
			r.at += int(size)
			continue
		}
		for range n {
			if t.kind == kindMap {
				if _, err := r.bytes(&textType, ""); err != nil {
					return err
				}
			}
			if err := r.skip(t.items, depth+1); err != nil {
				return err
			}
		}
	}
}

// textType is the type of the keys of maps.
var textType = schemaType{kind: kindString}

// end refuses bytes behind the record.
func (r *reader) end() error {
	if r.at < len(r.data) {
		return event.Errorf(event.ReasonUnparsable, "", "the record goes on after its %d bytes", r.at)
	}
	return nil
}
