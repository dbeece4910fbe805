package infer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/graph"
)

// Architecture describes a family of models as a value: how messages are scaled, the layers and the names of their
// weights, and the step after the layers. All code for a model, here and in the trainer, follows from this value. A new
// model is a file with such a value, and a place in the list [Architectures].
//
// Layers are of one of two kinds. Layers that read neighbours (a tensor has a share in [infer.Layer.Neighbours])
// propagate themselves, with a relu between two of them:
//
//	h⁰ = x    h^l = relu(P h^{l−1} Wn + h^{l−1} Ws + b)    logits = P h^{L−1} Wn + h^{L−1} Ws + b
//
// Layers of an architecture with blocks ([infer.Tensor.Block]) read the directions of edges: directed.go. Other layers
// are a perceptron, whose outputs z are propagated Hops times: by Mix, with the bias of the last
// layer added at the end, or, if Mix is nil, with a restart and the bias in z:
//
//	logits = Σ_t w_t P^t z + b, w = Mix(α, K)        z^{t+1} = (1−α) P z^t + α z⁰, z⁰ = z + b, logits = z^K
type Architecture struct {
	Name     string
	Operator *Operator
	Prefix   string   // of a layer's tensors; a %d in it is the layer's number
	Tensors  []Tensor // a layer's, in the order of [Network.Params]
	// Fewest and Most are the numbers of layers that a model may have.
	Fewest, Most int
	// Mix returns the weights w_0 … w_K of the hops; nil: no Mix.
	Mix func(alpha float32, hops int) []float32
	// Alpha and Hops are the defaults of α and K; 0: the model has none. They are the 1×1 tensors alpha and hops, so that
	// the weights are the whole model; if Implied is set, hops is left out while it has its default.
	Alpha   float32
	Hops    int
	Implied bool
	// Refused are tensors of PyTorch Geometric's variants of a layer that are not served, with the reason, by tail.
	Refused map[string]string
}

// Tensor is one weight of a layer: a matrix, with its shares in the matrices of [infer.Layer], or the bias.
type Tensor struct {
	Tail                  string // the name behind the prefix
	Bias                  bool
	Neighbours, Self, Far float32
	// Block says, of an architecture that reads directions, which of x, Po x, Pi x, Po² x and Pi² x the tensor
	// multiplies; its layers have all these matrices in [infer.Layer.Self], one below the other.
	Block    int
	Optional bool   // either all layers have it or none
	Missing  string // why a state_dict without it is refused, if that is worth telling
}

// Layer are the weights of a layer, P being the operator and [infer.Layer.Far] nil in all but Chebyshev polynomials of
// degree 2:
//
//	P(x Neighbours + P(x Far)) + x Self + Bias
type Layer struct {
	Neighbours, Self, Far *graph.Dense // in×out; nil: none
	Bias                  []float32    // out
}

// Width is the number of columns that a layer gives.
func (l *Layer) Width() int { return len(l.Bias) }

// architectures is the list of models; each is in a file of its own.
var architectures = []*Architecture{appnp, cheby, dirsage, dirsgc, gcn, sage, sgc, ssgc}

// Architectures are the known ones, in the order of their names.
func Architectures() []*Architecture { return slices.Clone(architectures) }

// Names lists the known architectures, in order.
func Names() []string {
	names := make([]string, len(architectures))
	for k, a := range architectures {
		names[k] = a.Name
	}
	return names
}

// Undirected are those that do not read the directions of edges.
func Undirected() []*Architecture {
	return slices.DeleteFunc(Architectures(), (*Architecture).Directed)
}

// Convolving are the names of the architectures whose layers read neighbours, in order. Models of two such layers can
// be made frozen by cluster means (docs/algorithm.md, section 5, last part).
func Convolving() []string {
	return slices.DeleteFunc(Names(), func(name string) bool { a, _ := Lookup(name); return !a.Convolves() })
}

// Lookup returns the architecture of a name; the error lists the names.
func Lookup(name string) (*Architecture, error) {
	for _, a := range architectures {
		if a.Name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("model %q is not known, only %s", name, strings.Join(Names(), ", "))
}

// Operators lists the operators of the architectures whose layers read neighbours, in the order of those architectures.
func Operators() []*Operator {
	var out []*Operator
	for _, a := range architectures {
		if a.Convolves() && !slices.Contains(out, a.Operator) {
			out = append(out, a.Operator)
		}
	}
	slices.SortFunc(out, func(a, b *Operator) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Convolves reports whether the layers read neighbours.
func (a *Architecture) Convolves() bool {
	return slices.ContainsFunc(a.Tensors, func(t Tensor) bool { return t.Neighbours != 0 })
}

// Linear reports whether the logits are linear in the features, so that the fit is convex.
func (a *Architecture) Linear() bool { return (a.Mix != nil || a.Directed()) && a.Most == 1 }

// Tensor is the name of a tensor of a layer.
func (a *Architecture) Tensor(layer int, t Tensor) string {
	return strings.ReplaceAll(a.Prefix, "%d", fmt.Sprint(layer)) + t.Tail
}

// Operator scales the messages of a hop in a graph with weights B: from messages z node i receives
//
//	out_i (Σ_k B_ik in_k z_k [+ in_i z_i])        […] where there are self-loops
//
// with in and out functions of the degree, the sum of a node's edge weights without self-loop.
type Operator struct {
	Name   string // its name where artifacts keep cluster means of it
	Scales func(degree float64) (in, out float64)
	Loops  bool
}

// normalised is Â = D̃^-½ (B+I) D̃^-½ with D̃ = degree + 1: SGC, GCN, APPNP, LP and EP.
var normalised = &Operator{Name: "gcn", Loops: true, Scales: func(degree float64) (in, out float64) {
	inv := 1 / math.Sqrt(1+degree)
	return inv, inv
}}

// mean is the mean of the neighbours, weighted where edges are: GraphSAGE.
var mean = &Operator{Name: "sage", Scales: func(degree float64) (in, out float64) {
	if degree <= 0 {
		return 1, 0
	}
	return 1, 1 / degree
}}

// symmetric is D^-½ B D^-½: Cheby.
var symmetric = &Operator{Name: "cheby", Scales: func(degree float64) (in, out float64) {
	if degree <= 0 {
		return 0, 0
	}
	inv := 1 / math.Sqrt(degree)
	return inv, inv
}}

// at are the scales of a degree in single precision.
func (o *Operator) at(degree float64) (in, out float32) {
	wideIn, wideOut := o.Scales(degree)
	return float32(wideIn), float32(wideOut)
}

// All are the scales of degrees, each with extra more.
func (o *Operator) All(degrees []float32, extra float64) (in, out []float32) {
	in, out = make([]float32, len(degrees)), make([]float32, len(degrees))
	o.setAll(in, out, degrees, extra)
	return in, out
}

// setSums sets in and out to the scales of degrees that are sums of two parts; in may be the memory of one of these.
func (o *Operator) setSums(in, out, some, others []float32) {
	if o == normalised { // in a loop without calls, in which the processor computes several at once
		others, in = others[:len(some)], in[:len(some)]
		for i, d := range some {
			in[i] = float32(1 / math.Sqrt(1+(float64(d)+float64(others[i]))))
		}
		copy(out, in)
		return
	}
	for i, d := range some {
		in[i], out[i] = o.at(float64(d) + float64(others[i]))
	}
}

// setAll sets in and out to the scales of degrees, each with extra more.
func (o *Operator) setAll(in, out, degrees []float32, extra float64) {
	for i, d := range degrees {
		in[i], out[i] = o.at(float64(d) + extra)
	}
}
