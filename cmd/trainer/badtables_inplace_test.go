package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer/stage/spark/connect"
)

// The good tables of [badFiles] as queries.
const (
	goodNodes = "SELECT id, CAST(id * 7 % 13 AS DOUBLE) AS x, CAST(id * 5 % 11 - 3 AS FLOAT) AS y, char(65 + id % 2) " +
		"AS label, " +
		"element_at(array('train', 'train', 'train', 'val', 'test', 'unlabelled'), CAST(id % 6 + 1 AS INT)) AS split FROM " +
		"range(0, 60, 1, 1)"
	goodEdges = "SELECT id AS source, (id * 3 + 1) % 60 AS target FROM range(0, 60, 1, 1)"
)

// nodesBut are the good nodes with another column in place of one.
func nodesBut(column, with string) string {
	return "SELECT " + with + ", * EXCEPT (" + column + ") FROM (" + goodNodes + ")"
}

func edgesBut(column, with string) string {
	return "SELECT " + with + ", * EXCEPT (" + column + ") FROM (" + goodEdges + ")"
}

// badInPlace are tables that Spark reads where they lie, as queries; empty: the good ones. Where want is empty, the run
// gives the bytes that the trainer gives of the same files.
var badInPlace = []struct{ name, nodes, edges, want string }{
	{name: "good"},
	{name: "no column id", nodes: nodesBut("id", "id AS number"), want: `nodes: no column id among ["number" "x"`},
	{name: "no column label", nodes: nodesBut("label", "label AS mark"),
		want: `nodes: no column label among ["mark" "id"`},
	{name: "no column split", nodes: nodesBut("split", "1 AS z"), want: `nodes: no column split among ["z" "id"`},
	{name: "no column target", edges: edgesBut("target", "target AS to"),
		want: `edges: no column target among ["to" "source"]`},
	{name: "null id", nodes: nodesBut("id", "if(id = 4, NULL, id) AS id"), want: ".parquet: row 5: column id: it is null"},
	{name: "id that is no integer", nodes: nodesBut("id", "id + 0.5D AS id"),
		want: ".parquet: row 1: column id: 0.5 is no integer"},
	{name: "empty id", nodes: nodesBut("id", "if(id = 4, '', CAST(id AS STRING)) AS id"),
		want: "nodes row 5: the id is empty or null"},
	{name: "null end of an edge", edges: edgesBut("target", "if(source = 4, NULL, target) AS target"),
		want: ".parquet: row 5: column target: it is null"},
	{name: "null label", nodes: nodesBut("label", "if(id = 0, NULL, label) AS label"),
		want: ".parquet: row 1: column label: it is empty, but a train"},
	{name: "null feature", nodes: nodesBut("x", "if(id = 2, NULL, x) AS x"), want: "stage nodes: part-00000-"},
	{name: "null feature's row", nodes: nodesBut("x", "if(id = 2, NULL, x) AS x"),
		want: ".parquet: row 3: column x: null is not a number"},
	{name: "infinite feature", nodes: nodesBut("x", "if(id = 2, double('Infinity'), x) AS x"),
		want: ".parquet: row 3: column x: it is +Inf"},
	{name: "feature beyond float32", nodes: nodesBut("x", "if(id = 2, 1e300D, x) AS x"),
		want: ".parquet: row 3: column x: it is 1e+300"},
	{name: "feature that is a word", nodes: nodesBut("x", "if(id = 2, 'tall', string(x)) AS x"),
		want: `.parquet: row 3: column x: "tall" is not a number`},
	{name: "feature that is a time", nodes: nodesBut("x", "current_timestamp() AS x"),
		want: "stage nodes: column x: its type is timestamp, want"},
	{name: "lists of two lengths", nodes: nodesBut("x", "if(id = 2, array(x), array(x, x)) AS features"),
		want: "features, want"},
	{name: "list with a null", nodes: nodesBut("x", "if(id = 2, array(x, NULL), array(x, x)) AS features"),
		want: ".parquet: row 3: column features: [1]: it is null, want a number"},
	{name: "null list", nodes: nodesBut("x", "if(id = 2, NULL, array(x, x)) AS features"),
		want: ".parquet: row 3: column features: null is not a list"},
	{name: "split that is no split", nodes: nodesBut("split", "if(id = 2, 'trian', split) AS split"),
		want: `.parquet: row 3: column split: "trian" is not one of`},
	{name: "id twice", nodes: goodNodes + " UNION ALL SELECT 17, 1D, 2F, 'A', 'train'",
		want: `nodes row 61: "17" is already the id of row 18`},
	{name: "edge to nowhere", edges: goodEdges + " UNION ALL SELECT 3, 60",
		want: `edges row 61: its target "60" is not the id of a node`},
	{name: "weight", edges: edgesBut("target", "target, source / 2 AS weight"),
		want: ".parquet: row 1: column weight: it is 0, want 1"},
	{name: "no nodes", nodes: "SELECT * FROM (" + goodNodes + ") WHERE id > 60", want: "there are no nodes"},
	{name: "ids as text in one table", edges: edgesBut("target", "string(target) AS target")},
	{name: "ids as floats in one table", nodes: nodesBut("id", "double(id) AS id")},
	{name: "self-loops and repeated edges",
		edges: goodEdges + " UNION ALL SELECT 3, 3 UNION ALL SELECT 0, 1 UNION ALL SELECT 1, 0"},
	{name: "no edges", edges: "SELECT * FROM (" + goodEdges + ") WHERE source > 60"},
}

