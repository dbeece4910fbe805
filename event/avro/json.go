package avro

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
)

// AppendJSON appends a record that was written with the schema to dst, as a JSON value: for a mapping, which says
// where in it an arrival is. Unions are their values, enums and times text (RFC 3339), decimals numbers, and bytes
// text where they are UTF-8, else base64; NaN and infinities are null.
func (s *Schema) AppendJSON(dst, data []byte) ([]byte, error) {
	w := jsonWriter{reader: newReader(s, data), dst: dst, most: len(dst) + TextLimit(len(data))}
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
	return event.Errorf(event.ReasonTooLarge, "", "its JSON text by the schema has more than %d bytes, the record has %d",
		TextLimit(record), record)
}

// jsonWriter writes what it reads.
type jsonWriter struct {
	reader
	dst  []byte
	most int // bytes of dst
}

func (w *jsonWriter) value(t *schemaType, depth int) (err error) {
	if depth > maxDepth {
		return event.Errorf(event.ReasonUnparsable, "", "values lie deeper in one another than %d (byte %d)", maxDepth, w.at)
	}
	if err = w.spend(""); err != nil {
		return err
	}
	if len(w.dst) > w.most {
		return TextTooLarge(len(w.data))
	}
	if t, err = w.resolve(t, ""); err != nil {
		return err
	}
	switch t.kind {
	case kindRecord:
		if t.isScaled() {
			return w.scaled(t)
		}
		return w.object(t, depth)
	case kindArray, kindMap:
		return w.list(t, depth)
	}
	return w.scalar(t)
}

func (w *jsonWriter) object(t *schemaType, depth int) error {
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

func (w *jsonWriter) list(t *schemaType, depth int) error {
	opening, closing := byte('['), byte(']')
	if t.kind == kindMap {
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
			if t.kind == kindMap {
				key, err := w.bytes(&textType, "")
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

func (w *jsonWriter) scalar(t *schemaType) (err error) {
	switch {
	case t.kind == kindNull:
		w.dst = append(w.dst, "null"...)
	case t.kind == kindBoolean:
		var v bool
		v, err = w.boolean("")
		w.dst = strconv.AppendBool(w.dst, v)
	case t.unit() > 0:
		return w.time(t)
	case t.kind == kindInt || t.kind == kindLong:
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
	case t.kind == kindEnum:
		var v string
		if v, err = w.symbol(t, ""); err == nil {
			err = w.text([]byte(v))
		}
	default:
		var b []byte
		if b, err = w.bytes(t, ""); err != nil {
			return err
		}
		if t.kind != kindString && (!utf8.Valid(b) || connect.MeaningOf(t.connect) == connect.Bits) {
			b = base64.StdEncoding.AppendEncode(nil, b)
		}
		err = w.text(b)
	}
	return err
}

// number64 writes a float in the shortest form that reads back as the same one of its width.
func (w *jsonWriter) number64(v float64, kind typeKind) {
	bits := 64
	if kind == kindFloat {
		bits = 32
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.dst = append(w.dst, "null"...)
		return
	}
	w.dst = strconv.AppendFloat(w.dst, v, 'g', -1, bits)
}

// time writes a time, as a number where it is outside of the years that RFC 3339 has.
func (w *jsonWriter) time(t *schemaType) error {
	v, err := w.integer(t, "")
	if err != nil {
		return err
	}
	at := connect.Since(v, t.unit())
	if !connect.InYears(at) {
		w.dst = strconv.AppendInt(w.dst, v, 10)
		return nil
	}
	w.dst = append(at.AppendFormat(append(w.dst, '"'), time.RFC3339Nano), '"')
	return nil
}

func (w *jsonWriter) text(b []byte) (err error) {
	if w.dst, err = jsontext.AppendQuote(w.dst, b); err != nil {
		return fields.CheckText(b, "")
	}
	return nil
}
