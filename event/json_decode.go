package event

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event/table"
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
	a.ID, a.Edges, a.Time = "", a.Edges[:0], time.Time{}
	found, err := decodeJSON(data, arrivalTable, unsafe.Pointer(a), nil)
	if err == nil && found&arrivalFeatures == 0 {
		return errNoFeatures
	}
	return err
}

// DecodeLabel reads one JSON record into l. It overwrites all of l with new strings. The error is a *[FieldError],
// then the content of l is undefined.
func (JSON) DecodeLabel(data []byte, l *Label) error {
	*l = Label{Class: ByName}
	_, err := decodeJSON(data, labelTable, unsafe.Pointer(l), l.checkFound)
	return err
}

// DecodePrediction reads one JSON record into p, for readers of the predictions topic and for tests. It overwrites
// all of p except Key, which is not part of the payload, and reuses the slices that the record fills. The error is a
// *[FieldError], then the content of p is undefined.
func (JSON) DecodePrediction(data []byte, p *Prediction) error {
	p.begin()
	_, err := decodeJSON(data, predictionTable, unsafe.Pointer(p), nil)
	return p.end(err)
}

// decodeJSON reads a record that is one message, and returns the set of its fields. check sees that set before the
// record's end is looked at.
func decodeJSON(data []byte, m *table.Message, base unsafe.Pointer, check func(found uint64) error) (uint64, error) {
	d := arrivalDecoders.Get().(*arrivalDecoder)
	defer d.release()
	if err := d.begin(data, ""); err != nil {
		return 0, err
	}
	found, err := d.message(m, base)
	if err != nil {
		return 0, parseError(err)
	}
	if check != nil {
		if err := check(found); err != nil {
			return 0, err
		}
	}
	return found, d.end()
}

var arrivalDecoders = sync.Pool{New: func() any { return &arrivalDecoder{dec: new(jsontext.Decoder)} }}

// arrivalDecoder reads a message by its table from the tokens of the library, and says what is wrong with a record
// that is refused. Values come from the library checked for grammar and UTF-8 as parts of the record's bytes; only
// the fields of the message are copied.
type arrivalDecoder struct {
	data []byte // the record, not to be written to
	buf  bytes.Buffer
	dec  *jsontext.Decoder
	name []byte // an unquoted object name, text or time
	ids  []byte // the text of all edges
	ends []int  // edge i is ids[ends[i-1]:ends[i]]
}

// begin begins a record, or a value that has a field of its own; it is refused if it is empty.
func (d *arrivalDecoder) begin(data []byte, field string) error {
	d.data, d.buf = data, *bytes.NewBuffer(data)
	d.dec.Reset(&d.buf)
	if len(bytes.TrimSpace(data)) > 0 {
		return nil
	}
	if field != "" {
		return fieldErrorf(ReasonUnparsable, field, "the text is empty")
	}
	return fieldErrorf(ReasonUnparsable, "", "the record is empty")
}

func (d *arrivalDecoder) release() {
	d.data, d.buf = nil, bytes.Buffer{}
	d.dec.Reset(&d.buf) // releases the record
	if cap(d.ids) <= maxScratch && cap(d.ends) <= maxScratch/8 && cap(d.name) <= maxScratch {
		arrivalDecoders.Put(d)
	}
}

// end refuses anything after the record's object.
func (d *arrivalDecoder) end() error {
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fieldErrorf(ReasonUnparsable, "", "the record goes on after its object (byte %d)", d.dec.InputOffset())
	}
	return nil
}

// message reads an object into a message and returns the set of its fields. A null is a field that is missing, except
// for the id of a node.
func (d *arrivalDecoder) message(m *table.Message, base unsafe.Pointer) (found uint64, err error) {
	err = d.object("", func(name []byte) error {
		f := m.ByName(name)
		switch {
		case f == nil:
			return d.dec.SkipValue()
		case f.Kind != table.NodeID && d.null():
			return nil
		}
		found |= f.Bit
		return d.field(f, base)
	})
	if err == nil {
		err = checkMissing(m, found)
	}
	return found, err
}

