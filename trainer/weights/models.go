package weights

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
)

// Requirements are the sizes that the data ask of a model, and parameters that a state_dict lacks.
type Requirements struct {
	Features, Classes int        // d and C
	Alpha             float32    // α of a model that has it; 0: its default
	Hops              int        // K of a model that has it; 0: its default
	Types             *NodeTypes // of nodes; nil: all are of one
}

// ImportedModel is a model with where its weights come from.
type ImportedModel struct {
	Model   infer.Model
	Sources []Source // in the order of the model's parameters, without those that Wanted gave
}

// Source is where one parameter of a model comes from.
type Source struct {
	Param  string // its name in [infer.Model.Params]
	Tensor string // of the file; empty: a missing bias, which is 0
}

// partsOf are the tensors of a layer. A matrix that layers may lack counts if any layer has it.
func (s State) partsOf(a *architecture.Architecture) (parts, error) {
	p := parts{}
	for _, t := range a.Tensors {
		switch {
		case t.Bias:
			p.biases = append(p.biases, t.Tail)
		case !t.Optional || len(s.prefixes(t.Tail)) > 0:
			p.matrices = append(p.matrices, t.Tail)
		}
	}
	layers := s.layers(p)
	for _, tail := range slices.Sorted(maps.Keys(a.Refused)) {
		for _, layer := range layers {
			if name := tensor(layer, tail); s.has(name) {
				return p, fmt.Errorf("tensor %s %v %s", name, s[name].Shape, a.Refused[tail])
			}
		}
	}
	for _, t := range a.Tensors {
		for _, layer := range layers {
			if name := tensor(layer, t.Tail); t.Missing != "" && !s.has(name) {
				return p, fmt.Errorf("tensor %s is missing: %s", name, t.Missing)
			}
		}
	}
	return p, nil
}

// Model makes a model of the state. The error names the tensor and, where shapes differ, both of them as PyTorch
// has them, [out in].
func (s State) Model(name string, want Requirements) (*ImportedModel, error) {
	if err := s.refuseAttention(); err != nil {
		return nil, err
	}
	arch, err := architecture.Lookup(name)
	if err != nil {
		return nil, err
	}
	if name == "dirsage" {
		if s, err = s.mixDirections(want.Alpha); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if name == "rgcn" {
		relations := 0
		if s, relations, err = s.related(want.Types); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		arch = arch.With(relations)
	}
	s, from, err := s.translate(arch, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out, err := s.assemble(arch, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for k := range out.Sources {
		out.Sources[k].Tensor = cmp.Or(from[out.Sources[k].Tensor], out.Sources[k].Tensor)
	}
	return out, nil
}

// refuseAttention returns an error for the weights of a GATConv or GATv2Conv, by PyTorch Geometric's names or DGL's.
func (s State) refuseAttention() error {
	for _, name := range s.names() {
		for _, tail := range []string{"att_src", "att_dst", "att", "attn_l", "attn_r", "attn"} {
			if _, ok := layerOf(name, tail); ok {
				return fmt.Errorf("tensor %s %v is of an attention to neighbours (GATConv, GATv2Conv), which is not served: it "+
					"depends on the arrival (docs/algorithm.md, section 3)", name, s[name].Shape)
			}
		}
	}
	return nil
}

func (s State) assemble(arch *architecture.Architecture, want Requirements) (*ImportedModel, error) {
	p, err := s.partsOf(arch)
	if err != nil {
		return nil, err
	}
	names := s.layers(p)
	if len(names) < arch.Fewest || len(names) > arch.Most {
		return nil, s.wrongNumber(names, arch, p)
	}
	if names, err = s.order(names, p, want.Features, want.Classes); err != nil {
		return nil, err
	}
	if err := s.refuseExtra(names, p); err != nil {
		return nil, err
	}
	out, width := &ImportedModel{}, want.Features
	var params []infer.Param
	for k, name := range names {
		end := want.Classes // the layer's output width
		if k+1 < len(names) {
			end = s[tensor(name, p.matrices[0])].Shape[0]
		}
		for _, t := range arch.Tensors {
			if !t.Bias && !slices.Contains(p.matrices, t.Tail) {
				continue
			}
			value, from, err := s.weight(tensor(name, t.Tail), t.Bias, width, end, want)
			if err != nil {
				return nil, err
			}
			param := arch.Tensor(k, t)
			params, out.Sources = append(params, infer.Param{Name: param, Value: value}),
				append(out.Sources, Source{param, from})
		}
		width = end
	}
	alpha, hops := cmp.Or(want.Alpha, arch.Alpha), cmp.Or(want.Hops, arch.Hops)
	out.Model, err = infer.Build(arch.Name, arch.Scalars(params, alpha, hops))
	return out, err
}

// weight is a tensor of a layer from in columns to out, a matrix transposed. A bias that is missing is 0 and comes
// from nowhere.
func (s State) weight(name string, bias bool, in, out int, want Requirements) (value *graph.Dense, from string,
	err error) {
	switch {
	case !bias:
		values, err := s.shaped(name, want, out, in)
		return transposed(values, out, in), name, err
	case !s.has(name):
		return graph.NewDense(1, out), "", nil
	}
	values, err := s.shaped(name, want, out)
	return &graph.Dense{Rows: 1, Cols: out, Data: slices.Clone(values)}, name, err
}

// wrongNumber reports the layers that were found instead of the model's.
func (s State) wrongNumber(found []string, a *architecture.Architecture, p parts) error {
	if len(found) == 0 {
		return fmt.Errorf("no matrix whose name ends in %s; the file has %s", p.matrices[0], s.list(s.names()))
	}
	names := make([]string, len(found))
	for k, layer := range found {
		names[k] = tensor(layer, p.matrices[0])
	}
	want := fmt.Sprint(a.Fewest)
	if a.Most > a.Fewest {
		want += fmt.Sprintf(" to %d", a.Most)
	}
	return fmt.Errorf("layers by %s: %d (%s), want %s", p.matrices[0], len(found), s.list(names), want)
}

// refuseExtra names the tensors that have no place in the model.
func (s State) refuseExtra(layers []string, p parts) error {
	var extra []string
	for _, name := range s.names() {
		if !slices.ContainsFunc(layers, func(layer string) bool {
			return slices.ContainsFunc(slices.Concat(p.matrices, p.biases),
				func(tail string) bool { return name == tensor(layer, tail) })
		}) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		return fmt.Errorf("no place for %s: what the model computes with them would not be served", s.list(extra))
	}
	return nil
}

// shaped are the values of a tensor of floating-point numbers of a shape.
func (s State) shaped(name string, want Requirements, shape ...int) ([]float32, error) {
	a, ok := s[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("tensor %s is missing", name)
	case !slices.Equal(a.Shape, shape):
		return nil, fmt.Errorf("tensor %s is %v, want %v: the data have %d features and %d classes", name, a.Shape,
			shape, want.Features, want.Classes)
	case a.Values == nil:
		return nil, fmt.Errorf("tensor %s is of %s, want F32, F64, F16 or BF16", name, a.Type)
	}
	return a.Values, nil
}

// transposed makes PyTorch's [out, in] a matrix of in×out, for y = x W + b.
func transposed(values []float32, out, in int) *graph.Dense {
	if values == nil {
		return nil
	}
	w := graph.NewDense(in, out)
	for o := range out {
		for i := range in {
			w.Data[i*out+o] = values[o*in+i]
		}
	}
	return w
}
