package connect

import (
	"bytes"
	"crypto/md5" //nolint:gosec // a UUID of version 3, as Java's nameUUIDFromBytes; nothing is kept secret by it
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// DefaultPlaceholder is Debezium's default of unavailable.value.placeholder.
const DefaultPlaceholder = "__debezium_unavailable_value"

// placeholder finds the text that Debezium's connectors for PostgreSQL and Oracle send in place of an unchanged value
// that the database did not log. By the column's type it is
//
//	text, json, xml              the text
//	bytea                        the text's bytes in base64 (also its variant for addresses), or in hexadecimal digits
//	hstore                       {"<text>": "<text>"}, as an object or as text
//	text[], bytea[]              a list of one of these
//	uuid[]                       a list of the UUID that Java makes of the text
//	int[], bigint[], numeric[]…  a list of the text's bytes as numbers
type placeholder struct {
	texts map[string]bool // in all forms that are texts
	bytes string
}

func newPlaceholder(text string) *placeholder {
	if text == "" {
		return nil
	}
	p := &placeholder{texts: map[string]bool{}, bytes: text}
	quoted := strconv.Quote(text)
	sum := md5.Sum([]byte(text)) //nolint:gosec // see above
	sum[6], sum[8] = sum[6]&0x0f|0x30, sum[8]&0x3f|0x80
	for _, form := range []string{text, base64.StdEncoding.EncodeToString([]byte(text)),
		base64.URLEncoding.EncodeToString([]byte(text)), hex.EncodeToString([]byte(text)),
		fmt.Sprintf("{%s:%s}", quoted, quoted),
		fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:])} {
		p.texts[form] = true
	}
	return p
}

// is reports whether a value is the placeholder.
func (p *placeholder) is(value jsontext.Value) bool {
	if p == nil || len(value) == 0 {
		return false
	}
	switch value.Kind() {
	case '"':
		return p.isText(value)
	case '[':
		return p.isList(value)
	case '{':
		return p.isMap(value)
	}
	return false
}

func (p *placeholder) isText(quoted jsontext.Value) bool {
	if len(quoted) < len(p.bytes) {
		return false
	}
	if plain := quoted[1 : len(quoted)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return p.texts[string(plain)]
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && p.texts[string(text)]
}

// isList reports whether a list has the placeholder as its only element, or its bytes as numbers.
func (p *placeholder) isList(list jsontext.Value) bool {
	n, is := 0, true
	err := elements(list, func(i int, e jsontext.Value) error {
		n++
		switch {
		case i == 0 && p.is(e) && e.Kind() != '[':
			n += len(p.bytes) // so that a second element is one too many
			return nil
		case i < len(p.bytes) && isByte(e, p.bytes[i]):
			return nil
		}
		is = false
		return errStop
	})
	return err == nil && is && (n == len(p.bytes) || n == len(p.bytes)+1)
}

// isByte reports whether an element is the number of a byte: itself, or a decimal without a fraction.
func isByte(e jsontext.Value, b byte) bool {
	var text []byte
	var ok bool
	switch e.Kind() {
	case '0':
		text, ok = e, true
	case '"':
		text, ok = appendEncoded(nil, e, 0)
	case '{':
		text, ok = appendScaled(nil, e)
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return ok && err == nil && v == float64(b)
}

func (p *placeholder) isMap(object jsontext.Value) bool {
	n, is := 0, true
	err := Members(object, func(name string, value jsontext.Value) error {
		if n++; n > 1 || name != p.bytes || value.Kind() != '"' || !p.isText(value) {
			is = false
			return errStop
		}
		return nil
	})
	return err == nil && is && n == 1
}
