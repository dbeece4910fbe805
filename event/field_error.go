package event

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxQuoted bounds, in bytes, the part of a record's value that an error repeats: details travel in record headers
// and logs.
const maxQuoted = 64

// maxLibraryText bounds, in bytes, a library's message about a record: it may repeat the whole value.
const maxLibraryText = 256

// FieldError says which field of a record cannot be used and why. The consumer turns it into a [DeadLetter].
type FieldError struct {
	// Reason is one of the Reason constants.
	Reason string
	// Field is the path of the field, such as "edges[3]" or "features.values[7]"; empty if the record as a whole is at
	// fault.
	Field string
	// Detail names the value, cut if it is long, and says what was wanted.
	Detail string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

func fieldErrorf(reason, field, format string, args ...any) *FieldError {
	return &FieldError{Reason: reason, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// element returns the path of one element of a list.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// cut shortens a value of a record to maxQuoted bytes.
func cut(text string) string { return cutTo(text, maxQuoted) }

// cutTo shortens text to n bytes, at the start of a rune, and appends its length.
func cutTo(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:runeStart(text, n)], len(text))
}

// runeStart returns the last start of a rune in text at or before byte i; i is inside text.
func runeStart(text string, i int) int {
	for k := i; k > 0 && k > i-utf8.UTFMax; k-- {
		if utf8.RuneStart(text[k]) {
			return k
		}
	}
	return i
}