// Of tables that are wrong where Spark reads them, the user reads the table, the row and the column, and no artifact is
// left.
func TestBadTablesInPlace(t *testing.T) {
	flags := stagedEngines(t)["spark"]
	if flags == "" {
		t.Skip("RIVULET_TEST_SPARK names no Spark Connect server, or the tests are to be short")
	}
	a, err := connect.Parse(os.Getenv("RIVULET_TEST_SPARK"), "")
	expect.OK(t, err)
	session := connect.New(a, nil)
	defer func() { _ = session.Close(context.WithoutCancel(t.Context())) }()
	train := func(t *testing.T, line string) (string, error) {
		out := filepath.Join(t.TempDir(), "artifact")
		_, err := harness.Execute(root(), strings.Fields("train --nodes 6 --propagate=false --positional --out "+out+" "+
			line)...)
		return out, err
	}
	for _, c := range badInPlace {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for table, query := range map[string][2]string{"nodes": {c.nodes, goodNodes}, "edges": {c.edges, goodEdges}} {
				rows := query[0]
				if rows == "" {
					rows = query[1]
				}
				if err := session.Exec(t.Context(), "INSERT OVERWRITE DIRECTORY '"+dir+"/"+table+"' USING parquet "+rows,
					func(int64, int64, int64) {}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := train(t, "--nodes file:"+dir+"/nodes --edges file:"+dir+"/edges --work "+t.TempDir()+" "+flags)
			if c.want == "" {
				expect.OK(t, err)
				want, err := train(t, "--nodes "+dir+"/nodes --edges "+dir+"/edges --sums fixed")
				expect.OK(t, err)
				sameParts(t, want, got)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
				t.Errorf("error %v, want %q and little more", err, c.want)
			}
			if _, err := os.Stat(got); err == nil {
				t.Error("an artifact was written")
			}
		})
	}
	_, err = train(t, "--nodes file:/not/there --edges file:/not/there --work "+t.TempDir()+" "+flags)
	if want := "Path does not exist: file:/not/there"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Settings that tables by URL cannot have are refused before the work.
func TestTablesByURLRefuse(t *testing.T) {
	const tables = " --nodes s3a://bucket/users --edges s3a://bucket/follows"
	const spark = " --engine spark --spark sc://localhost:1 --work /w"
	for line, want := range map[string]string{
		tables: "s3a://bucket/users is a URL, and only Spark reads tables by URL",
		tables + " --sums fixed": "--engine is memory, and only --engine spark reads tables by URL, such as " +
			"s3a://bucket/users",
		tables + " --engine disk":                  "--engine is disk, and only --engine spark reads tables by URL",
		"--engine memory --data s3a://bucket/shop": "s3a://bucket/shop is a URL, and only Spark reads",
		"--data s3a://bucket/shop" +
			spark: "--data is s3a://bucket/shop: tables by URL are named one by one",
		tables + spark: "features by name are fitted to all rows, which Spark " +
			"alone sees of a table by URL: give --positional",
		tables + spark + " --positional --split-seed 3": "--split-seed is given: tables by URL have a column split",
		tables + spark + " --positional --feature age=number": "--feature is given: tables by URL have a column split, " +
			"and features by position",
		tables + spark + " --positional --types age=number": "types of columns are given, but features are positional",
		tables + spark + " --positional --separator ;":      "--separator, --decimal, --encoding and --header are for CSV",
		"--nodes s3a://b/a.csv --edges s3a://b/b" + spark +
			" --positional": "table s3a://b/a.csv: tables by URL are Parquet",
		"--nodes s3a://b/a --edges ./b.parquet" + spark + " --positional":          "one is a URL and one is not",
		"--nodes s3a://key:secret@b/a --edges s3a://b/b" + spark + " --positional": "the URL of a table has a password",
		"--nodes s3a://b/a" + spark + " --positional":                              "without --edges",
	} {
		args := append([]string{"train", "--out", filepath.Join(t.TempDir(), "a")}, strings.Fields(line)...)
		_, err := harness.Execute(root(), args...)
		expect.Error(t, err, want, "%s", line)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v has the password", line, err)
		}
	}
}
