package weights

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rivulet/graph"
	"rivulet/infer"
)

// Wanted is what the data ask of a model, and what a state_dict does not hold.
type Wanted struct {
	Features, Classes int     // d and C
	Alpha             float32 // α of APPNP
	Hops              int     // of APPNP
}

// Imported is a model with where its weights come from.
type Imported struct {
	Model   infer.Model
	Sources []Source // in the order of the model's parameters, without what Wanted gave
}

// Source is where one parameter of a model comes from.
type Source struct {
	Param  string // as [infer.Model.Params] names it
	Tensor string // of the file; empty: a bias that is missing, which is 0
}

// architecture is how one model of package infer is written down in a state_dict.
type architecture struct {
	layers int
	parts  func(s State) (parts, error)
	param  func(layer int, tail string) string // the name of a parameter in package infer
}

var architectures = map[string]architecture{
	"sgc": {1, always("bias", "weight"), func(_ int, tail string) string { return "lin." + tail }},
	"gcn": {2, always("bias", "lin.weight"), numbered("convs")},
	"sage": {2, func(s State) (parts, error) {
		return parts{matrices: []string{"lin_l.weight", "lin_r.weight"}, bias: "lin_l.bias"}, s.refuseProjection()
	}, numbered("convs")},
	"appnp": {2, always("bias", "weight"), numbered("lins")},
	"cheby": {2, chebyParts, numbered("convs")},
}

func always(bias string, matrices ...string) func(State) (parts, error) {
	return func(State) (parts, error) { return parts{matrices: matrices, bias: bias}, nil }
}

func numbered(list string) func(int, string) string {
	return func(layer int, tail string) string { return list + "." + strconv.Itoa(layer) + "." + tail }
}

// refuseProjection finds SAGEConv's variants that have tensors of their own, or lack one.
func (s State) refuseProjection() error {
	for _, name := range s.names() {
		layer, ok := layerOf(name, "lin_l.weight")
		if !ok {
			continue
		}
		if own := tensor(layer, "lin.weight"); s.has(own) {
			return fmt.Errorf("tensor %s %v belongs to a SAGEConv with project=True, which is not served", own, s[own].Shape)
		}
		if own := tensor(layer, "lin_r.weight"); !s.has(own) {
			return fmt.Errorf("tensor %s is missing: a SAGEConv with root_weight=False is not served", own)
		}
	}
	return nil
}

// chebyParts reads K from the number of matrices of a layer.
func chebyParts(s State) (parts, error) {
	order := 0
	for _, name := range s.names() {
		at := strings.LastIndex(name, "lins.")
		if at < 0 {
			continue
		}
		if k, err := strconv.Atoi(strings.TrimSuffix(name[at+len("lins."):], ".weight")); err == nil {
			order = max(order, k+1)
		}
	}
	if order == 1 || order > 3 {
		return parts{}, fmt.Errorf("a ChebConv of K = %d, want 2 or 3", order)
	}
	p := parts{bias: "bias"}
	for k := range max(order, 2) {
		p.matrices = append(p.matrices, fmt.Sprintf("lins.%d.weight", k))
	}
	return p, nil
}

