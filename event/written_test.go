package event_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/event/fields"
	"rivulet/event/table"
	"rivulet/test/expect"
	"rivulet/test/markdown"
)

// pythonLists is the file of the Python package that is written from the tables of this package.
const pythonLists = "../python/src/rivulet_mcond/_event.py"

// Every reason is explained once, and the parts of other files that list reasons are written from the table.
func TestReasons(t *testing.T) {
	var names []string
	var list, enum, literal, sentences strings.Builder
	for i := range event.Reasons {
		r := &event.Reasons[i]
		names = append(names, r.Name)
		if !strings.HasSuffix(r.Sentence, ".") || strings.ContainsAny(r.Sentence, "\"|`\n") {
			t.Errorf("%s is explained by %q, want a sentence that Markdown and Python quote as it is", r.Name, r.Sentence)
		}
		list.WriteString(markdown.Item(fmt.Sprintf("`%s` (%s): %s", r.Name, r.Whose(), r.Sentence)))
		fmt.Fprintf(&enum, "            - %s\n", r.Name)
		fmt.Fprintf(&literal, "    \"%s\",\n", r.Name)
		fmt.Fprintf(&sentences, "    \"%s\": \"%s\",\n", r.Name, r.Sentence)
	}
	slices.Sort(names)
	expect.Same(t, constants(t, "reasons.go", "Reason"), names, "names of the constants and of the rows")
	listed(t, "README.md", "<!-- reasons -->\n", list.String(), "<!-- end of reasons -->")
	listed(t, "asyncapi.yaml", "        rivulet-reason:\n          type: string\n          enum:\n", enum.String(),
		"        rivulet-detail:")
	listed(t, pythonLists, "Reason = Literal[\n", literal.String(), "]\n")
	listed(t, pythonLists, "SENTENCES: dict[Reason, str] = {\n", sentences.String(), "}\n")
}

// The Python package makes columns of a prediction's fields by their kinds.
func TestFieldsOfPredictions(t *testing.T) {
	kinds := map[table.Kind]string{table.Bool: "flag", table.Count: "count", table.Time: "time", table.Timestamp: "time"}
	var lines strings.Builder
	for i := range fields.Prediction.Fields {
		f := &fields.Prediction.Fields[i]
		fmt.Fprintf(&lines, "    \"%s\": \"%s\",\n", f.Name, cmp.Or(kinds[f.Kind], "value"))
	}
	listed(t, pythonLists, "PREDICTION: dict[str, Kind] = {\n", lines.String(), "}\n")
}

// listed compares the part of a file between two texts with what it should be; -update writes it.
func listed(t *testing.T, name, begin, want, end string) {
	t.Helper()
	text, err := os.ReadFile(name)
	expect.OK(t, err)
	from := bytes.Index(text, []byte(begin)) + len(begin)
	to := bytes.Index(text[max(0, from):], []byte(end)) + from
	if from < len(begin) || to < from {
		t.Fatalf("%s has no part between %q and %q", name, begin, end)
	}
	if *update {
		expect.OK(t, os.WriteFile(name, slices.Concat(text[:from], []byte(want), text[to:]), 0o644))
		return
	}
	expect.Same(t, want, string(text[from:to]), "%s is not as the table says: run make reference", name)
}
