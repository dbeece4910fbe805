package event

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Forms reads records of every form that a topic may have. It is the one place that decides which form a record has:
//
//  1. A content-type header names it.
//  2. Without one, a record of the Confluent wire format begins with a byte 0. It is read by the schema that its next
//     four bytes name, where there is a registry.
//  3. Any other record has the form Default.
//
// A [Mapping] then finds the arrival's fields in the record. The zero Forms reads JSON. Forms may be used by many goroutines
// at once.
type Forms struct {
	// Default is the form of records without a content-type header; nil means JSON.
	Default Codec
	// Confluent says that records without a content-type header have the Confluent wire format, and no other.
	Confluent bool
	// Schemas are those of a registry; nil: there is none.
	Schemas Schemas
	// Mapping says where an arrival is in a record of JSON, or of a registry's schema; nil: where Rivulet's own form
	// has it. Labels are not mapped.
	Mapping *Mapping
	// LookUp says that arrivals may lack their features ([Features.Absent]), as these are looked up. Else such a record
	// is refused.
	LookUp bool
	// InPlace lets the ids of arrivals be parts of their records' memory, which saves a copy of each. That memory must not change
	// while an arrival is in use, and an id keeps all of it alive, so a caller that keeps an id for long must clone it. Some ids are
	// copies even so: those with escapes, and all of mapped records.
	InPlace bool
}

// Schemas are the schemas of a registry, by the ids that records of the Confluent wire format carry.
type Schemas interface {
	// Schema returns the decoder of what was written with a schema. It does not wait: who reads records has asked the
	// registry before. An error, a *[FieldError], says why records of it cannot be read.
	Schema(id uint32) (Written, error)
}

// Written decodes what was written with one schema: a record of the Confluent wire format, less its first five bytes.
type Written interface {
	DecodeArrival(data []byte, a *Arrival) error
	DecodeLabel(data []byte, l *Label) error
	// AppendJSON appends the record to dst as one JSON object.
	AppendJSON(dst, data []byte) ([]byte, error)
}

var _ Written = (*AvroSchema)(nil)

// confluentPrefix begins the content-types of the Confluent wire format: the name of the form of the payload follows.
const confluentPrefix = "application/vnd.confluent."

// ConfluentContentType is the content-type of records in the Confluent wire format whose payload has a form, such
// as "avro".
func ConfluentContentType(form string) string { return confluentPrefix + form }

// confluentHead is how many bytes the wire format has before the payload: a 0, and the schema's id.
const confluentHead = 5

// AppendConfluentHead appends the first five bytes of a record in the Confluent wire format to dst.
func AppendConfluentHead(dst []byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), id)
}

// SchemaID returns the id of the schema that a record names, and false where it names none.
func (f *Forms) SchemaID(headers []Header, data []byte) (id uint32, names bool) {
	if f.Schemas == nil || len(data) < confluentHead || data[0] != 0 || !f.framed(ContentTypeOf(headers), data) {
		return 0, false
	}
	return binary.BigEndian.Uint32(data[1:]), true
}

// framed reports whether a record has the Confluent wire format, or should have it.
func (f *Forms) framed(contentType string, data []byte) bool {
	if contentType == "" {
		return f.Confluent || f.Schemas != nil && len(data) > 0 && data[0] == 0
	}
	return strings.HasPrefix(contentType, confluentPrefix)
}

// open returns the decoder of a record in the Confluent wire format, and its payload.
func (f *Forms) open(data []byte) (Written, []byte, error) {
	switch {
	case f.Schemas == nil:
		return nil, nil, fieldErrorf(ReasonContentType, "", "the Confluent wire format needs a registry: registry.urls is empty")
	case len(data) < confluentHead:
		return nil, nil, fieldErrorf(ReasonUnparsable, "", "%d bytes, want a 0 and the four bytes of a schema's id", len(data))
	case data[0] != 0:
		return nil, nil, fieldErrorf(ReasonUnparsable, "", "the first byte is %d, want 0 as in the Confluent wire format",
			data[0])
	}
	w, err := f.Schemas.Schema(binary.BigEndian.Uint32(data[1:]))
	return w, data[confluentHead:], err
}

// codec returns the codec of a record that has not the Confluent wire format.
func (f *Forms) codec(contentType string) (Codec, error) {
	if contentType == "" && f.Default != nil {
		return f.Default, nil
	}
	codec, ok := ForContentType(contentType)
	if !ok {
		return nil, fieldErrorf(ReasonContentType, HeaderContentType, "%s names no codec",
			fmt.Sprintf("%.80q", contentType))
	}
	return codec, nil
}

// Arrival reads a record into a, reusing a's memory. The error is a *[FieldError], or a [Skip] where the record is
// not to be predicted; then the content of a is undefined.
func (f *Forms) Arrival(headers []Header, data []byte, a *Arrival) error {
	a.Key, a.Features.Absent = nil, false
	err := f.arrival(headers, data, a)
	if f.LookUp && lacksFeatures(err) {
		a.Features.becomeAbsent()
		return nil
	}
	return err
}

func (f *Forms) arrival(headers []Header, data []byte, a *Arrival) error {
	contentType := ContentTypeOf(headers)
	if f.Mapping != nil {
		return f.mapped(contentType, headers, data, a)
	}
	if f.framed(contentType, data) {
		w, payload, err := f.open(data)
		if err != nil {
			return err
		}
		return f.decode(w, payload, a)
	}
	codec, err := f.codec(contentType)
	if err != nil {
		return err
	}
	return f.decode(codec, data, a)
}

// decode reads a record with a [Codec] or a [Written].
func (f *Forms) decode(by interface {
	DecodeArrival(data []byte, a *Arrival) error
}, data []byte, a *Arrival) error {
	if d, ok := by.(inPlaceDecoder); ok && f.InPlace {
		return d.decodeArrival(data, a, true)
	}
	return by.DecodeArrival(data, a)
}

// LineHeaders returns the headers with which a line of a file is read as a record: JSON's content-type or, with the
// preset for CloudEvents, that of an event in structured mode, because a line has no headers for the attributes.
func (f *Forms) LineHeaders() []Header {
	contentType := JSON{}.ContentType()
	if f.Mapping != nil && f.Mapping.preset == PresetCloudEvents {
		contentType = structuredContentType
	}
	return []Header{{Key: HeaderContentType, Value: []byte(contentType)}}
}

// OfLabels are the forms of labels: JSON unless a record says otherwise.
func (f *Forms) OfLabels() *Forms { return &Forms{Schemas: f.Schemas} }

// Label reads a record into l; its error is a *[FieldError], too.
func (f *Forms) Label(headers []Header, data []byte, l *Label) error {
	contentType := ContentTypeOf(headers)
	if f.framed(contentType, data) {
		w, payload, err := f.open(data)
		if err != nil {
			return err
		}
		return w.DecodeLabel(payload, l)
	}
	codec, err := f.codec(contentType)
	if err != nil {
		return err
	}
	return codec.DecodeLabel(data, l)
}
