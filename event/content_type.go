package event

import (
	"mime"
	"strings"
)

// form is a wire form that a record may declare and a setting may name.
type form struct {
	name    string // in settings
	aliases []string
	codec   Codec
}

// forms lists all forms; the first is the default.
var forms = []form{
	{name: "json", codec: JSON{}},
	{name: "protobuf", codec: Protobuf{}, aliases: []string{"application/protobuf"}},
	{name: "avro", codec: Avro{}, aliases: []string{"avro/binary"}},
}

// ForFormat returns the codec of a setting's value, "json", "protobuf" or "avro", and false if none has this name.
func ForFormat(name string) (Codec, bool) {
	for _, f := range forms {
		if f.name == name {
			return f.codec, true
		}
	}
	return nil, false
}

// ForContentType returns the codec of a content-type header, and false if there is none for it. Empty means
// [JSON], the default. Case does not matter, and parameters are accepted, except a charset other than UTF-8.
func ForContentType(ct string) (Codec, bool) {
	if ct == "" {
		return forms[0].codec, true
	}
	if codec, ok := forMediaType(ct); ok { // the form that producers write, without parsing
		return codec, true
	}
	mediaType, params, err := mime.ParseMediaType(ct)
	if err != nil {
		return nil, false
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") &&
		!strings.EqualFold(charset, "utf8") {
		return nil, false
	}
	return forMediaType(mediaType)
}

func forMediaType(name string) (Codec, bool) {
	for _, f := range forms {
		if f.codec.ContentType() == name {
			return f.codec, true
		}
		for _, alias := range f.aliases {
			if alias == name {
				return f.codec, true
			}
		}
	}
	return nil, false
}
