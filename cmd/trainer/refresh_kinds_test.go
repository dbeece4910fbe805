package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/dataset/graphsaint"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/target"
	"rivulet/internal/replay"
	"rivulet/test/expect"
)

// A graph whose edges or labels are of another kind than undirected edges of one weight and classes.
type kindOfGraph struct {
	change func(d *dataset.Dataset) // makes a generated graph of this kind
	train  string                   // flags of trainer train
	labels bool                     // arrivals get labels
}

var kindsOfGraphs = map[string]kindOfGraph{
	"weights": {change: weigh, train: "--models sgc", labels: true},
	"several labels": {change: func(d *dataset.Dataset) {
		setTargets(d, target.Labels, []string{"first", "odd", "rare"}, func(i int, class int32) []float32 {
			row := make([]float32, 3)
			for k, has := range []bool{class == 0, class%2 == 1, i%7 == 0} {
				if has {
					row[k] = 1
				}
			}
			return row
		})
	}, train: "--models sgc", labels: true},
	"numbers, weights": {change: func(d *dataset.Dataset) {
		weigh(d)
		setTargets(d, target.Number, []string{"price", "age"}, func(i int, class int32) []float32 {
			return []float32{float32(class) + float32(i%5)/9, float32(int(class)*i%11) - 3}
		})
	}, train: "--models sgc", labels: true},
	"links": {change: func(d *dataset.Dataset) {
		if err := d.AsLinks(); err != nil {
			panic(err)
		}
	}, train: "--models sgc"},
	"links to candidates, weights": {change: func(d *dataset.Dataset) {
		weigh(d)
		d.Candidates = make([]bool, d.Nodes())
		for at, i := range d.Train { // the others arrive
			d.Candidates[i] = at%2 == 0
		}
		if err := d.AsLinks(); err != nil {
			panic(err)
		}
	}, train: "--models sgc"},
	"directions": {change: func(d *dataset.Dataset) {
		d.Relate(graph.Slots{Directed: true}, led(d, 0, 1))
	}, train: "--models dirsgc", labels: true},
	"types of edges": {change: func(d *dataset.Dataset) {
		d.Relate(graph.Slots{Types: []string{"buys", "views"}}, of(d, 0), of(d, 1))
	}, train: "--models rsgc", labels: true},
	"types and directions": {change: func(d *dataset.Dataset) {
		d.Relate(graph.Slots{Types: []string{"buys", "views"}, Directed: true}, led(d, 0), led(d, 1))
	}, train: "--models rsgc", labels: true},
}

// weigh gives the edges of a data set weights.
func weigh(d *dataset.Dataset) {
	d.Adj.Val = make([]float32, d.Adj.NNZ())
	for i := range d.Nodes() {
		cols, vals := d.Adj.Row(i)
		for k, j := range cols {
			vals[k] = float32((i+int(j))%9+1) / 2
		}
	}
}

// setTargets gives each labelled node of a data set of classes a row of labels or numbers.
func setTargets(d *dataset.Dataset, task target.Task, names []string, row func(i int, class int32) []float32) {
	d.Task, d.Classes, d.Targets = task, names, graph.NewDense(d.Nodes(), len(names))
	for i, class := range d.Labels {
		if class >= 0 {
			d.Labels[i] = 0
			copy(d.Targets.Row(i), row(i, class))
		}
	}
}

// of returns the edges whose ends have sums of these remainders by 2, in both directions.
func of(d *dataset.Dataset, remainders ...int) *graph.CSR {
	return kept(d, func(i, j int) bool { return slices.Contains(remainders, (i+j)%2) })
}

// led is of with each edge in one direction, and every fifth in both.
func led(d *dataset.Dataset, remainders ...int) *graph.CSR {
	return kept(d, func(i, j int) bool {
		return slices.Contains(remainders, (i+j)%2) && (i < j == (i*j%3 > 0) || (i+j)%5 == 0)
	})
}

