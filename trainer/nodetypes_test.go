package trainer

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/sample"
)

// typedNodes is a set with known truth: users who buy and view items of shops. The class of a user is the kind of most
// of the items that they buy; what they view says nothing. An item tells its kind by its numbers, a shop has no
// features and sells items of one kind, and a user's age says little.
func typedNodes(t testing.TB, users int, seed uint64) *dataset.Dataset {
	t.Helper()
	const kinds, items, shops = 4, 120, 40
	rng := rand.New(rand.NewPCG(seed, 7))
	var tables [4]bytes.Buffer
	tables[0].WriteString("id,label,split,age,level\n")
	tables[1].WriteString("id,price,weight,size,level\n")
	tables[2].WriteString("id\n")
	tables[3].WriteString("source,target,kind\n")
	for i := range items {
		kind := i % kinds
		fmt.Fprintf(&tables[1], "i%d,%.3f,%.3f,%.3f,%d\n", i, float64(kind%2)+0.7*rng.NormFloat64(),
			float64(kind/2)+0.7*rng.NormFloat64(), rng.NormFloat64(), rng.IntN(5))
		fmt.Fprintf(&tables[3], "s%d,i%d,sells\n", kind+kinds*rng.IntN(shops/kinds), i)
	}
	for s := range shops {
		fmt.Fprintf(&tables[2], "s%d\n", s)
	}
	roles := []string{"train", "train", "val", "test"}
	for u := range users {
		kind := rng.IntN(kinds)
		fmt.Fprintf(&tables[0], "u%d,k%d,%s,%.2f,%d\n", u, kind, roles[u%4], float64(kind)+4*rng.NormFloat64(), rng.IntN(5))
		for range 4 {
			bought := kind
			if rng.IntN(4) == 0 {
				bought = rng.IntN(kinds)
			}
			fmt.Fprintf(&tables[3], "u%d,i%d,buys\n", u, bought+kinds*rng.IntN(items/kinds))
			fmt.Fprintf(&tables[3], "u%d,i%d,views\n", u, rng.IntN(items))
		}
	}
	dir := t.TempDir()
	for k, name := range []string{"users", "items", "shops", "edges"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name+".csv"), tables[k].Bytes(), 0o644))
	}
	path := func(name string) string { return filepath.Join(dir, name+".csv") }
	d, err := dataset.OpenTables(dataset.OpenOptions{Tables: table.Settings{Edges: path("edges"), EdgeType: "kind",
		Nodes: table.NodesPath("user=" + path("users") + ",item=" + path("items") + ",shop=" + path("shops"))}})
	expect.OK(t, err)
	return d
}

// Users who arrive alone are answered from S as if each were truly joined to T, within half a point over five sets and
// seeds, or two points of one, and far better than without what the items say.
func TestTypesOfNodesOnS(t *testing.T) {
	var alone, onS []float64
	seeds, most := realSeeds(5), 0.5
	if seeds == 1 {
		most = 2
	}
	for seed := range seeds {
		d := typedNodes(t, 4000, seed)
		o := options(60)
		o.Models, o.Seed, o.Own = []string{"rsgc"}, seed, OwnNever
		accuracy := map[string]float64{}
		out := mustTrain(t, d, o)
		for _, r := range out.Results {
			accuracy[r.Setting] = r.Score("accuracy").Mean
		}
		some := sample.Evenly(d.Test, len(d.Test)/4) // they say by how much T's tables are off
		_, frozen, joined := besideJoined(t, d, o, firstModel(t, out), some)
		alone, onS = append(alone, accuracy[eval.OtoO]+joined-frozen), append(onS, accuracy[eval.OtoS])
		t.Logf("seed %d: O→O by tables %.2f, joined alone %+.2f, O→S %.2f", seed, accuracy[eval.OtoO], joined-frozen,
			accuracy[eval.OtoS])
	}
	of, on := eval.SpreadOf(alone), eval.SpreadOf(onS)
	t.Logf("joined alone %.2f ±%.2f, on S %.2f ±%.2f", of.Mean, of.Std, on.Mean, on.Std)
	if math.Abs(of.Mean-on.Mean) > most {
		t.Errorf("%.2f joined alone and %.2f on S", of.Mean, on.Mean)
	}
	if of.Mean < 70 { // a user has the most frequent of four kinds, of which age alone tells little
		t.Errorf("%.2f of the users have the kind that they buy", of.Mean)
	}
}

