package json

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/table"
)

// DecodeArrival reads one JSON record into a. It overwrites all of a and reuses its slices; the strings are new, so
// ids of earlier records stay valid. The ids of a.Edges are parts of one string of the whole record: a caller that
// keeps a single one for long should clone it. The error is a *[event.FieldError]; then the content of a is undefined.
func (c Codec) DecodeArrival(data []byte, a *event.Arrival) error {
	if c.DecodePlain(data, a, false) {
		return nil
	}
	return c.DecodeTokens(data, a)
}

// DecodePlain is DecodeArrival of a record in its plain form, which has the fields of the contract only, and reports
// whether it has that form; if not, the content of a is undefined. With inPlace ids are parts of data, which must not
// change while they are used.
func (Codec) DecodePlain(data []byte, a *event.Arrival, inPlace bool) bool {
	return scanPlain(data, a, fields.InPlace(inPlace))
}

// DecodeTokens is DecodeArrival of a record that has not the plain form; others take longer here.
func (Codec) DecodeTokens(data []byte, a *event.Arrival) error {
	fields.BeginArrival(a)
	found, err := decodeMessage(data, fields.Arrival, table.At(fields.Arrival, a), a, nil)
	if err == nil && found&fields.ArrivalFeatures == 0 {
		return event.ErrNoFeatures
	}
	return err
}

// DecodeLabel reads one JSON record into l. It overwrites all of l with new strings. The error is a
// *[event.FieldError], then the content of l is undefined.
func (Codec) DecodeLabel(data []byte, l *event.Label) error {
	*l = event.Label{Class: event.ByName}
	_, err := decodeMessage(data, fields.Label, table.At(fields.Label, l), nil, func(found uint64) error {
		return fields.CheckReadLabel(l, found)
	})
	return err
}

// DecodeEdge reads one JSON record into e. It overwrites all of e with new strings. The error is a *[event.FieldError],
// then the content of e is undefined.
func (Codec) DecodeEdge(data []byte, e *event.Edge) error {
	*e = event.Edge{Weight: 1}
	_, err := decodeMessage(data, fields.Edge, table.At(fields.Edge, e), nil, func(uint64) error { return e.Check() })
	return err
}

// DecodePrediction reads one JSON record into p, for readers of the predictions topic and for tests. It overwrites
// all of p except Key, which is not part of the payload, and reuses the slices that the record fills. The error is a
// *[event.FieldError], then the content of p is undefined.
func (Codec) DecodePrediction(data []byte, p *event.Prediction) error {
	fields.BeginPrediction(p)
	_, err := decodeMessage(data, fields.Prediction, table.At(fields.Prediction, p), nil, nil)
	return fields.EndPrediction(p, err)
}

// decodeMessage reads a record that is one message, and returns the set of its fields. a is the message if it is an
// arrival, else nil. check sees the set before the record's end is looked at.
func decodeMessage(data []byte, m *table.Message, base table.Ref, a *event.Arrival,
	check func(found uint64) error) (uint64, error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.arrival = a
	if err := d.begin(data, ""); err != nil {
		return 0, err
	}
	found, err := d.message(m, base)
	if err != nil {
		return 0, Refused(err)
	}
	if check != nil {
		if err := check(found); err != nil {
			return 0, err
		}
	}
	switch {
	case !d.weighs && (d.incoming != nil || d.typed):
		d.weights = nil // the objects tell directions or types
	case d.weighs && d.weights == nil: // edges to the node alone are objects
		d.weights = slices.Repeat([]float32{1}, len(a.Edges))
		fallthrough
	case d.weighs:
		d.weights = append(d.weights, d.incomingWeights...)
	}
	if d.typed {
		if a.Types != nil {
			return 0, event.Errorf(event.ReasonUnparsable, "types", "is there, and edges have types of their own")
		}
		if d.types == nil { // edges to the node alone are objects
			d.types = make([]string, len(a.Edges))
		}
		a.Types = append(d.types, d.incomingTypes...)
	}
	if d.weights != nil {
		if a.Weights != nil {
			return 0, event.Errorf(event.ReasonUnparsable, "weights", "is there, and edges have weights of their own")
		}
		a.Weights = d.weights
	}
	if d.incoming != nil {
		if a.Incoming != nil {
			return 0, event.Errorf(event.ReasonUnparsable, "incoming", "is there, and edges have directions of their own")
		}
		a.Incoming = d.incoming
	}
	return found, d.end()
}

var decoders = sync.Pool{New: func() any { return &decoder{dec: new(jsontext.Decoder)} }}

