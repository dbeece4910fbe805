package trainer

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/infer"
	"rivulet/test/datatest"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/plane"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
)

var stagedTime = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

func stagedOptions() Options {
	o := Defaults()
	o.Costs, o.WeightDecays = false, []float64{1e-2, 1e-4}
	return o
}

// trainStaged writes the artifact of a run and returns its directory and its results.
func trainStaged(t *testing.T, e stage.Engine, d *dataset.Dataset, o Options) (string, *Outcome) {
	t.Helper()
	s, err := StagedOf(d, o)
	expect.OK(t, err)
	out, err := TrainStaged(context.Background(), e, s, o, stagedTime, Silent{})
	expect.OK(t, err)
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	return dir, out
}

// stagedInMemory is a run of engine memory on a set of stagedSets, which tests with the same options share: its
// directory and its results.
func stagedInMemory(t *testing.T, name string, d *dataset.Dataset, o Options) (string, *Outcome) {
	t.Helper()
	out := shared(t, fmt.Sprintf("stages %s %+v", name, o), func() (*Outcome, error) {
		s, err := StagedOf(d, o)
		if err != nil {
			return nil, err
		}
		e := local.NewMemory(solved.Functions, Silent{})
		return TrainStaged(context.Background(), e, s, o, stagedTime, Silent{})
	})
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, out.Bundle))
	return dir, out
}

func openDisk(t *testing.T, dir string, memory int64) *local.Engine {
	t.Helper()
	e, err := local.Open(solved.Functions, dir, memory, Silent{})
	expect.OK(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// sameFiles fails unless two directories hold the same bytes.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	entries, err := os.ReadDir(a)
	expect.OK(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			sameFiles(t, filepath.Join(a, entry.Name()), filepath.Join(b, entry.Name()))
			continue
		}
		one, err1 := os.ReadFile(filepath.Join(a, entry.Name()))
		other, err2 := os.ReadFile(filepath.Join(b, entry.Name()))
		if err1 != nil || err2 != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs: %v %v", entry.Name(), err1, err2)
		}
	}
}

// The engines disk, with room for a block or two at a time, and memory give the same bytes; so do rows in
// another order. Sparse and dense features take different ways through the stages.
func TestStagedEnginesGiveTheSameBytes(t *testing.T) {
	for name, d := range stagedSets(t) { // disk has a quarter of the memory that the dense features take
		t.Run(name, func(t *testing.T) {
			o, onReal := stagedOptions(), len(d.Test) >= 1000
			if onReal {
				o.WeightDecays = nil // all, as the usual run
			}
			inMemory, out := stagedInMemory(t, name, d, o)
			onDisk, _ := trainStaged(t, openDisk(t, t.TempDir(), int64(d.Nodes()*d.X.Cols())), d, o)
			sameFiles(t, inMemory, onDisk)
			if onReal { // of a small graph a node is a tenth of a point or more
				likeUsual(t, d, defaultRun(t, name), out)
			}
		})
	}
}

// The map of a run by stages belongs to its own M: in memory, on a graph in the same order of nodes, the same M gives
// the same map.
func TestStagedMap(t *testing.T) {
	d, o := generated(t, "pubmed"), stagedOptions()
	o.Map = true
	_, out := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
	b := out.Bundle
	if diff := cmp.Diff(b.Mapping.Rows.Transpose().RowSums(), b.Map.Mass); diff != "" {
		t.Errorf("masses (-of M +of the map):\n%s", diff)
	}
	d = inOrderOf(t, d, b.Mapping.IDs)
	labels := d.Original().Labels
	rows := func(yield func(plane.Rows, error) bool) { yield(plane.Rows{Mapping: b.Mapping, Labels: labels}, nil) }
	want, err := plane.Of(b, rows, o.MapIDs, o.rng(purposeMap))
	expect.OK(t, err)
	if diff := cmp.Diff(want, b.Map); diff != "" {
		t.Errorf("map (-of M in memory +of M in tables):\n%s", diff)
	}
	if len(b.Map.Heaviest) != b.Manifest.SyntheticNodes {
		t.Errorf("%d lists of ids for %d synthetic nodes", len(b.Map.Heaviest), b.Manifest.SyntheticNodes)
	}
}

