package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Slots say which table an edge reads, and by how much it counts there. The tables of m nodes stand one below the
// other: slot k of node j is row k·m+j. The zero value is a graph whose edges weigh 1 and have neither types nor
// directions: one slot, in which each edge counts 1.
//
//	edges have                 slots                             an edge counts
//	nothing                    one                               1
//	weights, joined to S       one                               its weight
//	weights, frozen tables     one a bin of weight (Upper)       its weight
//	types or directions        one a type and direction          1 over the arrival's edges of the slot
//	these and weights          one a type and direction          its weight over the weights of these edges
type Slots struct {
	// Types are the names of the types of edges; none: edges have no types.
	Types []string `json:"types,omitzero"`
	// Directed says that edges have directions: of each type a slot for those that lead from an arrival, and behind it
	// one for those that lead to it.
	Directed bool `json:"directed,omitzero"`
	// Arriving are the directions that arrivals' edges have, as bits ([Outgoing]); edges of the other direction are not
	// read. 0: both.
	Arriving uint8 `json:"arriving,omitzero"`
	// Weighted says that edges have weights.
	Weighted bool `json:"weighted,omitzero"`
	// Upper are the largest weights of bins, ascending, where edges have weights and nothing beside. An edge above the
	// last, the heaviest of the graph, is read as one of that weight.
	Upper []float32 `json:"upper,omitzero"`
	// Edges are the weights for which the bins' tables are made: the weight-weighted mean of each bin.
	Edges []float32 `json:"edges,omitzero"`
	// AsTheyAre has an edge above the last of Upper count by its own weight. It belongs to the model that reads the
	// tables, and is not stored with them: architecture.Architecture.Slots sets it.
	AsTheyAre bool `json:"-"`
}

// Directions of an edge, as bits, where edges have directions and no types.
const (
	Outgoing = 1 << iota // from the node
	Incoming             // to the node
)

// MaxSlots is the number of slots whose bits there are room for.
const MaxSlots = 32

// WeightSlots returns at most n bins of about equal shares of all weight on the edges of a graph; the zero value where
// all weigh 1, or there are none.
func WeightSlots(adj *CSR, n int) Slots {
	if len(adj.Val) == 0 {
		return Slots{}
	}
	weights, total := slices.Sorted(slices.Values(adj.Val)), 0.0
	for _, w := range weights {
		total += float64(w)
	}
	s := Slots{Weighted: true}
	var sum, within, squares float64
	for i, w := range weights {
		v := float64(w)
		sum, within, squares = sum+v, within+v, squares+v*v
		last := i+1 == len(weights)
		if last || weights[i+1] > w && sum >= total*float64(len(s.Upper)+1)/float64(n) {
			s.Upper, s.Edges = append(s.Upper, w), append(s.Edges, float32(squares/within))
			within, squares = 0, 0
		}
	}
	return s
}

// Len is the number of slots.
func (s *Slots) Len() int { return max(1, len(s.Types)) * s.sides() * max(1, len(s.Upper)) }

// Relational reports whether edges have types or directions, so that an edge counts by its share of a slot.
func (s *Slots) Relational() bool { return s.Directed || len(s.Types) > 0 }

// Plain reports whether there is one slot in which each edge counts 1.
func (s *Slots) Plain() bool { return !s.Weighted && !s.Relational() }

// Joined returns the slots of the same edges where the batch is joined to the graph and reads no tables: weights as
// they are.
func (s *Slots) Joined() Slots { return Slots{Weighted: s.Weighted} }

// sides is the number of slots of a type.
func (s *Slots) sides() int {
	if s.Directed {
		return 2
	}
	return 1
}

// Validate returns an error where a type has no name, two have the same name, bins are not of ascending weights, or
// there are more slots than [MaxSlots].
func (s *Slots) Validate() error {
	switch n := s.Len(); {
	case n > MaxSlots:
		return fmt.Errorf("edges have %d types and %d slots, at most %d slots are read (a type has two where edges "+
			"have directions)", len(s.Types), n, MaxSlots)
	case len(s.Upper) != len(s.Edges):
		return fmt.Errorf("%d values of upper and %d of edges, want as many of both", len(s.Upper), len(s.Edges))
	case len(s.Upper) > 0 && (s.Relational() || !s.Weighted):
		return errors.New("bins of weights are there, want them where edges have weights, and neither types nor directions")
	case s.Arriving > Incoming || s.Arriving != 0 && !s.Directed:
		return fmt.Errorf("arriving is %d, want 1 (from an arrival) or 2 (to it), where edges have directions", s.Arriving)
	}
	for k, name := range s.Types {
		if name == "" || slices.Contains(s.Types[:k], name) {
			return fmt.Errorf("type %d of edges is %.100q, want distinct names", k, name)
		}
	}
	for k, upper := range s.Upper {
		edge := s.Edges[k]
		if !(edge > 0 && edge <= upper) || math.IsInf(float64(upper), 0) {
			return fmt.Errorf("bin %d is for edges of %v up to %v, want finite weights above 0", k, edge, upper)
		}
		if k > 0 && (upper <= s.Upper[k-1] || edge <= s.Upper[k-1]) {
			return fmt.Errorf("bin %d is for edges of %v up to %v, where the bin before ends at %v", k, edge, upper,
				s.Upper[k-1])
		}
	}
	return nil
}

