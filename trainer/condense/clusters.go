package condense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/product"
)

// Clusters assign nodes of T to synthetic nodes. The clusters of a class are adjacent, in the order of the classes.
type Clusters struct {
	Of     []int32 // N: cluster of each node, −1 if it is in none
	Labels []int32 // N': Y', the class of each cluster
	Size   []int   // N': nodes in each cluster, at least 1

	types, nodeTypes []int32 // N' and N: the type of each cluster and node; nil: all nodes are of one ([Groups.Divided])
}

// Cluster divides the labelled nodes: k-means of the points (rows of Â²X or of a projection of it, N×p) within
// every class c into share[c] clusters, as [Budget] gives them. Nodes without a label (−1) are in no cluster; see
// [Clusters.Join].
func Cluster(points *graph.Dense, labels []int32, share []int, rng *rand.Rand) *Clusters {
	c := &Clusters{Of: slices.Repeat([]int32{-1}, len(labels))}
	for class, nodes := range byClass(labels, len(share)) {
		if len(nodes) == 0 {
			continue
		}
		first := int32(len(c.Labels))
		for k, of := range kmeans(selection{points, nodes}, share[class], rng) {
			c.Of[nodes[k]] = first + of
		}
		c.Labels = append(c.Labels, slices.Repeat([]int32{int32(class)}, share[class])...)
	}
	c.count()
	return c
}

// count sets Size from Of.
func (c *Clusters) count() {
	c.Size = make([]int, len(c.Labels))
	for _, k := range c.Of {
		if k >= 0 {
			c.Size[k]++
		}
	}
}

// Join returns the clusters with the remaining nodes added: each to the nearest centroid of its predicted class, which
// must have clusters. predicted (N) is read only for nodes in no cluster.
func (c *Clusters) Join(points *graph.Dense, predicted []int32) *Clusters {
	out := &Clusters{Of: slices.Clone(c.Of), Labels: c.Labels}
	loose := map[int32][]int32{} // by predicted class
	for i, k := range c.Of {
		if k < 0 {
			loose[predicted[i]] = append(loose[predicted[i]], int32(i))
		}
	}
	centres := c.centroids(points)
	for class, nodes := range loose {
		first := slices.Index(c.Labels, class)
		if first < 0 {
			panic(fmt.Sprintf("condense: node %d is predicted to be of class %d, which has no clusters", nodes[0], class))
		}
		last := first + 1
		for last < len(c.Labels) && c.Labels[last] == class {
			last++
		}
		own := &graph.Dense{Rows: last - first, Cols: centres.Cols,
			Data: centres.Data[first*centres.Cols : last*centres.Cols]}
		of, at := make([]int32, len(nodes)), selection{points, nodes}
		nearest(at, squaredNorms(at), own, of, make([]float32, len(nodes)))
		for k, i := range nodes {
			out.Of[i] = int32(first) + of[k]
		}
	}
	out.count()
	return out
}

// Averages returns the weights of Membership as dense columns, N×N', in which means over clusters are propagated.
func (c *Clusters) Averages() *graph.Dense { return columns(c.Membership()) }

// columns returns the rows of m as dense columns.
func columns(m *graph.CSR) *graph.Dense {
	out := graph.NewDense(m.Cols, m.Rows)
	for k := range m.Rows {
		nodes, vals := m.Row(k)
		for p, j := range nodes {
			out.Row(int(j))[k] = vals[p]
		}
	}
	return out
}

// centroids returns the means of the points of each cluster, N'×p.
func (c *Clusters) centroids(points *graph.Dense) *graph.Dense {
	return graph.Mul(c.Membership(), points)
}

// Membership returns Iᵀ with rows of mean weights, N'×N: row c has 1/size at the nodes of cluster c.
func (c *Clusters) Membership() *graph.CSR {
	m := &graph.CSR{Rows: len(c.Size), Cols: len(c.Of), RowPtr: make([]int, len(c.Size)+1)}
	for k, n := range c.Size {
		m.RowPtr[k+1] = m.RowPtr[k] + n
	}
	m.ColIdx, m.Val = make([]int32, m.RowPtr[m.Rows]), make([]float32, m.RowPtr[m.Rows])
	next := slices.Clone(m.RowPtr[:len(c.Size)])
	for i, k := range c.Of {
		if k < 0 {
			continue
		}
		m.ColIdx[next[k]] = int32(i)
		m.Val[next[k]] = 1 / float32(c.Size[k])
		next[k]++
	}
	return m
}

// Own returns the mean over each cluster of the nodes' weights in their own rows of an operator (N×N), N'.
func (c *Clusters) Own(op *graph.CSR) []float32 {
	out := make([]float32, len(c.Size))
	for i, k := range c.Of {
		if k < 0 {
			continue
		}
		cols, vals := op.Row(i)
		for p, j := range cols {
			if int(j) == i {
				out[k] += vals[p] / float32(c.Size[k])
			}
		}
	}
	return out
}

// Adjacency returns A': weights of edges between two clusters over √(size·size), N'×N', zero diagonal; an edge without
// weight weighs 1. Edges of nodes in no cluster are left out.
func (c *Clusters) Adjacency(adj *graph.CSR) *graph.CSR {
	members := MembershipMapping(c)
	edges := product.Of(product.Of(members.Transpose(), adj), members) // counts of a few million are exact in float32
	out := &graph.CSR{Rows: edges.Rows, Cols: edges.Cols, RowPtr: make([]int, edges.Rows+1), Val: []float32{}}
	for a := range edges.Rows {
		others, counts := edges.Row(a)
		for p, b := range others {
			if int(b) != a {
				out.ColIdx = append(out.ColIdx, b)
				out.Val = append(out.Val, float32(float64(counts[p])/math.Sqrt(float64(c.Size[a])*float64(c.Size[b]))))
			}
		}
		out.RowPtr[a+1] = len(out.ColIdx)
	}
	back := out.Transpose() // weights are added up in another order there: both directions get one of the sums
	for a := range out.Rows {
		for p := out.RowPtr[a]; p < out.RowPtr[a+1]; p++ {
			if int(out.ColIdx[p]) < a {
				out.Val[p] = back.Val[p]
			}
		}
	}
	return out
}

// Weights returns the numbers of nodes of each cluster, as weights.
func (c *Clusters) Weights() []float32 {
	weights := make([]float32, len(c.Size))
	for k, n := range c.Size {
		weights[k] = float32(n)
	}
	return weights
}
