package artifact

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/graph"
	"rivulet/infer/architecture"
)

// Means give S tables of a model that comes when T is no longer at hand (docs/algorithm.md, section 5, last
// part): means over the nodes j of T in each cluster, weighted by w_j = deg_j + 0.1. A consumer does not read them.
type Means struct {
	X         *graph.Dense             // N'×d, of x; Synthetic.X has all nodes of a cluster weigh the same
	Operators map[string]OperatorMeans // by [architecture.Operator]: gcn, sage, cheby
}

// OperatorMeans are means of one operator's messages, every node as if it had one neighbour more: in_j scales the
// message of node j and out_j the sum that it receives (the table in docs/algorithm.md, section 2). For a first layer
// of weights Wn1, Ws1 and a second of Wn2 the tables of S are
//
//	u0' = Scaled Wn1    p' = PX Wn1 + X Ws1 + b1    u1' = Scale relu(p') Wn2    c' = 1[p'>0] Back
//
//	gcn    in_j = out_j = (D_j+1)^-½, D_j with the self-loop; no Ws
//	sage   in_j = 1, out_j = 1/(deg_j+1)
//	cheby  in_j = out_j = (deg_j+1)^-½, K = 2
type OperatorMeans struct {
	PX     *graph.Dense // N'×d, of out_j (Σ_k B_jk in⁰_k x_k [+ in_j x_j]), in⁰ of the graph as it is; […] with self-loops
	Scaled *graph.Dense // N'×d, of in_j x_j
	Scale  []float32    // N', of in_j
	Back   []float32    // N', of in_j out_j
}

// operators are the names of the operators that Means know.
var operators = operatorNames()

func operatorNames() []string {
	var names []string
	for _, o := range architecture.Operators() {
		names = append(names, o.Name)
	}
	return names
}

// HasMeans reports whether the artifact of a completed manifest has cluster means, which [ReadMeans] reads.
func (m *Manifest) HasMeans() bool {
	_, ok := m.Files[meansFile]
	return ok
}

// fields visits the means of n synthetic nodes and d features.
func (m *Means) fields(f *fields, n, d int) {
	if f.reading() {
		m.Operators = map[string]OperatorMeans{}
	}
	f.dense("x", "N'×d, weighted means of the preprocessed features of each cluster", &m.X, n, d)
	for _, name := range operators {
		of, there := m.Operators[name]
		if !f.hasGroup(name+".", there) {
			continue
		}
		f.dense(name+".px", "N'×d, means of what the nodes receive", &of.PX, n, d)
		f.dense(name+".scaled", "N'×d, means of what the nodes send", &of.Scaled, n, d)
		f.scales(name+".scale", "N', means of the scale of what the nodes send", &of.Scale, n)
		f.scales(name+".back", "N', means of the way back i→j→i", &of.Back, n)
		if f.reading() {
			m.Operators[name] = of
		}
	}
}

func (m *Means) validate(n, d int) error {
	if len(m.Operators) == 0 {
		return errors.New("no means of any operator")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Operators)) {
		if !slices.Contains(operators, name) {
			return fmt.Errorf("operator %q is not one of %s", name, strings.Join(operators, ", "))
		}
	}
	return checkValues(func(f *fields) { m.fields(f, n, d) })
}

// validateScales checks n finite numbers that are 0 or more.
func validateScales(values []float32, n int) error {
	if len(values) != n {
		return fmt.Errorf("%d values, want %d", len(values), n)
	}
	for i, v := range values {
		if v < 0 {
			return fmt.Errorf("value %d is %v, want 0 or more", i, v)
		}
	}
	return validateFinite(values, 1)
}
