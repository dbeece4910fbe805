package preflight

import (
	"slices"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
)

// small returns a generated data set with dense features and its own copies of what tests change.
func small(t *testing.T) *dataset.Dataset {
	t.Helper()
	g, err := generate.Scaled("small", 400)
	expect.OK(t, err)
	d, err := generate.Graph(g, 1)
	expect.OK(t, err)
	x := graph.NewDense(d.Nodes(), d.X.Cols())
	for i := range x.Rows {
		d.X.Each(i, func(c int, v float32) { x.Row(i)[c] = v })
	}
	d.X = graph.Features{Dense: x}
	return d
}

// A hub of the test nodes, an id of any node and a record that are beyond a setting are warned of with the node and the
// setting. What no setting lets through is an error. Training nodes with many edges do not arrive.
func TestLimitsSayWhatConsumersRefuse(t *testing.T) {
	hub := func(d *dataset.Dataset, node int32) int {
		return d.Adj.RowLen(int(node))
	}
	for name, c := range map[string]struct {
		change func(d *dataset.Dataset, l *event.Limits)
		warns  []string
		err    string
	}{
		"nothing": {change: func(*dataset.Dataset, *event.Limits) {}},
		"hub": {change: func(d *dataset.Dataset, l *event.Limits) {
			most := int32(-1)
			for _, i := range append(d.Validation, d.Test...) {
				if most < 0 || hub(d, i) > hub(d, most) {
					most = i
				}
			}
			d.IDs[most], l.Edges = "the hub", hub(d, most)-1
		}, warns: []string{`"the hub"`, "limits.edges of the consumers is set to "}},
		"hub of the training nodes": {change: func(d *dataset.Dataset, l *event.Limits) {
			l.Edges = 0
			for _, i := range append(d.Validation, d.Test...) {
				l.Edges = max(l.Edges, hub(d, i))
			}
			if !slices.ContainsFunc(d.Train, func(i int32) bool { return hub(d, i) > l.Edges }) {
				t.Error("no training node has more edges than all others: this tests nothing")
			}
		}},
		"long id of a training node": {change: func(d *dataset.Dataset, _ *event.Limits) {
			d.IDs[d.Train[0]] = strings.Repeat("x", 1025)
		}, warns: []string{"1 nodes have a longer id", "with 1025 bytes", "limits.id_bytes of the consumers is set to 1025"}},
		"no limit of ids": {change: func(d *dataset.Dataset, l *event.Limits) {
			d.IDs[d.Test[0]], l.IDBytes = strings.Repeat("x", 1025), 0
		}},
		"id beyond all settings": {change: func(d *dataset.Dataset, l *event.Limits) {
			d.IDs[d.Test[0]], l.IDBytes = strings.Repeat("x", 70<<10), 0
		}, err: "a prediction repeats both"},
		"record": {change: func(_ *dataset.Dataset, l *event.Limits) { l.RecordBytes = 300 },
			warns: []string{"larger record", "limits.record_bytes"}},
		"feature": {change: func(d *dataset.Dataset, _ *event.Limits) { d.X.Dense.Row(int(d.Train[1]))[2] = 2e15 },
			err: "features[2]: 2e+15, features must be at most 1e+15"},
		"feature of a sparse row": {change: func(d *dataset.Dataset, _ *event.Limits) {
			d.X.Sparse = &graph.CSR{Rows: d.Nodes(), Cols: 3, RowPtr: append(make([]int, d.Nodes()), 1), ColIdx: []int32{2},
				Val: []float32{-2e15}}
			d.X.Dense = nil
		}, err: "features.values[0]: -2e+15"},
		"record of features by name": {change: func(d *dataset.Dataset, _ *event.Limits) {
			texts := make([]string, d.Nodes())
			texts[d.Validation[0]] = strings.Repeat("\x01", 200<<10)
			d.Columns = []schema.Column{{Name: "about", Type: schema.Text, Texts: texts}}
		}, warns: []string{"1 validation and test nodes make a larger record"}},
	} {
		d, l := small(t), standard
		c.change(d, &l)
		warnings, err := Limits(d, l)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
		if (len(warnings) == 1) != (c.warns != nil) || len(warnings) > 1 {
			t.Errorf("%s: warnings %q, want one with %q", name, warnings, c.warns)
			continue
		}
		for _, want := range c.warns {
			if !strings.Contains(warnings[0], want) {
				t.Errorf("%s: warning %q, want %q", name, warnings[0], want)
			}
		}
	}
}
