package read

import (
	"mime"
	"slices"
	"strings"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/protobuf"
)

// wireForm is a wire form that a record may declare and a setting may name.
type wireForm struct {
	name    string // in settings
	aliases []string
	codec   event.Codec
}

// forms lists all forms; the first is the default.
var forms = []wireForm{
	{name: "json", codec: json.Codec{}, aliases: []string{"text/json", "application/x-json"}},
	{name: "protobuf", codec: protobuf.Codec{},
		aliases: []string{"application/protobuf", "application/vnd.google.protobuf"}},
}

// Lookup returns the codec of a setting's value, "json" or "protobuf", and false if none has this name.
func Lookup(name string) (event.Codec, bool) {
	for _, f := range forms {
		if f.name == name {
			return f.codec, true
		}
	}
	return nil, false
}

// payloads are codecs of forms whose records cannot be read without their schema.
var payloads = map[string]event.Codec{}

// RegisterPayload adds a form of the Confluent wire format whose records cannot be read without their schema: Avro. Its
// package does it in its init, and only programs that import that package carry it.
func RegisterPayload(name string, codec event.Codec) { payloads[name] = codec }

// Payload returns the codec of Rivulet's own schema in a form of the Confluent wire format ([ConfluentContentType]):
// the codecs of Lookup, and those of RegisterPayload.
func Payload(name string) (event.Codec, bool) {
	if codec := payloads[name]; codec != nil {
		return codec, true
	}
	return Lookup(name)
}

// ForContentType returns the codec of a content-type header, and false if there is none for it. Empty means
// [json.Codec], the default. Case does not matter, and parameters are accepted, except a charset that is not a part of
// UTF-8. The form is also told by a suffix (RFC 6839): application/vnd.shop.node+json is JSON.
func ForContentType(ct string) (event.Codec, bool) {
	codec, why := forContentType(ct)
	return codec, why == ""
}

// forContentType is ForContentType with the reason why there is no codec.
func forContentType(ct string) (codec event.Codec, why string) {
	if ct == "" {
		return forms[0].codec, ""
	}
	if codec := forMediaType(ct); codec != nil { // the form that producers write, without parsing
		return codec, ""
	}
	mediaType, params, err := mime.ParseMediaType(ct)
	if err != nil {
		return nil, "is no content-type: " + err.Error()
	}
	switch charset := strings.ToLower(params["charset"]); charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
	default:
		return nil, "has the charset " + charset + ", want UTF-8"
	}
	if why := refusedMediaType(mediaType); why != "" {
		return nil, why
	}
	if codec := forMediaType(mediaType); codec != nil {
		return codec, ""
	}
	if at := strings.LastIndexByte(mediaType, '+'); at >= 0 {
		if codec := forMediaType("application/" + mediaType[at+1:]); codec != nil {
			return codec, ""
		}
	}
	return nil, "names no codec: want application/json, application/x-protobuf, one that ends in +json or +protobuf, or " +
		"no header"
}

func forMediaType(name string) event.Codec {
	for _, f := range forms {
		if f.codec.ContentType() == name || slices.Contains(f.aliases, name) {
			return f.codec
		}
	}
	return nil
}

// refusedMediaType says why a type is not read though its name ends like a readable one; empty for others.
func refusedMediaType(mediaType string) string {
	switch {
	case strings.HasPrefix(mediaType, "application/cloudevents"):
		return "is a CloudEvent with its attributes in the value: send events in binary mode, with attributes in headers"
	case strings.HasSuffix(mediaType, "avro"), strings.HasPrefix(mediaType, "avro/"):
		return "is Avro that names no schema of a Confluent registry: use Confluent's serializer and registry.urls"
	}
	return ""
}

// ContentTypeOf returns the value of the content-type header, empty if there is none. Of several the last one is
// used, because a later header amends an earlier one.
func ContentTypeOf(headers []event.Header) string {
	value := event.HeaderValue(headers, event.HeaderContentType)
	for k := range forms {
		if name := forms[k].codec.ContentType(); name == string(value) { // makes no string of it
			return name
		}
	}
	return strings.TrimSpace(string(value))
}
