package cli

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text returns text from data in a form that is safe to print: as it is, or in quotes with escapes if it has
// unprintable characters. An id may be "\x1b[2J", which would clear the screen of a terminal, or have a line break,
// behind which anything could stand.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !strconv.IsPrint(c) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// Message returns a text of several lines, such as an error, in a form that is safe to print: its line breaks and tabs
// stay, and other unprintable characters become escapes. An error may repeat a name that somebody else has chosen, as
// that of a version in Redis.
func Message(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		c, size := utf8.DecodeRuneInString(s)
		if c == '\n' || c == '\t' || strconv.IsPrint(c) && (c != utf8.RuneError || size > 1) {
			out.WriteString(s[:size])
		} else {
			out.WriteString(strings.Trim(strconv.Quote(s[:size]), `"`))
		}
		s = s[size:]
	}
	return out.String()
}
