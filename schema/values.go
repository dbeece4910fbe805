package schema

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Fault is the kind of an [Error].
type Fault uint8

// Faults of an arrival's fields.
const (
	Unknown   Fault = iota // no feature and no unused column has the name
	Repeated               // the name is there twice
	WrongType              // the feature cannot be computed from a value of this type
	WrongSize              // a vector of another length
	NotFinite              // a number is NaN, infinite or beyond float32
	Refused                // the value is missing and the feature's rule refuses that
)

// Error says which named feature cannot be encoded, and why.
type Error struct {
	Fault   Fault
	Feature string
	Detail  string // names the value
}

func (e *Error) Error() string { return "feature " + strconv.Quote(cut(e.Feature)) + ": " + e.Detail }

func faultf(fault Fault, feature, format string, args ...any) error {
	return &Error{fault, feature, fmt.Sprintf(format, args...)}
}

// maxQuoted bounds the bytes of a value that an error repeats.
const maxQuoted = 64

func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return fmt.Sprintf("%.*s… (%d bytes)", maxQuoted/4, text, len(text))
}

// describe returns a value for an error.
func (v Value) describe() string {
	switch v.Type {
	case Number:
		return "the number " + strconv.FormatFloat(v.Number, 'g', -1, 64)
	case Bool:
		return strconv.FormatBool(v.Number != 0)
	case Text:
		return "the string " + strconv.Quote(cut(v.Text))
	case Vector:
		return fmt.Sprintf("a vector of %d", len(v.Vector))
	case Time:
		return "the time " + v.Time.Format(time.RFC3339Nano)
	case Stamp:
		return "the number " + strconv.FormatFloat(v.Number, 'g', -1, 64)
	case Numeral:
		return "the string " + strconv.Quote(cut(v.Text))
	case Unavailable, Other:
		return v.Text
	}
	return "missing"
}

func (f *Feature) wrongType(v *Value, want string) error {
	return faultf(WrongType, f.Name, "%s, want %s", v.describe(), want)
}

// number returns the value of a number or a bool.
func (f *Feature) number(v *Value) (float64, error) {
	switch {
	case v.Type != Number && v.Type != Bool && v.Type != Stamp && v.Type != Numeral:
		return 0, f.wrongType(v, "a "+string(f.Kind))
	case !representable(v.Number):
		return 0, faultf(NotFinite, f.Name, "%v, features must be finite float32 numbers", v.Number)
	case f.Kind == KindBool && v.Number != 0 && v.Number != 1:
		return 0, f.wrongType(v, "true, false, 1 or 0")
	}
	return v.Number, nil
}

// representable reports whether a number has a finite float32.
func representable(v float64) bool {
	x := float32(v)
	return x-x == 0 // false for NaN and infinities: their difference is NaN
}

// maxCategoryNumber bounds the text of a number that is a category, in bytes.
const maxCategoryNumber = 400

// slot returns the position of a category within its feature. Numbers and bools are compared as text: a number as its
// shortest decimal without exponent, a bool as true or false.
func (f *Feature) slot(v *Value) (int, error) {
	var memory [maxCategoryNumber]byte
	k, known := 0, false
	switch v.Type {
	case Text:
		k, known = f.category[v.Text]
	case Numeral: // the table had the text, or the number
		if k, known = f.category[v.Text]; !known && representable(v.Number) {
			k, known = f.category[string(appendCategory(memory[:0], v))]
		}
	case Number, Stamp:
		if !representable(v.Number) {
			return 0, faultf(NotFinite, f.Name, "%v, features must be finite float32 numbers", v.Number)
		}
		k, known = f.category[string(appendCategory(memory[:0], v))]
	case Bool:
		k, known = f.category[string(appendCategory(memory[:0], v))]
	default:
		return 0, f.wrongType(v, "a string, a number or a bool")
	}
	if !known {
		k = len(f.Categories)
	}
	return k, nil
}

// appendCategory appends the text by which a number or a bool is compared as a category.
func appendCategory(dst []byte, v *Value) []byte {
	if v.Type == Bool {
		return strconv.AppendBool(dst, v.Number != 0)
	}
	return strconv.AppendFloat(dst, v.Number+0, 'f', -1, 64) // +0 turns -0 into 0
}

// moment returns the time of a time or of RFC 3339 text, in UTC.
func (f *Feature) moment(v *Value) (time.Time, error) {
	switch v.Type {
	case Time, Stamp:
		return v.Time.UTC(), nil
	case Text, Numeral:
		t, err := parseTime(v.Text)
		if err == nil {
			return t, nil
		}
	}
	return time.Time{}, f.wrongType(v, "a time in RFC 3339, such as 2026-03-01T12:00:00Z or 2026-03-01")
}

// parseTime reads RFC 3339: a date, or a date with time and zone.
func parseTime(text string) (time.Time, error) {
	if len(text) == len(time.DateOnly) {
		return time.Parse(time.DateOnly, text)
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UTC(), err
}

const daySeconds = 86400

// days returns the time from t to until in days.
func days(t, until time.Time) float64 {
	seconds := float64(until.Unix()-t.Unix()) + float64(until.Nanosecond()-t.Nanosecond())/1e9
	return seconds / daySeconds
}

// part returns a part of a time in UTC.
func part(t time.Time, name string) float64 {
	switch name {
	case PartYear:
		return float64(t.Year())
	case PartMonth:
		return float64(t.Month())
	case PartDay:
		return float64(t.Day())
	case PartWeekday:
		return float64((int(t.Weekday()) + 6) % 7)
	}
	return float64(t.Hour())
}

// vector checks the elements of a vector.
func (f *Feature) vector(v *Value) ([]float32, error) {
	if v.Type != Vector {
		return nil, f.wrongType(v, fmt.Sprintf("a list of %d numbers", len(f.Mean)))
	}
	if len(v.Vector) != len(f.Mean) {
		return nil, faultf(WrongSize, f.Name, "%d numbers, want %d", len(v.Vector), len(f.Mean))
	}
	k := slices.IndexFunc(v.Vector, func(x float32) bool { return x-x != 0 })
	if k >= 0 {
		return nil, faultf(NotFinite, f.Name, "element %d is %v, features must be finite", k, v.Vector[k])
	}
	return v.Vector, nil
}
