package eval

import (
	"math/rand/v2"

	"rivulet/dataset"
)

// Regrouped has test nodes of a data set in other batches than usual, to see whether that changes their classes.
type Regrouped struct {
	set   *Set
	order []int // place of each node among the test nodes
}

// regroupSeed is the same for all runs: the other batches are the same for every method, seed and size.
const regroupSeed = 1

// Regroup shuffles the test nodes into batches of a tenth of the size. Nodes for two batches are enough.
func Regroup(d *dataset.Dataset, original *dataset.Original, size int, graphBatch bool) *Regrouped {
	order := rand.New(rand.NewPCG(regroupSeed, 0)).Perm(len(d.Test))
	g := &Regrouped{order: order[:min(len(order), 2*size)]}
	nodes := make([]int32, len(g.order))
	for k, at := range g.order {
		nodes[k] = d.Test[at]
	}
	g.set = Attach(d, original, dataset.Batches(nodes, max(1, size/10)), graphBatch)
	return g
}

// Changed returns the share of the nodes whose class differs from that in the usual batches, in percent. on attaches
// batches on T to the graph of the deployment.
func (g *Regrouped) Changed(p Predictor, on func(*Set) *Set, classes []int32) float64 {
	usual := make([]int32, len(g.order))
	for k, at := range g.order {
		usual[k] = classes[at]
	}
	return 100 - Equal(Run(p, on(g.set)).Class, usual)
}
