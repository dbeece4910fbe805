package spark

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/stage"
)

// hostile are texts that try to leave the quotes in which they stand.
var hostile = []string{`plain`, `it's`, "`", "``", `\`, `\\`, `\'`, `'; DROP TABLE x; --`, "a`; DROP TABLE x; --",
	`${env:HOME}`,
	`/* x */`, `-- x`, `"`, `'''`, `\''`, "`'\\`'", `ü'é`, `\u0027`, `\047`, `%`, `$(id)`}

// unquoted reads the text that Spark's lexer finds at the beginning, by its rules for strings and backquoted
// identifiers, and what is left behind it.
func unquoted(t *testing.T, s string) (text, rest string) {
	t.Helper()
	quote := s[0]
	for k := 1; k < len(s); k++ {
		switch {
		case quote == '\'' && s[k] == '\\':
			k++
			if s[k] != '\\' && s[k] != '\'' {
				t.Fatalf("%s: escape \\%c means something else", s, s[k])
			}
			text += s[k : k+1]
		case s[k] == quote && quote == '`' && k+1 < len(s) && s[k+1] == quote:
			k++
			text += "`"
		case s[k] == quote:
			return text, s[k+1:]
		default:
			text += s[k : k+1]
		}
	}
	t.Fatalf("%s: the quotes are not closed", s)
	return "", ""
}

func TestQuotes(t *testing.T) {
	for _, s := range hostile {
		for _, quoted := range []string{literal(s), identifier(s)} {
			if got, rest := unquoted(t, quoted+" behind"); got != s || rest != " behind" {
				t.Errorf("%s is read as %q and %q, want %q", quoted, got, rest, s)
			}
		}
	}
}

func FuzzQuotes(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, quoted := range []string{literal(s), identifier(s)} {
			if got, rest := unquoted(t, quoted+" behind"); got != s || rest != " behind" {
				t.Errorf("%s is read as %q and %q, want %q", quoted, got, rest, s)
			}
		}
	})
}

// Without the quoted texts a statement has no word of the user's.
func TestStatementsKeepPathsQuoted(t *testing.T) {
	const word = "INTRUDER"
	for _, s := range hostile {
		dir := "/" + s + word
		statement := overwrite(dir, transform(recordColumns,
			command(map[string]File{"amd64": {Name: "rivulet-worker-amd64-0"}}, "rivulet-job-0"),
			records([]place{{"s", dir, 0}, {"s", dir, 2}}, false)))
		found := 0
		var outside strings.Builder
		for rest := statement; rest != ""; {
			if rest[0] != '\'' && rest[0] != '`' {
				outside.WriteByte(rest[0])
				rest = rest[1:]
				continue
			}
			if rest[0] == '\'' && strings.HasPrefix(rest, `'\t'`) { // the divider of fields, an escape of ours
				rest = rest[len(`'\t'`):]
				continue
			}
			var text string
			if text, rest = unquoted(t, rest); text == dir {
				found++
			}
		}
		if found != 3 || strings.Contains(outside.String(), word) {
			t.Errorf("path %q is found %d times, want 3; outside of quotes is %s", dir, found, &outside)
		}
	}
}

func TestWorkRefuses(t *testing.T) {
	for dir, want := range map[string]string{"": "empty", "/a\nb": "control character", "/a\x00": "control character",
		"/\xff": "UTF-8",
		"/a*":   "one of", "/a;b": "one of", "/{a,b}": "one of", `/a\b`: "one of"} {
		expect.Error(t, expect.ErrorOf(Open(t.Context(), nil, Options{Work: dir, Partitions: 1})), want, "%q", dir)
	}
}

// The command that Spark's machines run has no quotes of SQL and no ${…}, and words of hexadecimal digits alone are
// ours.
func TestCommandIsPlain(t *testing.T) {
	c := command(map[string]File{"amd64": newFile(workerPrefix+"amd64", nil), "arm64": newFile(workerPrefix+"arm64", nil)},
		"rivulet-job-0")
	if strings.ContainsAny(c, "'\\\n`") || strings.Contains(c, "${") {
		t.Error(c)
	}
	names := regexp.MustCompile(workerPrefix+`(amd|arm)64-[0-9a-f]{32}`).FindAllString(c, -1)
	if slices.Sort(names); len(names) != 2 {
		t.Error(names)
	}
}

func TestWords(t *testing.T) {
	text := "[FAILED_EXECUTE] Job aborted: Task 0.3: org.apache.spark.SparkException: Subprocess exited with status 1. " +
		"Error: " +
		prefix + `stage nodes: nodes row 3: the id is empty` + "\n\tat org.apache.spark.sql.errors"
	if got := words(errorText(text)).Error(); got != "stage nodes: nodes row 3: the id is empty" {
		t.Error(got)
	}
	if got := words(errorText("[X] first line\n\tat org.apache\n\tat java")).Error(); got != "spark: [X] first line" {
		t.Error(got)
	}
	if !isMissing(errorText("[PATH_NOT_FOUND] Path does not exist: file:/x")) || isMissing(errorText("[OTHER] x")) {
		t.Error("what is missing is not told from the rest")
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }

func TestTablesOf(t *testing.T) {
	names := []string{"a-0", "a-1"}
	f, in, err := tablesOf("a-0", names, []string{`{"in":3,"out":[1,0],"bytes":[10,0]}`,
		`{"in":0,"out":[0,0],"bytes":[0,0]}`, `{"in":4,"out":[2,5],"bytes":[7,9]}`})
	want := []stage.Table{{Name: "a-0", Records: 3, Bytes: 17}, {Name: "a-1", Records: 5, Bytes: 9}}
	if err != nil || in != 7 || !slices.Equal(f.Tables, want) {
		t.Errorf("%v, %d read, %v", f.Tables, in, err)
	}
	for _, bad := range []string{"", "{}", `{"in":1,"out":[1],"bytes":[1]}`} {
		if _, _, err := tablesOf("a-0", names, []string{bad}); err == nil {
			t.Errorf("summary %q is accepted", bad)
		}
	}
}