// field reads the value of one member.
func (d *arrivalDecoder) field(f *table.Field, base unsafe.Pointer) (err error) {
	switch f.Kind {
	case table.ID:
		if *f.String(base), err = d.text(f); err == nil && *f.String(base) == "" {
			err = fieldErrorf(ReasonUnparsable, f.Name, "is empty")
		}
	case table.NodeID:
		d.name, err = d.appendID(d.name[:0], f.Name, -1)
		*f.String(base) = string(d.name)
	case table.Text, table.OptionalText:
		*f.String(base), err = d.text(f)
	case table.Word:
		if *f.String(base), err = d.text(f); err == nil {
			err = checkWord(f, *f.String(base))
		}
	case table.Bool:
		*f.Flag(base), err = d.boolean(f.Name)
	case table.Index, table.Count, table.OptionalIndex:
		var v int64
		if v, err = d.integer(f, math.MinInt64, math.MaxInt64); err == nil {
			*f.Int(base), err = int(v), checkIndex(f, v)
		}
	case table.Int32:
		var v int64
		v, err = d.integer(f, math.MinInt32, math.MaxInt32)
		*f.Int(base) = int(v)
	case table.Int64:
		*f.Long(base), err = d.integer(f, math.MinInt64, math.MaxInt64)
	case table.Float:
		*f.Number32(base), err = d.float(f.Name, -1)
	case table.Floats:
		*f.Numbers(base), err = d.floats((*f.Numbers(base))[:0], f.Name)
	case table.Time, table.Timestamp:
		*f.When(base), err = d.time(f.Name)
	default:
		return d.compound(f, base)
	}
	return err
}

// compound reads a field that has parts of its own.
func (d *arrivalDecoder) compound(f *table.Field, base unsafe.Pointer) (err error) {
	switch f.Kind {
	case table.IDs:
		*f.Strings(base), err = d.edges((*f.Strings(base))[:0])
	case table.Features:
		err = d.features((*Features)(f.Inner(base)))
	case table.Struct, table.Group:
		if _, err = d.message(f.Message, f.Inner(base)); err == nil && f.Kind == table.Group {
			err = checkGroup(f.Message, base)
		}
		err = inside(f.Name, err)
	case table.Pointer:
		_, err = d.message(f.Message, f.Alloc(base))
		err = inside(f.Name, err)
	case table.List:
		err = d.array(f.Name, func(i int) error {
			_, err := d.message(f.Message, f.Add(base))
			return inside(element(f.Name, i), err)
		})
	}
	return err
}

// text reads a string.
func (d *arrivalDecoder) text(f *table.Field) (string, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if value.Kind() != '"' {
		return "", unwanted(f.Name, value, "a string"+f.Hint)
	}
	d.name, err = jsontext.AppendUnquote(d.name[:0], value)
	return string(d.name), err
}

func (d *arrivalDecoder) boolean(field string) (bool, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return false, err
	}
	if value.Kind() != 't' && value.Kind() != 'f' {
		return false, unwanted(field, value, "true or false")
	}
	return value.Kind() == 't', nil
}

// integer reads an integer from lo to hi.
func (d *arrivalDecoder) integer(f *table.Field, lo, hi int64) (int64, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	if value.Kind() != '0' || !plainInteger(value) || string(value) == "-0" {
		return 0, unwanted(f.Name, value, "a plain integer"+f.Hint)
	}
	v, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || v < lo || v > hi {
		return 0, fieldErrorf(ReasonUnparsable, f.Name, "%s is outside %d…%d", cut(string(value)), lo, hi)
	}
	return v, nil
}

// object calls member with the name of each member of an object; member reads the value. The library refuses repeated
// names.
func (d *arrivalDecoder) object(field string, member func(name []byte) error) error {
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
		if err := member(d.name); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
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

func (d *arrivalDecoder) edges(edges []string) ([]string, error) {
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
func (d *arrivalDecoder) time(field string) (t time.Time, err error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return t, err
	}
	if value.Kind() != '"' {
		return t, unwanted(field, value, "an RFC 3339 string")
	}
	if d.name, err = jsontext.AppendUnquote(d.name[:0], value); err != nil {
		return t, err
	}
	if err := t.UnmarshalText(d.name); err != nil {
		return t, unwanted(field, value, "an RFC 3339 string such as \"2026-03-01T12:00:00.25Z\"")
	}
	if !inYears(t) { // conversion to UTC may leave them
		return t, unwanted(field, value, "a time in the years 1 to 9999 in UTC")
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
	err := d.object("features", func(name []byte) (err error) {
		switch string(name) {
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
		v, err := d.float(field, i)
		values = append(values, v)
		return err
	})
	return values, err
}

// float reads a number, element i of a list unless i is negative.
func (d *arrivalDecoder) float(field string, i int) (float32, error) {
	number, err := d.dec.ReadValue()
	if err != nil {
		return 0, d.notFinite(err, field, i)
	}
	switch number.Kind() {
	case '0':
	case 'n': // how JavaScript and pandas write NaN
		return 0, fieldErrorf(ReasonNotFinite, place(field, i), "null, features must be finite numbers")
	default:
		return 0, unwanted(place(field, i), number, "a number")
	}
	// A conversion in the call itself does not allocate. The number's grammar is checked, so only the range can be
	// wrong.
	v, err := strconv.ParseFloat(string(number), 32)
	if err != nil {
		return 0, fieldErrorf(ReasonNotFinite, place(field, i), "%s is beyond float32", cut(string(number)))
	}
	return float32(v), nil
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
