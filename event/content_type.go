package event

import (
	"mime"
	"strings"
)

// codecs are the wire forms that a record may declare; the first is the default.
var codecs = []Codec{JSON{}}

// ForContentType returns the codec of a content-type header, and false where there is none for it. Empty means
// [JSON], the default. Case does not matter, and parameters are taken but for a charset other than UTF-8.
func ForContentType(ct string) (Codec, bool) {
	if ct == "" {
		return codecs[0], true
	}
	for _, c := range codecs {
		if c.ContentType() == ct { // the form that producers write, without parsing
			return c, true
		}
	}
	mediaType, params, err := mime.ParseMediaType(ct)
	if err != nil {
		return nil, false
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		return nil, false
	}
	for _, c := range codecs {
		if c.ContentType() == mediaType {
			return c, true
		}
	}
	return nil, false
}
