package merge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/dataset/parquet"
	"rivulet/event"
	"rivulet/internal/durable"
	"rivulet/test/expect"
)

// graph of tables: a trains, b is unlabelled, c validates, d tests, e and f are in no role and have no edges.
const (
	nodesCSV = "id,label,split,x,y\na,zebra,train,1,2\nb,,unlabelled,3,4\nc,ant,val,5,6\nd,zebra,test,7,8\n" +
		"e,,none,9,10\nf,ant,none,11,12\n"
	edgesCSV = "source,target\na,b\nb,c\nc,d\n"
)

// given writes tables and returns their directory.
func given(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "given")
	expect.OK(t, os.Mkdir(dir, 0o755))
	for name, text := range map[string]string{"nodes.csv": nodesCSV, "edges.csv": edgesCSV} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// opened returns the tables of a directory.
func opened(t testing.TB, dir string) *Tables {
	t.Helper()
	if Stored(dir) {
		tables, err := OpenStored(dir)
		expect.OK(t, err)
		return tables
	}
	s, ok, err := dataset.OpenStream(dir, dataset.OpenOptions{})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	tables, err := Open(t.Context(), s)
	expect.OK(t, err)
	return tables
}

// content is a graph by names, in no order.
type content struct {
	Nodes    map[string]string // role, class and features
	Edges    map[string]bool
	Waiting  []string
	Labelled []string
	Classes  []string
}

func contentOf(d *dataset.Dataset) content {
	c := content{Nodes: map[string]string{}, Edges: map[string]bool{}, Classes: d.Classes}
	for n := range d.NodeRows() {
		c.Nodes[n.ID] = fmt.Sprintf("%s %q %g", n.Split, n.Label, n.Features)
	}
	for source, target := range d.EdgeRows() {
		c.Edges[min(source, target)+"-"+max(source, target)] = true
	}
	for _, w := range d.Merged.Waiting {
		node := w.From
		if w.Node >= 0 {
			node = d.IDs[w.Node]
		}
		c.Waiting = append(c.Waiting, node+"-"+w.ID)
	}
	for _, i := range d.Merged.Labelled {
		c.Labelled = append(c.Labelled, d.IDs[i])
	}
	return c
}

// grown merges into tables in a directory of its own, and installs the result.
func grown(t testing.TB, base *Tables, scratch string, arrivals []event.Arrival, labels []event.Label,
	waiting int, options ...func(*Merger)) (*Tables, Report) {
	t.Helper()
	work := filepath.Join(scratch, "work")
	expect.OK(t, os.MkdirAll(work, 0o755))
	m := New(base, work, durable.Disk{})
	m.MaxWaiting = waiting
	for _, set := range options {
		set(m)
	}
	feed(m, arrivals, labels)
	got, report, err := m.Grow(t.Context(), false)
	expect.OK(t, err)
	if report.Changed() {
		got, err = got.Save(durable.Disk{}, filepath.Join(scratch, "graph"), func(string, string) error { return nil })
	}
	if left, _ := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Fatalf("%v are left (%v)", left, err)
	}
	return got.(*Tables), report
}

// loaded returns a graph of tables in memory.
func loaded(t testing.TB, g *Tables) *dataset.Dataset {
	t.Helper()
	d, err := g.Load()
	expect.OK(t, err)
	return d
}

func arrived(id string, x, y float32, edges ...string) event.Arrival {
	return event.Arrival{ID: id, Features: event.Features{Values: []float32{x, y}}, Edges: edges}
}

// forgotten stands for an id that is to be forgotten.
func forgotten(id string) event.Arrival {
	return event.Arrival{ID: id, Features: event.Features{Absent: true}}
}

// linked stands for an edge of its own.
func linked(source, target string) event.Arrival {
	return event.Arrival{ID: source, Edges: []string{target}, Features: event.Features{Absent: true}}
}

// withLinks puts edges of their own among arrivals.
func withLinks(t *rapid.T, ids *rapid.Generator[string], arrivals []event.Arrival) []event.Arrival {
	for range rapid.IntRange(0, 8).Draw(t, "edges of their own") {
		at := rapid.IntRange(0, len(arrivals)).Draw(t, "place of an edge")
		arrivals = slices.Insert(arrivals, at, linked(ids.Draw(t, "source"), ids.Draw(t, "target")))
	}
	return arrivals
}

// drawn returns arrivals and labels of a stream.
func drawn(t *rapid.T, ids *rapid.Generator[string]) (arrivals []event.Arrival, labels []event.Label) {
	for n := range rapid.IntRange(0, 12).Draw(t, "arrivals") {
		a := arrived(ids.Draw(t, "id"), float32(n), 2, rapid.SliceOfN(ids, 0, 6).Draw(t, "edges")...)
		if n%3 == 2 {
			a.Features = event.Features{Sparse: true, Indices: []int32{1}, Values: []float32{float32(n)}}
		}
		arrivals = append(arrivals, a)
	}
	arrivals = withLinks(t, ids, arrivals)
	for range rapid.IntRange(0, 8).Draw(t, "labels") {
		l := event.Label{ID: ids.Draw(t, "id"), Class: rapid.IntRange(0, 2).Draw(t, "class")}
		if at := rapid.Int64Range(0, 3).Draw(t, "time"); at > 0 { // also beyond what nanoseconds in 64 bits reach
			l.Time = time.Date(int(1500+3000*at), 1, 1, 0, 0, 0, rapid.IntRange(1, 2).Draw(t, "nanoseconds"), time.UTC)
		}
		labels = append(labels, l)
	}
	return arrivals, labels
}

