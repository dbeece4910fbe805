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
