package trainer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/nnls"
)

// An artifact stores the dictionary with which M was solved: T's own messages give M, bit for bit.
func TestSection5GrowthSolvesM(t *testing.T) {
	d := small(t, generate.BagOfWords)
	o := options(18)
	o.Models, o.Hidden = []string{modelSGC, "gcn"}, 8
	for _, method := range []string{MethodSolved, MethodCluster} {
		o.Method = method
		b := mustTrain(t, d, o).Bundle
		if err := b.Validate(); err != nil {
			t.Fatal(err)
		}
		targets := ownMessages(t, d, b)
		rows := nnls.Rows(b.Growth.Dictionary, targets, b.Growth.Entries)
		same := slices.Equal(rows.ColIdx, b.Mapping.Rows.ColIdx) && slices.Equal(rows.Val, b.Mapping.Rows.Val)
		if same != (method == MethodSolved) {
			t.Errorf("method %s: the dictionary gives M itself: %v", method, same)
		}
	}
	o.Method = MethodRandom
	if b := mustTrain(t, d, o).Bundle; b.Growth != nil {
		t.Error("a coreset has messages of clusters")
	}
	grow := GrowDefaults()
	grow.Run = o
	if _, err := Grow(t.Context(), d, grow, Silent{}); !errors.Is(err, artifact.ErrNoGrowth) {
		t.Errorf("growing a coreset: %v", err)
	}
}

// ownMessages are the messages of T's nodes, N×p.
func ownMessages(t *testing.T, d *dataset.Dataset, b *artifact.Bundle) *graph.Dense {
	t.Helper()
	original := d.Original()
	var blocks []*graph.Dense
	for _, m := range b.Models {
		model, err := infer.Build(m.Name, m.Params)
		if err != nil {
			t.Fatal(err)
		}
		parts := b.Growth.Messages[m.Name]
		blocks = append(blocks, parts.Of(model.Tables(original.Adj, b.Preprocess.Raw(original.X))))
	}
	return graph.Beside(blocks...)
}

func TestGrowRefuses(t *testing.T) {
	for want, change := range map[string]func(o *GrowOptions){
		"shares is empty":               func(o *GrowOptions) { o.Shares = nil },
		"shares[1] is 1, want more":     func(o *GrowOptions) { o.Shares = []float64{0.5, 1} },
		"orders is 0, want at least 1":  func(o *GrowOptions) { o.Orders = 0 },
		"batch is -2, want at least 1":  func(o *GrowOptions) { o.Batch = -2 },
		"entries is 0, want at least 1": func(o *GrowOptions) { o.Run.Entries = 0 },
	} {
		o := GrowDefaults()
		change(&o)
		if _, err := Grow(t.Context(), small(t, generate.BagOfWords), o, Silent{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The first wave's rows make its edges known, and cost almost no accuracy compared with Whole with the first wave in
// the graph. By a table: trainer grow.
func TestGrowOnRealGraphs(t *testing.T) {
	for _, c := range []struct {
		name   string
		nodes  int
		orders int
		below  float64 // most points that attached may be below Whole
	}{
		{"cora", 70, 5, 1.5},
		{"amazon_photo", 38, 3, 0.5},
		{"coauthor_cs", 46, 3, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "cora" {
				t.Skip("seconds of training; left out with -short")
			}
			o := GrowDefaults()
			o.Run.Nodes, o.Orders = c.nodes, c.orders
			results, err := Grow(t.Context(), realSet(t, c.name), o, Silent{})
			if err != nil {
				t.Fatal(err)
			}
			var table bytes.Buffer
			if err := WriteGrowth(&table, results); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d synthetic nodes\n%s", c.nodes, table.String())
			for _, r := range results {
				what := fmt.Sprintf("%s, %.0f%%", r.Model, 100*r.Share)
				// one that is so much better has seen the answers
				if got := r.Attached.Mean - r.Whole.Mean; got < -c.below || got > 2 {
					t.Errorf("%s: attached %.2f, want at most %g below and 2 above Whole %.2f", what, r.Attached.Mean, c.below,
						r.Whole.Mean)
				}
				if r.UnknownAttached.Mean >= r.Unknown.Mean {
					t.Errorf("%s: %.1f%% of the edges are unknown, %.1f%% without the first wave's rows", what, r.UnknownAttached.Mean,
						r.Unknown.Mean)
				}
			}
		})
	}
}
