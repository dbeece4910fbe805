package infer

import (
	"math"

	"rivulet/graph"
)

// Neighbourhood is [SGC.Joint] computed over the batch's two-hop neighbourhood only, as a careful engineer would serve the
// whole graph: the same answer, for the price of the arrivals' neighbours and theirs.
func (m *SGC) Neighbourhood(adj *graph.CSR, x Inputs, pre *Preprocess) Deployment {
	z := x.Project(m.W)
	checkGraph(adj, z.Rows, "features")
	return &nearSGC{project: pre.Fold(m.W), bias: m.B, adj: adj, degrees: adj.RowSums(), z: z}
}

type nearSGC struct {
	project *Projection
	bias    []float32
	adj     *graph.CSR
	degrees []float32
	z       *graph.Dense // m×C
}

func (s *nearSGC) Nodes() int { return s.adj.Rows }

func (s *nearSGC) Logits(b *Batch) *graph.Dense {
	b.check(s.Nodes())
	near := s.touched(b)
	zb := s.project.Apply(b.X)
	inv := b.jointInverses()
	h1 := s.firstHop(near, b, zb, inv)

	// First hop of the arrivals, then their second, which reads the first of everything next to them.
	first := graph.NewDense(b.Len(), zb.Cols)
	s.gather(first, b, inv, zb, func(j int32) (float32, []float32) { return near.inv[near.at[j]], s.z.Row(int(j)) })
	out := graph.NewDense(b.Len(), zb.Cols)
	s.gather(out, b, inv, first, func(j int32) (float32, []float32) { return near.inv[near.at[j]], h1.Row(int(near.at[j])) })
	for i := range out.Rows {
		graph.Add(out.Row(i), s.bias)
	}
	return out
}

// near are the graph's nodes next to a batch.
type near struct {
	nodes []int32   // in the order met
	at    []int32   // m: position in nodes, -1 elsewhere
	inv   []float32 // D̃^-½ of nodes, with the batch in the graph
	edges [][]int32 // arrivals next to each of nodes
	vals  [][]float32
}

func (s *nearSGC) touched(b *Batch) *near {
	n := &near{at: make([]int32, s.Nodes())}
	for i := range n.at {
		n.at[i] = -1
	}
	for i := range b.Len() {
		cols, vals := b.R.Row(i)
		for p, j := range cols {
			if n.at[j] < 0 {
				n.at[j] = int32(len(n.nodes))
				n.nodes = append(n.nodes, j)
				n.edges, n.vals = append(n.edges, nil), append(n.vals, nil)
			}
			weight := float32(1)
			if vals != nil {
				weight = vals[p]
			}
			k := n.at[j]
			n.edges[k], n.vals[k] = append(n.edges[k], int32(i)), append(n.vals[k], weight)
		}
	}
	n.inv = make([]float32, len(n.nodes))
	for k, j := range n.nodes {
		degree := 1 + float64(s.degrees[j])
		for _, v := range n.vals[k] {
			degree += float64(v)
		}
		n.inv[k] = float32(1 / math.Sqrt(degree))
	}
	return n
}

// firstHop is Â(𝔸)[Z; z] on the graph's nodes next to the batch.
func (s *nearSGC) firstHop(n *near, b *Batch, zb *graph.Dense, inv []float32) *graph.Dense {
	h := graph.NewDense(len(n.nodes), zb.Cols)
	for k, j := range n.nodes {
		row := h.Row(k)
		graph.Axpy(row, n.inv[k], s.z.Row(int(j)))
		cols, vals := s.adj.Row(int(j))
		for p, l := range cols {
			weight := float32(1)
			if vals != nil {
				weight = vals[p]
			}
			scale := float32(1 / math.Sqrt(1+float64(s.degrees[l])))
			if at := n.at[l]; at >= 0 {
				scale = n.inv[at]
			}
			graph.Axpy(row, weight*scale, s.z.Row(int(l)))
		}
		for p, i := range n.edges[k] {
			graph.Axpy(row, n.vals[k][p]*inv[i], zb.Row(int(i)))
		}
		for c := range row {
			row[c] *= n.inv[k]
		}
	}
	return h
}

// gather sets dst to one hop of the arrivals: from themselves and each other (own) and from the graph's nodes.
func (s *nearSGC) gather(dst *graph.Dense, b *Batch, inv []float32, own *graph.Dense, read func(j int32) (float32, []float32)) {
	spread(dst, b.Adj, inv, own)
	for i := range dst.Rows {
		row := dst.Row(i)
		cols, vals := b.R.Row(i)
		for p, j := range cols {
			scale, from := read(j)
			if vals != nil {
				scale *= vals[p]
			}
			graph.Axpy(row, scale, from)
		}
		for c := range row {
			row[c] *= inv[i]
		}
	}
}
