package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/markdown"
)

var update = flag.Bool("update", false, "write REFERENCE.md anew")

// REFERENCE.md is made from the tags of all programs' settings.
func TestReference(t *testing.T) {
	want := reference()
	if *update {
		expect.OK(t, os.WriteFile("REFERENCE.md", []byte(want), 0o644))
	}
	got, err := os.ReadFile("REFERENCE.md")
	expect.OK(t, err)
	expect.Same(t, want, string(got), "REFERENCE.md is stale; run go test ./config -update")
}

func reference() string {
	var b strings.Builder
	const head = `# Settings

For whoever writes the settings of a program. Made from the structs of package config by 'make reference'; do not edit.

Each layer overrides the one before it: defaults, the file that '--config' or 'RIVULET_CONFIG' names (YAML, keys nested
at the dots), the environment, flags. The variable of a key is the key in upper case with 'RIVULET_' before it and '_'
for '.': 'batch.size' is 'RIVULET_BATCH_SIZE', and the flag is '--batch.size'. Durations are written with their unit
('5ms', '30s'), sizes with theirs ('64KiB', '1MB'; a bare number is bytes), lists as 'a,b' or as YAML lists. Secrets
have no flag and are never printed; 'version' has none, as '--version' prints that of the program. Unknown keys and
variables are errors.

The consumer has all of these settings but 'serve' and 'page', which are those of 'rivulet serve' and 'rivulet page'.
Other programs have some, and '--help' lists them. All can share one file.

An item is: key (type; default; allowed values): what it does; what 0 or an empty value means.
`
	b.WriteString(strings.ReplaceAll(head, "'", "`"))
	section := ""
	for _, f := range schemaOf(reflect.TypeFor[all]()).fields {
		if top, _, nested := strings.Cut(f.key, "."); nested && top != section {
			section = top
			fmt.Fprintf(&b, "\n## %s\n", section)
		}
		about := []string{f.kind.name}
		if f.unit != "" {
			about[0] += " of " + f.unit
		}
		about = append(about, code(f.def))
		if allowed := f.allowed(); allowed != "" {
			about = append(about, allowed)
		}
		text := fmt.Sprintf("`%s` (%s): %s", f.key, strings.Join(about, "; "), f.usage)
		if f.zero != "" {
			text += "; 0 or empty: " + f.zero
		}
		b.WriteString(markdown.Item(text))
	}
	return b.String()
}

// allowed returns the allowed values according to the tags.
func (f *field) allowed() string {
	switch {
	case f.oneof != nil:
		return strings.Join(f.oneof, ", ")
	case f.min != nil && f.max != nil:
		return f.minText + " … " + f.maxText
	case f.min != nil:
		return "≥ " + f.minText
	}
	return ""
}

func code(text string) string {
	if text == "" {
		return "empty"
	}
	return "`" + text + "`"
}

// The variables of two keys must differ though _ stands for both . and _, and none may be one that is not a setting.
func TestVariablesAreDistinct(t *testing.T) {
	seen := map[string]string{fileVariable: "", dataVariable: ""}
	for _, f := range schemaOf(reflect.TypeFor[all]()).fields {
		if other, twice := seen[f.env()]; twice || strings.HasPrefix(f.env(), testPrefix) {
			t.Errorf("%s is the variable of %s and %q", f.env(), f.key, other)
		}
		seen[f.env()] = f.key
	}
}

// The tags must say what zero means, if zero is allowed.
func TestZeroIsDocumented(t *testing.T) {
	for _, f := range schemaOf(reflect.TypeFor[all]()).fields {
		zero := map[string]string{"int": "0", "number": "0", "bytes": "0", "duration": "0s", "string": "", "secret": "",
			"list": ""}
		text, hasZero := zero[f.kind.name]
		if _, err := f.read(text); hasZero && err == nil && f.zero == "" {
			t.Errorf("%s: zero is allowed, and the tag zero is missing", f.key)
		}
	}
}

// The programs' structs share the consumer's keys, so that one file can hold all settings.
func TestEveryKeyIsTheConsumers(t *testing.T) {
	family := schemaOf(reflect.TypeFor[all]()).byKey
	for _, t2 := range []reflect.Type{reflect.TypeFor[Publish](), reflect.TypeFor[Versions](), reflect.TypeFor[Replay](),
		reflect.TypeFor[DeadLetters](), reflect.TypeFor[Bench](),
		reflect.TypeFor[Refresh](), reflect.TypeFor[Lines](), reflect.TypeFor[Serve](), reflect.TypeFor[Page]()} {
		for _, f := range schemaOf(t2).fields {
			if c := family[f.key]; c == nil || c.kind.name != f.kind.name || c.def != f.def {
				t.Errorf("%s of %s is not the consumer's", f.key, t2)
			}
		}
	}
}
