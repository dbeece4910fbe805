package weights

import (
	"fmt"
	"strconv"

	"rivulet/infer"
	"rivulet/infer/architecture"
)

// inception makes a model of lins.0, lins.1, …, a linear layer for each hop, and lin, which reads all of them: the
// names of PyTorch Geometric's example of SIGN, behind any prefix.
func (s State) inception(a *architecture.Architecture, want Requirements) (*ImportedModel, error) {
	heads := s.prefixes(a.Head + "weight")
	if len(heads) != 1 {
		return nil, fmt.Errorf("%d matrices whose names end in %sweight, want one; the file has %s", len(heads), a.Head,
			s.list(s.names()))
	}
	name := func(layer, tail string) string { return tensor(heads[0], layer+tail) }
	hops, hidden := 0, 0
	for s.has(name("lins."+strconv.Itoa(hops)+".", "weight")) {
		hops++
	}
	if hops < a.Fewest || hops > a.Most {
		return nil, fmt.Errorf("layers by %s: %d, want %d to %d", name("lins.N.", "weight"), hops, a.Fewest, a.Most)
	}
	if first := s[name("lins.0.", "weight")].Shape; len(first) > 0 {
		hidden = first[0]
	}
	out, taken := &ImportedModel{}, map[string]bool{}
	var params []infer.Param
	for k := range hops + 1 {
		layer, in, width := "lins."+strconv.Itoa(k)+".", want.Features, hidden
		if k == hops {
			layer, in, width = a.Head, hops*hidden, want.Classes
		}
		for _, t := range a.Tensors {
			value, from, err := s.weight(name(layer, t.Tail), t.Bias, in, width, want)
			if err != nil {
				return nil, err
			}
			taken[name(layer, t.Tail)] = true
			params = append(params, infer.Param{Name: layer + t.Tail, Value: value})
			out.Sources = append(out.Sources, Source{layer + t.Tail, from})
		}
	}
	var extra []string
	for _, name := range s.names() {
		if !taken[name] {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		return nil, fmt.Errorf("no place for %s: what the model computes with them would not be served", s.list(extra))
	}
	var err error
	out.Model, err = infer.Build(a.Name, params)
	return out, err
}
