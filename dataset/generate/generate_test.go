package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/dataset"
	"rivulet/test/expect"
)

func generate(t testing.TB, g Generator, seed uint64) *dataset.Dataset {
	t.Helper()
	d, err := Graph(g, seed)
	expect.OK(t, err)
	return d
}

// checkPromises checks the promises of a Dataset's fields: they are those that Open checks, of what Save has written.
func checkPromises(t rapid.TB, d *dataset.Dataset) {
	t.Helper()
	dir, err := os.MkdirTemp("", "promises")
	expect.OK(t, err)
	defer os.RemoveAll(dir)
	expect.OK(t, d.Save(dir))
	back, err := dataset.Open(dir, dataset.OpenOptions{})
	expect.OK(t, err)
	if d.Fingerprint() != back.Fingerprint() {
		t.Error("what was written is read as other data")
	}
}

type counts struct{ Nodes, Edges, Features, Classes, Train, Unlabelled, Validation, Test int }

func count(d *dataset.Dataset) counts {
	return counts{d.Nodes(), d.Adj.NNZ() / 2, d.X.Cols(), len(d.Classes), len(d.Train), len(d.Unlabelled),
		len(d.Validation), len(d.Test)}
}

func TestPresets(t *testing.T) {
	want := map[string]counts{
		"small":  {6000, 60000, 300, 6, 3000, 0, 1500, 1500},
		"flickr": {89250, 899756, 500, 7, 44625, 0, 22312, 22313},
		"pubmed": {19717, 44338, 500, 3, 60, 18157, 500, 1000},
		"drift":  {6000, 60000, 300, 6, 3000, 0, 1500, 1500},
		"reddit": {232965, 11606919, 602, 41, 153431, 0, 23831, 55703},
	}
	if diff := cmp.Diff([]string{"small", "flickr", "pubmed", "drift", "reddit"}, Presets()); diff != "" {
		t.Error(diff)
	}
	for name, counts := range want {
		t.Run(name, func(t *testing.T) {
			if name == "reddit" {
				skipLarge(t, name)
			}
			g, ok := Preset(name)
			if !ok {
				t.Fatal("unknown preset")
			}
			d := generate(t, g, 7)
			checkPromises(t, d)
			expect.Same(t, counts, count(d), "counts")
			if d.BagOfWords {
				if words := float64(d.X.Sparse.NNZ()) / float64(d.Nodes()); words < 20 || words > 50 {
					t.Errorf("%.1f words a node, want 20…50", words)
				}
			}
			if top := slices.Max(d.Adj.RowSums()); float64(top) < 10*2*float64(d.Adj.NNZ()/2)/float64(d.Nodes()) {
				t.Errorf("the largest degree is %v: degrees are not skewed", top)
			}
		})
	}
	if _, ok := Preset("twitter"); ok {
		t.Error("a preset that does not exist was found")
	}
}

// The figures that were published for these sets hold for exactly these bytes.
func TestFlickrIsUnchanged(t *testing.T) {
	g, err := Scaled("flickr", 8925)
	expect.OK(t, err)
	const want = "sha256:23dd0fa4032f5750cfbf6c596dd7a53439976b5b6d441db6274fa48e927c20d9"
	if got := generate(t, g, 1).Fingerprint(); got != want && runtime.GOARCH == "amd64" {
		t.Errorf("a tenth of flickr has fingerprint %s, want %s", got, want)
	}
}

func TestBalancedTrain(t *testing.T) {
	g, _ := Preset("pubmed")
	d := generate(t, g, 3)
	counts := make([]int, len(d.Classes))
	for _, i := range d.Train {
		counts[d.Labels[i]]++
	}
	expect.Same(t, []int{20, 20, 20}, counts, "training nodes by class")
	for _, i := range d.Unlabelled {
		if d.Labels[i] != -1 {
			t.Fatalf("unlabelled node %d has class %d", i, d.Labels[i])
		}
	}
}

// Scaled keeps the degree and the shares of the roles.
func TestScaled(t *testing.T) {
	for _, name := range Presets() {
		for _, nodes := range []int{10_000, 200_000} {
			whole, _ := Preset(name)
			g, err := Scaled(name, nodes)
			expect.OK(t, err)
			near := func(what string, got, want int, of, wantOf int) {
				if math.Abs(float64(got)/float64(of)-float64(want)/float64(wantOf)) > 0.001 {
					t.Errorf("%s with %d nodes: %d %s for %d, want the share %d/%d", name, nodes, got, what, of, want, wantOf)
				}
			}
			near("edges", g.Edges, whole.Edges, g.Nodes, whole.Nodes)
			near("train", g.Train, whole.Train, g.Nodes, whole.Nodes)
			near("unlabelled", g.Unlabelled, whole.Unlabelled, g.Nodes, whole.Nodes)
			near("validation", g.Validation, whole.Validation, g.Nodes, whole.Nodes)
			near("test", g.Test, whole.Test, g.Nodes, whole.Nodes)
			if g.Nodes != nodes || g.Features != whole.Features || g.Classes != whole.Classes {
				t.Errorf("%s with %d nodes is %+v", name, nodes, g)
			}
		}
	}
	g, err := Scaled("reddit", 10_000)
	expect.OK(t, err)
	d := generate(t, g, 1)
	checkPromises(t, d)
	expect.Same(t, counts{10_000, 498_225, 602, 41, 6586, 0, 1022, 2391}, count(d), "counts")
	for _, c := range []struct {
		name  string
		nodes int
		want  string
	}{{"twitter", 100, `preset is "twitter"`}, {"small", 1, "nodes is 1"}, {"reddit", 100, "edges is"}} {
		expect.Error(t, expect.ErrorOf(Scaled(c.name, c.nodes)), c.want, "Scaled(%q, %d)", c.name, c.nodes)
	}
}

