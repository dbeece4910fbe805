package trainer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/test/expect"
)

// column adds a feature to dense features: of each node by its number.
func column(d *dataset.Dataset, of func(i int) float32) {
	x := graph.NewDense(d.X.Dense.Rows, d.X.Dense.Cols+1)
	for i := range x.Rows {
		copy(x.Row(i), d.X.Dense.Row(i))
		x.Row(i)[x.Cols-1] = of(i)
	}
	d.X.Dense = x
}

// A held-out node whose output is no number is an error that names it, and not a panic later: here a feature is about
// 1e-30 in the training nodes, and 1e9 at one node.
func TestOutputsThatOverflowNameTheNode(t *testing.T) {
	for _, model := range []string{"sgc", "gcn", "sage", "ssgc", "appnp", "cheby"} {
		for role, nodes := range map[string]func(d *dataset.Dataset) []int32{
			"test":       func(d *dataset.Dataset) []int32 { return d.Test },
			"validation": func(d *dataset.Dataset) []int32 { return d.Validation },
		} {
			d := small(t, generate.Dense)
			rng, far := rand.New(rand.NewPCG(1, 1)), nodes(d)[3]
			column(d, func(i int) float32 {
				if i == int(far) {
					return 1e9
				}
				return 1e-30 * rng.Float32()
			})
			id := d.IDs[far]
			o := Defaults()
			o.Models, o.Costs, o.Hidden, o.Propagate = []string{model}, false, 8, false
			o.WeightDecays, o.Own = []float64{1e-3}, OwnNever
			_, err := Train(t.Context(), d, o, time.Unix(0, 0), Silent{})
			if err == nil || !strings.Contains(err.Error(), role+" node \""+id+"\": the model's output is ") {
				t.Errorf("%s, a %s node: error %v, want one that names %q", model, role, err, id)
			}
		}
	}
}

// A column whose deviation is below the smallest normal float32 counts as one that does not vary.
func TestColumnsThatHardlyVary(t *testing.T) {
	for _, size := range []float32{1e-30, 1e-36, 1e-38, 1e-40, 1e-44} {
		d, rng := small(t, generate.Dense), rand.New(rand.NewPCG(1, 1))
		column(d, func(int) float32 { return size * rng.Float32() })
		o := Defaults()
		o.Costs, o.Propagate = false, false
		out, err := Train(t.Context(), d, o, time.Unix(0, 0), Silent{})
		expect.OK(t, err)
		std := out.Bundle.Preprocess.Std
		if last := std[len(std)-1]; (last == 1) != (size < 3e-38) {
			t.Errorf("the deviation of a column of about %g is %g", size, last)
		}
	}
}