// A merge of tables gives the same graph, report and open ends as a merge in memory, in one part and in two, whatever
// the number of buckets. Ids of nodes in no role may arrive, too, and have no edges before: only edges to them differ.
func TestTablesAreTheMergeInMemory(t *testing.T) {
	dir, round := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		base := opened(t, given(t))
		whole, err := dataset.Open(filepath.Dir(base.Stream.Files()[0]), dataset.OpenOptions{})
		if err == nil {
			err = reclass(whole, base.Classes) // tables number classes that no training node has last
		}
		if err != nil {
			rt.Fatal(err)
		}
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "x", "y", "z", "w", "v", "ü-1"})
		waiting := rapid.SampledFrom([]int{0, 1, 2, 1000}).Draw(rt, "most that wait")
		update := rapid.Bool().Draw(rt, "features are updated")
		for part := range rapid.IntRange(1, 3).Draw(rt, "parts") {
			arrivals, labels := drawn(rt, ids)
			for range rapid.IntRange(0, 2).Draw(rt, "forgotten") {
				at := rapid.IntRange(0, len(arrivals)).Draw(rt, "place")
				id := rapid.SampledFrom([]string{"b", "x", "y", "z", "w", "v", "ü-1"}).Draw(rt, "forgotten id")
				arrivals = slices.Insert(arrivals, at, forgotten(id))
			}
			m := inMemory(whole)
			m.MaxWaiting, m.UpdateFeatures = waiting, update
			feed(m, arrivals, labels)
			want, wantReport := grownData(rt, m)

			got, report := grown(t, base, filepath.Join(dir, fmt.Sprint(round), fmt.Sprint(part)), arrivals, labels, waiting,
				func(m *Merger) { m.UpdateFeatures = update })
			if diff := cmp.Diff(wantReport, report); diff != "" {
				rt.Fatalf("report of part %d (-in memory +of tables):\n%s", part, diff)
			}
			if !report.Changed() {
				continue
			}
			d := loaded(t, got)
			if diff := cmp.Diff(contentOf(want), contentOf(d)); diff != "" {
				rt.Fatalf("graph of part %d (-in memory +of tables):\n%s", part, diff)
			}
			if n := int64(len(want.Train) + len(want.Unlabelled)); got.original != n {
				rt.Fatalf("T has %d nodes, want %d", got.original, n)
			}
			base, whole = opened(t, filepath.Dir(got.Stream.Files()[0])), want
			if base.Fingerprint() != got.Fingerprint() {
				rt.Fatal("the fingerprint changes with the reading")
			}
		}
	})
}

// A node in no role is as if it were not there: an edge to it waits for its arrival, which takes its place.
func TestNodesInNoRole(t *testing.T) {
	base := opened(t, given(t))
	first, report := grown(t, base, t.TempDir(), []event.Arrival{arrived("x", 1, 1, "a", "e", "f")},
		[]event.Label{{ID: "f", Class: 0}}, 10)
	if report.Edges != 1 || report.UnknownEdges != 2 || report.WaitingEdges != 2 || report.LabelUnknown != 1 {
		t.Errorf("%+v", report)
	}
	second, report := grown(t, first, t.TempDir(), []event.Arrival{arrived("e", 20, 21, "x")},
		[]event.Label{{ID: "e", Class: 0}}, 10)
	if report.Edges != 1 || report.WaitedEdges != 1 || report.Labelled != 1 {
		t.Errorf("%+v", report)
	}
	got := contentOf(loaded(t, second))
	if is := got.Nodes["e"]; is != `train "zebra" [20 21]` || len(got.Nodes) != 7 || !got.Edges["e-x"] ||
		len(got.Edges) != 5 {
		t.Errorf("e is %s; %+v", is, got)
	}
	expect.Same(t, []string{"x-f"}, got.Waiting, "waiting edges")
}

