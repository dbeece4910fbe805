package event

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/schema"
)

// DecodeArrival reads one JSON record into a. It overwrites all of a and reuses its slices; the strings are new, so
// ids of earlier records stay valid. The ids of a.Edges are parts of one string of the whole record: a caller that
// keeps a single one for long should clone it. The error is a *[FieldError]; then the content of a is undefined.
func (JSON) DecodeArrival(data []byte, a *Arrival) error {
	return JSON{}.decodeArrival(data, a, false)
}

func (JSON) decodeArrival(data []byte, a *Arrival, p inPlace) error {
	if scanPlain(data, a, p) {
		return nil
	}
	return decodeTokens(data, a)
}

// decodeTokens is DecodeArrival for records of any form.
func decodeTokens(data []byte, a *Arrival) error {
	d := arrivalDecoders.Get().(*arrivalDecoder)
	defer d.release()
	return d.decode(data, a)
}

var arrivalDecoders = sync.Pool{New: func() any { return &arrivalDecoder{dec: new(jsontext.Decoder)} }}

// arrivalDecoder walks the tokens of one record straight into the Arrival, if the record is not as plain as
// [arrivalScanner] wants it, and says what is wrong with one that is refused. Values come from the library
// checked for grammar and UTF-8 as parts of the record's bytes; only the fields of the Arrival are copied.
type arrivalDecoder struct {
	data []byte // the record, not to be written to
	buf  bytes.Buffer
	dec  *jsontext.Decoder
	name []byte // an unquoted object name or time
	ids  []byte // the text of all edges
	ends []int  // edge i is ids[ends[i-1]:ends[i]]
}

func (d *arrivalDecoder) release() {
	d.data, d.buf = nil, bytes.Buffer{}
	d.dec.Reset(&d.buf) // releases the record
	if cap(d.ids) <= maxScratch && cap(d.ends) <= maxScratch/8 && cap(d.name) <= maxScratch {
		arrivalDecoders.Put(d)
	}
}

