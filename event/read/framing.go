package read

import (
	"bytes"
	"errors"
	"strings"

	"rivulet/event"
	"rivulet/event/json"
)

// framing is a form of bytes that Rivulet does not read, recognised by its first bytes.
type framing struct {
	begin string
	least int    // bytes of a record of this form
	is    string // the form's name, and advice
}

// framings lists forms that producers send and Rivulet does not read: other registries', compression that is not
// Kafka's, and files. The first match counts.
var framings = []framing{
	{"\x00\x00\x00\x00\x00", 9,
		"a 0 and an id of eight bytes, as Apicurio's serializers write by default: set apicurio.registry.use-id to " +
			"contentId and apicurio.registry.id-handler to Apicurio's Legacy4ByteIdHandler (its option as-confluent), and " +
			"registry.urls to its address with /apis/ccompat/v7"},
	{"\x00", confluentHead, "a 0 and the id of a schema, the Confluent wire format: set registry.urls and leave the " +
		"content-type out"},
	{"\x01", 17, "a 1 and a schema's GUID before the value, which is not read: use Confluent's prefix of an id, or its " +
		"header __value_schema_id"},
	{"\x03\x00", 18, "the framing of AWS Glue's registry, which is not asked: use Confluent's serializer, or JSON"},
	{"\x03\x05", 18, "the framing of AWS Glue's registry, with compression, which is not asked: use Confluent's " +
		"serializer, or JSON"},
	{"\xc3\x01", 10, "Avro's single-object encoding, whose schema is named by a fingerprint: use Confluent's " +
		"serializer and registry.urls"},
	{"Obj\x01", 4, "an Avro object container file: send each of its records by itself"},
	{"PAR1", 4, "a Parquet file: send each of its rows by itself"},
	{"\x1f\x8b", 10, "compressed with gzip by the producer itself: use Kafka's compression.type, which readers undo"},
	{"\x28\xb5\x2f\xfd", 9, "compressed with zstd by the producer itself: use Kafka's compression.type, which readers " +
		"undo"},
	{"\x04\x22\x4d\x18", 7, "compressed with lz4 by the producer itself: use Kafka's compression.type, which readers " +
		"undo"},
	{"\x82SNAPPY\x00", 8, "compressed with snappy by the producer itself: use Kafka's compression.type, which readers " +
		"undo"},
	{"\xac\xed\x00\x05", 4, "a serialized object of Java: use a serializer of JSON, Avro or Protobuf"},
	{"\xef\xbb\xbf", 3, "a byte order mark before the text: write UTF-8 without one"},
	{"\xff\xfe", 2, "text in UTF-16: write UTF-8"},
	{"\xfe\xff", 2, "text in UTF-16: write UTF-8"},
	{`"{`, 4, "JSON as the text of a JSON string: it was made JSON twice, by the program and by its serializer"},
	{`"[`, 4, "JSON as the text of a JSON string: it was made JSON twice, by the program and by its serializer"},
	{"<", 2, "XML: send JSON or Protobuf"},
}

// framingOf names the likely form of a record that cannot be read; empty if it is not known.
func framingOf(data []byte) string {
	for i := range framings {
		if f := &framings[i]; len(data) >= f.least && bytes.HasPrefix(data, []byte(f.begin)) {
			return f.is
		}
	}
	return ""
}

// apicurioHeader returns the name of the header in which Apicurio's serializers put a schema's id; empty where there is
// none.
func apicurioHeader(headers []event.Header) string {
	for _, h := range headers {
		if strings.HasPrefix(h.Key, "apicurio.value.") && strings.HasSuffix(h.Key, "Id") {
			return h.Key
		}
	}
	return ""
}

// withFraming adds a record's likely form to the reason why it cannot be parsed.
func (r *Reader) withFraming(err error, headers []event.Header, data []byte) error {
	var fault *event.FieldError
	if !errors.As(err, &fault) || fault.Reason != event.ReasonUnparsable {
		return err
	}
	is := framingOf(data)
	if codec, _ := r.codec(ContentTypeOf(headers)); len(data) > 0 && data[0] >= ' ' && data[0] != 'O' {
		if _, isJSON := codec.(json.Codec); !isJSON { // a first letter is a length there
			is = ""
		}
	}
	switch header := len(event.HeaderValue(headers, event.HeaderValueSchemaID)) > 0; {
	case apicurioHeader(headers) != "":
		is = "a value whose schema is named by Apicurio's header " + apicurioHeader(headers) + ", which is not read: set " +
			"apicurio.registry.headers.enabled to false, its id handler to Legacy4ByteIdHandler, and registry.urls"
	case header && r.Schemas == nil:
		is = "a value whose schema is named by the header " + event.HeaderValueSchemaID + ": set registry.urls"
	case is == "", r.Schemas != nil && is == framings[1].is:
		return err
	}
	out := *fault
	out.Detail = "it seems to be " + is + " (" + fault.Error() + ")"
	out.Field = ""
	return &out
}