// Edges lie in several buckets and ranges, and the oldest of those that wait are forgotten.
func TestManyBuckets(t *testing.T) {
	base := opened(t, given(t))
	const n = 1200
	var arrivals []event.Arrival
	for k := range n {
		a := arrived(fmt.Sprintf("n%d", k), float32(k), 1, "a", fmt.Sprintf("n%d", k/2), fmt.Sprintf("n%d", k+1))
		for e := range 1500 { // ids that never arrive make the rows long
			a.Edges = append(a.Edges, fmt.Sprintf("never-%d-%d", k, e))
		}
		arrivals = append(arrivals, a)
	}
	work := t.TempDir()
	m := New(base, work, durable.Disk{})
	m.MaxWaiting = 7
	feed(m, arrivals, []event.Label{{ID: "n1", Class: 1}})
	got, report, err := m.Grow(t.Context(), false)
	expect.OK(t, err)
	if report.Joined != n || report.Labelled != 1 || report.UnknownEdges != n*1500+1 || report.WaitingEdges != 7 ||
		report.ForgottenEdges != n*1500+1-7 {
		t.Errorf("%+v", report)
	}
	d := loaded(t, got.(*Tables))
	var last []string
	for e := range 7 {
		last = append(last, fmt.Sprintf("n%d-never-%d-%d", n-1, n-1, 1493+e))
	}
	expect.Same(t, last, contentOf(d).Waiting, "waiting edges")
	rows, _ := os.ReadDir(work)
	for _, e := range rows {
		if e.IsDir() && e.Name() != "grown" {
			t.Errorf("%s is left", e.Name())
		}
	}
	if !slices.Equal(d.IDs[6:8], []string{"n0", "n1"}) || d.IDs[len(d.IDs)-1] != fmt.Sprintf("n%d", n-1) {
		t.Errorf("arrivals are not in their order: %q", d.IDs[:9])
	}
}

// Nothing new is the same graph, and the disk's errors are returned.
func TestNothingNewAndFaults(t *testing.T) {
	base := opened(t, given(t))
	if same, report := grown(t, base, t.TempDir(), []event.Arrival{arrived("a", 1, 1), {ID: "short"}}, nil,
		5); same != base || report.InT != 1 || report.Refused[event.ReasonFeatureLength] != 1 {
		t.Errorf("%+v", report)
	}
	for at := range 12 {
		work, calls := t.TempDir(), 0
		full := durable.Disk{Fault: func(operation, path string) error {
			if calls++; calls > at {
				return fmt.Errorf("no space for %s", filepath.Base(path))
			}
			return nil
		}}
		m := New(base, work, full)
		feed(m, []event.Arrival{arrived("x", 1, 1, "a")}, nil)
		if _, _, err := m.Grow(t.Context(), false); err == nil {
			t.Errorf("an error of operation %d is lost", at)
		}
	}
}

// The tables of a grown graph are a data set that anybody reads.
func TestGrownIsADataset(t *testing.T) {
	base := opened(t, given(t))
	g, _ := grown(t, base, t.TempDir(), []event.Arrival{arrived("x", 1, 1, "a", "later")}, nil, 5)
	d, err := dataset.Open(g.dir, dataset.OpenOptions{More: []dataset.Format{parquet.Format}})
	expect.OK(t, err)
	if want := []string{"a", "b", "c", "d", "e", "f", "x"}; !slices.Equal(d.IDs, want) {
		t.Errorf("ids %q, want %q", d.IDs, want)
	}
	if got := slices.Sorted(maps.Keys(contentOf(d).Edges)); !slices.Equal(got, []string{"a-b", "a-x", "b-c", "c-d"}) {
		t.Errorf("edges %q", got)
	}
}

// The data set for comparing models has the validation nodes with all their neighbours, or a sample of them that
// depends on their ids alone.
func TestValidationNodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "many")
	nodes, edges := "id,label,split,x,y\nhub,a,train,1,2\n", "source,target\n"
	for k := range 1000 {
		nodes += fmt.Sprintf("v%d,%c,val,%d,0.5\n", k, 'a'+rune(k%2), k)
		edges += fmt.Sprintf("hub,v%d\nv%d,v%d\nv%d,v%d\n", k, k, (k+1)%1000, (k+1)%1000, k)
	}
	expect.OK(t, os.Mkdir(dir, 0o755))
	for name, text := range map[string]string{"nodes.csv": nodes, "edges.csv": edges} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	g := opened(t, dir)
	for _, most := range []int64{5000, 1000, 300} {
		d, err := g.ValidationSet(t.Context(), most)
		expect.OK(t, err)
		if n := int64(len(d.Validation)); n > most+most/4 || n < min(most, 1000)-most/4 {
			t.Errorf("%d validation nodes, want about %d", n, most)
		}
		for _, i := range d.Validation {
			var k int
			if _, err := fmt.Sscanf(d.IDs[i], "v%d", &k); err != nil || d.X.Dense.Row(int(i))[0] != float32(k) ||
				int(d.Labels[i]) != k%2 {
				t.Fatalf("node %s has features %g and class %d", d.IDs[i], d.X.Dense.Row(int(i)), d.Labels[i])
			}
			got := d.Neighbours(i)
			want := []string{"hub", fmt.Sprintf("v%d", (k+1)%1000), fmt.Sprintf("v%d", (k+999)%1000)}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("node %s has neighbours %q, want %q", d.IDs[i], got, want)
			}
		}
		again, err := g.ValidationSet(t.Context(), most)
		if diff := cmp.Diff(d, again); diff != "" || err != nil {
			t.Errorf("(-first +again): %v\n%s", err, diff)
		}
	}
}
