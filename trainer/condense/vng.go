package condense

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
)

// VNG is a virtual node graph (Si et al., "Serving Graph Compression for Graph Neural Networks", 2023;
// docs/algorithm.md, section 7): synthetic nodes are weighted clusters of all nodes of T, and their operator Q is
// fitted so that it carries their means from one hop to the next.
//
//	w_j  = deg_j/√D_j                                  how much arrivals read of node j
//	X', H1', H2'                                       weighted cluster means of X, ÂX, Â²X
//	Q    = [H1',H2'] [X',H1']ᵀ ([X',H1'][X',H1']ᵀ + ridge)⁻¹       N'×N', blocks side by side
//	M_j  = 1/√D_j at j's cluster
//
// An arrival does z ← q(r·Z + q z + ã(q z)), Z ← Q Z, twice, from Z = X'W: frozen attachment to the tables u0 = Z,
// u1 = Q Z, c = 0.
//
// Q has negative entries and is not symmetric, which an artifact's A' must not be: so A' in Condensed is the clusters'
// adjacency of section 5, for uses that need a graph, and Q serves through the tables alone. Hence frozen.
type VNG struct {
	Condensation
	Clusters *Clusters
	Q        *graph.Dense // N'×N'
}

// vngRidge is the ridge of Q's fit, relative to the mean of the diagonal it is added to.
const vngRidge = 1e-4

// vngColumns are the principal directions of Â²X that nodes are clustered by. More are noise: with 256 cora and
// coauthor_cs lose 0.6 to 0.8 points.
const vngColumns = 128

// loneWeight stands in for w_j = 0 of nodes without neighbours: next to nothing beside others, and a mean of their
// own where a cluster has only such nodes.
const loneWeight = 1e-3

// NewVNG condenses T into ΣShare virtual nodes. Classes matter for Y' alone: the majority of the labelled nodes of a
// cluster or, if it has none, of the nearest cluster that has some.
func NewVNG(in Input, rng *rand.Rand) (*VNG, error) {
	weights := in.Adj.RowSums()
	invSqrt := graph.InvSqrt(weights, 1)
	for j := range weights {
		weights[j] = max(loneWeight, weights[j]*invSqrt[j])
	}
	hat := graph.Normalised(in.Adj)
	if in.Points.Cols > vngColumns {
		in.Points = principal(in.Points, in.X.Design(hat, hat), vngColumns)
	}
	v := &VNG{Clusters: virtualNodes(in, weights, rng)}
	design, hop := in.X.Design(), columns(v.Clusters.weightedMembership(weights))
	h := make([]*graph.Dense, 3) // X', H1', H2'
	for k := range h {
		h[k] = design.Adjoint(hop).Transposed()
		hop = graph.Mul(hat, hop)
	}
	var err error
	if v.Q, err = carry(h[0], h[1], h[2]); err != nil {
		return nil, fmt.Errorf("vng: fitting the operator of %d virtual nodes: %w", len(v.Clusters.Size), err)
	}
	s := artifact.Synthetic{Adj: v.Clusters.Adjacency(in.Adj), X: h[0], Labels: v.Clusters.Labels}
	v.Condensation = Condensation{Synthetic: s, M: v.Clusters.mapping(func(j int) float32 { return invSqrt[j] }),
		Attachment: artifact.AttachFrozen}
	return v, nil
}

// Tables are the virtual nodes' tables for a linear model: u0 = X'W, u1 = Q X'W, … and c = 0.
func (v *VNG) Tables(m infer.Model) *infer.Tables {
	return v.hops(graph.MulDense(v.X, m.Layers[0].Self), m.Hops)
}

// Features are the tables of the features themselves, as for a model of so many hops with W = I.
func (v *VNG) Features(hops int) *infer.Tables { return v.hops(v.X, hops) }

func (v *VNG) hops(z *graph.Dense, hops int) *infer.Tables {
	t := &infer.Tables{U: []*graph.Dense{z}, C: graph.NewDense(z.Rows, max(1, hops-1))}
	for len(t.U) < hops {
		t.U = append(t.U, graph.MulDense(v.Q, t.U[len(t.U)-1]))
	}
	return t
}

// carry is Q = [H1',H2'] B ᵀ(B Bᵀ + ridge)⁻¹ with B = [X',H1'], by whose blocks B Bᵀ = X'X'ᵀ + H1'H1'ᵀ and
// [H1',H2'] Bᵀ = H1'X'ᵀ + H2'H1'ᵀ.
func carry(x, h1, h2 *graph.Dense) (*graph.Dense, error) {
	n := x.Rows
	a, b, c := wide(x), wide(h1), wide(h2)
	var normal, next mat.SymDense
	normal.SymOuterK(1, a)
	next.SymOuterK(1, b)
	normal.AddSym(&normal, &next)
	shift := vngRidge * mat.Trace(&normal) / float64(n)
	if shift == 0 {
		shift = 1 // every mean is 0, and so is Q
	}
	for i := range n {
		normal.SetSym(i, i, normal.At(i, i)+shift)
	}
	var factor mat.Cholesky
	if !factor.Factorize(&normal) {
		return nil, fmt.Errorf("the normal equations (%d×%d, ridge %g) are not positive definite", n, n, shift)
	}
	var right, second, transposed mat.Dense // transposed: Qᵀ, as Q's equations stand in rows
	right.Mul(a, b.T())
	second.Mul(b, c.T())
	right.Add(&right, &second)
	if err := factor.SolveTo(&transposed, &right); err != nil {
		return nil, err
	}
	q := graph.NewDense(n, n)
	for i := range n {
		for k := range n {
			q.Row(i)[k] = float32(transposed.At(k, i))
		}
	}
	return q, nil
}

func wide(m *graph.Dense) *mat.Dense {
	out := mat.NewDense(m.Rows, m.Cols, nil)
	for i := range m.Rows {
		setRow(out, i, m.Row(i))
	}
	return out
}

// virtualNodes are the weighted clusters of all nodes of T, ordered by class.
func virtualNodes(in Input, weights []float32, rng *rand.Rand) *Clusters {
	n := 0
	for _, k := range in.Share {
		n += k
	}
	of := weightedKMeans(every(in.Points), weights, n, rng)
	centres := graph.NewDense(n, in.Points.Cols)
	means(centres, every(in.Points), weights, of)
	labels := majorities(of, centres, in.Labels, len(in.Share))

	order := graph.Indices(n) // of clusters, by class
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(labels[a], labels[b]) })
	c := &Clusters{Of: graph.Pick(graph.Places(order, n), of), Labels: graph.Pick(labels, order)}
	c.count()
	return c
}

// majorities are the most frequent class of each cluster's labelled nodes, of equals the first; a cluster without
// labelled nodes takes the class of the nearest cluster that has some.
func majorities(of []int32, centres *graph.Dense, labels []int32, classes int) []int32 {
	votes := graph.NewDense(centres.Rows, classes)
	for j, k := range of {
		if labels[j] >= 0 {
			votes.Row(int(k))[labels[j]]++
		}
	}
	out, silent := make([]int32, centres.Rows), make([]bool, centres.Rows)
	for k := range out {
		out[k] = int32(graph.ArgMax(votes.Row(k)))
		silent[k] = votes.Row(k)[out[k]] == 0
	}
	norms := squaredNorms(every(centres))
	for k := range out {
		if silent[k] {
			out[k] = out[nearestTo(centres.Row(k), centres, norms, silent)]
		}
	}
	return out
}
