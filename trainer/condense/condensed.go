package condense

import (
	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/trainer/features"
)

// Input is the input of a method.
type Input struct {
	Adj    *graph.CSR                 // A of T, N×N symmetric 0/1
	X      *features.FactoredFeatures // pre(X) of T, N×d
	Points *graph.Dense               // N×p: Â²·pre(X), or a random projection of it
	Labels []int32                    // N: class, −1 if unknown
	Share  []int                      // C: synthetic nodes of each class, as Budget gives them; N' in all
}

// Condensation is the result of a method.
type Condensation struct {
	artifact.Synthetic            // S: A', X' and Y', classes ascending
	M                  *graph.CSR // N×N'; nil: deploys on T only
	Attachment         string     // for which M was made, as in the artifact: "joint" or "frozen"
}

// MembershipMapping returns M of the cluster method, N×N': 1 at each node's cluster, and empty rows for nodes in no
// cluster.
func MembershipMapping(c *Clusters) *graph.CSR {
	return c.mapping(func(int) float32 { return 1 })
}

// mapping returns an M with one entry value(j) at the cluster of each node j.
func (c *Clusters) mapping(value func(j int) float32) *graph.CSR {
	m := &graph.CSR{Rows: len(c.Of), Cols: len(c.Size), RowPtr: make([]int, len(c.Of)+1)}
	for j, k := range c.Of {
		if k >= 0 {
			m.ColIdx, m.Val = append(m.ColIdx, k), append(m.Val, value(j))
		}
		m.RowPtr[j+1] = len(m.ColIdx)
	}
	return m
}

// weightedMembership returns Iᵀ with rows of weighted mean weights, N'×N: row c has w_j/Σw at the nodes j of
// cluster c.
func (c *Clusters) weightedMembership(weights []float32) *graph.CSR {
	m := c.Membership()
	for k := range m.Rows {
		nodes, vals := m.Row(k)
		total := 0.0
		for _, j := range nodes {
			total += float64(weights[j])
		}
		for p, j := range nodes {
			vals[p] = float32(float64(weights[j]) / total)
		}
	}
	return m
}
