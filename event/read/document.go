package read

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/json"
)

// place is the number of a value among those that a [tree] looks for; none of a value that is not looked for.
type place int

const none place = -1

// tree has the values to look for in a document, by their way from its top.
type tree struct {
	at      place
	members map[string]*tree // by name, or by the index in a list
}

// layout is a tree and the number of its places.
type layout struct {
	top    *tree
	places int
}

func newLayout() *layout { return &layout{top: &tree{at: none}} }

// add has a value looked for; every path has one place.
func (l *layout) add(path ...string) place {
	t := l.top
	for _, name := range path {
		if t.members == nil {
			t.members = map[string]*tree{}
		}
		if t.members[name] == nil {
			t.members[name] = &tree{at: none}
		}
		t = t.members[name]
	}
	if t.at == none {
		t.at = place(l.places)
		l.places++
	}
	return t.at
}

// document is JSON text and the values that were found in it. It lives in a pool, and its memory is used again.
type document struct {
	text  []byte
	found [][]byte // by place: the value's text, a part of the document; nil where there is none
	own   []byte   // memory of the message in Rivulet's own JSON
	json  []byte   // memory of the text that a registry's schema makes of a record

	buf  bytes.Buffer
	dec  jsontext.Decoder
	name []byte
}

var documents = sync.Pool{New: func() any { return new(document) }}

func newDocument() *document { return documents.Get().(*document) }

// release gives the memory back. No value of the document is used afterwards.
func (d *document) release() {
	d.text, d.buf = nil, bytes.Buffer{}
	clear(d.found[:cap(d.found)])
	d.dec.Reset(&d.buf)
	if cap(d.own)+cap(d.json)+cap(d.name) <= fields.MaxScratch {
		documents.Put(d)
	}
}

// index finds the values of a layout in one pass. Text that is no JSON is an error: of the reason not_finite where the
// parser stopped at the literal NaN or Infinity in a feature, as in Rivulet's own form, and else unparsable. m
// names the feature.
func (d *document) index(text []byte, l *layout, m *Mapping) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return event.Errorf(event.ReasonUnparsable, "", "the record is empty")
	}
	d.begin(text, l)
	if d.value(l.top, (*jsontext.Decoder).ReadValue) != nil { // again, token by token, to find the place of the fault
		d.begin(text, l)
		if err := d.value(l.top, skipValue); err != nil {
			if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
				if field := m.feature(slices.Collect(syntactic.JSONPointer.Tokens())); field != "" {
					err = json.NotFinite(err, text[d.dec.InputOffset():], field)
				}
			}
			return json.Refused(err)
		}
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return event.Errorf(event.ReasonUnparsable, "", "the record goes on after its value (byte %d)", d.dec.InputOffset())
	}
	return nil
}

func (d *document) begin(text []byte, l *layout) {
	d.text, d.buf = text, *bytes.NewBuffer(text)
	d.found = slices.Grow(d.found[:0], l.places)[:l.places]
	clear(d.found)
	d.dec.Reset(&d.buf)
}

// skip reads a value that is not looked into.
type skip = func(*jsontext.Decoder) (jsontext.Value, error)

func skipValue(dec *jsontext.Decoder) (_ jsontext.Value, err error) {
	switch dec.PeekKind() {
	case '}', ']':
		_, err = dec.ReadToken() // which says that the value is missing
	default:
		err = dec.SkipValue()
	}
	return nil, err
}

// value reads the next value, at t.
func (d *document) value(t *tree, pass skip) error {
	kind := d.dec.PeekKind() // it passes over space, a comma or a colon
	begin := int(d.dec.InputOffset())
	for begin < len(d.text) && bytes.IndexByte([]byte(" \t\r\n,:"), d.text[begin]) >= 0 {
		begin++
	}
	var err error
	switch {
	case t.members == nil:
		_, err = pass(&d.dec)
	case kind == '{':
		err = d.object(t, pass)
	case kind == '[':
		err = d.array(t, pass)
	default:
		_, err = pass(&d.dec)
	}
	if err == nil && t.at != none {
		d.found[t.at] = d.text[begin:d.dec.InputOffset()]
	}
	return err
}

func (d *document) object(t *tree, pass skip) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for kind := d.dec.PeekKind(); kind != '}'; kind = d.dec.PeekKind() {
		if kind != '"' {
			_, err := d.dec.ReadToken() // which says what is wrong
			return err
		}
		quoted, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		if d.name, err = jsontext.AppendUnquote(d.name[:0], quoted); err != nil {
			return err
		}
		if err := d.member(t.members[string(d.name)], pass); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

func (d *document) array(t *tree, pass skip) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; d.dec.PeekKind() != ']'; i++ {
		d.name = strconv.AppendInt(d.name[:0], int64(i), 10)
		if err := d.member(t.members[string(d.name)], pass); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// member reads the value of a member or an element, or passes over it where no path leads to it.
func (d *document) member(t *tree, pass skip) error {
	if t == nil {
		_, err := pass(&d.dec)
		return err
	}
	return d.value(t, pass)
}

// at returns the value of a place, nil where the document has none.
func (d *document) at(p place) []byte { return d.found[p] }

func isIndex(token string) bool { return strings.Trim(token, "0123456789") == "" }

func isNull(value []byte) bool { return string(value) == "null" }

func isAbsent(value []byte) bool { return value == nil || isNull(value) }
