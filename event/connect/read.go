package connect

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/schema"
)

// Options say how to read values whose meaning the record does not give.
type Options struct {
	// Unit is the unit of numbers that are times, in nanoseconds; Guess: by magnitude; 0: numbers are no times.
	Unit int64
	// TextDecimals says that a text of digits is a number. Else one that could also be bytes in base64, as "1234" could,
	// is no number: decimals are written in either way, and only their schema says in which.
	TextDecimals bool
	// Placeholder is the text for a value that the connector does not have; empty: there is none.
	Placeholder string
	// Missing says that a value which the connector does not have counts as missing, else it is an error.
	Missing bool
}

// Reader reads values. Many goroutines may use it at once.
type Reader struct {
	options     Options
	placeholder *placeholder
}

// NewReader returns a reader.
func NewReader(o Options) *Reader { return &Reader{o, newPlaceholder(o.Placeholder)} }

// unavailable is the advice for a placeholder.
const unavailable = "the connector sent its placeholder for an unchanged value: set REPLICA IDENTITY FULL for the " +
	"table, or input.mapping.unavailable to missing"

// ErrUnavailable is the error of a field that has a placeholder in place of its value.
var ErrUnavailable = errors.New(unavailable)

// errStop ends a walk through a list or an object.
var errStop = errors.New("stop")

// walker reads a list or an object. It lives in a pool.
type walker struct {
	buf  bytes.Buffer
	dec  jsontext.Decoder
	name []byte
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// walk returns a walker behind the bracket or brace of a value.
func walk(value jsontext.Value) (*walker, error) {
	w := walkers.Get().(*walker)
	w.buf = *bytes.NewBuffer(value)
	w.dec.Reset(&w.buf)
	_, err := w.dec.ReadToken()
	return w, err
}

func (w *walker) release() {
	w.buf = bytes.Buffer{}
	w.dec.Reset(&w.buf) // releases the value
	walkers.Put(w)
}

// elements calls take with each element of a list.
func elements(list jsontext.Value, take func(i int, e jsontext.Value) error) error {
	w, err := walk(list)
	defer w.release()
	for i := 0; err == nil && w.dec.PeekKind() != ']'; i++ {
		var e jsontext.Value
		if e, err = w.dec.ReadValue(); err == nil {
			err = take(i, e)
		}
	}
	return err
}

// Members calls take with each member of an object.
func Members(object jsontext.Value, take func(name string, value jsontext.Value) error) error {
	w, err := walk(object)
	defer w.release()
	for err == nil && w.dec.PeekKind() != '}' {
		var quoted, value jsontext.Value
		if quoted, err = w.dec.ReadValue(); err != nil {
			return err
		}
		if w.name, err = jsontext.AppendUnquote(w.name[:0], quoted); err != nil {
			return err
		}
		name := string(w.name)
		if value, err = w.dec.ReadValue(); err == nil {
			err = take(name, value)
		}
	}
	return err
}

// Value reads the value of a feature into v, whose memory it uses again. A value that no feature can be made of is no
// error, as its column may belong to none: its type is then [schema.Other] or [schema.Unavailable], or a number that a
// float64 (in a list a float32) cannot hold is infinite, which the schema refuses as not finite.
func (r *Reader) Value(v *schema.Value, value jsontext.Value, t *Type) {
	v.Type, v.Number = schema.Missing, 0
	kind := value.Kind()
	switch {
	case kind == 'n':
		return
	case r.placeholder.is(value):
		if !r.options.Missing {
			v.Type, v.Text = schema.Unavailable, unavailable
		}
		return
	case t.meaning() != Plain && r.meant(v, value, t):
		return
	}
	switch kind {
	case 't', 'f':
		if v.Type = schema.Bool; kind == 't' {
			v.Number = 1
		}
	case '0':
		r.number(v, value, t)
	case '"':
		r.text(v, value, t)
	case '[':
		r.vector(v, value, t.items())
	default:
		if text, is := appendScaled(nil, value); is {
			r.decimal(v, text)
			return
		}
		other(v, t, "an object")
	}
}

// other makes v a value that no feature can be made of.
func other(v *schema.Value, t *Type, what string) {
	v.Type, v.Text = schema.Other, what
	if t != nil && t.Name != "" {
		v.Text += " (" + t.Name + ")"
	}
}

// meant reads a value by its meaning, and reports whether it could: a converter may have written it in its plain form.
func (r *Reader) meant(v *schema.Value, value jsontext.Value, t *Type) bool {
	switch t.Meaning {
	case Days, Millis, Micros, Nanos, Year:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return false
		}
		stamp(v, n, t.Meaning.time(n))
	case ISODate:
		text, is := isoDate(value)
		if v.Type, v.Text = schema.Text, text; !is {
			return false
		}
	case Decimal, ScaleInside:
		text, is := appendDecimalOf(nil, value, t)
		if !is {
			return false
		}
		r.decimal(v, text)
	case Bits:
		n, is := bits(value)
		if v.Type, v.Number = schema.Number, n; !is {
			other(v, t, "more than 53 bits")
		}
	case Unreadable:
		other(v, t, "a value")
	default:
		return false
	}
	return true
}