// By stages S teaches what it teaches in memory where T fits into the subgraph, and less where a part of it does; the
// engines give the same bytes.
func TestStagedSpread(t *testing.T) {
	d, o := generatedOf(t, "small", 1500), stagedOptions()
	o.Spread, o.Propagate, o.Own = true, false, OwnNever
	k, err := newTask(d, o)
	expect.OK(t, err)
	r, err := k.condense(t.Context(), Silent{})
	expect.OK(t, err)
	usual, err := r.served.(spreader).spread(t.Context(), Silent{})
	expect.OK(t, err)
	want := taught(t, d, o, usual)
	original := d.Original()
	for _, share := range []int64{100, 50} {
		if share < 100 {
			o.Subgraph = 8 * int64(original.X.Sparse.NNZ()+original.Adj.NNZ()) * share / 100
		}
		inMemory, _ := trainStaged(t, local.NewMemory(solved.Functions, Silent{}), d, o)
		onDisk, _ := trainStaged(t, openDisk(t, t.TempDir(), int64(d.Nodes()*d.X.Cols())), d, o)
		sameFiles(t, inMemory, onDisk)
		s, err := artifact.ReadSpread(inMemory)
		expect.OK(t, err)
		got := taught(t, d, o, s)
		t.Logf("%d%% of T in the subgraph: %.2f, in memory %.2f", share, got, want)
		if math.Abs(got-want) > 15 || share == 100 && math.Abs(got-want) > 0.5 {
			t.Errorf("%d%% of T in the subgraph: S teaches %.2f, in memory %.2f", share, got, want)
		}
	}
}

// The deviations of dense features are by the edges of all of T, also where a part of it is in the subgraph.
func TestStagedSpreadOfDenseFeatures(t *testing.T) {
	d, o := generated(t, "reddit"), stagedOptions()
	o.Spread, o.Propagate, o.Own, o.Subgraph = true, false, OwnNever, 2*int64(d.Nodes()*d.X.Cols())
	rows, err := StagedOf(d, o)
	expect.OK(t, err)
	s, err := newTablesHolder(t.Context(), local.NewMemory(solved.Functions, Silent{}), rows, o)
	expect.OK(t, err)
	exact := s.subgraph.twoHops.Clone()
	r, err := s.task.condense(t.Context(), Silent{})
	expect.OK(t, err)
	c := r.served.(*frozenTables).teacher
	if !slices.Equal(c.rows.Data, exact.Take(c.around()).Data) || len(c.original.IDs) >= len(d.Original().IDs) {
		t.Errorf("%d nodes in the subgraph: rows are not those of all of T", len(c.original.IDs))
	}
	got, err := r.served.(spreader).spread(t.Context(), Silent{})
	expect.OK(t, err)
	if got.Factor.Cols != d.X.Cols() || got.Means.Rows != s.subgraph.nodes || got.Soft.Cols != len(d.Classes) {
		t.Errorf("a spread of %d columns around %d means, soft labels of %d classes", got.Factor.Cols, got.Means.Rows,
			got.Soft.Cols)
	}
}

// withMessages hides that an engine has a shorter way for hops.
type withMessages struct{ stage.Engine }

