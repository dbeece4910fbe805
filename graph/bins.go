package graph

import (
	"fmt"
	"math"
	"slices"
)

// Bins divide edges by weight or by relation. An edge reads the tables of its bin: for bin k of m nodes these are rows
// k·m to (k+1)·m of the tables. Nil are the bins of a graph whose edges all weigh 1 and have neither types nor
// directions.
type Bins struct {
	// Types are the names of the types of edges, each a relation; none: edges have no types. Where edges have types or
	// directions they have no weights.
	Types []string `json:"types,omitempty"`
	// Directed says that edges have directions: a relation for those that lead from an arrival and one for those that
	// lead to it, of each type. Relation 2t of type t is the former.
	Directed bool `json:"directed,omitempty"`
	// Arriving are the directions that arrivals' edges have, as bits ([Outgoing]); edges of the other direction are not
	// read. 0: both.
	Arriving uint8 `json:"arriving,omitempty"`
	// Upper are the largest weights of the bins, ascending. An edge above the last, the heaviest of the graph, is read
	// as one of that weight.
	Upper []float32 `json:"upper"`
	// Edges are the weights for which the tables are made: the weight-weighted mean of each bin.
	Edges []float32 `json:"edges"`
	// AsTheyAre has an edge above the last of Upper count by its own weight. It belongs to the model that reads the
	// tables, and is not stored with them: architecture.Architecture.Bins sets it.
	AsTheyAre bool `json:"-"`
}

// NewBins returns at most n bins of about equal shares of all weight on the edges of a graph; nil where all weigh 1, or
// there are none.
func NewBins(adj *CSR, n int) *Bins {
	if len(adj.Val) == 0 {
		return nil
	}
	weights, total := slices.Sorted(slices.Values(adj.Val)), 0.0
	for _, w := range weights {
		total += float64(w)
	}
	b := &Bins{}
	var sum, within, squares float64
	for i, w := range weights {
		v := float64(w)
		sum, within, squares = sum+v, within+v, squares+v*v
		last := i+1 == len(weights)
		if last || weights[i+1] > w && sum >= total*float64(len(b.Upper)+1)/float64(n) {
			b.Upper, b.Edges = append(b.Upper, w), append(b.Edges, float32(squares/within))
			within, squares = 0, 0
		}
	}
	return b
}

// Len is the number of bins, 1 of nil.
func (b *Bins) Len() int {
	if b == nil {
		return 1
	}
	if !b.ByRelation() {
		return len(b.Upper)
	}
	return max(1, len(b.Types)) * b.sides()
}

// Validate returns an error where a type has no name, two have the same name, or there are more than [MaxRelations].
func (b *Bins) Validate() error {
	if n := b.Len(); n > MaxRelations {
		return fmt.Errorf("edges have %d types and %d relations, at most %d relations are read (a type has two where edges "+
			"have directions)", len(b.Types), n, MaxRelations)
	}
	for k, name := range b.Types {
		if name == "" || slices.Contains(b.Types[:k], name) {
			return fmt.Errorf("type %d of edges is %.100q, want distinct names", k, name)
		}
	}
	return nil
}

// ByRelation reports whether edges are divided by type, by direction, or by both.
func (b *Bins) ByRelation() bool { return b != nil && (b.Directed || len(b.Types) > 0) }

// sides is the number of relations of a type.
func (b *Bins) sides() int {
	if b.Directed {
		return 2
	}
	return 1
}

// Relations returns the relations of an edge of a type, as bits, from its directions, as bits; a type's number is its
// place among the types, and 0 where edges have none. A negative type is unknown, and no relation.
func (b *Bins) Relations(kind int, directions uint32) uint32 {
	switch {
	case kind < 0:
		return 0
	case !b.Directed:
		return 1 << kind
	case b.Arriving != 0:
		directions &= uint32(b.Arriving)
	}
	return directions << (2 * kind)
}

// Leading are the relations, as bits, of edges of all types that lead from an arrival, or to it where arrivals bring no
// others.
func (b *Bins) Leading() (relations uint32) {
	direction := uint32(Outgoing)
	if b.Arriving == Incoming {
		direction = Incoming
	}
	for kind := range max(1, len(b.Types)) {
		relations |= b.Relations(kind, direction)
	}
	return relations
}

// Type returns the place of a type among the types, and -1 of another one; 0 where edges have none.
func (b *Bins) Type(name string) int {
	if len(b.Types) == 0 {
		return 0
	}
	return slices.Index(b.Types, name)
}

// Of returns the bin of an edge.
func (b *Bins) Of(w float32) int {
	if b == nil {
		return 0
	}
	k, _ := slices.BinarySearch(b.Upper, w)
	return min(k, len(b.Upper)-1)
}

// Beyond reports whether a weight is above the largest weight of the last bin.
func (b *Bins) Beyond(w float32) bool {
	return b != nil && !b.ByRelation() && w > b.Upper[len(b.Upper)-1]
}

// Counted returns the weight by which an edge counts. A table of node j is made for edges of the graph: its share
// (D_j + w)^-½ stays as it is where w is larger, so that the message w·(D_j + w)^-½ would grow without a bound as √w,
// where that of a node that is joined to the graph goes to a limit.
func (b *Bins) Counted(w float32) float32 {
	if b.Beyond(w) && !b.AsTheyAre {
		return b.Upper[len(b.Upper)-1]
	}
	return w
}

// Weights are the weights for which tables are made; none of nil.
func (b *Bins) Weights() []float32 {
	if b == nil {
		return nil
	}
	return b.Edges
}

// Shares are the shares of the edges' weight that the bins have. Of relations, where an edge counts by its share of a
// mean, they are the sums of the squared shares over the number of edges: an error in a table counts by these.
func (b *Bins) Shares(edges *CSR) []float32 {
	sums, total := make([]float64, b.Len()), 0.0
	for p, w := range edges.Val {
		if b.ByRelation() {
			sums[len(sums)*int(edges.ColIdx[p])/edges.Cols] += float64(w) * float64(w)
			total++
			continue
		}
		counted := float64(b.Counted(w))
		sums[b.Of(w)] += counted
		total += counted
	}
	out := make([]float32, b.Len())
	for k, sum := range sums {
		out[k] = float32(sum / math.Max(total, math.SmallestNonzeroFloat64))
	}
	return out
}

// Spread puts edges to m nodes into the columns of their bins, n×(bins·m), each with the weight by which it counts.
// Edges with relations are there already.
func (b *Bins) Spread(edges *CSR) *CSR {
	if b == nil || b.ByRelation() {
		return edges
	}
	out := *edges
	out.Cols, out.ColIdx, out.Val = b.Len()*edges.Cols, slices.Clone(edges.ColIdx), slices.Clone(edges.Val)
	for p, w := range edges.Val {
		out.ColIdx[p] += int32(b.Of(w) * edges.Cols)
		out.Val[p] = b.Counted(w)
	}
	return &out
}
