package trainer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// byName returns the same dense data with a column for each feature in place of X.
func byName(d *dataset.Dataset) *dataset.Dataset {
	out := *d
	for k := range d.X.Cols() {
		c := schema.Column{Name: fmt.Sprintf("f%d", k), Type: schema.Number}
		for i := range d.Nodes() {
			c.Numbers = append(c.Numbers, float64(d.X.Dense.Row(i)[k]))
		}
		out.Columns = append(out.Columns, c)
	}
	out.X = graph.Features{}
	return &out
}

// withSignal adds a categorical column that tells the class of most nodes.
func withSignal(d *dataset.Dataset) *dataset.Dataset {
	c := schema.Column{Name: "kind", Type: schema.Text}
	for i, y := range d.Labels {
		if i%4 == 0 {
			y = int32(i/4) % int32(len(d.Classes))
		}
		c.Texts = append(c.Texts, fmt.Sprintf("k%d", y))
	}
	d.Columns = append(d.Columns, c)
	return d
}

// Numbers by name train the artifact that they train by position, bit for bit, and the schema is kept in it.
func TestNamedNumbersAreThePositionalOnes(t *testing.T) {
	d := small(t, generate.Dense)
	positional := mustTrain(t, d, options(15))
	out := mustTrain(t, byName(d), options(15))
	got := reread(t, out.Bundle)
	if got.Schema == nil || got.Schema.Width() != d.X.Cols() || got.Manifest.FormatVersion != 2 {
		t.Fatalf("format %d with schema %v", got.Manifest.FormatVersion, got.Schema)
	}
	if !slices.Equal(got.Synthetic.X.Data, positional.Bundle.Synthetic.X.Data) ||
		!slices.Equal(got.Preprocess.Std, positional.Bundle.Preprocess.Std) {
		t.Error("the same features by name give another S")
	}
	for k, p := range got.Models[0].Params {
		if !slices.Equal(p.Value.Data, positional.Bundle.Models[0].Params[k].Value.Data) {
			t.Errorf("%s differs", p.Name)
		}
	}
	if fmt.Sprint(out.Bundle.Manifest.Metrics) != fmt.Sprint(positional.Bundle.Manifest.Metrics) {
		t.Errorf("by name %v, by position %v", out.Bundle.Manifest.Metrics, positional.Bundle.Manifest.Metrics)
	}
}

// The graph that grows for Whole reads features by name as it reads them by position.
func TestWholeGrowsByName(t *testing.T) {
	d := small(t, generate.Dense)
	order := d.Test[:40]
	classes := func(d *dataset.Dataset) []int32 {
		out, err := eval.WholeGrowing(t.Context(), d, mustTrain(t, d, options(15)).Bundle, order, 15, false, Silent{})
		expect.OK(t, err)
		return out
	}
	if positional, named := classes(d), classes(byName(d)); len(named) != 40 || !slices.Equal(positional, named) {
		t.Errorf("classes by name %v, by position %v", named, positional)
	}
}

// A category that carries signal raises the accuracy, and a table with its columns in another order gives the same
// predictions.
func TestCategoriesCarrySignal(t *testing.T) {
	d := small(t, generate.Dense)
	without, with := mustTrain(t, d, options(15)), mustTrain(t, withSignal(byName(d)), options(15))
	served := func(o *Outcome) float64 {
		for _, r := range o.Results {
			if r.Setting == "O->S" {
				return r.Score("accuracy").Mean
			}
		}
		t.Fatal("no result of O->S")
		return 0
	}
	if before, after := served(without), served(with); after < before+3 {
		t.Errorf("%.1f%% with the category, %.1f%% without", after, before)
	}
	s := with.Bundle.Schema
	shuffled := withSignal(byName(d))
	slices.Reverse(shuffled.Columns)
	for _, of := range []*dataset.Dataset{withSignal(byName(d)), shuffled} {
		o := options(15)
		o.Keep = s
		x, kept, err := features.Encode(of, o.Keep, o.Schema)
		expect.OK(t, err)
		if kept != s || x.X.Cols() != s.Width() {
			t.Fatal("another schema than the one to keep")
		}
		again := mustTrain(t, of, o)
		if again.Bundle.Schema.Hash() != s.Hash() ||
			!slices.Equal(again.Bundle.Synthetic.X.Data, with.Bundle.Synthetic.X.Data) {
			t.Error("the schema that is kept gives another S")
		}
	}
}