// A hop by messages, as a cluster has it, gives the bits of one without. Dense features have no room in memory here:
// the sgc is fitted to labelled rows, and S is made in a subgraph.
func TestStagedHopsByMessages(t *testing.T) {
	for name, d := range generatedSets(t) {
		o := stagedOptions()
		if d.X.Sparse == nil {
			o.Subgraph = (int64(d.Nodes()*d.X.Cols())*4 + int64(d.Adj.NNZ())*8) * 3 / 4
		}
		short, _ := stagedInMemory(t, name, d, o)
		long, _ := trainStaged(t, withMessages{local.NewMemory(solved.Functions, Silent{})}, d, o)
		sameFiles(t, short, long)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// Rows in another order, edges told twice and the other way round, and self-loops change nothing, not even the
// fingerprint.
func TestStagedRowsInAnotherOrder(t *testing.T) {
	d, o := generated(t, "small"), stagedOptions()
	want, _ := stagedInMemory(t, "small", d, o)
	s, err := StagedOf(d, o)
	expect.OK(t, err)
	s.Nodes, s.Edges = reversed(d)
	out, err := TrainStaged(context.Background(), local.NewMemory(solved.Functions, Silent{}), s, o, stagedTime, Silent{})
	expect.OK(t, err)
	got := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(got, out.Bundle))
	sameFiles(t, want, got)
}

// reversed are the rows of a data set from the last to the first.
func reversed(d *dataset.Dataset) (nodes, edges stage.Source) {
	roles := make([]partition.Role, d.Nodes())
	for role, list := range map[partition.Role][]int32{partition.Train: d.Train, partition.Unlabelled: d.Unlabelled,
		partition.Validation: d.Validation, partition.Test: d.Test} {
		for _, i := range list {
			roles[i] = role
		}
	}
	nodes = stage.Source{Identity: "reversed nodes", Rows: func(yield func([]byte, error) bool) {
		for i := d.Nodes() - 1; i >= 0; i-- {
			n := partition.Node{Row: int64(i + 1), ID: d.IDs[i], Role: roles[i], Width: d.X.Cols()}
			if d.Labels[i] >= 0 {
				n.Label = d.Classes[d.Labels[i]]
			}
			if d.X.Sparse == nil {
				n.Dense = d.X.Dense.Row(i)
			} else {
				d.X.Each(i, func(c int, v float32) { n.Cols, n.Vals = append(n.Cols, int32(c)), append(n.Vals, v) })
			}
			if !yield(partition.AppendNode(nil, n), nil) {
				return
			}
		}
	}}
	edges = stage.Source{Identity: "reversed edges", Rows: func(yield func([]byte, error) bool) {
		for i := d.Nodes() - 1; i >= 0; i-- {
			for _, id := range append(d.Neighbours(int32(i)), d.IDs[i]) {
				if !yield(partition.AppendEdge(nil, partition.Edge{Row: 1, Source: d.IDs[i], Target: id}), nil) {
					return
				}
			}
		}
	}}
	return nodes, edges
}

// generatedSets are small graphs of several blocks: with sparse features, with many unlabelled nodes, and with dense
// features. Under the race detector they are smaller.
func generatedSets(t *testing.T) map[string]*dataset.Dataset {
	t.Helper()
	out := map[string]*dataset.Dataset{}
	for _, preset := range []string{"small", "pubmed", "reddit"} {
		out[preset] = generated(t, preset)
	}
	return out
}

// generated is one of generatedSets.
func generated(t *testing.T, preset string) *dataset.Dataset {
	t.Helper()
	if raceEnabled {
		return generatedOf(t, preset, 500)
	}
	return generatedOf(t, preset, 900)
}

func generatedOf(t *testing.T, preset string, nodes int) *dataset.Dataset {
	t.Helper()
	g, err := generate.Scaled(preset, nodes)
	expect.OK(t, err)
	if g.Kind == generate.Dense {
		g.Classes, g.Communities, g.Features = 6, 30, 100
	}
	d, err := generate.Graph(g, 3)
	expect.OK(t, err)
	return d
}

// stagedSets are small generated graphs, and the real ones where they are; the largest with all seeds only.
func stagedSets(t *testing.T) map[string]*dataset.Dataset {
	t.Helper()
	out := generatedSets(t)
	if datatest.Given() && !testing.Short() {
		for k, name := range []string{"cora", "amazon_photo", "coauthor_cs"} {
			if k < 2 || realSeeds(2) == 2 {
				out[name] = realSet(t, name)
			}
		}
	}
	return out
}

// likeUsual fails unless the test nodes get the classes that the usual run of the same data gives them, but for one in
// a hundred, and are as often right, but for 0.3 points.
func likeUsual(t *testing.T, d *dataset.Dataset, usual *artifact.Bundle, out *Outcome) {
	t.Helper()
	original := d.Original()
	for _, batch := range modes {
		set := eval.Attach(d, original, dataset.Batches(d.Test, 1000), batch == GraphBatch)
		a, b := answers(t, out.Bundle, original.IDs, set), answers(t, usual, original.IDs, set)
		same, right := eval.Equal(a.Class, b.Class), a.Accuracy(set)-b.Accuracy(set)
		t.Logf("%s batches: %.2f%% right, usually %.2f%%; %.2f%% the same", batch, a.Accuracy(set), b.Accuracy(set), same)
		if same < 99 || math.Abs(right) > 0.3 {
			t.Errorf("%s batches: %.2f%% the same classes, %.2f points of difference", batch, same, right)
		}
	}
}

// inOrderOf returns the data with the nodes of these ids first, in their order.
func inOrderOf(t *testing.T, d *dataset.Dataset, ids []string) *dataset.Dataset {
	t.Helper()
	index := map[string]int32{}
	for i, id := range d.IDs {
		index[id] = int32(i)
	}
	var order []int32
	for _, id := range ids {
		i, ok := index[id]
		if !ok {
			t.Fatalf("%q is no node, or is named twice", id)
		}
		order = append(order, i)
		delete(index, id)
	}
	return d.Renumbered(append(order, slices.Sorted(maps.Values(index))...))
}

// answers are those of a bundle to batches on T, whose nodes have these ids.
func answers(t *testing.T, b *artifact.Bundle, ids []string, set *eval.Set) *eval.Answer {
	t.Helper()
	at := map[string]int32{}
	for k, id := range b.Mapping.IDs {
		at[id] = int32(k)
	}
	order := make([]int32, len(ids))
	for k, id := range ids {
		place, ok := at[id]
		if !ok {
			t.Fatalf("M has no row of %s", id)
		}
		order[k] = place
	}
	m, err := infer.Build(b.Models[0].Name, b.Models[0].Params)
	expect.OK(t, err)
	return eval.Run(eval.Plain(m.Frozen(b.Models[0].Tables, &b.Preprocess)), set.On(b.Mapping.Rows.Take(order), nil))
}
