package connect

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// appendDecimalOf appends the number of a decimal: its bytes in base64, or with its scale in an object.
func appendDecimalOf(dst []byte, value jsontext.Value, t *Type) ([]byte, bool) {
	if t.meaning() == Decimal {
		return appendEncoded(dst, value, t.Scale)
	}
	return appendScaled(dst, value)
}

// appendScaled appends the number of an object of a scale and a value, and of nothing else: a VariableScaleDecimal, as
// Debezium writes each NUMBER of Oracle.
func appendScaled(dst []byte, object jsontext.Value) ([]byte, bool) {
	if object.Kind() != '{' {
		return dst, false
	}
	var value jsontext.Value
	scale, n := maxScale+1, 0
	err := Members(object, func(name string, v jsontext.Value) (err error) {
		switch name {
		case "scale":
			scale, err = parseScale(string(v))
		case "value":
			value = v.Clone()
		default:
			err = errStop
		}
		n++
		return err
	})
	if err != nil || n != 2 || len(value) == 0 || scale > maxScale {
		return dst, false
	}
	return appendEncoded(dst, value, scale)
}

// AppendPlain appends a value by its type in the form that an arrival has: decimals are numbers with all their digits,
// and lists and objects hold such values. The error is [ErrUnavailable].
func (r *Reader) AppendPlain(dst []byte, value jsontext.Value, t *Type) ([]byte, error) {
	return r.appendPlain(dst, value, t, 0)
}

func (r *Reader) appendPlain(dst []byte, value jsontext.Value, t *Type, depth int) (_ []byte, err error) {
	if r.placeholder.is(value) {
		if r.options.Missing {
			return append(dst, "null"...), nil
		}
		return dst, ErrUnavailable
	}
	if m := t.meaning(); m == Decimal || m == ScaleInside || m == Plain && value.Kind() == '{' {
		if out, is := appendDecimalOf(dst, value, t); is {
			return out, nil
		}
	}
	if depth == maxDepth || value.Kind() != '[' && value.Kind() != '{' ||
		t == nil && bytes.IndexByte(value, '{') < 0 { // a list of numbers or texts is as it is
		return append(dst, value...), nil
	}
	if value.Kind() == '[' {
		dst = append(dst, '[')
		err = elements(value, func(i int, e jsontext.Value) (err error) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, err = r.appendPlain(dst, e, t.items(), depth+1)
			return err
		})
		return append(dst, ']'), err
	}
	first := true
	dst = append(dst, '{')
	err = Members(value, func(name string, v jsontext.Value) (err error) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, err = jsontext.AppendQuote(dst, name); err != nil {
			return err
		}
		dst, err = r.appendPlain(append(dst, ':'), v, t.Field(name), depth+1)
		return err
	})
	return append(dst, '}'), err
}

// AppendTime appends a time as text in RFC 3339, of a number since 1970 by its type or by the unit of the options, and
// any other value as it is.
func (r *Reader) AppendTime(dst []byte, value jsontext.Value, t *Type) ([]byte, error) {
	if r.placeholder.is(value) {
		return r.AppendPlain(dst, value, t)
	}
	v, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return append(dst, value...), nil
	}
	at, is := r.since(v)
	if m := t.meaning(); m.Nanoseconds() > 0 {
		at, is = m.time(v), true
	}
	if !is || !InYears(at) {
		return append(dst, value...), nil
	}
	return append(at.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}
