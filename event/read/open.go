package read

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rivulet/event"
	"rivulet/event/connect"
	"rivulet/event/json"
)

// Reader reads records of every form that a topic may have. It is the one place that decides which form a record has:
//
//  1. A content-type header names it.
//  2. Without one, and where there is a registry, a record may name its schema: in the header __value_schema_id, or, in
//     the Confluent wire format, by a first byte 0 and the next four bytes.
//  3. Any other record has the form Default.
//
// A record without a value, a tombstone, is no arrival in any form ([SkipTombstone]).
//
// A [Mapping] then finds the arrival's fields in the record. The zero Reader reads JSON. Many goroutines may use a
// Reader at once.
type Reader struct {
	// Default is the form of records without a content-type header; nil means JSON.
	Default event.Codec
	// Confluent says that records without a content-type header have the Confluent wire format, and no other.
	Confluent bool
	// Schemas is the schema registry; nil: there is none.
	Schemas Schemas
	// Mapping says where an arrival is in a record of JSON, or of a registry's schema; nil: where Rivulet's own form
	// has it. Labels are not mapped.
	Mapping *Mapping
	// LookUp says that arrivals may lack their features ([event.Features.Absent]), as these are looked up. Else such a
	// record is refused.
	LookUp bool
	// Forget has records that ask to forget an id told; else they are passed over.
	Forget bool
	// Labels says that the records are labels.
	Labels bool
	// InPlace lets the ids of arrivals be parts of their records' memory, which saves a copy of each. That memory must not
	// change while an arrival is in use, and an id keeps all of it alive, so a caller that keeps an id for long must clone
	// it. Some ids are copies even so: ids with escapes, and all ids of mapped records.
	InPlace bool
}

// SchemaID names a schema of a registry, by its number or by its GUID: the other one is zero.
type SchemaID struct {
	Number uint32
	GUID   [16]byte
}

// String returns the number or, as a text of hexadecimal digits, the GUID.
func (id SchemaID) String() string {
	if g := id.GUID; g != [16]byte{} {
		return fmt.Sprintf("%x-%x-%x-%x-%x", g[:4], g[4:6], g[6:8], g[8:10], g[10:])
	}
	return strconv.FormatUint(uint64(id.Number), 10)
}

// Schemas are the schemas of a registry, by the ids that records carry.
type Schemas interface {
	// Schema returns the decoder for records of a schema. It does not wait: callers have asked the registry before. Its
	// error, a *[event.FieldError], says why such records cannot be read.
	Schema(id SchemaID) (Written, error)
}

// decoder decodes records of one form: a [Written], or an [event.Codec].
type decoder interface {
	DecodeArrival(data []byte, a *event.Arrival) error
	DecodeLabel(data []byte, l *event.Label) error
	DecodeEdge(data []byte, e *event.Edge) error
}

// Written decodes records of one schema in the Confluent wire format, without their first five bytes.
type Written interface {
	decoder
	// AppendJSON appends the record to dst as one JSON object.
	AppendJSON(dst, data []byte) ([]byte, error)
}

// confluentPrefix begins the content-types of the Confluent wire format: the name of the form of the payload follows.
const confluentPrefix = "application/vnd.confluent."

// ConfluentContentType is the content-type of Confluent records whose payload has a form, such as "avro".
func ConfluentContentType(form string) string { return confluentPrefix + form }

// confluentHead is the number of bytes that the wire format has before the payload: a 0, and the schema's id.
const confluentHead = 5

// AppendConfluentHead appends the first five bytes of a record in the Confluent wire format to dst.
func AppendConfluentHead(dst []byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0), id)
}

// SchemaID returns the id of the schema that a record names, and false where it names none.
func (r *Reader) SchemaID(headers []event.Header, data []byte) (id SchemaID, names bool) {
	if r.Schemas == nil || !r.framed(ContentTypeOf(headers), headers, data) {
		return SchemaID{}, false
	}
	id, _, err := schemaID(headers, data)
	return id, err == nil
}

// framed reports whether a record names its schema, or should name it.
func (r *Reader) framed(contentType string, headers []event.Header, data []byte) bool {
	if contentType == "" {
		return r.Confluent || r.Schemas != nil && len(data) > 0 &&
			(data[0] == 0 || len(event.HeaderValue(headers, event.HeaderValueSchemaID)) > 0)
	}
	return len(contentType) >= len(confluentPrefix) &&
		strings.EqualFold(contentType[:len(confluentPrefix)], confluentPrefix)
}

