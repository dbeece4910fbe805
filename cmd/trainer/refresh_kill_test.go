package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/dataset"
	"rivulet/internal/durable"
	"rivulet/internal/refresh"
	"rivulet/kafka"
	"rivulet/test/expect"
	"rivulet/test/harness"
	"rivulet/trainer"
)

// steps lists the steps of a round, in order. A process is killed at each.
var steps = []string{"read", "merge", "train", "artifact", "graph begins", "graph is synced", "graph has its name",
	"rows are published", "marked as published", "commit"}

// killed is a refresh in a process that kills itself.
type killed struct {
	trainer.Silent
	refresh.Services
	at    string
	grown string // --data-out
}

func (k *killed) reach(step string) {
	if k.at == step {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it is delivered
	}
}

// Step is told of the training and the publication.
func (k *killed) Step(what string, done, total int) {
	switch {
	case strings.HasPrefix(what, "fitting sgc on the original graph"):
		k.reach("merge")
	case strings.HasPrefix(what, "fitting sgc on the synthetic graph"):
		k.reach("train")
	case what == "publishing rows of M" && done == total:
		k.reach("rows are published")
	}
}

// Reader is asked for when the arrivals are read, and again when their offsets are committed.
func (k *killed) Reader(topic, group string) (*kafka.Reader, func(), error) {
	if topic == "labels" {
		k.reach("read") // the arrivals are
	}
	if names, _ := filepath.Glob(k.grown + "/2*/published.json"); group != "" && len(names) > 0 {
		k.reach("commit")
	}
	return k.Services.Reader(topic, group)
}

// disk is asked before each operation.
func (k *killed) disk(operation, path string) error {
	base := filepath.Base(path)
	switch {
	case operation == "mkdir" && strings.Contains(path, "/grown/.2"):
		k.reach("artifact")
	case operation == "create" && (base == "feats.npz" || base == "refresh.json"):
		k.reach("graph begins")
	case operation == "rename" && strings.Contains(path, "/grown/2") && base != "published.json" && base != "refresh.json":
		k.reach("graph is synced")
	case operation == "sync" && base == "grown":
		if names, _ := filepath.Glob(path + "/2*/refresh.json"); len(names) > 0 {
			k.reach("graph has its name")
		}
	case operation == "rename" && base == "published.json":
		k.reach("marked as published")
	}
	return nil
}

// below returns the flags of a refresh whose directories, group and prefix are its own.
func (w *world) below(name string) *refreshFlags {
	f := w.flags()
	f.group, f.out, f.dataOut = "refresh-"+name, filepath.Join(w.dir, name, "out"), filepath.Join(w.dir, name, "grown")
	return f
}

// TestKilledProcess is the process that kills itself, for TestRefreshKilledAtEveryStep.
func TestKilledProcess(t *testing.T) {
	at := os.Getenv("REFRESH_KILLED_AT")
	if at == "" {
		t.Skip("a process of TestRefreshKilledAtEveryStep")
	}
	w := &world{t: t, dir: os.Getenv("REFRESH_DIR"), data: os.Getenv("REFRESH_DATA"),
		kafkaAddr: os.Getenv("REFRESH_KAFKA"), redisURL: os.Getenv("REFRESH_REDIS"), log: &bytes.Buffer{},
		prefix: os.Getenv("REFRESH_PREFIX")}
	f := w.below(w.prefix)
	r := w.refresher(f)
	k := &killed{Services: r.Services, at: at, grown: f.dataOut}
	r.Services, r.Progress, r.Disk = k, k, durable.Disk{Fault: k.disk}
	err := f.repeat(t.Context(), r, &ticks{stop: func() {}, after: 1}, func(*refresh.Report) error {
		return errors.New("one is enough")
	})
	t.Fatalf("it outlived step %q: %v\n%s", at, err, w.log.String())
}

// A refresh of a graph with weights is killed with SIGKILL at each step, and started again: the graph equals the graph
// of an uninterrupted refresh byte for byte, CURRENT names its artifact, each version is complete, and the group's
// offsets equal the offsets in the graph.
func TestRefreshKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	killedAtEveryStep(newWorld(t, kindsOfGraphs["weights"].change), steps)
}

