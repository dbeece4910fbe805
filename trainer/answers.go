package trainer

import (
	"context"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/schema"
	"rivulet/trainer/eval"
	"rivulet/trainer/sample"
)

// Answer is a node with the trainer's prediction for it as an arrival on its own, offline. A program that is to serve
// the artifact can send the node through the consumer and compare (internal/preflight).
type Answer struct {
	Role string // train, validation or test
	ID   string
	// Edges are the neighbours: where T lies in tables only those in T, where edges have directions those that its edges
	// lead to.
	Edges []string
	// Incoming are the nodes whose edges lead to the node, where edges have directions.
	Incoming []string
	// Types are the types of the edges, and of the incoming ones behind them; nil: edges have none.
	Types []string
	// Weights are those of the edges, and of the incoming ones behind them; nil: edges have none.
	Weights []float32
	// Degree is the number of all neighbours.
	Degree int
	// X is the row of features that the model has read. Named are the values that a schema made it of; nil where features
	// have positions only.
	X             graph.Features
	Named         []schema.Field
	Probabilities []float32 // of the default model, in the artifact's attachment and calibration
}

// perRole is the number of nodes of each role that a run answers.
const perRole = 10

// answered returns the nodes that a run answers, and their roles: some at even distances and, of the held-out ones,
// also the one with most neighbours. Nodes of T are among them if T is in memory.
func (h *Held) answered() (nodes []int32, roles []string) {
	add := func(role string, from []int32, more ...int32) {
		some := append(slices.Clone(sample.Evenly(from, perRole)), more...)
		for _, i := range slices.Compact(slices.Sorted(slices.Values(some))) {
			nodes, roles = append(nodes, i), append(roles, role)
		}
	}
	degrees := func(a, b int32) int { return h.data.Adj.RowLen(int(a)) - h.data.Adj.RowLen(int(b)) }
	types := h.data.TypesOf() // nodes of T of other types than arrivals have are none
	add("train", slices.DeleteFunc(slices.Clone(h.data.Train), func(i int32) bool {
		return types != nil && !slices.Contains(h.data.NodeTypes.Arriving, types[i])
	}))
	add("validation", h.data.Validation, slices.MaxFunc(h.data.Validation, degrees)) // without any no run begins
	if len(h.data.Test) > 0 {
		add("test", h.data.Test, slices.MaxFunc(h.data.Test, degrees))
	}
	return nodes, roles
}

// arrivals are nodes that arrive on their own, attached to T, with what they bring.
type arrivals struct {
	set     *eval.Set
	answers []Answer // without probabilities
}

// readArrivals reads the nodes that a run answers.
func (h *Held) readArrivals(neighbours func(nodes []int32) ([]dataset.Edges, []int, error)) (*arrivals, error) {
	nodes, roles := h.answered()
	edges, degrees, err := neighbours(nodes)
	if err != nil {
		return nil, err
	}
	out := &arrivals{eval.Attach(h.data, h.t.Original, [][]int32{nodes}, attach.Node), make([]Answer, len(nodes))}
	for k, i := range nodes {
		a := Answer{Role: roles[k], ID: h.data.IDs[i], Edges: edges[k].To, Incoming: edges[k].From, Types: edges[k].Types,
			Weights: edges[k].Weights, Degree: degrees[k], X: h.data.X.Take(nodes[k : k+1])}
		if h.named != nil {
			a.Named = h.named(a.ID)
		}
		out.answers[k] = a
	}
	return out, nil
}

// answer answers nodes as arrivals, each on its own, as consumers of the artifact will.
func answer(ctx context.Context, h *Held, r *Run, p *recipe) ([]Answer, error) {
	if len(p.placed) == 0 {
		return nil, nil
	}
	a := h.arrivals
	if a == nil {
		var err error
		if a, err = h.readArrivals(func(nodes []int32) ([]dataset.Edges, []int, error) {
			return r.holder.Neighbours(ctx, nodes)
		}); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(a.answers)
	probabilities := eval.Run(p.predictor(0), p.placed[0].On(a.set)).Probabilities[0]
	for k := range out {
		out[k].Probabilities = probabilities.Row(k)
	}
	return out, nil
}

// predictor predicts with a model on S as the artifact does.
func (p *recipe) predictor(k int) *infer.Predictor { return p.placed[k].Calibrated(p.calibrations[k]) }

func (h inMemory) Neighbours(_ context.Context, nodes []int32) (edges []dataset.Edges, degrees []int, err error) {
	return h.h.neighbours(nodes)
}

// neighbours returns the edges of nodes, and how many neighbours they have.
func (h *Held) neighbours(nodes []int32) (edges []dataset.Edges, degrees []int, err error) {
	for _, i := range nodes {
		edges, degrees = append(edges, h.data.Edges(i)), append(degrees, h.data.Adj.RowLen(int(i)))
	}
	return edges, degrees, nil
}
