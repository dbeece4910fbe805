package event

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxQuoted bounds, in bytes, the part of a record's value that an error repeats: details travel in record headers
// and logs.
const MaxQuoted = 64

// maxLibraryText bounds, in bytes, a library's message about a record: it may repeat the whole value.
const maxLibraryText = 256

// FieldError says which field of a record cannot be used and why. The consumer turns it into a [DeadLetter].
type FieldError struct {
	// Reason is the name of one of [Reasons].
	Reason string
	// Field is the path of the field, such as "edges[3]" or "features.values[7]"; empty if the record as a whole is at
	// fault.
	Field string
	// Detail names the value, cut if it is long, and the expectation that it does not meet.
	Detail string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Errorf returns a FieldError with a formatted detail.
func Errorf(reason, field, format string, args ...any) *FieldError {
	return &FieldError{Reason: reason, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Element returns the path of one element of a list.
func Element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// FaultOf returns the reason that an error of a codec or a check names. An error without one is of a record that could
// not be parsed.
func FaultOf(err error) *FieldError {
	if fault, ok := errors.AsType[*FieldError](err); ok {
		return fault
	}
	return &FieldError{Reason: ReasonUnparsable, Detail: err.Error()}
}

// Cut shortens a value of a record to MaxQuoted bytes.
func Cut(text string) string { return cutTo(text, MaxQuoted) }

// cutTo shortens text to n bytes, at the start of a rune, and appends its length.
func cutTo(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:runeStart(text, n)], len(text))
}

// LibraryText shortens a library's message about a record.
func LibraryText(err error) string { return cutTo(err.Error(), maxLibraryText) }

// runeStart returns the last start of a rune in text at or before byte i; i is inside text.
func runeStart(text string, i int) int {
	for k := i; k > 0 && k > i-utf8.UTFMax; k-- {
		if utf8.RuneStart(text[k]) {
			return k
		}
	}
	return i
}

// ErrNoFeatures is the fault of an arrival that lacks only its features. Decoders return it last, when everything else
// has been read.
var ErrNoFeatures = &FieldError{Reason: ReasonUnparsable, Field: "features", Detail: "is missing"}

// LacksFeatures reports whether an arrival was read that lacks only its features.
func LacksFeatures(err error) bool { return errors.Is(err, ErrNoFeatures) }