// decoder reads a message by its table from the tokens of the library, and says why a record is refused. The library
// gives values, checked for grammar and UTF-8, as parts of the record's bytes; only the message's fields are copied.
type decoder struct {
	data    []byte         // the record, not to be written to
	arrival *event.Arrival // the message, if it is one: no other has edges
	buf     bytes.Buffer
	dec     *jsontext.Decoder
	name    []byte // an unquoted object name, text or time
	id      []byte // of a neighbour
	// weights are the weights of the edges, if at least one edge is an object; else nil
	weights []float32
	weighs  bool // one of them has a weight
	// incoming are the ids of edges that are objects and lead to the node, with their weights; nil: none does
	incoming        []string
	incomingWeights []float32
	// types are those of the edges and of the incoming ones, if at least one edge is an object; typed: one has a type
	types, incomingTypes []string
	typed                bool
}

// begin begins a record, or a value that has a field of its own; it is refused if it is empty.
func (d *decoder) begin(data []byte, field string) error {
	d.data, d.buf, d.weights = data, *bytes.NewBuffer(data), nil
	d.weighs, d.incoming, d.incomingWeights = false, nil, nil
	d.types, d.incomingTypes, d.typed = nil, nil, false
	d.dec.Reset(&d.buf)
	if len(bytes.TrimSpace(data)) > 0 {
		return nil
	}
	if field != "" {
		return event.Errorf(event.ReasonUnparsable, field, "the text is empty")
	}
	return event.Errorf(event.ReasonUnparsable, "", "the record is empty")
}

func (d *decoder) release() {
	d.data, d.buf, d.arrival = nil, bytes.Buffer{}, nil
	d.dec.Reset(&d.buf) // releases the record
	if cap(d.name) <= fields.MaxScratch {
		decoders.Put(d)
	}
}

// end refuses anything after the record's object.
func (d *decoder) end() error {
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return event.Errorf(event.ReasonUnparsable, "", "the record goes on after its object (byte %d)", d.dec.InputOffset())
	}
	return nil
}

// message reads an object into a message and returns the set of its fields. A null is a field that is missing, except
// for the id of a node.
func (d *decoder) message(m *table.Message, base table.Ref) (found uint64, err error) {
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
		err = fields.CheckMissing(m, found)
	}
	return found, err
}

