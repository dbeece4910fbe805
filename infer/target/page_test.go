package target

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/markdown"
)

var update = flag.Bool("update", false, "write the list of capabilities in docs/tasks.md anew")

// docs/tasks.md lists which tasks have what.
func TestPageListsCapabilities(t *testing.T) {
	texts := map[string][]string{} // by the names of the tasks
	var order []string
	for _, c := range all {
		if c == Method || c == LayeredModel || c == RelatedModel || c == Relations || c == Propagation {
			continue // the table of package trainer has them by name
		}
		of := names(c.of)
		if texts[of] == nil {
			order = append(order, of)
		}
		texts[of] = append(texts[of], c.text)
	}
	slices.SortFunc(order, func(a, b string) int { return strings.Count(a, " ") - strings.Count(b, " ") })
	var list strings.Builder
	for _, of := range order {
		list.WriteString(markdown.Item(fmt.Sprintf("%s: %s.", of, strings.Join(texts[of], "; "))))
	}
	page, err := markdown.Replace("../../docs/tasks.md", "tasks", list.String(), *update)
	expect.OK(t, err)
	expect.Same(t, list.String(), page, "docs/tasks.md is not as the code says: run make reference")
}
