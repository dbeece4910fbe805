package weights

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
	"rivulet/graph"
)

// DefaultMix is the α of PyTorch Geometric's DirGNNConv.
const DefaultMix = 0.5

// mixDirections puts α into the weights of DirGNNConv around SAGEConv, which is no tensor:
//
//	α conv_out(x) + (1−α) conv_in(x) + lin(x)
//
// The three biases become the one of lin. DirGNNConv does not use the weights lin_r of its layers: it has lin in their
// place.
func (s State) mixDirections(alpha float32) (State, error) {
	if alpha = cmp.Or(alpha, DefaultMix); !(alpha > 0 && alpha <= 1) {
		return nil, fmt.Errorf("alpha is %v, want more than 0 and at most 1", alpha)
	}
	out := maps.Clone(s)
	for k, share := range []float32{alpha, 1 - alpha} {
		side := []string{"conv_out", "conv_in"}[k]
		for _, name := range s.names() {
			switch layer, tail, ok := strings.Cut(name, side+".lin_l."); {
			case strings.HasSuffix(name, side+".lin_r.weight"):
				delete(out, name)
			case !ok:
			case tail == "weight":
				out[name] = scaled(s[name], share)
			case tail == "bias":
				sum, to := scaled(s[name], share), layer+"lin.bias"
				if of, there := out[to]; there {
					if !slices.Equal(of.Shape, sum.Shape) || of.Values == nil {
						return nil, fmt.Errorf("tensor %s is %v, want %v as %s", to, of.Shape, sum.Shape, name)
					}
					for k, v := range of.Values {
						sum.Values[k] += v
					}
				}
				out[to] = sum
				delete(out, name)
			}
		}
	}
	return out, nil
}

// scaled is an array times a number.
func scaled(a safetensors.Array, by float32) safetensors.Array {
	a.Values = slices.Clone(a.Values)
	for k := range a.Values {
		a.Values[k] *= by
	}
	return a
}

// related makes a matrix for each relation of the weights of RGCNConv, or, where nodes have types, of
// to_hetero(SAGEConv).
func (s State) related(types *NodeTypes) (State, int, error) {
	if types != nil && slices.ContainsFunc(s.names(), heteroConv.MatchString) {
		out, err := s.joinTypes(types)
		return out, types.relations(), err
	}
	out, relations, err := s.divideRelations()
	if err != nil || types == nil {
		return out, relations, err
	}
	layers := s.prefixes("root")
	if first, ok := byNumber(layers); ok {
		layers = first
	}
	if len(layers) > 0 {
		out, err = out.project(types, layers[0])
	}
	return out, relations, err
}

// divideRelations makes a matrix for each relation of the weights of RGCNConv, which has those of all relations in one
// tensor of R×in×out, or in a basis: comp of R×B, and weight of B×in×out. All its matrices are in×out. It returns R,
// which is the same in all layers.
func (s State) divideRelations() (out State, relations int, err error) {
	out, relations = maps.Clone(s), 0
	for _, name := range s.names() {
		layer, ok := strings.CutSuffix(name, "root")
		if !ok || len(s[name].Shape) != 2 {
			continue
		}
		root, w, comp := s[name], s[layer+"weight"], s[layer+"comp"]
		if len(w.Shape) != 3 || w.Values == nil || root.Values == nil || w.Shape[1] != root.Shape[0] ||
			w.Shape[2] != root.Shape[1] {
			return nil, 0, fmt.Errorf("tensor %sweight is %v, want relations×%d×%d as %s is %v (num_blocks is not served)",
				layer,
				w.Shape, root.Shape[0], root.Shape[1], name, root.Shape)
		}
		of, bases := w.Shape[0], w.Shape[0]
		if comp.Shape != nil {
			if len(comp.Shape) != 2 || comp.Shape[1] != bases || comp.Values == nil {
				return nil, 0, fmt.Errorf("tensor %scomp is %v, want relations×%d as %sweight is %v", layer, comp.Shape, bases,
					layer, w.Shape)
			}
			of = comp.Shape[0]
		}
		if relations > 0 && of != relations || of > graph.MaxRelations {
			return nil, 0, fmt.Errorf("tensor %sweight is of %d relations, want %d in all layers, and at most %d", layer, of,
				cmp.Or(relations, of), graph.MaxRelations)
		}
		relations = of
		in, width := root.Shape[0], root.Shape[1]
		for r := range of {
			sum := make([]float32, in*width)
			for b := range bases {
				share := float32(0)
				switch {
				case comp.Shape != nil:
					share = comp.Values[r*bases+b]
				case b == r:
					share = 1
				}
				graph.Axpy(sum, share, w.Values[b*in*width:(b+1)*in*width])
			}
			out[fmt.Sprintf("%sweight.%d", layer, r)] = turned(root, sum)
		}
		out[name] = turned(root, root.Values)
		delete(out, layer+"weight")
		delete(out, layer+"comp")
	}
	return out, max(1, relations), nil
}

// turned is a matrix of values, in×out as like, in PyTorch's order of out×in.
func turned(like safetensors.Array, values []float32) safetensors.Array {
	in, out := like.Shape[0], like.Shape[1]
	like.Shape, like.Values = []int{out, in}, transposed(values, in, out).Data
	return like
}
