package read

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/fields"
	"rivulet/event/json"
)

// fill makes an arrival of a row: it writes the values that were found in Rivulet's own form, and decodes that. Named
// features are decoded by themselves.
func (m *Mapping) fill(d *document, at *located, a *event.Arrival) error {
	own, named := append(d.own[:0], '{'), a.Features.Named
	if m.named >= 0 { // the row's own reader sets them below
		own = append(append(own, memberFeatures...), "[]"...)
	}
	var err error
	for i := range m.wants {
		if i == m.key || i == m.named {
			continue
		}
		if own, err = m.appendMember(own, &m.wants[i], d.at(at.wants[i]), at.t); err != nil {
			return err
		}
	}
	d.own = append(own, '}')
	lacking := (json.Codec{}).DecodeArrival(d.own, a)
	if lacking != nil && !event.LacksFeatures(lacking) {
		return lacking
	}
	if m.named >= 0 {
		a.Features.Named, lacking = named, event.ErrNoFeatures
		if value := d.at(at.wants[m.named]); value != nil {
			lacking = json.DecodeRow(inner(value), m.rows, at.t.At(m.wants[m.named].path), &a.Features)
		}
		if lacking != nil && !event.LacksFeatures(lacking) {
			return lacking
		}
	}
	a.Key = nil
	if m.key >= 0 && d.at(at.wants[m.key]) != nil {
		if err := m.readKey(d.at(at.wants[m.key]), at.t.At(m.wants[m.key].path), a); err != nil {
			return err
		}
	}
	return lacking
}

// fillEdge makes an edge of a row.
func (m *Mapping) fillEdge(d *document, at *located, e *event.Edge) error {
	own, err := append(d.own[:0], '{'), error(nil)
	for i := range m.edge {
		if value := d.at(at.edge[i]); !isAbsent(value) {
			if own, err = m.appendMember(own, &m.edge[i], value, at.t); err != nil {
				return err
			}
		}
	}
	d.own = append(own, '}')
	return (json.Codec{}).DecodeEdge(d.own, e)
}

// id returns the id in a row.
func (m *Mapping) id(d *document, at *located) (string, error) {
	if len(at.wants) == 0 {
		return m.readID(d, nil, nil)
	}
	return m.readID(d, d.at(at.wants[0]), at.t)
}

// readID reads an id as a row has it.
func (m *Mapping) readID(d *document, value []byte, t *connect.Type) (_ string, err error) {
	if value == nil {
		return "", event.Errorf(event.ReasonUnparsable, "id", "is missing")
	}
	if d.own, err = m.appendValue(d.own[:0], &m.wants[0], value, t); err != nil {
		return "", err
	}
	return readID(d.own)
}

// readID reads an id by the rules for ids of nodes: text that is not empty, or a whole number.
func readID(value []byte) (string, error) {
	var l event.Label
	err := (json.Codec{}).DecodeLabel(append(append([]byte(`{"class":0,"id":`), value...), '}'), &l)
	return l.ID, err
}

// appendMember writes a member as Rivulet's own form has it, behind the brace or the members before; nothing where the
// document has no value.
func (m *Mapping) appendMember(dst []byte, w *want, value []byte, t *connect.Type) ([]byte, error) {
	if value == nil {
		return dst, nil
	}
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return m.appendValue(append(dst, w.member...), w, value, t)
}

// appendValue writes the value of a member.
func (m *Mapping) appendValue(dst []byte, w *want, value jsontext.Value, t *connect.Type) ([]byte, error) {
	if w.member != memberID && w.member != memberTime {
		switch text, is := textOf(value); {
		case !is:
		case text.IsValid(): // else it could end the member, and begin another one
			value = text
		case w.member == memberFeatures:
			if err := json.DecodeFeatures(text, new(event.Features)); err != nil {
				return dst, err
			}
		}
	}
	switch {
	case w.member == memberTime && m.unit > 0:
		return m.appendTime(dst, value)
	case m.rows == nil:
		return append(dst, value...), nil
	}
	var err error
	if t = t.At(w.path); w.member == memberTime {
		dst, err = m.rows.AppendTime(dst, value, t)
	} else {
		dst, err = m.rows.AppendPlain(dst, value, t)
	}
	if errors.Is(err, connect.ErrUnavailable) {
		return dst, event.Errorf(event.ReasonFeatureMissing, strings.Trim(w.member, `":`), "%s", err)
	}
	return dst, err
}

// textOf returns the text that begins a list or an object and stands in a JSON string, as in columns of the type json:
// "[\"n1\",\"n2\"]". It need not be JSON.
func textOf(value jsontext.Value) (text jsontext.Value, is bool) {
	if len(value) < 4 || value[0] != '"' || value[1] != '[' && value[1] != '{' {
		return nil, false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return text, err == nil
}

// inner returns the text in a JSON string, as [textOf] does, and another value as it is.
func inner(value jsontext.Value) jsontext.Value {
	if text, is := textOf(value); is {
		return text
	}
	return value
}

// eventTime gives an arrival without a time the one of its CloudEvent.
func eventTime(text string, a *event.Arrival) error {
	if text == "" || !a.Time.IsZero() {
		return nil
	}
	var t time.Time
	if t.UnmarshalText([]byte(text)) != nil || !connect.InYears(t) {
		return event.Errorf(event.ReasonUnparsable, "ce_time", "%s of the event, want an RFC 3339 string", event.Cut(text))
	}
	a.Time = t.UTC()
	return nil
}

// appendTime writes a number since 1970 as text.
func (m *Mapping) appendTime(dst []byte, value jsontext.Value) ([]byte, error) {
	if value.Kind() == 'n' {
		return append(dst, "null"...), nil
	}
	v, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
	if err != nil {
		return dst, event.Errorf(event.ReasonUnparsable, "time", "%s, want an integer since 1970", event.Cut(string(value)))
	}
	t := connect.Since(v, m.unit)
	if err := fields.CheckYears(t, "time"); err != nil {
		return dst, err
	}
	return append(t.AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
}

// readKey takes a string or a number for the key of the prediction; null for none.
func (m *Mapping) readKey(value jsontext.Value, t *connect.Type, a *event.Arrival) (err error) {
	if m.rows != nil {
		if value, err = m.rows.AppendPlain(nil, value, t); err != nil {
			return event.Errorf(event.ReasonUnparsable, "key", "%s", err)
		}
	}
	switch value.Kind() {
	case 'n':
		return nil
	case '"':
		key, err := jsontext.AppendUnquote(nil, value)
		a.Key = key
		return err
	case '0':
		a.Key = append([]byte{}, value...)
		return nil
	}
	return event.Errorf(event.ReasonUnparsable, "key", "%s, want a string or a number", event.Cut(string(value)))
}
