package protobuf

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// Codec is the Codec of "application/x-protobuf": one message a record, of schema/arrival.proto or
// schema/prediction.proto. It is as strict as [json.Codec]: UTF-8 throughout, numbers in range, no field twice that may
// occur once; fields that it does not know are ignored. Errors name fields as in JSON ("features.values[3]"), and
// the byte of the record. It may be used by many goroutines at once.
type Codec struct{}

var _ event.Codec = Codec{}

// ContentType returns "application/x-protobuf"; [read.ForContentType] takes "application/protobuf", too.
func (Codec) ContentType() string { return "application/x-protobuf" }

// takes reports whether a field of a form may have a wire type. A writer may leave a list unpacked.
func takes(w table.Wire, t protowire.Type) bool {
	switch w {
	case table.Varint:
		return t == protowire.VarintType
	case table.Fixed32:
		return t == protowire.Fixed32Type
	case table.Fixed64:
		return t == protowire.Fixed64Type
	case table.VarintList:
		return t == protowire.VarintType || t == protowire.BytesType
	case table.FloatList:
		return t == protowire.Fixed32Type || t == protowire.BytesType
	}
	return t == protowire.BytesType
}

// wireNames are the forms in words, for errors.
var wireNames = [...]string{table.Varint: "an integer", table.Fixed32: "a float", table.Fixed64: "a double",
	table.Bytes: bytesName, table.BytesList: bytesName, table.VarintList: "integers", table.FloatList: "floats"}

// bytesName names the values of the wire type that strings, messages and packed lists share.
const bytesName = "a string or a message"

// value is the value of one field. Bytes are views of the record.
type value struct {
	num    protowire.Number
	bits   uint64 // of an integer or a float
	bytes  []byte // a string, a message or a packed list, then packed is true
	packed bool
	at     int // offset of bytes in the record; for other types the offset behind the value
}

// walk calls each with every field of a message that is in fields, in the order of the message, and skips the
// others. A known field of another wire type is an error, and so is a repeated field that may occur only once:
// readers may differ in which one they use, and two concatenated records would become a mixture. at is the message's
// place in the record. Nothing is allocated: a value is a part of data, whatever length it declares.
func walk(data []byte, at int, fields []table.WireField, each func(v value) error) error {
	var seen uint64
	for len(data) > 0 {
		start := at
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return wireError(0, "", n, at)
		}
		if num > protowire.MaxValidNumber { // protowire accepts it
			return event.Errorf(event.ReasonUnparsable, "", "field %d: the largest number is %d (byte %d)", num,
				protowire.MaxValidNumber, at)
		}
		data, at = data[n:], at+n
		var field table.WireField
		if int(num) < len(fields) {
			field = fields[num]
		}
		v, size := consume(data, num, typ)
		if size < 0 {
			return wireError(num, field.Name, size, at)
		}
		data, at = data[size:], at+size
		v.at = at - len(v.bytes)
		if field.Wire == table.Unknown {
			continue
		}
		if !takes(field.Wire, typ) {
			return event.Errorf(event.ReasonUnparsable, field.Name, "%s, want %s (byte %d)", wireTypeName(typ),
				wireNames[field.Wire], start)
		}
		if bit := uint64(1) << num; field.Wire <= table.Bytes {
			if seen&bit != 0 {
				return event.Errorf(event.ReasonUnparsable, field.Name, "is given twice (byte %d)", start)
			}
			seen |= bit
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// consume reads the value at the beginning of data and returns its length there, or the code of an error, below 0.
func consume(data []byte, num protowire.Number, typ protowire.Type) (v value, n int) {
	v.num = num
	switch typ {
	case protowire.VarintType:
		v.bits, n = protowire.ConsumeVarint(data)
	case protowire.Fixed32Type:
		var bits uint32
		bits, n = protowire.ConsumeFixed32(data)
		v.bits = uint64(bits)
	case protowire.Fixed64Type:
		v.bits, n = protowire.ConsumeFixed64(data)
	case protowire.BytesType:
		v.bytes, n = protowire.ConsumeBytes(data)
		v.packed = true
	default: // no known field has this type
		n = protowire.ConsumeFieldValue(num, typ, data)
	}
	return v, n
}

// wireError turns an error code of protowire into a *[event.FieldError] with the place of the error.
func wireError(num protowire.Number, field string, code, at int) error {
	what := "the record ends inside of it"
	if err := protowire.ParseError(code); !errors.Is(err, io.ErrUnexpectedEOF) {
		// The library begins with "proto:" and one of two spaces, by chance.
		what = strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	}
	if field == "" {
		what = "field " + strconv.Itoa(int(num)) + ": " + what
		if num == 0 {
			what = "reading the number of a field: " + what[len("field 0: "):]
		}
	}
	return event.Errorf(event.ReasonUnparsable, field, "%s (byte %d)", what, at)
}

func wireTypeName(t protowire.Type) string {
	switch t {
	case protowire.VarintType:
		return "a varint"
	case protowire.Fixed32Type:
		return "4 bytes"
	case protowire.Fixed64Type:
		return "8 bytes"
	case protowire.BytesType:
		return bytesName
	}
	return "a group"
}

// text returns the bytes of a string.
func (v value) text(field string) ([]byte, error) {
	return v.bytes, fields.CheckText(v.bytes, field)
}

// integer returns an integer from lo to hi.
func (v value) integer(field string, lo, hi int64) (int64, error) {
	if i := int64(v.bits); i >= lo && i <= hi {
		return i, nil
	}
	return 0, event.Errorf(event.ReasonUnparsable, field, "%d is outside %d…%d", int64(v.bits), lo, hi)
}

func (v value) float() float32 { return math.Float32frombits(uint32(v.bits)) }

// floats appends one value or a packed list of them to list.
func (v value) floats(list []float32, field string) ([]float32, error) {
	if !v.packed {
		return append(list, v.float()), nil
	}
	const width = 4
	if len(v.bytes)%width != 0 {
		return list, event.Errorf(event.ReasonUnparsable, field, "%d bytes are no list of floats (byte %d)",
			len(v.bytes), v.at)
	}
	list = slices.Grow(list, len(v.bytes)/width)
	for b := v.bytes; len(b) >= width; b = b[width:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list, nil
}

const maxNanos = 999_999_999

var timestampFields = []table.WireField{1: {Name: "seconds", Wire: table.Varint},
	2: {Name: "nanos", Wire: table.Varint}}

// time reads a google.protobuf.Timestamp. The result is in UTC; the first moment of the year 1 is the zero Time.
func (v value) time(field string) (time.Time, error) {
	var seconds, nanos int64
	err := walk(v.bytes, v.at, timestampFields, func(v value) (err error) {
		if v.num == 1 {
			seconds, err = v.integer("seconds", connect.MinSeconds, connect.MaxSeconds)
		} else {
			nanos, err = v.integer("nanos", 0, maxNanos)
		}
		return err
	})
	if err != nil {
		return time.Time{}, fields.Inside(field, err)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}
