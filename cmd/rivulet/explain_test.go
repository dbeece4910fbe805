package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/infer/architecture"
	"rivulet/internal/explanation"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// An explanation names class, terms, synthetic nodes and what is unknown, as text and as JSON with the same figures,
// and a line that is no arrival is reported.
func TestExplainAsTextAndAsJSON(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Features: 4, Classes: 3})
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	in := fmt.Sprintf(`{"id":"a","features":[1,0,2,3],"edges":["%s","nobody"]}`+"\n{\n", b.Mapping.IDs[0])
	run := func(args ...string) string {
		command := root()
		command.SetIn(strings.NewReader(in))
		out, err := harness.Execute(command, append([]string{"explain", "--artifact", dir, "--mode", "node"}, args...)...)
		expect.Error(t, err, "1 of 2 lines could not be explained")
		return out
	}
	text := run()
	for _, want := range []string{"a: class ", ", ahead of class ", "bias", "feature 0", "feature 2", "sum of the shares",
		"neighbour " + b.Mapping.IDs[0], "neighbour nobody (unknown)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for k := range b.Models { // a model without shares shows only what each term changes when it is left out
		a, err := architecture.Lookup(b.Models[k].Name)
		expect.OK(t, err)
		text := run("--model", a.Name)
		for _, only := range []string{"share  of the lead", "bias", "sum of the shares"} {
			if strings.Contains(text, only) != a.Linear() {
				t.Errorf("the text of %s, which is linear: %v, has %q: %v\n%s", a.Name, a.Linear(), only, !a.Linear(), text)
			}
		}
		if !strings.Contains(text, "without it  of the lead  what") || !strings.Contains(text, "feature 3") {
			t.Errorf("the text of %s lacks what is lost without a feature:\n%s", a.Name, text)
		}
	}
	var e explanation.Explanation
	line, _, _ := strings.Cut(run("--json"), "\n")
	expect.OK(t, json.Unmarshal([]byte(line), &e))
	sum := e.Bias.Class + e.Centring.Class
	for _, terms := range [][]explanation.Term{e.Features, e.Neighbours, e.BatchArrivals} {
		for _, term := range terms {
			sum += term.Share.Class
		}
	}
	if e.ID != "a" || len(e.Features) != 3 || len(e.Neighbours) != 2 || math.Abs(sum-e.Logit.Class) > 1e-5 ||
		!strings.Contains(text, fmt.Sprintf("logit %.4f", e.Logit.Class)) {
		t.Errorf("%+v, shares add up to %v; the text is\n%s", e, sum, text)
	}
}

// An id may have anything in it that JSON can write: a terminal gets it in quotes, with escapes.
func TestExplainPrintsNoControlCharacters(t *testing.T) {
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 30, Synthetic: 6, Features: 4, Classes: 3})
	b.Manifest.Data.Classes[0], b.Manifest.Data.Classes[1] = "\x1b]0;title\a", "b\nforged: class 0"
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	command := root()
	command.SetIn(strings.NewReader(`{"id":"\u001b[2Ja","features":[1,0,2,3],"edges":["x\nclass 9","\u202e"]}` + "\n"))
	out, err := harness.Execute(command, "explain", "--artifact", dir)
	expect.OK(t, err)
	inspected, err := harness.Execute(root(), "inspect", dir)
	expect.OK(t, err)
	for _, bad := range []string{"\x1b", "\a", "\nclass 9", "\nforged", "\u202e"} {
		if strings.Contains(out+inspected, bad) {
			t.Errorf("%q is printed as it is:\n%s%s", bad, out, inspected)
		}
	}
	for _, want := range []string{`"\x1b[2Ja": class`, `neighbour "x\nclass 9"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %s:\n%s", want, out)
		}
	}
}
