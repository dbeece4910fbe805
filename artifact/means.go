package artifact

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
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

func meansTensors(m *Means) []safetensors.Tensor {
	tensors := []safetensors.Tensor{safetensors.Dense("x",
		"N'×d, weighted means of the preprocessed features of each cluster", m.X)}
	for name, of := range m.Operators {
		tensors = append(tensors, safetensors.Dense(name+".px", "N'×d, means of what the nodes receive", of.PX),
			safetensors.Dense(name+".scaled", "N'×d, means of what the nodes send", of.Scaled),
			safetensors.Float32s(name+".scale", "N', means of the scale of what the nodes send", of.Scale, len(of.Scale)),
			safetensors.Float32s(name+".back", "N', means of the way back i→j→i", of.Back, len(of.Back)))
	}
	return tensors
}

// decodeMeans reads the means of n synthetic nodes and d features.
func decodeMeans(s safetensors.Set, n, d int) (*Means, error) {
	m := &Means{Operators: map[string]OperatorMeans{}}
	var err error
	if m.X, err = s.Dense("x", n, d); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		operator, _, dotted := strings.Cut(name, ".")
		if _, done := m.Operators[operator]; done || !dotted || !slices.Contains(operators, operator) {
			continue // unknown tensors are left alone
		}
		if m.Operators[operator], err = decodeOperator(s, operator, n, d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func decodeOperator(s safetensors.Set, name string, n, d int) (of OperatorMeans, err error) {
	if of.PX, err = s.Dense(name+".px", n, d); err != nil {
		return of, err
	}
	if of.Scaled, err = s.Dense(name+".scaled", n, d); err != nil {
		return of, err
	}
	if of.Scale, err = s.Float32s(name+".scale", n); err != nil {
		return of, err
	}
	of.Back, err = s.Float32s(name+".back", n)
	return of, err
}

func (m *Means) validate(n, d int) error {
	if err := validateDense(m.X, n, d); err != nil {
		return fmt.Errorf("x: %w", err)
	}
	if len(m.Operators) == 0 {
		return errors.New("no means of any operator")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Operators)) {
		if !slices.Contains(operators, name) {
			return fmt.Errorf("operator %q is not one of %s", name, strings.Join(operators, ", "))
		}
		if err := m.Operators[name].validate(n, d); err != nil {
			return fmt.Errorf("%s.%w", name, err)
		}
	}
	return nil
}

func (o OperatorMeans) validate(n, d int) error {
	if err := validateDense(o.PX, n, d); err != nil {
		return fmt.Errorf("px: %w", err)
	}
	if err := validateDense(o.Scaled, n, d); err != nil {
		return fmt.Errorf("scaled: %w", err)
	}
	if err := validateScales(o.Scale, n); err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	if err := validateScales(o.Back, n); err != nil {
		return fmt.Errorf("back: %w", err)
	}
	return nil
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
