package spark

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/test/expect"
	"rivulet/trainer/stage"
)

// userTable is a table with a column of each type, all of hostile names.
func userTable(hostile string) *stage.InPlace {
	t := &stage.InPlace{Path: "s3a://bucket/" + hostile + "INTRUDER"}
	for _, kind := range []string{"string", "binary", "bigint", "float", "double", "boolean", "decimal(18,6)",
		"array<int>", "array<float>", "array<double>"} {
		t.Columns = append(t.Columns, stage.Column{Name: hostile + "INTRUDER" + kind, Type: kind})
	}
	return t
}

// Paths and names of columns of a user stand in strings of SQL alone, as identifiers there: spark-sql, which divides
// statements, knows no backquotes.
func TestStatementsKeepTablesQuoted(t *testing.T) {
	for _, s := range hostile {
		table := userTable(s)
		scan, err := rowsInPlace(table)
		expect.OK(t, err)
		names := map[string]bool{}
		for _, c := range table.Columns {
			names[c.Name] = true
		}
		for what, statement := range map[string]string{"names": namesOf([]string{table.Path}),
			"details": detailsOf([]*stage.InPlace{table}), "rows": scan} {
			paths, columns := 0, map[string]bool{}
			var outside strings.Builder
			for rest := statement; rest != ""; {
				if rest[0] != '\'' {
					outside.WriteByte(rest[0])
					rest = rest[1:]
					continue
				}
				var text string
				text, rest = unquoted(t, rest)
				if path, ok := strings.CutPrefix(text, "parquet.`"); ok {
					text = "`" + path
				}
				if text == "" || text[0] != '`' {
					continue
				}
				name, behind := unquoted(t, text)
				if behind != "" {
					t.Errorf("%s: behind the identifier %q is %q", what, name, behind)
				}
				if name == table.Path {
					paths++
				}
				if names[name] {
					columns[name] = true
				}
			}
			if paths == 0 || what != "names" && len(columns) != len(table.Columns) {
				t.Errorf("%s with %q: %d times the path, %d of %d columns", what, s, paths, len(columns), len(table.Columns))
			}
			if strings.Contains(outside.String(), "INTRUDER") || strings.ContainsAny(outside.String(), "`;\"") ||
				strings.Contains(outside.String(), "--") {
				t.Errorf("%s with %q: outside of quotes is %s", what, s, &outside)
			}
		}
	}
}

func TestCellRefuses(t *testing.T) {
	for _, kind := range []string{"timestamp", "date", "struct<a:int>", "map<string,int>", "array<string>",
		"array<array<int>>", "decimal(19,0)", "decimal(x)", "void", ""} {
		_, err := cell(stage.Column{Name: "joined", Type: kind})
		if want := "column joined: its type is " + kind + ", want"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", kind, err, want)
		}
	}
}

// An answer about tables is read in whatever order its rows come.
func TestAnswersAboutTables(t *testing.T) {
	tables := []*stage.InPlace{{Path: "a"}, {Path: "b"}}
	expect.OK(t, eachTable(tables, []string{`1 {"source":null,"x y\"":null}`, `0 {"id":null}`}, setNames))
	want := []*stage.InPlace{{Path: "a", Columns: []stage.Column{{Name: "id"}}},
		{Path: "b", Columns: []stage.Column{{Name: "source"}, {Name: `x y"`}}}}
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Error(diff)
	}
	if err := setTypes(tables[0], `["bigint"]`); err != nil || tables[0].Columns[0].Type != "bigint" {
		t.Error(tables[0].Columns, err)
	}
	expect.OK(t, addFile(tables[0], "-5 7 ZmlsZTovYS9iJTIwYw=="))
	if diff := cmp.Diff([]stage.File{{Mark: -5, Name: "file:/a/b%20c", Rows: 7}}, tables[0].Files); diff != "" ||
		tables[0].Rows() != 7 ||
		fileName(tables[0].Files[0].Name) != "b c" {
		t.Error(diff)
	}
}

func TestAnswersAboutTablesRefuse(t *testing.T) {
	for row, want := range map[string]string{
		"":                            "an answer of Spark about no table",
		"1 {}":                        "an answer of Spark about no table",
		`0 {"a":`:                     "names of its columns",
		"0 x":                         "names of its columns",
		`0 {"_metadata":null}`:        "a column is called _metadata",
		`0 {"":null}`:                 "name of a column: it is empty",
		`0 {"a\nb":null}`:             "control character",
		`0 {"a":null,"_metadata":{}}`: "table s3a://b: a column is called _metadata",
	} {
		expect.Error(t, eachTable([]*stage.InPlace{{Path: "s3a://b"}}, []string{row}, setNames), want, "%q", row)
	}
	for _, types := range []string{"", "[]", `["int","int"]`, "{}"} {
		if err := setTypes(&stage.InPlace{Columns: make([]stage.Column, 1)}, types); err == nil {
			t.Errorf("types %q are accepted", types)
		}
	}
	for _, file := range []string{"", "1 2", "x 2 YQ==", "1 x YQ==", "1 2 ?"} {
		if err := addFile(&stage.InPlace{}, file); err == nil {
			t.Errorf("file %q is accepted", file)
		}
	}
}

// Look refuses paths that Spark would read as patterns before it asks.
func TestLookRefuses(t *testing.T) {
	e := &Engine{}
	for path, want := range map[string]string{"s3a://b/*": "has one of", "s3a://b/a,b": "has one of",
		"s3a://b/a;b": "has one of", "file:/a\nb": "control character"} {
		expect.Error(t, expect.ErrorOf(e.Look(t.Context(), "s3a://b/good", path)), want, "%q", path)
	}
}
