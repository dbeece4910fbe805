package infer

import (
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
)

// Pass is a model on a graph that keeps only the graph, its features and the weights from batch to batch: a batch is
// one forward pass over the whole graph with the batch in it, from the features to the logits of all its nodes. The
// paper times Whole this way, and calling a model of PyTorch Geometric on the whole graph does the same. Products are
// taken in the cheapest order, weights before hops. [Network.Joint] gives the same logits, bit for bit.
type Pass struct {
	Model      Model
	Adj        *graph.CSR        // m×m
	X          preprocess.Inputs // m×d
	Preprocess *preprocess.Parameters
}

// Nodes is m.
func (p *Pass) Nodes() int { return p.Adj.Rows }

// Logits returns the arrivals' logits, n×C.
func (p *Pass) Logits(b *attach.Batch) *graph.Dense {
	_, arrivals := newJoint(p.Model, p.Adj, p.X, p.Preprocess).everywhere(b)
	return arrivals
}
