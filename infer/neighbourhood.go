package infer

import "rivulet/graph"

// Neighbourhood is [SGC.Joint] computed over the batch's two-hop neighbourhood only, as a careful engineer would serve the
// whole graph: the same answer, for the price of the arrivals' neighbours and theirs. An arrival reads the first hop's
// results of its neighbours and of no other node, and all that a batch changes in the graph are the degrees of these.
func (m *SGC) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return &nearSGC{m.joint(adj, x, pre)}
}

type nearSGC struct{ joint *jointSGC }

func (s *nearSGC) Nodes() int { return s.joint.Nodes() }

func (s *nearSGC) Logits(b *Batch) *graph.Dense { return s.joint.logits(b, true) }

// Neighbourhood is [GCN.Joint] over the batch's two-hop neighbourhood only: the same bits.
func (m *GCN) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.convolution().neighbourhood(adj, x, pre)
}

// Neighbourhood is [SAGE.Joint] over the batch's two-hop neighbourhood only: the same bits.
func (m *SAGE) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.convolution().neighbourhood(adj, x, pre)
}

// Neighbourhood is [Cheby.Joint] over the batch's two-hop neighbourhood only, the same bits, where K is 2. With K = 3 a
// layer reaches two hops and a batch four, most of a graph: it is [Cheby.Joint] then.
func (m *Cheby) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	if Freezable(m) != nil {
		return m.Joint(adj, x, pre)
	}
	return m.convolution().neighbourhood(adj, x, pre)
}

// Neighbourhood is [APPNP.Joint]: ten hops reach the whole graph.
func (m *APPNP) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	return m.Joint(adj, x, pre)
}
