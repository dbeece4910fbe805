package infer

import (
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// Embedder is a deployment that can tell, beside logits, how its model sees the arrivals: the layer before the
// classifier.
//
//	gcn, sage, cheby  h = relu(p), the hidden state that the second layer reads, n×h
//	appnp             relu(x W1 + b1), the hidden layer of the perceptron, n×h: the propagation comes after the
//	                  classifier, so it knows nothing of the arrival's neighbours
//	sgc               the propagated features Â²x that W is applied to, n×d
//
// Every deployment is an Embedder, except of models that read relations, and the frozen one of a linear model: its
// tables have been through W, so that they are C columns wide and not d. For propagated features of a frozen SGC there
// is [FrozenFeatures], from [FeatureTables], which a trainer stores beside the others at roughly K(d+1) numbers a node.
type Embedder interface {
	Embeddings(b *attach.Batch) *graph.Dense
}

// FeatureTables are the tables of X itself, as of a linear model with W = I. Like a model's tables, the tables of S
// follow from those of T by docs/algorithm.md, section 5, step 4. On T they are m×(2d+1) numbers for K = 2.
func (m *Network) FeatureTables(adj *graph.CSR, x preprocess.Inputs) *Tables {
	return HopTables(adj, x.Matrix(), m.Hops)
}

// FrozenFeatures are a linear model's embeddings of arrivals on such tables: Σ_t w_t Â^t x, n×d, of preprocessed
// features. Times W plus b they are the logits of the model on its own tables, to rounding.
func (m *Network) FrozenFeatures(t *Tables, pre *preprocess.Parameters) Embedder {
	f := newMixture(m)
	f.w, f.bias = nil, make([]float32, m.Features())
	t.check(m.describe(), f)
	return frozenFeatures{f.frozen(t, pre.Identity(m.Features()))}
}

type frozenFeatures struct{ mixture Deployment }

func (f frozenFeatures) Embeddings(b *attach.Batch) *graph.Dense { return f.mixture.Logits(b) }
