// Package markdown writes the parts of pages that tests make of tables in the code.
package markdown

import "strings"

// columns is the width of pages.
const columns = 118

// Item returns a text as an item of a list, wrapped between words, with a line break at its end.
func Item(text string) string {
	var out strings.Builder
	line := "-"
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > columns {
			out.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return out.String() + line + "\n"
}
