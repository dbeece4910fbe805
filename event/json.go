package event

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"
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
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return fieldErrorf(ReasonUnparsable, fieldPath(semantic.JSONPointer), "%s", semanticDetail(semantic))
	}
	return fieldErrorf(ReasonUnparsable, "", "%s", cutTo(err.Error(), maxLibraryText))
}

func semanticDetail(err *json.SemanticError) string {
	value := "a JSON " + err.JSONKind.String()
	if len(err.JSONValue) > 0 {
		value = cut(string(err.JSONValue))
	}
	if err.Err != nil {
		return value + ": " + cutTo(err.Err.Error(), maxLibraryText)
	}
	return fmt.Sprintf("%s, want %s", value, goKind(err.GoType))
}

// goKind returns JSON's name for the values of a field.
func goKind(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float32:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return "an RFC 3339 string"
		}
		return "an object"
	}
	return t.String()
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
