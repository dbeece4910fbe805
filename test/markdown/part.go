package markdown

import (
	"fmt"
	"os"
	"strings"
)

// Replace returns the part of a page between the comments <!-- NAME --> and <!-- end of NAME -->. If update is set it
// writes a text there first.
func Replace(page, name, text string, update bool) (string, error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	before, rest, opened := strings.Cut(string(data), "<!-- "+name+" -->\n")
	part, after, closed := strings.Cut(rest, "<!-- end of "+name+" -->\n")
	if !opened || !closed {
		return "", fmt.Errorf("%s has no part %s", page, name)
	}
	if !update {
		return part, nil
	}
	return text, os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n"+text+"<!-- end of "+name+" -->\n"+after), 0o644)
}
