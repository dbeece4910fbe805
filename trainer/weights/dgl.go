package weights

import (
	"fmt"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/infer/architecture"
)

// dglTails are the tails of the tensors of DGL's layers, with PyTorch Geometric's for the same. SGConv and the Linear
// layers before an APPNPConv have the tails of PyTorch Geometric. Before version 1 a SAGEConv had its bias beside its
// matrices.
var dglTails = map[string]map[string]string{
	"gcn": {"weight": "lin.weight", "bias": "bias"},
	"sage": {"fc_neigh.weight": "lin_l.weight", "fc_self.weight": "lin_r.weight", "fc_self.bias": "lin_l.bias",
		"bias": "lin_l.bias"},
}

// translate returns a state of DGL's GraphConv or SAGEConv under the names of PyTorch Geometric, and the file's name of
// each tensor. A GraphConv keeps its matrix as [in, out]. A state without such layers is returned as it is.
//
// A GraphConv of DGL adds no loops: the model must have been trained with dgl.add_self_loop, which DGL asks for where a
// node has no edge. SAGEConv is the one with the mean.
func (s State) translate(a *architecture.Architecture, want Requirements) (out State, from map[string]string,
	err error) {
	tails := dglTails[a.Name]
	if tails == nil || len(s.prefixes(a.Tensors[0].Tail)) > 0 || !s.isDGL(a.Name, want) {
		return s, nil, nil
	}
	out, from = State{}, map[string]string{}
	for _, name := range s.names() {
		best, to := "", name
		for tail, own := range tails {
			if layer, ok := layerOf(name, tail); ok && len(tail) > len(best) {
				best, to = tail, tensor(layer, own)
			}
		}
		if other, twice := from[to]; twice {
			return nil, nil, fmt.Errorf("tensors %s and %s are both a bias of one layer", other, name)
		}
		value := s[name]
		if best == "weight" && len(value.Shape) == 2 {
			value = swapped(value)
		}
		out[to], from[to] = value, name
	}
	for _, layer := range out.prefixes("lin_l.weight") {
		if !out.has(tensor(layer, "lin_r.weight")) {
			return nil, nil, fmt.Errorf("tensor %s is missing: a SAGEConv with the aggregator gcn is not served",
				tensor(layer, "fc_self.weight"))
		}
	}
	return out, from, nil
}

// isDGL reports whether a state has layers of DGL: a GraphConv is known by its first matrix, which reads the features.
func (s State) isDGL(model string, want Requirements) bool {
	if model == "sage" {
		return len(s.prefixes("fc_neigh.weight")) > 0
	}
	for _, name := range s.names() {
		if a := s[name]; strings.HasSuffix(name, "weight") && len(a.Shape) == 2 && a.Shape[0] == want.Features &&
			a.Shape[1] != want.Features {
			return true
		}
	}
	return false
}

// swapped is a matrix with its rows as columns.
func swapped(a safetensors.Array) safetensors.Array {
	rows, columns := a.Shape[0], a.Shape[1]
	a.Shape = []int{columns, rows}
	if a.Values != nil {
		a.Values = transposed(a.Values, rows, columns).Data
	}
	return a
}