// stamp makes v a number that is also a time, unless that has no form in records.
func stamp(v *schema.Value, n int64, at time.Time) {
	v.Type, v.Number = schema.Number, float64(n)
	if InYears(at) {
		v.Type, v.Time = schema.Stamp, at
	}
}

// isoDate returns a date without its zone, 2026-03-01Z as 2026-03-01.
func isoDate(value jsontext.Value) (string, bool) {
	text, err := jsontext.AppendUnquote(nil, value)
	if value.Kind() != '"' || err != nil {
		return "", false
	}
	date, is := strings.CutSuffix(string(text), "Z")
	return date, is && len(date) == len(time.DateOnly)
}

// bits returns the number of at most 53 bits, whose lowest byte comes first.
func bits(value jsontext.Value) (float64, bool) {
	text, err := jsontext.AppendUnquote(nil, value)
	if value.Kind() != '"' || err != nil {
		return 0, false
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	n := 0.0
	for k := len(data) - 1; k >= 0; k-- {
		n = n*256 + float64(data[k])
	}
	return n, err == nil && n < 1<<53
}

// decimal makes v a decimal: a number, and the text of all its digits.
func (r *Reader) decimal(v *schema.Value, text []byte) {
	v.Type, v.Text = schema.Numeral, string(text)
	v.Number, _ = strconv.ParseFloat(v.Text, 64) // an infinity is its only error
}

// number reads a number. One whose type has another name, such as a time of day, is no time since 1970.
func (r *Reader) number(v *schema.Value, value jsontext.Value, t *Type) {
	v.Type = schema.Number
	v.Number, _ = strconv.ParseFloat(string(value), 64) // an infinity is its only error
	if r.options.Unit == 0 || t != nil && t.Name != "" {
		return
	}
	if bytes.ContainsAny(value, ".eE") { // no integer
		return
	}
	integer, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return
	}
	if at, is := r.since(integer); is {
		stamp(v, integer, at)
	}
}

// since returns the time that a number is by the reader's unit.
func (r *Reader) since(v int64) (time.Time, bool) {
	switch r.options.Unit {
	case 0:
		return time.Time{}, false
	case Guess:
		return guess(v)
	}
	return Since(v, r.options.Unit), true
}

func (r *Reader) text(v *schema.Value, value jsontext.Value, t *Type) {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		other(v, t, "text that is not UTF-8")
		return
	}
	if v.Type = schema.Text; v.Text != string(text) {
		v.Text = string(text)
	}
	if isDecimal(text) && (t != nil && !t.Bytes || t == nil && (r.options.TextDecimals || !isBase64(text))) {
		if n, err := strconv.ParseFloat(v.Text, 64); err == nil {
			v.Type, v.Number = schema.Numeral, n
		}
	}
}

// isDecimal reports whether a text is a decimal number: digits, perhaps with a sign, a point and an exponent.
func isDecimal(text []byte) bool {
	return len(text) > 0 && strings.IndexByte("+-.0123456789", text[0]) >= 0 &&
		len(bytes.Trim(text, "+-.0123456789eE")) == 0 && bytes.ContainsAny(text, "0123456789")
}

// isBase64 reports whether a decimal could also be bytes in base64: "1234" are three bytes.
func isBase64(text []byte) bool {
	return len(text)%4 == 0 && !bytes.ContainsAny(text, ".-")
}

func (r *Reader) vector(v *schema.Value, list jsontext.Value, items *Type) {
	v.Type, v.Vector = schema.Vector, v.Vector[:0]
	err := elements(list, func(i int, e jsontext.Value) error {
		text, ok := []byte(e), e.Kind() == '0'
		if m := items.meaning(); !ok && (m == Decimal || m == ScaleInside) {
			text, ok = appendDecimalOf(nil, e, items)
		}
		if !ok {
			return fmt.Errorf("a list whose element %d is %s", i, cut(string(e)))
		}
		x, _ := strconv.ParseFloat(string(text), 32) // an infinity is its only error
		v.Vector = append(v.Vector, float32(x))
		return nil
	})
	if err != nil {
		other(v, nil, err.Error())
	}
}

// maxQuoted bounds the bytes of a value that an error repeats.
const maxQuoted = 64

func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}