// field reads the value of one member.
func (d *decoder) field(f *table.Field, base table.Ref) (err error) {
	switch f.Kind {
	case table.ID:
		if *f.String(base), err = d.text(f); err == nil && *f.String(base) == "" {
			err = event.Errorf(event.ReasonUnparsable, f.Name, "is empty")
		}
	case table.NodeID:
		d.name, err = d.appendID(d.name[:0], f.Name, -1)
		*f.String(base) = string(d.name)
	case table.Text, table.OptionalText:
		*f.String(base), err = d.text(f)
	case table.Word:
		if *f.String(base), err = d.text(f); err == nil {
			err = fields.CheckWord(f, *f.String(base))
		}
	case table.Bool:
		*f.Flag(base), err = d.boolean(f.Name)
	case table.Index, table.Count, table.OptionalIndex:
		var v int64
		if v, err = d.integer(f, math.MinInt64, math.MaxInt64); err == nil {
			*f.Int(base), err = int(v), fields.CheckIndex(f, v)
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
func (d *decoder) compound(f *table.Field, base table.Ref) (err error) {
	switch f.Kind {
	case table.Edges:
		return d.edges(d.arrival)
	case table.IDs:
		e := fields.NewEdgeIDs()
		defer e.Release()
		e.Field = f.Name
		err = d.array(f.Name, func(i int) (err error) {
			if d.id, err = d.appendID(d.id[:0], f.Name, i); err != nil {
				return err
			}
			return e.Add(d.id)
		})
		*f.Strings(base) = e.AppendTo(nil)
	case table.Features:
		err = d.features(table.Inside[event.Features](f, base))
	case table.Struct, table.Group:
		if _, err = d.message(f.Message, f.Inner(base)); err == nil && f.Kind == table.Group {
			err = fields.CheckGroup(f.Message, base)
		}
		err = fields.Inside(f.Name, err)
	case table.Pointer:
		_, err = d.message(f.Message, f.Alloc(base))
		err = fields.Inside(f.Name, err)
	case table.List:
		err = d.array(f.Name, func(i int) error {
			_, err := d.message(f.Message, f.Add(base))
			return fields.Inside(event.Element(f.Name, i), err)
		})
	}
	return err
}

// text reads a string.
func (d *decoder) text(f *table.Field) (string, error) {
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

func (d *decoder) boolean(field string) (bool, error) {
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
func (d *decoder) integer(f *table.Field, lo, hi int64) (int64, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	if value.Kind() != '0' || !plainInteger(value) || string(value) == "-0" {
		return 0, unwanted(f.Name, value, "a plain integer"+f.Hint)
	}
	v, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || v < lo || v > hi {
		return 0, event.Errorf(event.ReasonUnparsable, f.Name, "%s is outside %d…%d", event.Cut(string(value)), lo, hi)
	}
	return v, nil
}

// object calls member with the name of each member of an object; member reads the value. The library refuses repeated
// names.
func (d *decoder) object(field string, member func(name []byte) error) error {
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
func (d *decoder) array(field string, item func(i int) error) error {
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
func (d *decoder) null() bool {
	if d.dec.PeekKind() != 'n' {
		return false
	}
	_, err := d.dec.ReadToken()
	return err == nil
}

// edges reads a list of ids or of objects with an id and perhaps a weight, a type or a direction.
func (d *decoder) edges(a *event.Arrival) error {
	e := fields.NewEdgeIDs()
	defer e.Release()
	err := d.array("edges", func(i int) (err error) {
		edge := event.Edge{Weight: 1}
		if d.dec.PeekKind() == '{' {
			var weighs bool
			weighs, err = d.edge(event.Element("edges", i), &edge)
			if d.weighs = d.weighs || weighs; err == nil && edge.In {
				return d.leadsHere(&edge, event.Element("edges", i))
			}
			if d.weights == nil {
				d.weights, d.types = slices.Repeat([]float32{1}, e.Len()), make([]string, e.Len())
			}
		} else {
			d.id, err = d.appendID(d.id[:0], "edges", i)
		}
		if err != nil {
			return err
		}
		if d.weights != nil {
			d.weights, d.types = append(d.weights, edge.Weight), append(d.types, edge.Type)
		}
		return e.Add(d.id)
	})
	a.Edges = e.AppendTo(a.Edges[:0])
	return err
}

// leadsHere takes the edge to the node whose id was read.
func (d *decoder) leadsHere(edge *event.Edge, place string) error {
	if err := fields.CheckText(d.id, place+".id"); err != nil {
		return err
	}
	d.incoming = append(d.incoming, string(d.id))
	d.incomingTypes, d.incomingWeights = append(d.incomingTypes, edge.Type), append(d.incomingWeights, edge.Weight)
	return nil
}

// edge reads an object with the id of a neighbour, into d.id, and perhaps the weight of the edge, its type, or that it
// leads to the node.
func (d *decoder) edge(place string, edge *event.Edge) (weighs bool, err error) {
	d.id = d.id[:0]
	err = d.object(place, func(name []byte) (err error) {
		switch string(name) {
		case "id":
			d.id, err = d.appendID(d.id[:0], place+".id", -1)
		case "weight":
			if !d.null() {
				weighs = true
				edge.Weight, err = d.float(place+".weight", -1)
			}
		case "type":
			if !d.null() {
				d.typed = true
				d.name, err = d.appendID(d.name[:0], place+".type", -1)
				edge.Type = string(d.name)
			}
		case "in":
			if !d.null() {
				edge.In, err = d.boolean(place + ".in")
			}
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	if err == nil && len(d.id) == 0 {
		err = event.Errorf(event.ReasonUnparsable, place+".id", "is missing")
	}
	if err == nil && edge.Weight <= 0 {
		err = event.Errorf(event.ReasonUnparsable, place+".weight", "%v, weights must be above 0", edge.Weight)
	}
	return weighs, err
}

// appendID reads a node id, element i of a list unless i is negative, and appends its text.
func (d *decoder) appendID(dst []byte, field string, i int) ([]byte, error) {
	value, err := d.dec.ReadValue()
	if err != nil {
		return dst, err
	}
	switch value.Kind() {
	case '"':
		if len(value) == len(`""`) {
			return dst, event.Errorf(event.ReasonUnparsable, fields.Place(field, i), "is empty")
		}
		return jsontext.AppendUnquote(dst, value)
	case '0':
		// -0 is the same number as 0 and would be another id.
		if !plainInteger(value) || string(value) == "-0" {
			return dst, unwanted(fields.Place(field, i), value, "a string or a plain integer")
		}
		return append(dst, value...), nil
	}
	return dst, unwanted(fields.Place(field, i), value, "a string or an integer")
}

// plainInteger reports whether a JSON number has neither fraction nor exponent.
func plainInteger(number jsontext.Value) bool { return !bytes.ContainsAny(number, ".eE") }

// time reads an RFC 3339 time; the result is in UTC, so that it does not depend on the machine's zone.
func (d *decoder) time(field string) (t time.Time, err error) {
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
	if !connect.InYears(t) { // conversion to UTC may leave them
		return t, unwanted(field, value, "a time in the years 1 to 9999 in UTC")
	}
	return t.UTC(), nil
}

// wrongKind reads the next value and refuses it.
func (d *decoder) wrongKind(field, want string) error {
	value, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	return unwanted(field, value, want)
}

func unwanted(field string, value jsontext.Value, want string) error {
	return event.Errorf(event.ReasonUnparsable, field, "%s, want %s", event.Cut(string(value)), want)
}
