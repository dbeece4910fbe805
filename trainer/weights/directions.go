package weights

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/artifact/safetensors"
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