// written returns the decoder of a record that names its schema, and its payload.
func (r *Reader) written(headers []event.Header, data []byte) (Written, []byte, error) {
	if r.Schemas == nil {
		return nil, nil, event.Errorf(event.ReasonContentType, "",
			"the Confluent wire format needs a registry: registry.urls is empty")
	}
	id, payload, err := schemaID(headers, data)
	if err != nil {
		return nil, nil, err
	}
	w, err := r.Schemas.Schema(id)
	return w, payload, err
}

// schemaID returns the schema that a record names, and the payload. The header __value_schema_id goes first: the value
// is then all payload. Without it the value's first bytes name the schema. The header has a byte 1 and the 16 bytes of
// a GUID, or a byte 0 and the four bytes of a number; in Protobuf the indexes of the message, which the wire format has
// before the payload, follow there.
func schemaID(headers []event.Header, data []byte) (id SchemaID, payload []byte, err error) {
	header := event.HeaderValue(headers, event.HeaderValueSchemaID)
	switch {
	case len(header) >= 1+len(id.GUID) && header[0] == 1:
		copy(id.GUID[:], header[1:])
		return id, slices.Concat(header[1+len(id.GUID):], data), nil
	case len(header) >= confluentHead && header[0] == 0:
		id.Number = binary.BigEndian.Uint32(header[1:])
		return id, slices.Concat(header[confluentHead:], data), nil
	case len(header) > 0:
		return id, nil, event.Errorf(event.ReasonUnparsable, event.HeaderValueSchemaID,
			"%d bytes that begin with %d, want 1 and the 16 bytes of "+
				"a schema's GUID, or 0 and the four bytes of its number", len(header), header[0])
	case len(data) < confluentHead:
		return id, nil, event.Errorf(event.ReasonUnparsable, "", "%d bytes, want a 0 and the four bytes of a schema's id",
			len(data))
	case data[0] != 0:
		return id, nil, event.Errorf(event.ReasonUnparsable, "",
			"the first byte is %d, want 0 as in the Confluent wire format",
			data[0])
	}
	if id.Number = binary.BigEndian.Uint32(data[1:]); id.Number == 0 {
		return id, nil, event.Errorf(event.ReasonUnparsable, "", "the schema's id is 0, which no schema has")
	}
	return id, data[confluentHead:], nil
}

// codec returns the codec of a record that has not the Confluent wire format.
func (r *Reader) codec(contentType string) (event.Codec, error) {
	if contentType == "" && r.Default != nil {
		return r.Default, nil
	}
	codec, why := forContentType(contentType)
	if why != "" {
		return nil, event.Errorf(event.ReasonContentType, event.HeaderContentType, "%.80q %s", contentType, why)
	}
	return codec, nil
}

// inPlaceDecoder is implemented by decoders of arrivals that can leave ids in the record's memory ([Reader.InPlace]).
type inPlaceDecoder interface {
	DecodeInPlace(data []byte, a *event.Arrival) error
}

// source is a record that was opened.
type source struct {
	by      decoder // of Rivulet's own fields
	payload []byte
	written Written // by, where the record names its schema
	framed  bool    // the record names its schema
}

// open finds out which form a record has.
func (r *Reader) open(rec *Record) (s source, err error) {
	contentType := ContentTypeOf(rec.Headers)
	if s.framed = r.framed(contentType, rec.Headers, rec.Value); s.framed {
		s.written, s.payload, err = r.written(rec.Headers, rec.Value)
		s.by = s.written
		return s, err
	}
	s.by, err = r.codec(contentType)
	s.payload = rec.Value
	return s, err
}

// isText reports whether the record is JSON, or becomes JSON by its schema. The other forms have Rivulet's own fields.
func (s *source) isText() bool {
	_, isJSON := s.by.(json.Codec)
	return isJSON || s.framed
}

// document returns the record as JSON, and the type of its values where its schema says it.
func (s *source) document(d *document) (text []byte, t *connect.Type, err error) {
	if !s.framed {
		return s.payload, nil, nil
	}
	if typed, is := s.written.(interface{ ConnectType() *connect.Type }); is {
		t = typed.ConnectType()
	}
	d.json, err = s.written.AppendJSON(d.json[:0], s.payload)
	return d.json, t, err
}

// LineHeaders returns the headers with which a line of a file is read as a record.
func LineHeaders() []event.Header {
	return []event.Header{{Key: event.HeaderContentType, Value: []byte((json.Codec{}).ContentType())}}
}

// Label reads a record of a topic of labels, with a reader of labels ([Reader.OfLabels]). Its error is an
// *[event.FieldError].
func (r *Reader) Label(rec Record) (*event.Label, error) {
	var m Message
	r.Read(rec, &m)
	return &m.Label, m.Err(KindLabel)
}

// OfLabels is the reader of labels: JSON unless a record says otherwise.
func (r *Reader) OfLabels() *Reader { return &Reader{Schemas: r.Schemas, Labels: true} }