// Rivals are a permutation without fixed points, between classes, whichever way they are chosen.
func TestRivals(t *testing.T) {
	for _, scatter := range []bool{false, true} {
		b := &blocks{class: make([]int32, 60)}
		for k := range b.class {
			b.class[k] = int32(k / 10)
		}
		if scatter {
			b.scatterRivals(rand.New(rand.NewPCG(1, 0)))
		}
		met := map[int32]bool{}
		for k := range int32(len(b.class)) {
			r := b.rival(k)
			if b.class[r] == b.class[k] {
				t.Errorf("scatter %v: rivals %d and %d are both of class %d", scatter, k, r, b.class[k])
			}
			met[r] = true
		}
		if len(met) != len(b.class) {
			t.Errorf("scatter %v: %d of %d communities are rivals", scatter, len(met), len(b.class))
		}
	}
}

func TestGenerateIsDeterminedBySeed(t *testing.T) {
	g, _ := Preset("small")
	one := generate(t, g, 1).Fingerprint()
	if again := generate(t, g, 1).Fingerprint(); again != one {
		t.Errorf("seed 1 gave %s, then %s", one, again)
	}
	if other := generate(t, g, 2).Fingerprint(); other == one {
		t.Error("seeds 1 and 2 gave the same data set")
	}
}

// The features' parameters do not influence the graph, so that noise can be varied on one graph.
func TestGraphDoesNotDependOnFeatures(t *testing.T) {
	g, _ := Preset("small")
	before := generate(t, g, 3)
	g.CommunityTopic, g.Words = 0.5, 10
	if diff := cmp.Diff(before.Adj, generate(t, g, 3).Adj); diff != "" {
		t.Error("another choice of words changed the graph")
	}
}

func TestGenerateKeepsPromises(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(3, 80).Draw(r, "nodes")
		classes := rapid.IntRange(1, min(n, 5)).Draw(r, "classes")
		g := Generator{
			Name: "any", Nodes: n, Edges: rapid.IntRange(0, n*(n-1)/4).Draw(r, "edges"),
			Classes: classes, Communities: rapid.IntRange(classes, n).Draw(r, "communities"),
			ClassSkew:      rapid.Float64Range(0, 3).Draw(r, "skew"),
			CommunityShare: rapid.Float64Range(0, 0.4).Draw(r, "community share"),
			ClassShare:     rapid.Float64Range(0, 0.3).Draw(r, "class share"),
			RivalShare:     rapid.Float64Range(0, 0.3).Draw(r, "rival share"),
			DegreeExponent: rapid.Float64Range(2.01, 6).Draw(r, "exponent"),
			Kind:           rapid.SampledFrom([]string{BagOfWords, Dense}).Draw(r, "kind"),
			Features:       rapid.IntRange(1, 60).Draw(r, "features"),
			CommunityTopic: rapid.Float64Range(0, 0.5).Draw(r, "community topic"),
			ClassTopic:     rapid.Float64Range(0, 0.5).Draw(r, "class topic"),
			Train:          1, Validation: 1, Test: n - 2,
		}
		if g.Kind == BagOfWords {
			g.Words = rapid.Float64Range(1, 50).Draw(r, "words")
		}
		d, err := Graph(g, rapid.Uint64().Draw(r, "seed"))
		expect.OK(r, err)
		checkPromises(r, d)
		if diff := cmp.Diff(counts{n, g.Edges, g.Features, classes, 1, 0, 1, n - 2}, count(d)); diff != "" {
			r.Error(diff)
		}
	})
}

