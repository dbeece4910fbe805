package event

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event/connect"
)

// AppendJSON appends a record that was written with the schema to dst, as a JSON value: for a mapping, which says
// where in it an arrival is. Unions are their values, enums and times text (RFC 3339), decimals numbers, and bytes
// text where they are UTF-8, else base64; NaN and infinities are null.
func (s *AvroSchema) AppendJSON(dst, data []byte) ([]byte, error) {
	w := avroJSON{avroReader: newAvroReader(s, data), dst: dst, most: len(dst) + TextLimit(len(data))}
	err := w.value(s.root, 0)
	if err == nil {
		err = w.end()
	}
	return w.dst, err
}

// TextLimit is the largest text, in bytes, that may be made of a record of a number of bytes by a registry's schema.
// The schema has names and words, which a record refers to by one byte or none.
func TextLimit(record int) int { return 16*record + 1<<20 }

// TextTooLarge is the error of a record whose text would be larger than [TextLimit].
func TextTooLarge(record int) error {
	return fieldErrorf(ReasonTooLarge, "", "its JSON text by the schema has more than %d bytes, the record has %d",
		TextLimit(record), record)
}

// avroJSON writes what it reads.
type avroJSON struct {
	avroReader
	dst  []byte
	most int // bytes of dst
}

func (w *avroJSON) value(t *avroType, depth int) (err error) {
	if depth > maxAvroDepth {
		return fieldErrorf(ReasonUnparsable, "", "values lie deeper in one another than %d (byte %d)", maxAvroDepth, w.at)
	}
	if err = w.spend(1, ""); err != nil {
		return err
	}
	if len(w.dst) > w.most {
		return TextTooLarge(len(w.data))
	}
	if t, err = w.resolve(t, ""); err != nil {
		return err
	}
	switch t.kind {
	case avroRecord:
		if t.isScaled() {
			return w.scaled(t)
		}
		return w.object(t, depth)
	case avroArray, avroMap:
		return w.list(t, depth)
	}
	return w.scalar(t)
}

func (w *avroJSON) object(t *avroType, depth int) error {
	w.dst = append(w.dst, '{')
	for i, f := range t.fields {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.text([]byte(f.name)); err != nil {
			return err
		}
		w.dst = append(w.dst, ':')
		if err := w.value(f.typ, depth+1); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *avroJSON) list(t *avroType, depth int) error {
	opening, closing := byte('['), byte(']')
	if t.kind == avroMap {
		opening, closing = '{', '}'
	}
	w.dst = append(w.dst, opening)
	for first := true; ; {
		n, _, err := w.block("")
		if err != nil {
			return err
		}
		if n == 0 {
			w.dst = append(w.dst, closing)
			return nil
		}
		for range n {
			if !first {
				w.dst = append(w.dst, ',')
			}
			first = false
			if t.kind == avroMap {
				key, err := w.bytes(&avroText, "")
				if err != nil {
					return err
				}
				if err := w.text(key); err != nil {
					return err
				}
				w.dst = append(w.dst, ':')
			}
			if err := w.value(t.items, depth+1); err != nil {
				return err
			}
		}
	}
}

func (w *avroJSON) scalar(t *avroType) (err error) {
	switch {
	case t.kind == avroNull:
		w.dst = append(w.dst, "null"...)
	case t.kind == avroBoolean:
		var v bool
		v, err = w.boolean("")
		w.dst = strconv.AppendBool(w.dst, v)
	case t.unit() > 0:
		return w.time(t)
	case t.kind == avroInt || t.kind == avroLong:
		var v int64
		v, err = w.integer(t, "")
		w.dst = strconv.AppendInt(w.dst, v, 10)
	case t.isNumber() && t.logical == "decimal": // all its digits, for it may be an id
		var b []byte
		b, err = w.bytes(t, "")
		w.dst = connect.AppendDecimal(w.dst, b, t.scale)
	case t.isNumber():
		var v float64
		v, err = w.number(t, "")
		w.number64(v, t.kind)
	case t.kind == avroEnum:
		var v string
		if v, err = w.symbol(t, ""); err == nil {
			err = w.text([]byte(v))
		}
	default:
		var b []byte
		if b, err = w.bytes(t, ""); err != nil {
			return err
		}
		if t.kind != avroString && (!utf8.Valid(b) || connect.MeaningOf(t.connect) == connect.Bits) {
			b = base64.StdEncoding.AppendEncode(nil, b)
		}
		err = w.text(b)
	}
	return err
}

// number64 writes a float in the shortest form that reads back as the same one of its width.
func (w *avroJSON) number64(v float64, kind avroKind) {
	bits := 64
	if kind == avroFloat {
		bits = 32
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.dst = append(w.dst, "null"...)
		return
	}
	w.dst = strconv.AppendFloat(w.dst, v, 'g', -1, bits)
}

// time writes a time, as a number where it is outside of the years that RFC 3339 has.
func (w *avroJSON) time(t *avroType) error {
	v, err := w.integer(t, "")
	if err != nil {
		return err
	}
	at := unixTime(v, t.unit())
	if !inYears(at) {
		w.dst = strconv.AppendInt(w.dst, v, 10)
		return nil
	}
	w.dst = append(at.AppendFormat(append(w.dst, '"'), time.RFC3339Nano), '"')
	return nil
}

func (w *avroJSON) text(b []byte) (err error) {
	if w.dst, err = jsontext.AppendQuote(w.dst, b); err != nil {
		return fieldErrorf(ReasonUnparsable, "", "%s is not UTF-8", cut(strconv.Quote(string(b[:min(len(b), maxQuoted)]))))
	}
	return nil
}
