package avro

import (
	"encoding/base64"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/avro"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
)

// AppendJSON appends a record that was written with the schema to dst, as a JSON value: for a mapping, which says
// where in it an arrival is. Unions are their values, enums and times text (RFC 3339), decimals numbers, and bytes
// text where they are UTF-8, else base64; NaN and infinities are null, and maps are in the order of their keys.
func (s *Schema) AppendJSON(dst, data []byte) ([]byte, error) {
	value, err := s.values(data)
	if err != nil {
		return dst, err
	}
	w := jsonWriter{dst: dst, most: len(dst) + TextLimit(len(data)), record: len(data)}
	err = w.value(s.root, value)
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

// jsonWriter writes decoded values.
type jsonWriter struct {
	dst    []byte
	most   int // bytes of dst
	record int // bytes of the record
}

func (w *jsonWriter) value(n *avro.SchemaNode, value any) error {
	if len(w.dst) > w.most {
		return TextTooLarge(w.record)
	}
	switch of := value.(type) {
	case record:
		return w.object(of)
	case map[string]any:
		return w.dictionary(typeOf(n, value).Values, of)
	case []any:
		return w.list(typeOf(n, value).Items, of)
	case fixed:
		return w.bytes(of.of, of.bytes)
	case []byte:
		return w.bytes(typeOf(n, value), of)
	}
	return w.scalar(n, value)
}

func (w *jsonWriter) object(of record) error {
	dst, is, err := scaled(w.dst, of)
	if w.dst = dst; is || err != nil {
		return err
	}
	w.dst = append(w.dst, '{')
	for i := range of.of.Fields {
		f := &of.of.Fields[i]
		if err := w.member(i, f.Name); err != nil {
			return err
		}
		if err := w.value(&f.Type, of.values[f.Name]); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

func (w *jsonWriter) dictionary(n *avro.SchemaNode, of map[string]any) error {
	w.dst = append(w.dst, '{')
	for i, key := range slices.Sorted(maps.Keys(of)) {
		if err := w.member(i, key); err != nil {
			return err
		}
		if err := w.value(n, of[key]); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

// member begins member i of an object.
func (w *jsonWriter) member(i int, name string) error {
	if i > 0 {
		w.dst = append(w.dst, ',')
	}
	err := w.text(name)
	w.dst = append(w.dst, ':')
	return err
}

func (w *jsonWriter) list(n *avro.SchemaNode, of []any) error {
	w.dst = append(w.dst, '[')
	for i, value := range of {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		if err := w.value(n, value); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, ']')
	return nil
}

func (w *jsonWriter) scalar(n *avro.SchemaNode, value any) error {
	switch of := value.(type) {
	case nil:
		w.dst = append(w.dst, "null"...)
	case bool:
		w.dst = strconv.AppendBool(w.dst, of)
	case float32:
		w.float(float64(of), 32)
	case float64:
		w.float(of, 64)
	case symbol:
		return w.text(string(of))
	case string:
		return w.text(of)
	default:
		v, _ := integer(value)
		if unit := units[typeOf(n, value).LogicalType]; unit > 0 {
			w.time(v, unit)
		} else {
			w.dst = strconv.AppendInt(w.dst, v, 10)
		}
	}
	return nil
}

// float writes a number in the shortest form that reads back as the same one of its width.
func (w *jsonWriter) float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		w.dst = append(w.dst, "null"...)
		return
	}
	w.dst = strconv.AppendFloat(w.dst, v, 'g', -1, bits)
}

// bytes writes a decimal with all its digits, as it may be an id, and else bytes.
func (w *jsonWriter) bytes(n *avro.SchemaNode, b []byte) error {
	if n.LogicalType == "decimal" {
		w.dst = connect.AppendDecimal(w.dst, b, n.Scale)
		return nil
	}
	if !utf8.Valid(b) || connect.MeaningOf(connectName(n)) == connect.Bits {
		return w.text(base64.StdEncoding.EncodeToString(b))
	}
	return w.text(inPlace(b))
}

// time writes a time, as a number where it is outside of the years that RFC 3339 has.
func (w *jsonWriter) time(v, unit int64) {
	at := connect.Since(v, unit)
	if !connect.InYears(at) {
		w.dst = strconv.AppendInt(w.dst, v, 10)
		return
	}
	w.dst = append(at.AppendFormat(append(w.dst, '"'), time.RFC3339Nano), '"')
}

func (w *jsonWriter) text(s string) (err error) {
	if w.dst, err = jsontext.AppendQuote(w.dst, s); err != nil {
		return fields.NotUTF8("", s)
	}
	return nil
}
