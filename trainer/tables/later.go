package tables

import (
	"fmt"
	"slices"
	"strings"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// Later gives S the frozen tables of a model that is added when T is no longer at hand, from the cluster means that an
// artifact keeps (docs/algorithm.md, section 5, last part). With Wn1, Ws1 and b1 of its first layer and Wn2 of its
// second,
//
//	u0' = Scaled Wn1    p' = PX Wn1 + X Ws1 + b1    u1' = Scale relu(p') Wn2    c' = 1[p'>0] Back
//
// It is step 4 with the relu of a mean in place of the mean of relus. The error names models without such tables: only
// networks of two layers have them, as other models read T two and more propagations deep, and the means hold one.
func Later(m infer.Model, means *artifact.Means) (*infer.Tables, error) {
	if err := infer.Freezable(m); err != nil {
		return nil, err
	}
	if !slices.Contains(architecture.Convolving(), m.Name()) || len(m.Layers) != 2 {
		return nil, fmt.Errorf("model %s has no tables without the original graph: it reads more than the cluster means "+
			"have, which are for two layers of %s; give the data set as well", m.Name(),
			strings.Join(architecture.Convolving(), ", "))
	}
	of, ok := means.Operators[m.Architecture.Operator.Name]
	if !ok {
		return nil, fmt.Errorf("the artifact has no cluster means for model %s", m.Name())
	}
	if d := of.PX.Cols; m.Features() != d {
		return nil, fmt.Errorf("model %s is for %d features, the cluster means are of %d", m.Name(), m.Features(), d)
	}
	first, onward := m.Layers[0], m.Layers[1].Neighbours
	hidden := graph.MulDense(of.PX, first.Neighbours)
	if first.Self != nil {
		graph.Add(hidden.Data, graph.MulDense(means.X, first.Self).Data)
	}
	back := graph.NewDense(hidden.Rows, hidden.Cols)
	for c := range hidden.Rows {
		row := hidden.Row(c)
		graph.Add(row, first.Bias)
		for k, v := range row {
			if v > 0 {
				back.Row(c)[k] = of.Back[c]
			}
			row[k] = of.Scale[c] * max(v, 0)
		}
	}
	return &infer.Tables{U: []*graph.Dense{graph.MulDense(of.Scaled, first.Neighbours),
		graph.MulDense(hidden, onward)}, C: back}, nil
}
