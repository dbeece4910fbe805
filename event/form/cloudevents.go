package form

import (
	"encoding/base64"
	"mime"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/json"
)

// structuredContentType is the content-type of a CloudEvent in structured mode.
const structuredContentType = "application/cloudevents+json"

// isStructured reports whether a record is a CloudEvent in structured mode, with its attributes and its data in one
// JSON object.
func (f *Reader) isStructured(contentType string, headers []event.Header, data []byte) bool {
	if f.Mapping == nil || f.Mapping.preset != PresetCloudEvents {
		return false
	}
	if contentType == "" {
		return f.looksStructured(headers, data)
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	return err == nil && mediaType == structuredContentType
}

// inline returns the data of a CloudEvent in structured mode that stand in it as JSON; nil: there are none.
func (m *Mapping) inline(data []byte) []byte {
	var found [1][]byte
	if m.find(data, cloudWants[1:2], found[:]) != nil || found[0] == nil {
		return nil
	}
	return inner(found[0])
}

// looksStructured reports whether a record without a content-type is an event in structured mode: none of its headers
// is an attribute of an event, and its object has the attribute that each event has.
func (f *Reader) looksStructured(headers []event.Header, data []byte) bool {
	if _, isJSON := f.Default.(json.Codec); f.Default != nil && !isJSON ||
		event.HeaderValue(headers, "ce_specversion") != nil {
		return false
	}
	var found [1][]byte
	return f.Mapping.find(data, cloudWants[:1], found[:]) == nil && found[0] != nil
}

var cloudWants = []want{{"", []string{"specversion"}}, {"", []string{"data"}}, {"", []string{"data_base64"}},
	{"", []string{"datacontenttype"}}, {"", []string{"time"}}}

// structured reads a CloudEvent in structured mode.
func (f *Reader) structured(data []byte, a *event.Arrival) error {
	var found [5][]byte
	if err := f.Mapping.find(data, cloudWants, found[:]); err != nil {
		return err
	}
	version, inline, encoded := found[0], found[1], found[2]
	var err error
	switch {
	case version == nil:
		return event.Errorf(event.ReasonUnparsable, "specversion", "is missing: the record is no CloudEvent")
	case inline != nil && encoded != nil:
		return event.Errorf(event.ReasonUnparsable, "data", "is there, and so is data_base64")
	case inline != nil:
		err = f.Mapping.read(inner(inline), nil, a)
	case encoded != nil:
		var payload []byte
		if payload, err = base64.StdEncoding.DecodeString(unquoted(encoded)); err != nil {
			return event.Errorf(event.ReasonUnparsable, "data_base64", "%s", err)
		}
		err = f.plain(unquoted(found[3]), payload, a)
	default:
		return event.Errorf(event.ReasonUnparsable, "data", "is missing")
	}
	return withEventTime(err, unquoted(found[4]), a)
}

// withEventTime goes on with the event's time where an arrival was read, also where that lacks its features.
func withEventTime(err error, text string, a *event.Arrival) error {
	if err != nil && !event.LacksFeatures(err) {
		return err
	}
	if bad := eventTime(text, a); bad != nil {
		return bad
	}
	return err
}

// unquoted returns the text of a JSON string, "" of anything else.
func unquoted(value jsontext.Value) string {
	if len(value) == 0 || value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// eventTime gives an arrival without a time its event's time.
func eventTime(text string, a *event.Arrival) error {
	if text == "" || !a.Time.IsZero() {
		return nil
	}
	var t time.Time
	if t.UnmarshalText([]byte(text)) != nil || !connect.InYears(t) {
		return event.Errorf(event.ReasonUnparsable, "time", "%s of the event, want an RFC 3339 string", event.Cut(text))
	}
	a.Time = t.UTC()
	return nil
}