// Model makes a model of the state. The error names the tensor and, where shapes differ, both of them as PyTorch has them,
// [out in].
func (s State) Model(name string, want Wanted) (*Imported, error) {
	arch, ok := architectures[name]
	if !ok {
		return nil, fmt.Errorf("model is %q, want one of %s", name, strings.Join(infer.Names(), ", "))
	}
	out, err := s.assemble(name, arch, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

func (s State) assemble(name string, arch architecture, want Wanted) (*Imported, error) {
	p, err := arch.parts(s)
	if err != nil {
		return nil, err
	}
	layers := s.layers(p)
	if len(layers) != arch.layers {
		return nil, s.wrongNumber(layers, arch.layers, p)
	}
	if layers, err = s.order(layers, p, want.Features, want.Classes); err != nil {
		return nil, err
	}
	if err := s.refuseExtra(layers, p); err != nil {
		return nil, err
	}
	widths := []int{want.Features, want.Classes} // what each layer reads, and what the last one gives
	if arch.layers == 2 {
		widths = []int{want.Features, s[tensor(layers[0], p.matrices[0])].Shape[0], want.Classes}
	}
	out := &Imported{}
	var params []infer.Param
	for k, layer := range layers {
		of, from, err := s.layer(layer, p, widths[k], widths[k+1], want)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].Name = arch.param(k, of[i].Name)
			from[i].Param = of[i].Name
		}
		params, out.Sources = append(params, of...), append(out.Sources, from...)
	}
	if name == "appnp" {
		params = append(params, scalar("alpha", want.Alpha), scalar("hops", float32(want.Hops)))
	}
	out.Model, err = infer.Build(name, params)
	return out, err
}

func scalar(name string, v float32) infer.Param {
	return infer.Param{Name: name, Value: &graph.Dense{Rows: 1, Cols: 1, Data: []float32{v}}}
}

// wrongNumber says what was found instead of the layers of a model.
func (s State) wrongNumber(found []string, want int, p parts) error {
	if len(found) == 0 {
		return fmt.Errorf("no matrix whose name ends in %s; the file has %s", p.matrices[0], s.list(s.names()))
	}
	names := make([]string, len(found))
	for k, layer := range found {
		names[k] = tensor(layer, p.matrices[0])
	}
	return fmt.Errorf("layers by %s: %d (%s), want %d", p.matrices[0], len(found), s.list(names), want)
}

// refuseExtra names the tensors that have no place in the model.
func (s State) refuseExtra(layers []string, p parts) error {
	var extra []string
	for _, name := range s.names() {
		if !slices.ContainsFunc(layers, func(layer string) bool {
			return name == tensor(layer, p.bias) || slices.ContainsFunc(p.matrices, func(tail string) bool { return name == tensor(layer, tail) })
		}) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		return fmt.Errorf("no place for %s: what the model computes with them would not be served", s.list(extra))
	}
	return nil
}

// layer are the tensors of a layer from in columns to out, by their tails, transposed.
func (s State) layer(layer string, p parts, in, out int, want Wanted) ([]infer.Param, []Source, error) {
	var params []infer.Param
	var sources []Source
	for _, tail := range p.matrices {
		name := tensor(layer, tail)
		values, err := s.shaped(name, want, out, in)
		if err != nil {
			return nil, nil, err
		}
		params = append(params, infer.Param{Name: tail, Value: transposed(values, out, in)})
		sources = append(sources, Source{Tensor: name})
	}
	bias, name := make([]float32, out), tensor(layer, p.bias)
	if s.has(name) {
		values, err := s.shaped(name, want, out)
		if err != nil {
			return nil, nil, err
		}
		copy(bias, values)
	} else {
		name = ""
	}
	params = append(params, infer.Param{Name: p.bias, Value: &graph.Dense{Rows: 1, Cols: out, Data: bias}})
	return params, append(sources, Source{Tensor: name}), nil
}

// shaped are the values of a tensor of floating-point numbers of a shape.
func (s State) shaped(name string, want Wanted, shape ...int) ([]float32, error) {
	a, ok := s[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("tensor %s is missing", name)
	case !slices.Equal(a.Shape, shape):
		return nil, fmt.Errorf("tensor %s is %v, want %v: the data have %d features and %d classes", name, a.Shape, shape, want.Features, want.Classes)
	case a.Values == nil:
		return nil, fmt.Errorf("tensor %s is of %s, want F32, F64, F16 or BF16", name, a.Type)
	}
	return a.Values, nil
}

// transposed makes PyTorch's [out, in] a matrix of in×out, for y = x W + b.
func transposed(values []float32, out, in int) *graph.Dense {
	w := graph.NewDense(in, out)
	for o := range out {
		for i := range in {
			w.Data[i*out+o] = values[o*in+i]
		}
	}
	return w
}
