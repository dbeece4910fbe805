package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// Every command that reads a data set reads Parquet too.
func TestDataCommandsReadParquet(t *testing.T) {
	found := 0
	for _, cmd := range root().Commands() {
		if cmd.Flags().Lookup("data") == nil {
			continue
		}
		found++
		if format := cmd.Flags().Lookup("format"); format == nil || !strings.Contains(format.Usage, "parquet") {
			t.Errorf("trainer %s --data has no --format parquet: give dataflag.Register the format", cmd.Name())
		}
	}
	if found == 0 {
		t.Error("no command has --data")
	}
	out := filepath.Join(t.TempDir(), "artifact")
	_, err := harness.Execute(root(), "train", "--data", "../../dataset/parquet/testdata/lists", "--format", "csv",
		"--out", out)
	expect.Error(t, err, "neither nodes.csv", "--format csv on Parquet files")
}

// init writes what check and train read; check says what is wrong, and what gives the label away.
func TestDataInitAndCheck(t *testing.T) {
	dir := t.TempDir()
	nodes := &strings.Builder{}
	nodes.WriteString("user_id,plan,age,left_on,churned,fold\n")
	edges := &strings.Builder{}
	edges.WriteString("follower,followee,weight\n")
	for i := range 120 {
		left := ""
		if i%2 == 1 {
			left = "2026-01-02"
		}
		age := strconv.Itoa(20 + i%7*(1+i%2))
		if i%10 == 3 {
			age = ""
		}
		fmt.Fprintf(nodes, "u%d,%s,%s,%s,%s,%d\n", i, []string{"gold", "free", "basic"}[i%3], age, left,
			[]string{"no", "yes"}[i%2], i/2%3)
		fmt.Fprintf(edges, "u%d,u%d,2\n", i, (i+2)%120)
	}
	for name, text := range map[string]string{"users.csv": nodes.String(), "follows.csv": edges.String()} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	out, err := harness.Execute(root(), "data", "check", "--data", dir)
	if err == nil || !strings.Contains(err.Error(), "trainer data init "+dir) ||
		!strings.Contains(out, "users.csv: nodes, 120 rows") || !strings.Contains(out, "follows.csv: edges, from follower to") ||
		strings.Count(out, "\n") > 4+shownGuesses {
		t.Errorf("tables that nothing describes: %v\n%s", err, out)
	}
	out, err = harness.Execute(root(), "data", "init", dir)
	if err != nil || !strings.Contains(out, "split_values") {
		t.Fatalf("%v\n%s", err, out)
	}
	settings := filepath.Join(dir, "data.yaml")
	written, err := os.ReadFile(settings)
	expect.OK(t, err)
	expect.OK(t, os.WriteFile(settings, []byte("lable: churned\n"), 0o600))
	if out, err := harness.Execute(root(), "data", "init", dir); err == nil || out != "" ||
		!strings.Contains(err.Error(), settings+" is there already, and nothing was looked at: keep it") {
		t.Errorf("init over a file: %v\n%s", err, out)
	}
	runLine(t, "data init --force "+dir)
	if again, err := os.ReadFile(settings); err != nil || !bytes.Equal(again, written) {
		t.Errorf("init --force wrote %v\n%s", err, again)
	}
	out, err = harness.Execute(root(), "data", "check", "--data", dir)
	if err != nil || !strings.Contains(out, "120 nodes, 120 edges") ||
		!strings.Contains(out, "left_on, most frequent class of each of 32 intervals   SUSPECT") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = harness.Execute(root(), "data", "check", "--data", dir, "--drop-weights", "--drop", "left_on")
	if err != nil || !strings.Contains(out, "users: ") &&
		!strings.Contains(out, "120 nodes, 120 edges, 2 classes; 0 nodes have no edge") || strings.Contains(out, "left_on") {
		t.Errorf("%v\n%s", err, out)
	}
	// The same of compressed tables.
	packed := t.TempDir()
	encoder, err := zstd.NewWriter(nil)
	expect.OK(t, err)
	for name, text := range map[string]string{"users.csv.zst": nodes.String(), "follows.csv.zst": edges.String()} {
		expect.OK(t, os.WriteFile(filepath.Join(packed, name), encoder.EncodeAll([]byte(text), nil), 0o600))
	}
	if out, err := harness.Execute(root(), "data", "init", packed); err != nil || !strings.Contains(out, "split_values") {
		t.Errorf("%v\n%s", err, out)
	}
	if again, err := harness.Execute(root(), "data", "check", "--data", packed, "--drop-weights", "--drop",
		"left_on"); err != nil ||
		!strings.Contains(again, "120 nodes, 120 edges, 2 classes; 0 nodes have no edge") {
		t.Errorf("%v\n%s", err, again)
	}
	// Where the id and the label have names of their own, check says what init wants to know.
	other := t.TempDir()
	for name, text := range map[string]string{"users.csv": "customer,a,b,c,d,e,f,g,h,segment\nu1,1,1,1,1,1,1,1,1,x\nu2,1,1,1,1,1,1,1,1,y\n",
		"follows.csv": edges.String()} {
		expect.OK(t, os.WriteFile(filepath.Join(other, name), []byte(text), 0o600))
	}
	if out, err := harness.Execute(root(), "data", "check", "--data", other); err == nil ||
		!strings.Contains(err.Error(), "trainer data init "+other) ||
		!strings.Contains(out, "(--label)") || !strings.Contains(out, `"segment"`) {
		t.Errorf("tables whose columns have other names: %v\n%s", err, out)
	}
	artifact := filepath.Join(dir, "model")
	if out, err = harness.Execute(root(), "train", "--data", dir, "--drop-weights", "--drop", "left_on", "--nodes", "10",
		"--costs=false", "--out", artifact); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(artifact, "schema.json")); err != nil {
		t.Error(err)
	}
}
