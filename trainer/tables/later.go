package tables

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
)

// Later gives S the frozen tables of a model that comes when T is no longer at hand, from the cluster means that an artifact
// keeps (docs/algorithm.md, section 5, last part). With Wn1, Ws1 and b1 of its first layer and Wn2 of its second,
//
//	u0' = Scaled Wn1    p' = PX Wn1 + X Ws1 + b1    u1' = Scale relu(p') Wn2    c' = 1[p'>0] Back
//
// It is step 4 with the relu of a mean in place of the mean of relus. The error says which models have no such tables: what
// SGC and APPNP read of T is two and more propagations deep, and the means are of one.
func Later(m infer.Model, means *artifact.Means) (*infer.Tables, error) {
	if err := infer.Freezable(m); err != nil {
		return nil, err
	}
	l, ok := layersOf(m)
	if !ok {
		return nil, fmt.Errorf("model %s has no tables without the original graph: it propagates more often than the cluster means, "+
			"which are for gcn, sage and cheby; give the data set as well", m.Name())
	}
	of, ok := means.Operators[m.Name()]
	if !ok {
		return nil, fmt.Errorf("the artifact has no cluster means for model %s", m.Name())
	}
	if d := of.PX.Cols; m.Features() != d {
		return nil, fmt.Errorf("model %s is for %d features, the cluster means are of %d", m.Name(), m.Features(), d)
	}
	hidden := graph.MulDense(of.PX, l.neighbours)
	if l.own != nil {
		graph.Add(hidden.Data, graph.MulDense(means.X, l.own).Data)
	}
	back := graph.NewDense(hidden.Rows, hidden.Cols)
	for c := range hidden.Rows {
		row := hidden.Row(c)
		graph.Add(row, l.bias)
		for k, v := range row {
			if v > 0 {
				back.Row(c)[k] = of.Back[c]
			}
			row[k] = of.Scale[c] * max(v, 0)
		}
	}
	return &infer.Tables{U: []*graph.Dense{graph.MulDense(of.Scaled, l.neighbours), graph.MulDense(hidden, l.onward)}, C: back}, nil
}

// layers are the weights of a two-layer model that its tables are made of.
type layers struct {
	neighbours, own *graph.Dense // Wn1 and Ws1, d×h; own nil where there is none
	bias            []float32    // b1, h
	onward          *graph.Dense // Wn2, h×C
}

func layersOf(m infer.Model) (layers, bool) {
	switch m := m.(type) {
	case *infer.GCN:
		return layers{m.W1, nil, m.B1, m.W2}, true
	case *infer.SAGE:
		return layers{m.Wn1, m.Ws1, m.B1, m.Wn2}, true
	case *infer.Cheby: // L̂ = −D^-½ A D^-½ takes the negative of W[1]
		return layers{negative(m.W1[1]), m.W1[0], m.B1, negative(m.W2[1])}, true
	}
	return layers{}, false
}

func negative(w *graph.Dense) *graph.Dense {
	out := w.Clone()
	for k := range out.Data {
		out.Data[k] = -out.Data[k]
	}
	return out
}
