package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// badTables are changes of good tables of 60 nodes and 60 edges, and what the user reads. Where that is empty, the run
// gives the artifact of the good tables, or another one if other is set.
var badTables = []struct {
	name         string
	nodes, edges func(rows []string) []string
	want         string
	other        bool
}{
	{name: "no column id", nodes: changed(0, "number,x,y,label,split"),
		want: `nodes.csv: no column id among ["number" "x"`},
	{name: "no column label", nodes: changed(0, "id,x,y,mark,split"), want: `nodes.csv: no column label among ["id" "x"`},
	{name: "no column target", edges: changed(0, "source,to"), want: `edges.csv: no column target among ["source" "to"]`},
	{name: "null id", nodes: changed(5, ",1,2,A,train"), want: "nodes.csv: line 6: column id: it is empty"},
	{name: "null end of an edge", edges: changed(5, "3,"), want: "edges.csv: line 6: column target: it is empty"},
	{name: "null label", nodes: changed(1, "0,1,2,,train"), want: "nodes.csv: line 2: column label: it is empty"},
	{name: "null feature", nodes: changed(3, "2,,2,A,train"), want: `nodes.csv: line 4: column x: "" is not a number`},
	{name: "infinite feature", nodes: changed(3, "2,Inf,2,A,train"),
		want: `nodes.csv: line 4: column x: "Inf" is not a finite number`},
	{name: "split that is no split", nodes: changed(3, "2,1,2,A,trian"),
		want: `nodes.csv: line 4: column split: "trian" is not one of`},
	{name: "row that is cut", nodes: changed(60, "59,1"), want: "nodes.csv: record on line 61: wrong number of fields"},
	{name: "id twice", nodes: more("x,1,2,A,train", "x,1,2,A,train"),
		want: `nodes row 62: "x" is already the id of row 61`},
	{name: "17 and '17'", nodes: more(`"17",1,2,A,train`),
		want: `nodes row 61: "17" is already the id of row 18 (ids are compared as text`},
	{name: "edge to nowhere", edges: more("3,nowhere"),
		want: `edges row 61: its target "nowhere" is not the id of a node`},
	{name: "edge from nowhere", edges: more("nowhere,3"),
		want: `edges row 61: its source "nowhere" is not the id of a node`},
	{name: "no nodes", nodes: cut(1), want: "there are no nodes"},
	{name: "self-loops", edges: more("3,3", "3,3", "4,4")},
	{name: "repeated edges", edges: more("0,1", "1,0", "5,16", "16,5")},
	{name: "isolated nodes", edges: cut(10), other: true},
	{name: "no edges", edges: cut(1), other: true},
}

func changed(row int, to string) func([]string) []string {
	return func(rows []string) []string { rows[row] = to; return rows }
}

func more(added ...string) func([]string) []string {
	return func(rows []string) []string { return append(rows, added...) }
}

func cut(to int) func([]string) []string {
	return func(rows []string) []string { return rows[:to] }
}

// badFiles writes the good tables with changes, nil: none.
func badFiles(t *testing.T, changeNodes, changeEdges func([]string) []string) string {
	t.Helper()
	nodes, edges := []string{"id,x,y,label,split"}, []string{"source,target"}
	for i := range 60 {
		split := []string{"train", "train", "train", "val", "test", "unlabelled"}[i%6]
		nodes = append(nodes, fmt.Sprintf("%d,%d,%d,%c,%s", i, i*7%13, i*5%11-3, 'A'+i%2, split))
		edges = append(edges, fmt.Sprintf("%d,%d", i, (i*3+1)%60))
	}
	if changeNodes != nil {
		nodes = changeNodes(nodes)
	}
	if changeEdges != nil {
		edges = changeEdges(edges)
	}
	dir := t.TempDir()
	for name, rows := range map[string][]string{"nodes.csv": nodes, "edges.csv": edges} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(rows, "\n")+"\n"), 0o600))
	}
	return dir
}

// stagedEngines are the flags of the engines that run stages. Spark is among them where RIVULET_TEST_SPARK names a
// Connect server; its worker is built beside this test, where the trainer looks for it.
func stagedEngines(t *testing.T) map[string]string {
	t.Helper()
	engines := map[string]string{"memory": "--sums fixed", "disk": "--engine disk --memory 256MiB"}
	address := os.Getenv("RIVULET_TEST_SPARK")
	if address == "" || testing.Short() {
		return engines
	}
	self, err := os.Executable()
	expect.OK(t, err)
	worker := filepath.Join(filepath.Dir(self), "worker-linux-"+runtime.GOARCH)
	build := exec.Command("go", "build", "-o", worker, "rivulet/cmd/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = os.Remove(worker) })
	engines["spark"] = "--engine spark --partitions 3 --spark " + address
	return engines
}

// Of tables that are wrong the user reads the table and the row or the column, whatever the engine, and no artifact is
// left. Of tables that are merely strange, all engines give the same bytes.
func TestBadTables(t *testing.T) {
	engines := stagedEngines(t)
	train := func(t *testing.T, engine, data string) (string, error) {
		out := filepath.Join(t.TempDir(), "artifact")
		line := "train --nodes 6 --data " + data + " --out " + out + " " + engines[engine]
		if engine != "memory" {
			line += " --work " + t.TempDir()
		}
		_, err := harness.Execute(root(), strings.Fields(line)...)
		return out, err
	}
	good, err := train(t, "memory", badFiles(t, nil, nil))
	expect.OK(t, err)
	for _, c := range badTables {
		data, want := badFiles(t, c.nodes, c.edges), good
		if c.other {
			want = filepath.Join(t.TempDir(), "of memory")
		}
		for _, engine := range []string{"memory", "disk", "spark"} {
			if engines[engine] == "" {
				continue
			}
			t.Run(c.name+" "+engine, func(t *testing.T) {
				out, err := train(t, engine, data)
				if c.want == "" {
					expect.OK(t, err)
					if c.other && engine == "memory" {
						expect.OK(t, os.CopyFS(want, os.DirFS(out)))
					}
					sameParts(t, want, out)
					return
				}
				expect.Error(t, err, c.want)
				if _, err := os.Stat(out); err == nil {
					t.Error("an artifact was written")
				}
			})
		}
	}
}
