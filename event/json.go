package event

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is the Codec of "application/json": one object a record, described by [ArrivalSchema] and [PredictionSchema]
// and by README.md. It is strict: UTF-8 throughout, no name twice in an object, nothing after the object. It may be
// used by many goroutines at once.
type JSON struct{}

var _ Codec = JSON{}

// ContentType returns "application/json".
func (JSON) ContentType() string { return "application/json" }

// maxScratch bounds the memory, in bytes, that a decoder keeps between records, so that one huge record does
// not cost memory for ever.
const maxScratch = 1 << 20

// parseError turns an error of the JSON library into a *[FieldError].
func parseError(err error) error {
	var field *FieldError
	if errors.As(err, &field) {
		return field
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return fieldErrorf(ReasonUnparsable, fieldPath(syntactic.JSONPointer), "%s (byte %d)",
			cutTo(syntactic.Err.Error(), maxLibraryText), syntactic.ByteOffset)
	}
	return fieldErrorf(ReasonUnparsable, "", "%s", cutTo(err.Error(), maxLibraryText))
}

// fieldPath turns /features/values/3 into features.values[3].
func fieldPath(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&path, "[%s]", cut(token))
		case path.Len() > 0:
			path.WriteString("." + cut(token))
		default:
			path.WriteString(cut(token))
		}
	}
	return cut(path.String())
}
