package json

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/event"
)

// Codec is the Codec of "application/json": one object a record, described by [event.ArrivalSchema] and
// [event.PredictionSchema] and by README.md. It is strict: UTF-8 throughout, no name twice in an object, nothing after
// the object. It may be used by many goroutines at once.
type Codec struct{}

var _ event.Codec = Codec{}

// ContentType returns "application/json".
func (Codec) ContentType() string { return "application/json" }

// Refused turns an error of the JSON library into a *[event.FieldError].
func Refused(err error) error {
	if field, ok := errors.AsType[*event.FieldError](err); ok {
		return field
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return event.Errorf(event.ReasonUnparsable, FieldPath(slices.Collect(syntactic.JSONPointer.Tokens())), "%s (byte %d)",
			event.LibraryText(syntactic.Err), syntactic.ByteOffset)
	}
	return event.Errorf(event.ReasonUnparsable, "", "%s", event.LibraryText(err))
}

// FieldPath turns the tokens features, values and 3 of a JSON pointer into features.values[3].
func FieldPath(tokens []string) string {
	var path strings.Builder
	for _, token := range tokens {
		switch {
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&path, "[%s]", event.Cut(token))
		case path.Len() > 0:
			path.WriteString("." + event.Cut(token))
		default:
			path.WriteString(event.Cut(token))
		}
	}
	return event.Cut(path.String())
}
