package trainer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// firstDense returns the data with its first features only, in dense rows.
func firstDense(d *dataset.Dataset, width int) *dataset.Dataset {
	out, x := *d, graph.NewDense(d.Nodes(), width)
	for i := range d.Nodes() {
		d.X.Each(i, func(at int, v float32) {
			if at < width {
				x.Row(i)[at] = v
			}
		})
	}
	out.X, out.BagOfWords = graph.Features{Dense: x}, false
	return &out
}

// The same numbers by name have exactly the accuracy that they have by position; a producer that writes them in
// another order changes nothing; and a category that tells the class of three nodes in five raises the accuracy.
func TestNamesOnRealGraphs(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes int
		gain  float64 // points that the category is worth at least
	}{{"cora", 70, 5}, {"amazon_photo", 38, 1}} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name == "amazon_photo" {
				t.Skip("seconds of training; left out with -short")
			}
			positional := firstDense(realSet(t, c.name), 64)
			o := Defaults()
			o.Nodes, o.Costs = c.nodes, false
			o.Schema.Kinds = map[string]string{"kind": "category"}
			for k := range positional.X.Cols() {
				o.Schema.Kinds[fmt.Sprintf("f%d", k)] = "number" // also those that are constant
			}
			train := func(d *dataset.Dataset) (*Outcome, float64) {
				of := o
				of.Schema.Kinds = map[string]string{}
				for _, column := range d.Columns {
					of.Schema.Kinds[column.Name] = o.Schema.Kinds[column.Name]
				}
				out := mustTrain(t, d, of)
				return out, find(t, out.Results, eval.OtoS, false, NodeBatch).Score("accuracy").Mean
			}
			named := byName(positional)
			byNames, before := train(named)
			if c.name == "cora" {
				if byPosition, same := train(positional); same != before ||
					!slices.Equal(byNames.Bundle.Synthetic.X.Data, byPosition.Bundle.Synthetic.X.Data) {
					t.Errorf("O→S by name %v%%, by position %v%%, or another S", before, same)
				}
			}
			reordered := *named
			reordered.Columns = slices.Clone(named.Columns)
			slices.Reverse(reordered.Columns)
			s := byNames.Bundle.Schema
			want, got := encoded(t, s, named.Columns), encoded(t, s, reordered.Columns)
			if !slices.Equal(want, got) || len(want) != len(positional.X.Dense.Data) {
				t.Error("another order of columns gives other features")
			}
			_, after := train(withHints(named, 0.6))
			if after < before+c.gain {
				t.Errorf("O→S %.2f%% with the category, %.2f%% without", after, before)
			}
			t.Logf("O→S in node batches: by name %.2f%%, with the category %.2f%%", before, after)
		})
	}
}

// encoded returns the rows of a schema, made one node at a time as the consumer makes them.
func encoded(t *testing.T, s *schema.Schema, columns []schema.Column) []float32 {
	t.Helper()
	out := make([]float32, columns[0].Len()*s.Width())
	fields := make([]schema.Field, len(columns))
	for i := range columns[0].Len() {
		for k := range columns {
			fields[k] = schema.Field{Name: columns[k].Name, Value: columns[k].At(i)}
		}
		expect.OK(t, s.Encode(out[i*s.Width():(i+1)*s.Width()], fields))
	}
	return out
}

// withHints adds a category that is the class of a share of the nodes, and anything of the others.
func withHints(d *dataset.Dataset, share float64) *dataset.Dataset {
	out, rng := *d, rand.New(rand.NewPCG(1, 2))
	c := schema.Column{Name: "kind", Type: schema.Text}
	for _, y := range d.Labels {
		if rng.Float64() >= share {
			y = rng.Int32N(int32(len(d.Classes)))
		}
		c.Texts = append(c.Texts, fmt.Sprintf("k%d", y))
	}
	out.Columns = append(slices.Clone(d.Columns), c)
	return &out
}
