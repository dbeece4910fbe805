package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// Architecture describes a family of models as a value: how messages are scaled, the layers and the names of their
// weights, and the step after the layers. All code for a model, in infer and in the trainer, follows from this value. A
// new model is a file with such a value, and a place in the list [Architectures].
//
// Layers are of one of two kinds. Layers that read neighbours (a tensor has a share in [Layer.Neighbours])
// propagate themselves, with a relu between two of them:
//
//	h⁰ = x    h^l = relu(P h^{l−1} Wn + h^{l−1} Ws + b)    logits = P h^{L−1} Wn + h^{L−1} Ws + b
//
// Layers of an architecture with blocks ([Tensor.Block]) read the relations of edges: relations.go. Other layers
// are a perceptron, whose outputs z are propagated Hops times: by Mix, with the bias of the last
// layer added at the end, or, if Mix is nil, with a restart and the bias in z:
//
//	logits = Σ_t w_t P^t z + b, w = Mix(α, K)        z^{t+1} = (1−α) P z^t + α z⁰, z⁰ = z + b, logits = z^K
type Architecture struct {
	Name     string
	Operator *Operator
	Prefix   string   // of a layer's tensors; a %d in it is the layer's number
	Tensors  []Tensor // a layer's, in the order of [Weights.Params]
	// Fewest and Most are the numbers of layers that a model may have.
	Fewest, Most int
	// Mix returns the weights w_0 … w_K of the hops; nil: no Mix.
	Mix func(alpha float32, hops int) []float32
	// Alpha and Hops are the defaults of α and K; 0: the model has none. They are the 1×1 tensors alpha and hops, so that
	// the weights are the whole model; if Implied is set, hops is left out while it has its default.
	Alpha   float32
	Hops    int
	Implied bool
	// Reach is the number of hops that a layer goes along each relation of edges; 0: layers read none.
	Reach int
	// tensors are those of a layer for a number of relations, where this follows from the data; else nil.
	tensors func(relations int) []Tensor
}

// Tensor is one weight of a layer: a matrix, with its shares in the matrices of [Layer], or the bias.
type Tensor struct {
	Tail                  string // the name behind the prefix
	Bias                  bool
	Neighbours, Self, Far float32
	// Block says, of an architecture that reads relations, which of x, P_1 x, …, P_R x, P_1² x, … the tensor
	// multiplies; its layers have all these matrices in [Layer.Self], one below the other.
	Block    int
	Optional bool // either all layers have it or none
}

// architectures is the list of models. Each is in a file of its own, but those that read relations are together.
var architectures = []*Architecture{appnp, cheby, dirsage, dirsgc, gcn, rgcn, rsgc, sage, SGC, ssgc}

// maxLayers keeps the number of tables, one a layer, within reason.
const maxLayers = 8

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

// Plain returns the architectures that do not read the relations of edges.
func Plain() []*Architecture {
	return slices.DeleteFunc(Architectures(), (*Architecture).Relational)
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

// Convolves reports whether the layers read neighbours.
func (a *Architecture) Convolves() bool {
	return slices.ContainsFunc(a.Tensors, func(t Tensor) bool { return t.Neighbours != 0 })
}

// Linear reports whether the logits are linear in the features, so that the fit is convex.
func (a *Architecture) Linear() bool { return (a.Mix != nil || a.Relational()) && a.Most == 1 }

// Deepens reports whether the number of layers is a choice.
func (a *Architecture) Deepens() bool { return a.Most > a.Fewest }

// Tensor is the name of a tensor of a layer.
func (a *Architecture) Tensor(layer int, t Tensor) string {
	return strings.ReplaceAll(a.Prefix, "%d", fmt.Sprint(layer)) + t.Tail
}