func (d *arrivalDecoder) decode(data []byte, a *Arrival) error {
	d.data, d.buf = data, *bytes.NewBuffer(data)
	d.dec.Reset(&d.buf)
	a.ID, a.Edges, a.Time = "", a.Edges[:0], time.Time{}
	if len(bytes.TrimSpace(data)) == 0 {
		return fieldErrorf(ReasonUnparsable, "", "the record is empty")
	}
	var hasFeatures bool
	err := d.object("", func(name string) (err error) {
		switch name {
		case "id":
			a.ID, err = d.arrivalID()
		case "features":
			if hasFeatures = !d.null(); hasFeatures {
				err = d.features(&a.Features)
			}
		case "edges":
			a.Edges, err = d.edges(a.Edges)
		case "time":
			a.Time, err = d.time()
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	if err != nil {
		return parseError(err)
	}
	if a.ID == "" {
		return fieldErrorf(ReasonUnparsable, "id", "is missing")
	}
	if err := d.end(); err != nil || hasFeatures {
		return err
	}
	return errNoFeatures
}

// end refuses anything after the record's object.
func (d *arrivalDecoder) end() error {
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fieldErrorf(ReasonUnparsable, "", "the record goes on after its object (byte %d)", d.dec.InputOffset())
	}
	return nil
}

// object calls member with the name of each member of an object; member reads the value. An unknown name
// may be given in quotes. The library refuses repeated names.
func (d *arrivalDecoder) object(field string, member func(name string) error) error {
	if d.dec.PeekKind() != '{' {
		return d.wrongKind(field, "an object")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		quoted, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		d.name, err = jsontext.AppendUnquote(d.name[:0], quoted)
		if err != nil {
			return err
		}
		if err := member(knownName(d.name)); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// knownName returns the name of a field as a constant, which costs no allocation, and "" for a field
// that is ignored.
func knownName(name []byte) string {
	switch string(name) {
	case "id":
		return "id"
	case "features":
		return "features"
	case "edges":
		return "edges"
	case "time":
		return "time"
	case "class":
		return "class"
	case "class_name":
		return "class_name"
	case "indices":
		return "indices"
	case "values":
		return "values"
	case "named":
		return "named"
	}
	return ""
}

// array calls item for each element of an array, as long as there are any; item reads it.
func (d *arrivalDecoder) array(field string, item func(i int) error) error {
	if d.dec.PeekKind() != '[' {
		return d.wrongKind(field, "an array")
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		if err := item(i); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// null reads a null and returns true, or reads nothing.
func (d *arrivalDecoder) null() bool {
	if d.dec.PeekKind() != 'n' {
		return false
	}
	_, err := d.dec.ReadToken()
	return err == nil
}

func (d *arrivalDecoder) arrivalID() (string, error) {
	var err error
	d.name, err = d.appendID(d.name[:0], "id", -1)
	return string(d.name), err
}

func (d *arrivalDecoder) edges(edges []string) ([]string, error) {
	if d.null() {
		return edges, nil
	}
	d.ids, d.ends = d.ids[:0], d.ends[:0]
	err := d.array("edges", func(i int) (err error) {
		d.ids, err = d.appendID(d.ids, "edges", i)
		d.ends = append(d.ends, len(d.ids))
		return err
	})
	if err != nil {
		return edges, err
	}
	all, start := string(d.ids), 0
	for _, end := range d.ends {
		edges = append(edges, all[start:end])
		start = end
	}
	return edges, nil
}

// appendID reads a node id, element i of a list unless i is negative, and appends its text.
func (d *arrivalDecoder) appendID(dst []byte, field string, i int) ([]byte, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return dst, err
	}
	switch value.Kind() {
	case '"':
		if len(value) == len(`""`) {
			return dst, fieldErrorf(ReasonUnparsable, place(field, i), "is empty")
		}
		return jsontext.AppendUnquote(dst, value)
	case '0':
		// -0 is the same number as 0 and would be another id.
		if !plainInteger(value) || string(value) == "-0" {
			return dst, unwanted(place(field, i), value, "a string or a plain integer")
		}
		return append(dst, value...), nil
	}
	return dst, unwanted(place(field, i), value, "a string or an integer")
}

// plainInteger reports whether a JSON number has neither fraction nor exponent.
func plainInteger(number jsontext.Value) bool { return !bytes.ContainsAny(number, ".eE") }

// time reads an RFC 3339 time; the result is in UTC, so that it does not depend on the machine's zone.
func (d *arrivalDecoder) time() (t time.Time, err error) {
	if d.null() {
		return t, nil
	}
	value, err := d.dec.ReadValue()
	if err != nil {
		return t, err
	}
	if value.Kind() != '"' {
		return t, unwanted("time", value, "an RFC 3339 string")
	}
	if d.name, err = jsontext.AppendUnquote(d.name[:0], value); err != nil {
		return t, err
	}
	if err := t.UnmarshalText(d.name); err != nil {
		return t, unwanted("time", value, "an RFC 3339 string such as \"2026-03-01T12:00:00.25Z\"")
	}
	if !inYears(t) { // conversion to UTC may leave them
		return t, unwanted("time", value, "a time in the years 1 to 9999 in UTC")
	}
	return t.UTC(), nil
}

// features reads a dense or a sparse row.
func (d *arrivalDecoder) features(f *Features) error {
	switch d.dec.PeekKind() {
	case '[':
		values, err := d.floats(f.Values[:0], "features")
		*f = Features{Values: values}
		return err
	case '{':
		return d.sparse(f)
	}
	return d.wrongKind("features", "an array, or an object with indices and values, or with named")
}

func (d *arrivalDecoder) sparse(f *Features) error {
	f.Sparse = true
	var hasIndices, hasValues bool
	var named []schema.Field
	err := d.object("features", func(name string) (err error) {
		switch name {
		case "indices":
			hasIndices = true
			f.Indices, err = d.indices(f.Indices[:0])
		case "values":
			if !d.null() {
				hasValues = true
				f.Values, err = d.floats(f.Values[:0], "features.values")
			}
		case "named":
			named, err = d.named(f)
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case named != nil && (hasIndices || hasValues):
		return fieldErrorf(ReasonUnparsable, "features", "has named beside indices or values, want one of the two")
	case named != nil:
		f.becomeNamed(named)
		return nil
	case !hasIndices:
		return fieldErrorf(ReasonUnparsable, "features.indices", "is missing")
	case !hasValues:
		f.Values = f.Values[:0]
		for range f.Indices {
			f.Values = append(f.Values, 1)
		}
	}
	f.Named = nil
	if err := f.checkPairs(); err != nil {
		return err
	}
	return f.order()
}

func (d *arrivalDecoder) floats(values []float32, field string) ([]float32, error) {
	err := d.array(field, func(i int) error {
		number, err := d.dec.ReadValue()
		if err != nil {
			return d.notFinite(err, field, i)
		}
		switch number.Kind() {
		case '0':
		case 'n': // how JavaScript and pandas write NaN
			return fieldErrorf(ReasonNotFinite, element(field, i), "null, features must be finite numbers")
		default:
			return unwanted(element(field, i), number, "a number")
		}
		// A conversion in the call itself does not allocate. The number's grammar is checked, so only the
		// range can be wrong.
		v, err := strconv.ParseFloat(string(number), 32)
		if err != nil {
			return fieldErrorf(ReasonNotFinite, element(field, i), "%s is beyond float32", cut(string(number)))
		}
		values = append(values, float32(v))
		return nil
	})
	return values, err
}

// notFinite checks the text at which the parser stopped in a list of features: JSON has no NaN and no infinity, but
// Python writes NaN, Infinity and -Infinity, and C writes nan and inf. Its error says more than "invalid character".
func (d *arrivalDecoder) notFinite(err error, field string, i int) error {
	rest := bytes.TrimLeft(d.data[d.dec.InputOffset():], ",: \t\r\n")
	end := bytes.IndexAny(rest, ",]} \t\r\n")
	if end < 0 || end > len("-Infinity") {
		return err
	}
	literal := string(rest[:end])
	switch strings.ToLower(strings.TrimLeft(literal, "+-")) {
	case "nan", "inf", "infinity":
		return fieldErrorf(ReasonNotFinite, place(field, i), "%s, features must be finite", literal)
	}
	return err
}

func (d *arrivalDecoder) indices(indices []int32) ([]int32, error) {
	const field = "features.indices"
	err := d.array(field, func(i int) error {
		number, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		if number.Kind() != '0' || !plainInteger(number) {
			return unwanted(element(field, i), number, "a plain integer")
		}
		v, err := strconv.ParseInt(string(number), 10, 32)
		if err != nil || v < 0 {
			return fieldErrorf(ReasonFeatureLength, element(field, i), "%s is outside 0…2147483647", cut(string(number)))
		}
		indices = append(indices, int32(v))
		return nil
	})
	return indices, err
}

// wrongKind reads the next value and refuses it.
func (d *arrivalDecoder) wrongKind(field, want string) error {
	value, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	return unwanted(field, value, want)
}

func unwanted(field string, value jsontext.Value, want string) error {
	return fieldErrorf(ReasonUnparsable, field, "%s, want %s", cut(string(value)), want)
}

// place returns the path of a field, or of its element i if i is not negative.
func place(field string, i int) string {
	if i < 0 {
		return field
	}
	return element(field, i)
}
