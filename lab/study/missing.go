package study

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/trainer"
	"rivulet/trainer/eval"
	"rivulet/trainer/features"
)

// MissingResult holds accuracies in percent of test nodes that lost a share of their edges, each on its own, by the
// default model of an artifact.
type MissingResult struct {
	Lost  float64     `json:"lost"`       // share of the edges, 0 to 1
	Whole eval.Spread `json:"whole"`      // on T, joint
	Alone eval.Spread `json:"s"`          // on S
	Own   eval.Spread `json:"s_with_own"` // on S, with the expert of own features
	None  eval.Spread `json:"isolated"`   // share of the nodes without any known neighbour, in percent
}

// purposeMissing sets the random stream of lost edges apart from those of the run (trainer/run.go).
const purposeMissing = 4

// Missing measures what lost edges cost: it trains with each seed and predicts the test nodes with shares of their
// edges dropped at random. An edge that is lost at a share is lost at larger ones, too.
func Missing(ctx context.Context, d *dataset.Dataset, run trainer.Options, seeds []uint64, shares []float64,
	progress trainer.Progress) ([]MissingResult, error) {
	for k, share := range shares {
		if !(share >= 0 && share <= 1) {
			return nil, fmt.Errorf("missing-edges[%d] is %g, want a share of 0 to 1", k, share)
		}
	}
	if err := target.MissingStudy.Check(d.Facts()); err != nil {
		return nil, err
	}
	d, s, err := features.Encode(d, run.Keep, run.Schema)
	if err != nil {
		return nil, err
	}
	figures := make([][4][]float64, len(shares))
	for _, seed := range seeds {
		run.Seed, run.Keep, run.Own = seed, s, trainer.OwnAlways
		run.Propagate, run.Map, run.Costs = false, false, false
		training := *d
		training.Test = nil // measured below
		out, err := trainer.Train(ctx, &training, run, time.Unix(0, 0), progress)
		if err != nil {
			return nil, err
		}
		v, err := newVersion(out.Bundle)
		if err != nil {
			return nil, err
		}
		for k, share := range shares {
			lost := *d
			lost.Adj = thinned(d.Adj, d.Test, share, rand.New(rand.NewPCG(seed, purposeMissing)))
			row, err := missing(ctx, &lost, v, run.Batch, progress)
			if err != nil {
				return nil, err
			}
			for c, value := range row {
				figures[k][c] = append(figures[k][c], value)
			}
		}
	}
	out := make([]MissingResult, len(shares))
	for k, share := range shares {
		of := figures[k]
		out[k] = MissingResult{share, eval.SpreadOf(of[0]), eval.SpreadOf(of[1]), eval.SpreadOf(of[2]), eval.SpreadOf(of[3])}
	}
	return out, nil
}

// thinned returns an adjacency matrix without a share of the edges in the rows of some nodes.
func thinned(adj *graph.CSR, nodes []int32, share float64, rng *rand.Rand) *graph.CSR {
	thin := make([]bool, adj.Rows)
	for _, i := range nodes {
		thin[i] = true
	}
	out := &graph.CSR{Rows: adj.Rows, Cols: adj.Cols, RowPtr: make([]int, adj.Rows+1)}
	for i := range adj.Rows {
		cols, _ := adj.Row(i)
		for _, j := range cols {
			if !thin[i] || rng.Float64() >= share {
				out.ColIdx = append(out.ColIdx, j)
			}
		}
		out.RowPtr[i+1] = len(out.ColIdx)
	}
	return out
}

// missing returns the accuracies of Whole, of S alone and with the expert, and the share of isolated nodes.
func missing(ctx context.Context, d *dataset.Dataset, v *version, size int,
	progress trainer.Progress) (row [4]float64, err error) {
	set, err := eval.LookUp(ctx, d, v, d.Test, size, false)
	if err != nil {
		return row, err
	}
	class, err := eval.WholeGrowing(ctx, d, v.bundle, d.Test, len(d.Test), false, progress)
	if err != nil {
		return row, err
	}
	whole := eval.Answer{Class: class}
	alone := *v.predictor()
	alone.Expert = nil
	row[0] = whole.Accuracy(set)
	row[1], row[2] = eval.Run(&alone, set).Accuracy(set), eval.Run(v, set).Accuracy(set)
	row[3] = isolated(set.Batches)
	return row, nil
}

func isolated(batches []*attach.Batch) float64 {
	none, all := 0, 0
	for _, b := range batches {
		for _, n := range b.Known {
			if all++; n == 0 {
				none++
			}
		}
	}
	return 100 * float64(none) / float64(max(1, all))
}

// WriteMissing writes results as a table.
func WriteMissing(w io.Writer, results []MissingResult) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tab, "edges lost\tWhole\tS\tS with own features\tarrivals without a known neighbour\t")
	for _, r := range results {
		_, _ = fmt.Fprintf(tab, "%.0f%%\t%s\t%s\t%s\t%.1f%%\t\n", 100*r.Lost, percent(r.Whole), percent(r.Alone),
			percent(r.Own), r.None.Mean)
	}
	return tab.Flush()
}