func killedAtEveryStep(w *world, steps []string) {
	t := w.t
	t.Helper()
	produce(t, w.broker.Addr(), w.arrivals[:50], w.labels)
	apart := sink(t, w.broker.Addr(), "arrivals")
	apart.Apart(rand.New(rand.NewPCG(1, 2)), nil)
	expect.OK(t, apart.Send(t.Context(), w.arrivals[50:100]))
	published := func(prefix string) *world {
		t.Helper()
		mustRun(t, w.dir, "publish --artifact {}/first --redis "+w.redis.URL()+" --redis.prefix "+prefix)
		one := *w
		one.prefix = prefix
		return &one
	}
	if o := published("whole").life(w.below("whole"), 1)[0]; !o.Published || o.Merged.Joined != 100 ||
		o.Merged.EdgeRecords == 0 {
		t.Fatalf("uninterrupted: %+v", o)
	}
	want := graphFiles(t, w.below("whole").dataOut)
	for k, step := range steps {
		prefix := fmt.Sprintf("step%d", k)
		one := published(prefix)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcess$")
		cmd.Env = append(os.Environ(), "REFRESH_KILLED_AT="+step, "REFRESH_DIR="+w.dir, "REFRESH_DATA="+w.data,
			"REFRESH_KAFKA="+w.broker.Addr(), "REFRESH_REDIS="+w.redis.URL(), "REFRESH_PREFIX="+prefix)
		out, err := cmd.CombinedOutput()
		if ended := new(exec.ExitError); !errors.As(err, &ended) ||
			ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: the process was not killed (%v):\n%s", step, err, out)
		}
		f := w.below(prefix)
		one.life(f, 1)
		if diff := cmp.Diff(want, graphFiles(t, f.dataOut)); diff != "" {
			t.Errorf("killed at %q: the graph differs from the uninterrupted one's (-uninterrupted +killed):\n%s", step, diff)
		}
		one.checkPublished(step, f)
	}
	if strings.Contains(w.log.String(), "refresh failed") {
		t.Error(w.log.String())
	}
}

// graphFiles returns the files of the only graph in a directory, but those that name its artifact.
func graphFiles(t *testing.T, parent string) map[string][]byte {
	t.Helper()
	dirs, err := filepath.Glob(parent + "/2*")
	if err != nil || len(dirs) != 1 {
		t.Fatalf("graphs are %v (%v), want one", dirs, err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(dirs[0])
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "refresh.json") && !strings.HasPrefix(e.Name(), "published.json") {
			data, errRead := os.ReadFile(filepath.Join(dirs[0], e.Name()))
			files[e.Name()], err = data, errors.Join(err, errRead)
		}
	}
	if err != nil || len(files) < 4 {
		t.Fatalf("files %d (%v)", len(files), err)
	}
	return files
}

// checkPublished compares the newest graph with Redis and with the group.
func (w *world) checkPublished(step string, f *refreshFlags) {
	w.t.Helper()
	out, err := harness.Execute(root(), "versions", "--redis.url", w.redis.URL(), "--redis.prefix", w.prefix)
	dirs, _ := filepath.Glob(f.dataOut + "/2*")
	d, errOpen := dataset.Open(dirs[0], dataset.OpenOptions{})
	if err := errors.Join(err, errOpen); err != nil {
		w.t.Fatal(err)
	}
	if (d.Adj.Val == nil) != (w.half.Adj.Val == nil) {
		w.t.Errorf("killed at %q: %d weights of edges, the graph before had %d", step, len(d.Adj.Val), len(w.half.Adj.Val))
	}
	g, err := refresh.NewGraph(dirs[0], d)
	if err != nil {
		w.t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !strings.Contains(out, g.State.Version+"  complete  yes") ||
		strings.Count(out, " complete ") != len(lines)-1 {
		w.t.Errorf("killed at %q: want %s as CURRENT, and all complete:\n%s", step, g.State.Version, out)
	}
	reader, end, err := w.refresher(f).Services.Reader("arrivals", f.group)
	if err != nil {
		w.t.Fatal(err)
	}
	defer end()
	group, err := reader.Group(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	committed := map[int]int64{}
	for at, offset := range group.Offsets {
		committed[at.Partition] = offset
	}
	if diff := cmp.Diff(g.State.Next, committed); diff != "" || len(committed) != 3 || !g.Published {
		w.t.Errorf("killed at %q: offsets (-graph +group):\n%s", step, diff)
	}
}