// The schema is of the original nodes: a value that only test nodes have is among the others.
func TestSchemaIsFittedOnTheOriginalNodes(t *testing.T) {
	d := byName(small(t, generate.Dense))
	c := schema.Column{Name: "fold", Type: schema.Text, Texts: make([]string, d.Nodes())}
	for k, i := range d.Train {
		c.Texts[i] = []string{"a", "b"}[k%2]
	}
	for _, i := range d.Test {
		c.Texts[i] = "test"
	}
	d.Columns = append(d.Columns, c)
	_, s, err := features.Encode(d, nil, options(15).Schema)
	expect.OK(t, err)
	f := s.Features()[len(s.Features())-1]
	if f.Name != "fold" || !slices.Equal(f.Categories, []string{"a", "b"}) {
		t.Errorf("learnt %q", f.Categories)
	}
}

// A data set whose features are positions already, as a refreshed graph's, keeps the schema that it is given.
func TestKeptSchemaOfPositions(t *testing.T) {
	d := small(t, generate.Dense)
	o := options(15)
	o.Keep = mustTrain(t, byName(d), o).Bundle.Schema
	if got := mustTrain(t, d, o).Bundle.Schema; got.Hash() != o.Keep.Hash() {
		t.Error("the schema is not kept")
	}
	d.X = graph.Features{Dense: graph.NewDense(d.Nodes(), 7)}
	if _, err := Train(t.Context(), d, o, created, Silent{}); err == nil {
		t.Error("features of 7 positions are taken for a schema of 40")
	}
}

// Standardisation is by block: a category that one node in a hundred has is not made ten times as large as the others.
func TestBlocksAreStandardisedAsAWhole(t *testing.T) {
	const n = 1000
	number, kind, flag := schema.Column{Name: "n", Type: schema.Number}, schema.Column{Name: "k", Type: schema.Text},
		schema.Column{Name: "b", Type: schema.Bool}
	number.Missing = make([]bool, n)
	number.Missing[3] = true
	var rows []int32
	for i := range n {
		number.Numbers = append(number.Numbers, float64(i%7)*10)
		kind.Texts = append(kind.Texts, map[bool]string{true: "rare", false: []string{"x", "y"}[i%2]}[i%100 == 0])
		flag.Bools = append(flag.Bools, i%200 == 0)
		rows = append(rows, int32(i))
	}
	s, err := schema.Fit([]schema.Column{number, kind, flag}, rows, schema.FitOptions{})
	expect.OK(t, err)
	table, err := s.EncodeColumns([]schema.Column{number, kind, flag})
	expect.OK(t, err)
	x := graph.Features{Dense: &graph.Dense{Rows: n, Cols: s.Width(), Data: table.Dense}}
	hat := graph.Normalised(&graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1)})
	pre, _, err := features.FitTwoHops(features.Auto, x, false, s, hat)
	expect.OK(t, err)
	share := []float64{0.01, 0.495, 0.495} // rare, x, y
	block := 0.0
	for _, p := range share {
		block += p * (1 - p)
	}
	block = math.Sqrt(block)
	for k, name := range s.Names() {
		want := block
		switch name {
		case "n":
			want = 20
		case "n=(missing)", "b":
			want = 1
		}
		if math.Abs(float64(pre.Std[k])-want) > 0.02*want {
			t.Errorf("%s is divided by %v, want %v", name, pre.Std[k], want)
		}
	}
	if pre.Kind != preprocess.Standardize {
		t.Errorf("auto is %s", pre.Kind)
	}
}
