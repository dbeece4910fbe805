package spark_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// realSpark is the address of a Spark Connect server whose machines see this one's directories, as tools/spark starts
// it. Tests that need one are skipped without it.
func realSpark(t *testing.T) connect.Address {
	t.Helper()
	url := os.Getenv("RIVULET_TEST_SPARK")
	if url == "" {
		t.Skip("RIVULET_TEST_SPARK names no Spark Connect server")
	}
	a, err := connect.Parse(url, "")
	expect.OK(t, err)
	return a
}

// workers builds the worker of this machine.
func workers(t *testing.T) map[string]spark.File {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "worker-linux-"+runtime.GOARCH), "rivulet/cmd/worker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, err := spark.Workers(dir)
	expect.OK(t, err)
	return found
}

// shown logs what an engine does.
type shown struct{ t *testing.T }

func (s shown) Step(what string, done, total int) {
	if done == total {
		s.t.Log(what)
	}
}

func open(t *testing.T, r spark.Runner, work string, partitions int, w map[string]spark.File) *spark.Engine {
	t.Helper()
	e, err := spark.Open(t.Context(), r, spark.Options{Work: work, Partitions: partitions, Workers: w, Progress: shown{t}})
	expect.OK(t, err)
	return e
}

func generated(t *testing.T) *dataset.Dataset {
	t.Helper()
	g, err := generate.Scaled("small", 900)
	expect.OK(t, err)
	d, err := generate.Graph(g, 3)
	expect.OK(t, err)
	return d
}

func options() trainer.Options {
	o := trainer.Defaults()
	o.Costs = false
	return o
}

// created is the time in artifacts.
var created = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

// train writes the artifact of a run and returns its directory.
func train(t *testing.T, e stage.Engine, d *dataset.Dataset) string {
	t.Helper()
	dir, _ := trainWith(t, e, d, options())
	return dir
}

// trainWith is train with other options, and returns the outcome, too.
func trainWith(t *testing.T, e stage.Engine, d *dataset.Dataset, o trainer.Options) (string, *trainer.Outcome) {
	t.Helper()
	s, err := trainer.StagedOf(d, o)
	expect.OK(t, err)
	out, err := trainer.TrainStaged(context.Background(), e, s, o, created, trainer.Silent{})
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	return dir, out
}

// sameFiles fails unless two directories hold the same bytes.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(a, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", a, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			sameFiles(t, file, filepath.Join(b, filepath.Base(file)))
			continue
		}
		one, err1 := os.ReadFile(file)
		other, err2 := os.ReadFile(filepath.Join(b, filepath.Base(file)))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs: %v %v", filepath.Base(file), err1, err2)
		}
	}
}

// A run on Spark gives the bytes of one in memory. A second run finds every stage.
func TestSparkGivesTheBytesOfMemory(t *testing.T) { testBytes(t, realSpark(t), generated(t), 4) }

// The same on real graphs, for two numbers of partitions: it takes minutes, and runs where RIVULET_DATA is given.
func TestSparkOnRealGraphs(t *testing.T) {
	a := realSpark(t)
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	for _, name := range []string{"cora", "amazon_photo", "coauthor_cs"} {
		t.Run(name, func(t *testing.T) {
			d, err := dataset.Open(datatest.Dir(t, name), dataset.OpenOptions{})
			expect.OK(t, err)
			testBytes(t, a, d, 4, 13)
		})
	}
}

func testBytes(t *testing.T, a connect.Address, d *dataset.Dataset, partitions ...int) {
	want := train(t, local.NewMemory(solved.Functions, trainer.Silent{}), d)
	w := workers(t)
	for _, partitions := range partitions {
		work := t.TempDir()
		e := open(t, spark.Connect(connect.New(a, nil)), work, partitions, w)
		start := time.Now()
		sameFiles(t, want, train(t, e, d))
		t.Logf("%d partitions: %d stages in %.1f s", partitions, e.Ran, time.Since(start).Seconds())
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		again := open(t, spark.Connect(connect.New(a, nil)), work, partitions, w)
		sameFiles(t, want, train(t, again, d))
		if again.Ran != 0 {
			t.Errorf("again: %d stages ran, %d were there", again.Ran, again.Found)
		}
		if err := again.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func source(name string, payloads ...[]byte) stage.Source {
	return stage.Source{Identity: name, Rows: func(yield func([]byte, error) bool) {
		for _, p := range payloads {
			if !yield(p, nil) {
				return
			}
		}
	}}
}

// A working directory with characters that SQL, shells and paths give a meaning is read as it is written, a worker's
// error names the row, and Clean leaves nothing.
func TestSparkRefusesBadRows(t *testing.T) {
	a := realSpark(t)
	work := filepath.Join(t.TempDir(), "it's `our` \"work\" -- $HOME %20")
	r := spark.Connect(connect.New(a, nil))
	e := open(t, r, work, 2, workers(t))
	node := func(row int64, id string) []byte {
		return partition.AppendNode(nil, partition.Node{Row: row, ID: id, Label: "A", Role: partition.Train,
			Dense: []float32{1}})
	}
	edge := func(row int64, from, to string) []byte {
		return partition.AppendEdge(nil, partition.Edge{Row: row, Source: from, Target: to})
	}
	nodes := source("nodes", node(1, "a"), node(2, "17"), node(3, "b"))
	for want, sources := range map[string][2]stage.Source{
		`nodes row 4: "17" is already the id of row 2`: {source("twice", node(1, "a"), node(2, "17"), node(4, "17")),
			source("none")},
		`edges row 1: its target "nowhere" is not the id of a`: {nodes, source("nowhere", edge(1, "a", "nowhere"))},
	} {
		_, err := partition.Read(t.Context(), e, sources[0], sources[1], partition.BlockOptions{Blocks: 4})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("error %v, want %q and little more", err, want)
		}
	}
	g, err := partition.Read(t.Context(), e, nodes, source("edges", edge(1, "a", "b"), edge(2, "b", "a"),
		edge(3, "a", "a")),
		partition.BlockOptions{Blocks: 4})
	if err != nil || g.Entries != 2 || g.Loops != 1 || g.Nodes != 3 {
		t.Errorf("%+v: %v", g, err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	cleaner := spark.Connect(connect.New(a, nil))
	if err := errors.Join(spark.Clean(t.Context(), cleaner, work), cleaner.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("left in the working directory: %v, %v", left, err)
	}
}

// Workers for another architecture alone are an error that names both, and the command that builds them.
func TestSparkWithoutAWorkerForItsMachines(t *testing.T) {
	a := realSpark(t)
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	e := open(t, spark.Connect(connect.New(a, nil)), t.TempDir(), 2,
		map[string]spark.File{other: {Name: "rivulet-worker-" + other + "-0",
			Content: []byte("a program of another machine")}})
	_, err := partition.Read(t.Context(), e, source("nodes", []byte("row")), source("none"),
		partition.BlockOptions{Blocks: 4})
	if want := "workers were sent for " + other + " only: make workers builds both"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