// kept returns some edges of a data set.
func kept(d *dataset.Dataset, keep func(i, j int) bool) *graph.CSR {
	out := &graph.CSR{Rows: d.Nodes(), Cols: d.Nodes(), RowPtr: []int{0}}
	for i := range d.Nodes() {
		cols, _ := d.Adj.Row(i)
		for _, j := range cols {
			if keep(i, int(j)) {
				out.ColIdx = append(out.ColIdx, j)
			}
		}
		out.RowPtr = append(out.RowPtr, len(out.ColIdx))
	}
	return out
}

// A refresh takes arrivals into a graph of each kind, in one round or in two. The stored graph and the artifact have
// the same bytes as if T had had these nodes from the beginning.
func TestRefreshOfEachKindOfGraph(t *testing.T) {
	for name, kind := range kindsOfGraphs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, half, arrivals, labels := grownByHalf(t, kind)
			dir := files(t, half, arrivals, labels)
			expect.OK(t, whole.Save(dir+"/whole"))
			for _, of := range []string{"data", "whole"} {
				mustRun(t, dir, fmt.Sprintf("train --data {}/%s --out {}/%s-model --nodes 40 --entries 3 --seed 5 %s",
					of, of, kind.train+strongDecay))
			}
			const how = " --labels {}/labels.jsonl --max-drop 100 " + strongDecay
			o, err := runRefresh(t, dir, "--from {}/arrivals.jsonl --data {}/data --current {}/data-model --out {}/once "+
				"--data-out {}/once-data"+how)
			expect.OK(t, err)
			if m := o.Merged; m.Joined != len(arrivals) || m.Labelled != len(labels) ||
				m.WaitingEdges+m.UnknownTypes != 0 {
				t.Errorf("%+v", m)
			}
			got, err := dataset.Open(dir+"/once-data", dataset.OpenOptions{})
			expect.OK(t, err)
			if got.Merged.Labelled == nil == kind.labels {
				t.Errorf("%d nodes have their class by a label", len(got.Merged.Labelled))
			}
			if got.Merged = (graphsaint.Ends{}); got.Fingerprint() != whole.Fingerprint() {
				t.Error("the graph is not the one that had the arrivals from the beginning")
			}
			sameParts(t, dir+"/whole-model", dir+"/once")

			first := files(t, half, arrivals[:len(arrivals)/2], nil)
			for round, line := range []string{
				"--from " + first + "/arrivals.jsonl --data {}/data --current {}/data-model --out {}/one --data-out {}/one-data",
				"--from {}/arrivals.jsonl --data {}/one-data --current {}/one --out {}/two --data-out {}/two-data"} {
				if _, err := runRefresh(t, dir, line+how); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			sameFiles(t, dir+"/once-data", dir+"/two-data")
			sameParts(t, dir+"/once", dir+"/two")
		})
	}
}

// grownByHalf returns a graph in which half of the training nodes come last, the graph without these, and these as
// arrivals and labels.
func grownByHalf(t *testing.T, kind kindOfGraph) (whole, half *dataset.Dataset, arrivals []event.Arrival,
	labels []event.Label) {
	t.Helper()
	g, _ := generate.Preset("small")
	g.Nodes, g.Edges, g.Train, g.Validation, g.Test = 450, 2700, 210, 120, 120
	d, err := generate.Graph(g, 7)
	expect.OK(t, err)
	kind.change(d)
	var stay, arrive []int32
	for i := range int32(d.Nodes()) {
		if at, trains := slices.BinarySearch(d.Train, i); trains && at%2 == 1 {
			arrive = append(arrive, i)
		} else {
			stay = append(stay, i)
		}
	}
	if kind.labels {
		labels = replay.Labels(d, arrive, time.Unix(2, 0).UTC())
	}
	for _, i := range arrive {
		arrivals = append(arrivals, replay.Arrival(d, i, time.Unix(1, 0).UTC()))
	}
	return d.Renumbered(slices.Concat(stay, arrive)), d.Renumbered(stay), arrivals, labels
}
