package lake

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// Facts that no artifact can have are refused before anything is done, and not at the end of a run.
func TestFacts(t *testing.T) {
	const good = `{"name": "shop", "fingerprint": "sha256:` +
		`0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "nodes": 5, "edges": 7, "features": 3,
		"classes": {"10": 2, "9": 1, "11": 0}}`
	path := filepath.Join(t.TempDir(), "facts.json")
	read := func(text string) (*Facts, error) {
		expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return ReadFacts(path)
	}
	f, err := read(good)
	expect.OK(t, err)
	expect.Same(t, []string{"9", "10", "11"}, f.Names(), "classes in the order of their numbers")
	if f.Labelled() != 3 {
		t.Errorf("%d labelled nodes, want 3", f.Labelled())
	}
	for _, c := range []struct{ is, as, want string }{
		{`"shop"`, `""`, "name is empty"},
		{"sha256:", "md5:", "fingerprint is"},
		{`"nodes": 5`, `"nodes": 0`, "nodes is 0"},
		{`"edges": 7`, `"edges": -1`, "edges is -1"},
		{`"features": 3`, `"features": 0`, "features is 0"},
		{`"10": 2`, `"10": -2`, `"10" has -2 training nodes`},
		{`"10": 2, "9": 1`, `"10": 0`, "no training node has one"},
		{`"11"`, `""`, "classes["},
		{"{", "[", "invalid character"},
	} {
		_, err := read(strings.Replace(good, c.is, c.as, 1))
		expect.Error(t, err, c.want, "%s", c.as)
		expect.Error(t, err, path, "%s", c.as)
	}
}
