package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// bazaar writes tables of 120 users with classes, of 30 items and of shops with ids alone, typed edges among them, and
// three tables that have no nodes of a further type: scores of users, users of another file, and a list of words.
func bazaar(t *testing.T, edgeHeader, edgeTail string) string {
	t.Helper()
	dir := t.TempDir()
	texts := map[string]*strings.Builder{}
	table := func(name, header string) *strings.Builder {
		texts[name] = &strings.Builder{}
		texts[name].WriteString(header + "\n")
		return texts[name]
	}
	users, items := table("users.csv", "id,label,split,age"), table("items.csv", "id,price,since")
	shops := table("shops.csv", "id")
	edges, scores := table("edges.csv", "source,target,kind"+edgeHeader), table("scores.csv", "id,score")
	more, words := table("users2.csv", "id,label,split,age"), table("words.csv", "id,word")
	for i := range 120 {
		fmt.Fprintf(users, "u%d,%c,%s,%d\n", i, 'a'+i%2, []string{"train", "val", "test"}[i/2%3], 20+i%2*9+i%5)
		fmt.Fprintf(scores, "u%d,%d\n", i, i%7)
		fmt.Fprintf(edges, "u%d,i%d,%s%s\n", i, i%30, []string{"buys", "views"}[i%2], edgeTail)
		fmt.Fprintf(words, "w%d,word%d\n", i, i)
	}
	for i := range 30 {
		fmt.Fprintf(items, "i%d,%d,20%02d-01-01\n", i, 5+i%3, i)
		fmt.Fprintf(edges, "i%d,s%d,sold_by%s\n", i, i%3, edgeTail)
	}
	fmt.Fprintf(shops, "s0\ns1\ns2\n")
	fmt.Fprintf(more, "v1,a,train,30\nv2,b,val,31\n")
	fmt.Fprintf(edges, "v1,i0,buys%s\n", edgeTail)
	for name, text := range texts {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600))
	}
	return dir
}

// Where several tables have nodes, init proposes a type for each, with the types of edges, and says that it guesses.
// The settings are those with which check and train read the tables.
func TestDataInitOfSeveralTables(t *testing.T) {
	dir := bazaar(t, "", "")
	expect.OK(t, os.Remove(filepath.Join(dir, "users2.csv"))) // its nodes are users in a second file, which no type is
	out, err := harness.Execute(root(), "data", "check", "--data", dir)
	if err == nil || !strings.Contains(out, "users.csv: nodes of type users") || !strings.Contains(out, "--drop-unknown") ||
		!strings.Contains(out, "scores.csv: left out: its ids are those of users.csv") ||
		!strings.Contains(out, "words.csv: left out: none of its ids") {
		t.Errorf("tables that nothing describes: %v\n%s", err, out)
	}
	out, err = harness.Execute(root(), "data", "init", dir, "--drop-unknown")
	expect.OK(t, err)
	for _, guess := range []string{"nodes: users.csv, items.csv and shops.csv are tables of a type of nodes each, a guess",
		"edge_type: kind is a guess by its name and its 3 values"} {
		if !strings.Contains(out, guess) {
			t.Errorf("init does not say %q:\n%s", guess, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "data.yaml"))
	expect.OK(t, err)
	for _, line := range []string{"nodes:\n    users: users.csv\n    items: items.csv\n    shops: shops.csv\n",
		"edges: edges.csv\n", "edge_type: kind\n", "#   age: number; 10 values", "#   since: time; 30 values",
		"# Guessed: nodes: users.csv"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("data.yaml lacks %q:\n%s", line, text)
		}
	}
	out, err = harness.Execute(root(), "data", "check", "--data", dir)
	if err != nil || !strings.Contains(out, "153 nodes, 150 edges, 2 classes") {
		t.Errorf("%v\n%s", err, out)
	}
	artifact := filepath.Join(dir, "model")
	out, err = harness.Execute(root(), "train", "--data", dir, "--models", "rsgc", "--nodes", "8", "--costs=false",
		"--out", artifact)
	if err != nil || !strings.Contains(out, `column "node_type" is used: category of 3 values`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// Tables of the same columns are no two types; types of nodes may be named, and weights beside types are kept.
func TestDataInitOfNamedTypes(t *testing.T) {
	dir := bazaar(t, ",weight", ",2.5")
	out, err := harness.Execute(root(), "data", "init", dir, "--drop-unknown")
	expect.OK(t, err)
	if !strings.Contains(out, "users.csv, items.csv and shops.csv are tables") {
		t.Errorf("users2.csv is more rows of users.csv:\n%s", out)
	}
	if !strings.Contains(out, "edge_type: kind is a guess by its name and its 3 values") ||
		!strings.Contains(out, "weight: column weight has weights") || strings.Contains(out, "not used: kind") {
		t.Errorf("types beside weights:\n%s", out)
	}
	expect.OK(t, os.Remove(filepath.Join(dir, "data.yaml")))
	in := func(name string) string { return filepath.Join(dir, name) }
	_, err = harness.Execute(root(), "data", "init", dir, "--nodes", "user="+in("users.csv")+",item="+in("items.csv"),
		"--drop-unknown", "--drop-weights")
	expect.OK(t, err)
	text, err := os.ReadFile(in("data.yaml"))
	if err != nil || !strings.Contains(string(text), "nodes:\n    user: users.csv\n    item: items.csv\n") ||
		!strings.Contains(string(text), "edge_type: kind\n") {
		t.Errorf("%v\n%s", err, text)
	}
	expect.OK(t, os.Remove(in("data.yaml")))
	out, err = harness.Execute(root(), "data", "init", dir, "--nodes", "user="+in("users.csv")+",kind="+in("edges.csv"))
	if expect.Error(t, err, "nothing is written"); !strings.Contains(out, "edges.csv: no column is named id") {
		t.Errorf("a table without a column of ids:\n%s", out)
	}
	// Of links there are no labels to look for.
	out, err = harness.Execute(root(), "data", "init", dir, "--task", "links", "--drop-unknown", "--drop-weights")
	if err != nil || !strings.Contains(out, "data.yaml is written") {
		t.Errorf("%v\n%s", err, out)
	}
}