// Each share changes the graph as its name says.
func TestSharesShapeTheGraph(t *testing.T) {
	base := Generator{Name: "shares", Nodes: 1000, Edges: 8000, Classes: 4, Communities: 16, DegreeExponent: 3,
		Kind: Dense, Features: 2, Train: 1, Validation: 1, Test: 1}
	homophily := func(change func(*Generator)) float64 {
		g := base
		change(&g)
		d := generate(t, g, 5)
		same := 0
		for i := range d.Nodes() {
			cols, _ := d.Adj.Row(i)
			for _, c := range cols {
				if d.Labels[i] == d.Labels[c] {
					same++
				}
			}
		}
		return float64(same) / float64(d.Adj.NNZ())
	}
	none := homophily(func(*Generator) {})
	for _, c := range []struct {
		name   string
		change func(*Generator)
		want   float64
	}{
		{"none", func(*Generator) {}, 0.25},
		{"community", func(g *Generator) { g.CommunityShare = 0.6 }, 0.6 + 0.4*0.25},
		{"class", func(g *Generator) { g.ClassShare = 0.6 }, 0.6 + 0.4*0.25},
		{"rival", func(g *Generator) { g.RivalShare = 0.6 }, 0.4 * 0.25},
	} {
		if got := homophily(c.change); math.Abs(got-c.want) > 0.04 {
			t.Errorf("%s: %.3f of the edges stay in their class, want %.3f (%.3f without)", c.name, got, c.want, none)
		}
	}
}

func TestTopicsShapeTheFeatures(t *testing.T) {
	for _, kind := range []string{BagOfWords, Dense} {
		for _, topic := range []string{"class", "community"} {
			t.Run(kind+" "+topic, func(t *testing.T) {
				accuracy := func(strength float64) float64 {
					g := Generator{Name: "topics", Nodes: 800, Edges: 0, Classes: 3, Communities: 6, DegreeExponent: 3,
						Kind: kind, Features: 100, Train: 400, Validation: 1, Test: 399}
					if kind == BagOfWords {
						g.Words = 20
					}
					if topic == "class" {
						g.ClassTopic = strength
					} else {
						g.CommunityTopic = strength
					}
					j := newJudge(generate(t, g, 5))
					return j.regress(j.x, j.x, 1e-2)
				}
				if none, strong := accuracy(0), accuracy(0.5); none > 45 || strong < 80 {
					t.Errorf("features give %.1f%% without topics and %.1f%% with them, want chance (33%%) and over 80%%", none,
						strong)
				}
			})
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	small, _ := Preset("small")
	for _, c := range []struct {
		change func(*Generator)
		want   string
	}{
		{func(g *Generator) { g.Nodes = 1 }, "nodes is 1"},
		{func(g *Generator) { g.Edges = -1 }, "edges is -1"},
		{func(g *Generator) { g.Edges = 9_000_000 }, "edges is 9000000"},
		{func(g *Generator) { g.Classes = 0 }, "classes is 0"},
		{func(g *Generator) { g.Communities = 5 }, "communities is 5"},
		{func(g *Generator) { g.ClassSkew = math.NaN() }, "class skew is NaN"},
		{func(g *Generator) { g.CommunityShare = 0.7 }, "community share 0.7"},
		{func(g *Generator) { g.ClassShare = -0.1 }, "class share -0.1"},
		{func(g *Generator) { g.RivalShare = math.NaN() }, "rival share NaN"},
		{func(g *Generator) { g.DegreeExponent = 2 }, "degree exponent is 2"},
		{func(g *Generator) { g.Kind = "bagofwords" }, `kind is "bagofwords"`},
		{func(g *Generator) { g.Features = 0 }, "features is 0"},
		{func(g *Generator) { g.Words = 0 }, "words is 0"},
		{func(g *Generator) { g.CommunityTopic = 1 }, "community topic 1"},
		{func(g *Generator) { g.Kind = Dense }, "words is 32"},
		{func(g *Generator) { g.Kind, g.Words, g.ClassTopic = Dense, 0, math.Inf(1) }, "class topic +Inf"},
		{func(g *Generator) { g.Test = 0 }, "test 0"},
		{func(g *Generator) { g.Train = 6000 }, "train 6000"},
		{func(g *Generator) { g.Unlabelled = -1 }, "unlabelled is -1"},
		{func(g *Generator) { g.Unlabelled = 1 }, "unlabelled is 1"},
		{func(g *Generator) { g.BalancedTrain, g.Train = true, 2999 }, "train is 2999"},
		{func(g *Generator) { g.BalancedTrain, g.ClassSkew = true, 6 }, "fewer than its 500 training nodes"},
	} {
		g := small
		c.change(&g)
		_, err := Graph(g, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"small"`) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}

func BenchmarkGraph(b *testing.B) {
	for _, name := range Presets() {
		b.Run(name, func(b *testing.B) {
			skipLarge(b, name)
			g, _ := Preset(name)
			for b.Loop() {
				generate(b, g, 1)
			}
			b.ReportMetric(float64(g.Nodes)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
		})
	}
}

func ExampleGraph() {
	g, _ := Preset("small")
	d, err := Graph(g, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Nodes(), d.Adj.NNZ()/2, len(d.Classes))
	// Output: 6000 60000 6
}