// SameRelations reports whether the edges of two graphs have the same types, and both have directions or none.
func (s *Slots) SameRelations(o *Slots) bool {
	return slices.Equal(s.Types, o.Types) && s.Directed == o.Directed
}

// Relations returns the slots of an edge of a type, as bits, from its directions, as bits; a type's number is its place
// among the types, and 0 where edges have none. A negative type is unknown, and has no slot.
func (s *Slots) Relations(kind int, directions uint32) uint32 {
	switch {
	case kind < 0:
		return 0
	case !s.Directed:
		return 1 << kind
	case s.Arriving != 0:
		directions &= uint32(s.Arriving)
	}
	return directions << (2 * kind)
}

// Leading are the slots, as bits, of edges of all types that lead from an arrival, or to it where arrivals bring no
// others.
func (s *Slots) Leading() (slots uint32) {
	direction := uint32(Outgoing)
	if s.Arriving == Incoming {
		direction = Incoming
	}
	for kind := range max(1, len(s.Types)) {
		slots |= s.Relations(kind, direction)
	}
	return slots
}

// Type returns the place of a type among the types, and -1 of another one; 0 where edges have none.
func (s *Slots) Type(name string) int {
	if len(s.Types) == 0 {
		return 0
	}
	return slices.Index(s.Types, name)
}

// Of returns the slot of an edge by its weight, where edges have neither types nor directions.
func (s *Slots) Of(w float32) int {
	k, _ := slices.BinarySearch(s.Upper, w)
	return max(0, min(k, len(s.Upper)-1))
}

// Beyond reports whether a weight is above the largest weight of the last bin.
func (s *Slots) Beyond(w float32) bool { return len(s.Upper) > 0 && w > s.Upper[len(s.Upper)-1] }

// Counted returns the weight by which an edge counts, 1 where edges have none. A table of node j is made for edges of
// the graph: its share (D_j + w)^-½ stays as it is where w is larger, so that the message w·(D_j + w)^-½ would grow
// without a bound as √w, where that of a node that is joined to the graph goes to a limit.
func (s *Slots) Counted(w float32) float32 {
	if !s.Weighted {
		return 1
	}
	if s.Beyond(w) && !s.AsTheyAre {
		return s.Upper[len(s.Upper)-1]
	}
	return w
}

// Made are the weights of edges for which tables are made, one below the other.
func (s *Slots) Made() []float32 {
	if len(s.Edges) == 0 {
		return []float32{1}
	}
	return s.Edges
}

// Shares are the shares of the slots in an error of the tables: of sums the shares of the edges' weight, of means the
// sums of the squared shares over the number of edges. edges are in the columns of their slots ([Slots.Read]).
func (s *Slots) Shares(edges *CSR) []float32 {
	if s.Len() == 1 {
		return []float32{1}
	}
	sums, total := make([]float64, s.Len()), 0.0
	for p, c := range edges.ColIdx {
		v := float64(edges.Weight(p))
		counts := v
		if s.Relational() {
			v, counts = v*v, 1
		}
		sums[len(sums)*int(c)/edges.Cols] += v
		total += counts
	}
	out := make([]float32, s.Len())
	for k, sum := range sums {
		out[k] = float32(sum / math.Max(total, math.SmallestNonzeroFloat64))
	}
	return out
}

// Read puts edges to m nodes into the columns of their slots, n×(slots·m), each with the weight by which it counts.
// Edges with types or directions are there already, and of one slot there is nothing to do.
func (s *Slots) Read(edges *CSR) *CSR {
	if len(s.Upper) == 0 {
		return edges
	}
	out := *edges
	out.Cols, out.ColIdx, out.Val = s.Len()*edges.Cols, slices.Clone(edges.ColIdx), slices.Clone(edges.Val)
	for p, w := range edges.Val {
		out.ColIdx[p] += int32(s.Of(w) * edges.Cols)
		out.Val[p] = s.Counted(w)
	}
	return &out
}

// Cut returns some rows of the edges of a graph, as models read them, with the columns of the nodes that index numbers,
// which are n many; −1 leaves a node out. Means are over the nodes that stay.
func (s *Slots) Cut(edges *CSR, rows, index []int32, n int) *CSR {
	out := edges.CutSlots(rows, index, n)
	if s.Relational() {
		return out.Means(n)
	}
	return out
}
