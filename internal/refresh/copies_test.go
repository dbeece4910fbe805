package refresh

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/internal/durable"
	"rivulet/test/expect"
)

// pair is a–b, which train and validate, and c, which tests.
func pair() *dataset.Dataset {
	return &dataset.Dataset{Name: "pair", IDs: []string{"a", "b", "c"},
		Adj:    &graph.CSR{Rows: 3, Cols: 3, RowPtr: []int{0, 1, 2, 2}, ColIdx: []int32{1, 0}},
		X:      graph.Features{Dense: &graph.Dense{Rows: 3, Cols: 1, Data: []float32{1, 2, 3}}},
		Labels: []int32{0, 0, 0}, Classes: []string{"one"}, Train: []int32{0}, Validation: []int32{1}, Test: []int32{2}}
}

// stored stores the graph of a round.
func stored(t *testing.T, disk durable.Disk, dir string, round int) error {
	t.Helper()
	g, err := NewGraph("", pair())
	expect.OK(t, err)
	g.Dir, g.State.Round, g.State.Version, g.State.Next = dir, round, filepath.Base(dir), map[int]int64{0: int64(round)}
	return g.save(disk)
}

// A graph whose storing is cut at any operation of the disk is not there, or whole; the next start goes on from the
// newest whole one.
func TestAStoredGraphIsWholeOrMissing(t *testing.T) {
	t.Parallel()
	crash := errors.New("crash")
	base, err := NewGraph("", pair())
	expect.OK(t, err)
	operations, missing := 0, 0
	for done := false; !done; operations++ {
		dir := filepath.Join(t.TempDir(), "graphs", "2")
		expect.OK(t, stored(t, durable.Disk{}, filepath.Join(filepath.Dir(dir), "1"), 1))
		seen := 0
		err := stored(t, durable.Disk{Fault: func(string, string) error {
			if seen++; seen > operations {
				return crash
			}
			return nil
		}}, dir, 2)
		if done = err == nil; !done && !errors.Is(err, crash) {
			t.Fatal(err)
		}
		g, err := base.Resume(filepath.Join(filepath.Dir(dir), "1"), dir)
		if err != nil {
			t.Fatalf("cut at operation %d: %v", operations, err)
		}
		if want := int64(g.State.Round); g.State.Next[0] != want || (!Stored(dir) && want != 1) ||
			g.Fingerprint() != pair().Fingerprint() {
			t.Errorf("cut at operation %d: %+v", operations, g.State)
		}
		if !Stored(dir) {
			missing++
		}
	}
	if operations < 20 || missing < operations-3 { // it has its name one operation before the end
		t.Errorf("%d operations, the graph was missing after %d", operations, missing)
	}
}

// Of rounds 1 to 5 and two artifacts without a graph, those stay that are new, named, or used.
func TestPruneKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := &Copies{Artifacts: filepath.Join(root, "out"), Graphs: filepath.Join(root, "grown"), Keep: 2}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name := func(k int) string { return start.Add(time.Duration(k) * time.Hour).Format(nameForm) }
	for k := range 8 {
		expect.OK(t, os.MkdirAll(filepath.Join(c.Artifacts, name(k)), 0o777))
		if k == 1 || k == 7 { // cut before the graph, refused
			continue
		}
		expect.OK(t, stored(t, durable.Disk{}, filepath.Join(c.Graphs, name(k)), k+1))
	}
	// no graph of a refresh
	for _, mine := range []string{c.Artifacts + "/mine", c.Graphs + "/mine", c.Graphs + "/" + name(9)} {
		expect.OK(t, os.MkdirAll(mine, 0o777))
	}
	removed, err := c.Prune([]string{filepath.Join(c.Graphs, name(2))}, func(version string) bool {
		return version == name(3)
	})
	expect.OK(t, err)
	var want []string
	for _, gone := range []string{"grown/" + name(4), "grown/" + name(0), "out/" + name(4), "out/" + name(1),
		"out/" + name(0)} {
		want = append(want, filepath.Join(root, gone))
	}
	expect.Same(t, want, removed, "removed")
	left := func(dir string) (names []string) {
		entries, err := os.ReadDir(dir)
		expect.OK(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := left(c.Graphs); !slices.Equal(got, []string{name(2), name(3), name(5), name(6), name(9), "mine"}) {
		t.Errorf("graphs %v", got)
	}
	if got := left(c.Artifacts); !slices.Equal(got, []string{name(2), name(3), name(5), name(6), name(7), "mine"}) {
		t.Errorf("artifacts %v", got)
	}
	c.Keep = -1
	if removed, err := c.Prune(nil, func(string) bool { return false }); err != nil || removed != nil {
		t.Errorf("all are kept, and %v was removed (%v)", removed, err)
	}
}

// Two processes do not work in the same directories, and what a crash has left half written is removed.
func TestCopiesAreLocked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := &Copies{Artifacts: filepath.Join(root, "out"), Graphs: filepath.Join(root, "grown")}
	half := filepath.Join(c.Graphs, ".20260301T120000.000Z"+durable.Partial+"123")
	expect.OK(t, os.MkdirAll(half, 0o777))
	unlock, err := c.Lock()
	if err != nil || exists(half) {
		t.Fatal(err, exists(half))
	}
	if _, err := (&Copies{Artifacts: filepath.Join(root, "other"), Graphs: c.Graphs}).Lock(); err == nil {
		t.Error("two have locked the same directory")
	}
	unlock()
	again, err := c.Lock()
	if err != nil {
		t.Error(err)
	}
	again()
}