// S has a block of synthetic nodes for each type, M's rows are over their own type's block, and the artifact is read
// again with a schema that knows the types.
func TestTypesOfNodesHaveTheirBlocksOfS(t *testing.T) {
	d := typedNodes(t, 1200, 1)
	o := options(60)
	o.Models, o.Own = []string{"rsgc"}, OwnNever
	r := mustTrain(t, d, o)
	b := r.Bundle
	types := map[string]map[int32]bool{}
	of := d.TypesOf()
	for row, id := range b.Mapping.IDs {
		kind := of[slices.Index(d.IDs, id)]
		if types[kind] == nil {
			types[kind] = map[int32]bool{}
		}
		cols, _ := b.Mapping.Rows.Row(row)
		for _, c := range cols {
			types[kind][c] = true
		}
	}
	sum, all := 0, map[int32]bool{}
	for _, nodes := range types {
		sum += len(nodes)
		for c := range nodes {
			all[c] = true
		}
	}
	if len(types) != 3 || sum != len(all) {
		t.Errorf("synthetic nodes are of %d types, and %d of them of several", len(types), sum-len(all))
	}
	// users are neighbours of items alone, so that four classes of users and the shops have a synthetic node each
	if of := len(b.Synthetic.Labels) - 5; len(types["item"]) > of || len(types["item"]) < of/2 {
		t.Errorf("items are mapped to %d synthetic nodes, want %d or less", len(types["item"]), of)
	}
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	read, err := artifact.Read(dir)
	expect.OK(t, err)
	names := strings.Join(read.Schema.Names(), " ")
	const want = "node_type=item node_type=shop node_type=user node_type=(other) age user.level price weight size " +
		"item.level"
	if names != want {
		t.Errorf("positions %s, want %s", names, want)
	}
}

// Without types of edges all models read the blocks, and the other tasks' nodes have types, too.
func TestTypesOfNodesAndTasks(t *testing.T) {
	plain := func(change func(d *dataset.Dataset)) *dataset.Dataset {
		d := *typedNodes(t, 400, 1)
		d.By, d.Relations = graph.Slots{}, nil
		change(&d)
		return &d
	}
	o := options(40)
	o.Models, o.Hidden, o.Own = []string{"sgc", "gcn"}, 8, OwnNever
	for setting, r := range map[string]*dataset.Dataset{"classes": plain(func(*dataset.Dataset) {}),
		"numbers": plain(func(d *dataset.Dataset) {
			d.Task, d.Targets = target.Number, graph.NewDense(d.Nodes(), 1)
			for i, y := range d.Labels {
				d.Targets.Row(i)[0], d.Labels[i] = float32(y), min(y, 0)
			}
			d.Classes = []string{"kind"}
		}),
		"links": plain(func(d *dataset.Dataset) {
			expect.OK(t, d.AsLinks())
		})} {
		o := o
		if setting != "classes" {
			o.Models = []string{"sgc"}
		}
		out := mustTrain(t, r, o)
		if out.Bundle.Growth != nil || len(out.Results) == 0 {
			t.Errorf("%s: %d results, growth %v", setting, len(out.Results), out.Bundle.Growth != nil)
		}
		for _, of := range out.Results {
			if of.Setting != eval.OtoO && of.Setting != eval.OtoS {
				t.Errorf("%s: it is measured in %s", setting, of.Setting)
			}
		}
	}
}

// What does not read types of nodes says so by name.
func TestTypesOfNodesRefused(t *testing.T) {
	d := typedNodes(t, 400, 1)
	for words, change := range map[string]func(o *Options){
		"several types (a table for each), which method evidence": func(o *Options) { o.Method = MethodEvidence },
		"which representation does not read":                      func(o *Options) { o.Representation = true },
	} {
		o := options(30)
		o.Models = []string{"sgc"}
		change(&o)
		plain := *d
		plain.By, plain.Relations = graph.Slots{}, nil
		expect.Error(t, expect.ErrorOf(Train(t.Context(), &plain, o, created, Silent{})), words)
	}
}
