package form

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/json"
)

// Forget is the error of [Reader.Event] for a record that asks to forget an id.
type Forget struct{ ID string }

// Error says which id the record asks to forget.
func (f Forget) Error() string { return "the record asks to forget " + event.Cut(f.ID) }

// Event reads a record as [Reader.Arrival] does. Four kinds of records ask to forget an id. With [Reader.Forget] they
// are a [Forget], without it they are passed over ([Skip]):
//
//	a record without a value      the id is its key: text, JSON text, a number, or an object that has the id as rows do
//	a delete of Debezium          the id is in the row before
//	a deleted row of Connect      the id is in the row
//	{"id": "n1", "forget": true}  the id, where input.mapping says
//
// If the id cannot be read the error is an *[event.FieldError]. After a delete, Debezium writes a tombstone of the same
// key, which is passed over.
func (f *Reader) Event(key []byte, headers []event.Header, data []byte, a *event.Arrival) error {
	ask, asks, err := f.asksToForget(headers, data)
	switch {
	case asks && !f.Forget:
		a.ID, a.Key = ask.ID, nil
		return SkipDelete
	case f.Forget && (asks || err != nil):
		return forgets(ask, err)
	}
	err = f.Arrival(headers, data, a)
	if !f.Forget {
		return err
	}
	var skip Skip
	switch errors.As(err, &skip); {
	case skip == SkipDelete:
		return forgets(Forget{a.ID}, nil)
	case skip == SkipTombstone && (f.Mapping == nil || f.Mapping.preset != PresetDebezium):
		return forgets(f.tombstone(key))
	}
	return err
}

func forgets(ask Forget, err error) error {
	if err == nil && ask.ID == "" {
		err = event.Errorf(event.ReasonUnparsable, "id", "cannot be read: the record asks to forget an id")
	}
	if err != nil {
		return err
	}
	return ask
}

// asksToForget looks for "forget": true in a record of JSON. Records of connectors have deletes instead.
func (f *Reader) asksToForget(headers []event.Header, data []byte) (ask Forget, asks bool, err error) {
	m, contentType := f.Mapping, ContentTypeOf(headers)
	if !bytes.Contains(data, []byte(`"forget"`)) || m != nil && m.isConnector() {
		return ask, false, nil
	}
	if m == nil {
		m = plainMapping
	}
	if f.framed(contentType, headers, data) {
		if data, _, err = f.registered(headers, data); err != nil {
			return ask, false, nil // the reader of arrivals says why
		}
	} else if codec, err := f.codec(contentType); err != nil || codec.ContentType() != (json.Codec{}).ContentType() {
		return ask, false, nil
	}
	var found [1][]byte
	if m.find(data, []want{{"", []string{"forget"}}}, found[:]) != nil {
		return ask, false, nil
	}
	switch string(found[0]) {
	case "", "false", "null":
		return ask, false, nil
	case "true":
		ask, err = m.forget(data, nil)
		return ask, true, err
	}
	return ask, false, event.Errorf(event.ReasonUnparsable, "forget", "%s, want true or false",
		event.Cut(string(found[0])))
}

// plainMapping finds fields where Rivulet's own form has them.
var plainMapping = &Mapping{preset: PresetNone, key: -1, named: -1, wants: []want{{memberID, []string{"id"}}}}

// forget returns the id in a row, or in the key of one.
func (m *Mapping) forget(text []byte, t *connect.Type) (ask Forget, err error) {
	var places [9][]byte
	found := places[:len(m.wants)]
	if err := m.find(text, m.wants, found); err != nil {
		return ask, err
	}
	if found[0] == nil {
		return ask, event.Errorf(event.ReasonUnparsable, "id", "is missing")
	}
	own, err := m.appendField([]byte(memberID), &m.wants[0], found[0], t)
	if err != nil {
		return ask, err
	}
	ask.ID, err = readID(own[len(memberID):])
	return ask, err
}

// readID reads an id by the rules for ids of nodes: text that is not empty, or a whole number.
func readID(value []byte) (string, error) {
	var l event.Label
	err := (json.Codec{}).DecodeLabel(append(append([]byte(`{"class":0,"id":`), value...), '}'), &l)
	return l.ID, err
}

// tombstone returns the id that the key of a tombstone names.
func (f *Reader) tombstone(key []byte) (ask Forget, err error) {
	text := bytes.TrimSpace(key)
	switch {
	case len(text) == 0:
		err = errors.New("is missing")
	case text[0] == '{' && jsontext.Value(text).IsValid():
		m := f.Mapping
		if m == nil {
			m = plainMapping
		}
		var found [2][]byte
		if m.find(text, []want{rowWants[rowSchema], rowWants[rowPayload]}, found[:]) == nil && found[0] != nil &&
			found[1] != nil {
			text = found[1]
		}
		ask, err = m.forget(text, nil)
	case text[0] == '"' && jsontext.Value(text).IsValid():
		ask.ID, err = readID(text)
	case !utf8.Valid(key) || key[0] == 0:
		err = errors.New("is no text")
	default:
		ask.ID = string(key)
	}
	if err != nil {
		err = event.Errorf(event.ReasonUnparsable, "key",
			"%s: a record without a value asks to forget the id that is its key",
			err)
	}
	return ask, err
}
