package weights

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"rivulet/artifact/safetensors"
)

// normShift is what PyTorch's BatchNorm1d adds to a variance.
const normShift = 1e-5

// perceptrons gives each GINConv the names of PyTorch Geometric's MLP: `nn.lins.0` and `nn.lins.1`. The perceptron may
// be an nn.Sequential as well, whose layers have numbers. A BatchNorm directly behind a linear layer is folded into
// it, with the mean and the variance of training: a y + c behind y = W x + b is (aW) x + (ab + c).
func (s State) perceptrons() (State, error) {
	out := maps.Clone(s)
	for _, name := range s.names() {
		conv, ok := layerOf(name, "eps")
		if !ok {
			continue
		}
		linears, err := s.linears(conv)
		if err != nil {
			return nil, err
		}
		for k, linear := range linears {
			norm, err := s.normBehind(conv, k, linear)
			if err != nil {
				return nil, err
			}
			w, b := s[tensor(linear, "weight")], s[tensor(linear, "bias")]
			for _, of := range []string{linear, norm} {
				maps.DeleteFunc(out, func(name string, _ safetensors.Array) bool {
					return of != "" && strings.HasPrefix(name, of+".")
				})
			}
			if norm != "" {
				if w, b, err = s.folded(w, b, norm); err != nil {
					return nil, err
				}
			}
			to := tensor(conv, "nn.lins."+strconv.Itoa(k))
			if out[tensor(to, "weight")] = w; b.Shape != nil {
				out[tensor(to, "bias")] = b
			}
		}
	}
	return out, nil
}

// linears are the two linear layers of a convolution's perceptron, in order.
func (s State) linears(conv string) ([]string, error) {
	var found []string
	for _, layer := range s.prefixes("weight") {
		if strings.HasPrefix(layer, tensor(conv, "nn.")) {
			found = append(found, layer)
		}
	}
	sorted, ok := byNumber(found)
	if len(found) != 2 || !ok {
		return nil, fmt.Errorf("the perceptron of %s has the linear layers %v, want two with numbers", tensor(conv, "eps"),
			found)
	}
	return sorted, nil
}

// normBehind is the BatchNorm directly behind linear layer k of a convolution: norms.K of lins.K in PyTorch Geometric's
// MLP, the next number of an nn.Sequential, and behind the second norms.K of convs.K; empty: there is none.
func (s State) normBehind(conv string, k int, linear string) (string, error) {
	at := strings.LastIndex(linear, ".")
	number, err := strconv.Atoi(linear[at+1:])
	if err != nil {
		return "", fmt.Errorf("tensor %s: its layer has no number", tensor(linear, "weight"))
	}
	places := []string{strings.TrimSuffix(linear[:at], "lins") + "norms." + linear[at+1:] + ".module",
		linear[:at+1] + strconv.Itoa(number+1)}
	if head, number, ok := strings.Cut(conv, "convs."); ok && k == 1 {
		places = append(places, head+"norms."+number+".module")
	}
	for _, norm := range places {
		if s.has(tensor(norm, "running_mean")) {
			return norm, nil
		}
	}
	return "", nil
}

// folded is a linear layer with the BatchNorm behind it.
func (s State) folded(w, b safetensors.Array, norm string) (safetensors.Array, safetensors.Array, error) {
	out := w.Shape[0]
	of := map[string][]float32{}
	for tail, usual := range map[string]float32{"running_mean": 0, "running_var": 1, "weight": 1, "bias": 0} {
		a := s[tensor(norm, tail)]
		switch {
		case a.Shape == nil:
			of[tail] = slices.Repeat([]float32{usual}, out)
		case !slices.Equal(a.Shape, []int{out}) || a.Values == nil:
			return w, b, fmt.Errorf("tensor %s is %v of %s, want %d numbers", tensor(norm, tail), a.Shape, a.Type, out)
		default:
			of[tail] = a.Values
		}
	}
	if w.Values == nil || b.Shape != nil && (len(b.Values) != out) {
		return w, b, fmt.Errorf("the linear layer before %s is %v with a bias %v, want numbers", norm, w.Shape, b.Shape)
	}
	in := w.Shape[1]
	w.Values = slices.Clone(w.Values)
	shift := make([]float32, out)
	for k := range out {
		scale := of["weight"][k] / float32(math.Sqrt(float64(of["running_var"][k])+normShift))
		for c := range in {
			w.Values[k*in+c] *= scale
		}
		if shift[k] = of["bias"][k] - of["running_mean"][k]*scale; b.Shape != nil {
			shift[k] += b.Values[k] * scale
		}
	}
	return w, safetensors.Array{Type: w.Type, Shape: []int{out}, Values: shift}, nil
}
