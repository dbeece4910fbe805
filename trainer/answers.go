package trainer

import (
	"context"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/schema"
	"rivulet/trainer/eval"
	"rivulet/trainer/sample"
)

// Answer is a node with the trainer's prediction for it as an arrival on its own, offline. A program that is to serve
// the artifact can send the node through the consumer and compare (internal/preflight).
type Answer struct {
	Role  string // train, validation or test
	ID    string
	Edges []string // neighbours; where T lies in tables, only those in T; where edges have directions, those that its edges lead to
	// Incoming are the nodes whose edges lead to the node, where edges have directions.
	Incoming []string
	// Types are the types of the edges, and of the incoming ones behind them; nil: edges have none.
	Types []string
	// Weights are those of the edges; nil if edges have none.
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
func (t *task) answered() (nodes []int32, roles []string) {
	add := func(role string, from []int32, more ...int32) {
		some := append(slices.Clone(sample.Evenly(from, perRole)), more...)
		for _, i := range slices.Compact(slices.Sorted(slices.Values(some))) {
			nodes, roles = append(nodes, i), append(roles, role)
		}
	}
	degrees := func(a, b int32) int { return t.data.Adj.RowLen(int(a)) - t.data.Adj.RowLen(int(b)) }
	types := t.data.TypesOf() // nodes of T of other types than arrivals have are none
	add("train", slices.DeleteFunc(slices.Clone(t.data.Train), func(i int32) bool {
		return types != nil && !slices.Contains(t.data.NodeTypes.Arriving, types[i])
	}))
	add("validation", t.data.Validation, slices.MaxFunc(t.data.Validation, degrees)) // without any no run begins
	if len(t.data.Test) > 0 {
		add("test", t.data.Test, slices.MaxFunc(t.data.Test, degrees))
	}
	return nodes, roles
}

// arrivals are nodes that arrive on their own, attached to T, with what they bring.
type arrivals struct {
	set     *eval.Set
	answers []Answer // without probabilities
}

// readArrivals reads the nodes that a run answers.
func (t *task) readArrivals(ctx context.Context) (*arrivals, error) {
	nodes, roles := t.answered()
	edges, degrees, err := t.holder.Neighbours(ctx, nodes)
	if err != nil {
		return nil, err
	}
	out := &arrivals{eval.Attach(t.data, t.original, [][]int32{nodes}, false), make([]Answer, len(nodes))}
	for k, i := range nodes {
		a := Answer{Role: roles[k], ID: t.data.IDs[i], Edges: edges[k], Degree: degrees[k], Weights: t.weights(i),
			X: t.data.X.Take(nodes[k : k+1])}
		if t.related() {
			e := t.data.Edges(i)
			a.Edges, a.Incoming, a.Types = e.To, e.From, e.Types
		}
		if t.named != nil {
			a.Named = t.named(a.ID)
		}
		out.answers[k] = a
	}
	return out, nil
}

// answer answers nodes as arrivals, each on its own, as consumers of the artifact will.
func (t *task) answer(ctx context.Context, r *recipe) ([]Answer, error) {
	if len(r.placed) == 0 {
		return nil, nil
	}
	a := t.arrivals
	if a == nil {
		var err error
		if a, err = t.readArrivals(ctx); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(a.answers)
	probabilities := eval.Run(r.predictor(0), r.placed[0].On(a.set)).Probabilities[0]
	for k := range out {
		out[k].Probabilities = probabilities.Row(k)
	}
	return out, nil
}

// weights returns the weights of a node's edges; nil if T's edges have none.
func (t *task) weights(node int32) []float32 {
	if t.bins == nil {
		return nil
	}
	return t.data.Weights(node)
}

// predictor predicts with a model on S as the artifact does.
func (r *recipe) predictor(k int) *infer.Predictor { return r.placed[k].Calibrated(r.calibrations[k]) }

func (h inMemory) Neighbours(_ context.Context, nodes []int32) (ids [][]string, degrees []int, err error) {
	for _, i := range nodes {
		ids, degrees = append(ids, h.data.Neighbours(i)), append(degrees, h.data.Adj.RowLen(int(i)))
	}
	return ids, degrees, nil
}
