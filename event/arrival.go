package event

import (
	"math"
	"slices"
	"sync"

	"rivulet/internal/hashtable"
)

// Check returns nil if a model of d raw features can take the arrival, and otherwise a *[FieldError] with one of the
// reasons:
//   - [ReasonFeatureLength]: a dense row has not d values, or a sparse row has as many values as indices but an index
//     outside 0…d-1, or indices that do not ascend, or another number of values than of indices;
//   - [ReasonNotFinite]: a value is NaN or infinite;
//   - [ReasonTooManyEdges]: there are more than maxEdges edges, counted before [Arrival.NormaliseEdges], so that
//     repeated ids count each time. maxEdges 0 sets no limit.
//
// Features by name are checked as the row that a schema has made of them ([Features.Encode]); before that they are a
// row of no values. It does not allocate unless it fails.
func (a *Arrival) Check(d, maxEdges int) error {
	if err := a.Features.Check(d); err != nil {
		return err
	}
	return a.CheckEdges(maxEdges)
}

// CheckEdges is the part of [Arrival.Check] that is about edges.
func (a *Arrival) CheckEdges(maxEdges int) error {
	n := len(a.Edges) + len(a.Incoming)
	if maxEdges > 0 && n > maxEdges {
		return Errorf(ReasonTooManyEdges, "edges", "%d edges, at most %d are taken", n, maxEdges)
	}
	if a.Types != nil && len(a.Types) != n {
		return Errorf(ReasonUnparsable, "types", "%d types for %d edges", len(a.Types), n)
	}
	if a.Weights != nil && (a.Relations != nil || a.Incoming != nil) {
		return Errorf(ReasonUnparsable, "weights", "are given beside edges to the node, which have none")
	}
	if a.Weights != nil && len(a.Weights) != len(a.Edges) {
		return Errorf(ReasonUnparsable, "weights", "%d weights for %d edges", len(a.Weights), len(a.Edges))
	}
	for k, w := range a.Weights {
		if err := CheckWeight(w, "weights", k); err != nil {
			return err
		}
	}
	return nil
}

// CheckWeight refuses a weight of an edge that is not a finite number above 0.
func CheckWeight(w float32, list string, k int) error {
	switch {
	case w-w != 0: // NaN or infinite
		return Errorf(ReasonNotFinite, Element(list, k), "%v, weights must be finite", w)
	case w <= 0:
		return Errorf(ReasonUnparsable, Element(list, k), "%v, weights must be above 0", w)
	}
	return nil
}

// Weight returns the weight of an edge by its place, 1 where the record gives none.
func (a *Arrival) Weight(e int) float32 {
	if a.Weights == nil {
		return 1
	}
	return a.Weights[e]
}

// Check is the part of [Arrival.Check] that is about features.
func (f *Features) Check(d int) error { // not a *FieldError: a nil one in an error is not nil
	if !f.Sparse {
		if len(f.Values) != d {
			return Errorf(ReasonFeatureLength, "features", "%d values, the model takes %d", len(f.Values), d)
		}
		return CheckFinite(f.Values, "features")
	}
	return f.checkSparse(d)
}

func (f *Features) checkSparse(d int) error {
	if err := f.CheckPairs(); err != nil {
		return err
	}
	for k, i := range f.Indices {
		switch {
		case i < 0 || int(i) >= d:
			return Errorf(ReasonFeatureLength, Element("features.indices", k), "%d is outside 0…%d", i, d-1)
		case k > 0 && i <= f.Indices[k-1]:
			return Errorf(ReasonFeatureLength, Element("features.indices", k),
				"%d after %d, indices must ascend", i, f.Indices[k-1])
		}
	}
	return CheckFinite(f.Values, "features.values")
}

// CheckPairs refuses a sparse row of more or fewer values than indices.
func (f *Features) CheckPairs() error {
	if len(f.Indices) != len(f.Values) {
		return Errorf(ReasonFeatureLength, "features.values", "%d values for %d indices", len(f.Values), len(f.Indices))
	}
	return nil
}

// CheckFinite refuses NaN and infinity among features.
func CheckFinite(values []float32, field string) error {
	for k, v := range values {
		// v-v is 0 for a finite v and NaN otherwise: one comparison a value.
		if v-v != 0 {
			return Errorf(ReasonNotFinite, Element(field, k), "%v, features must be finite", v)
		}
	}
	return nil
}

// linearEdges is the number of edges up to which scanning a list for a repeated id beats a table
// (BenchmarkNormaliseEdges).
const linearEdges = 32

// distinctEdges is NormaliseEdges for up to linearEdges edges: ids are compared only where their tails are the
// same, and tails only where another one of the same eight bits was met.
func (a *Arrival) distinctEdges() []string {
	var tails [linearEdges]uint64 // of the kept ids
	var met [4]uint64             // bits of the tails
	kept := a.Edges[:0]
next:
	for _, id := range a.Edges {
		if id == a.ID {
			continue
		}
		t := tail(id)
		spread := t * golden
		word, bit := spread>>56&3, uint64(1)<<(spread>>58)
		if met[word]&bit != 0 {
			for k, other := range tails[:len(kept)] {
				if other == t && kept[k] == id {
					continue next
				}
			}
		}
		met[word] |= bit
		tails[len(kept)] = t
		kept = append(kept, id)
	}
	return kept
}

// golden is 2^64 over the golden ratio: a product with it spreads numbers that are close together.
const golden = 0x9E3779B97F4A7C15

// tail is a number made of an id's last eight bytes, where ids of one kind differ most, and its length. A short id's
// bytes count twice, which does no harm: tails only have to be equal for equal ids.
func tail(id string) uint64 {
	n := len(id)
	var t uint64
	switch {
	case n >= 8:
		t = uint64(four(id, n-4))<<32 | uint64(four(id, n-8))
	case n >= 4:
		t = uint64(four(id, n-4))<<32 | uint64(four(id, 0))
	default:
		for k := range n {
			t = t<<8 | uint64(id[k])
		}
	}
	return t ^ uint64(n)<<56
}

// four returns four bytes of an id as a number.
func four(id string, at int) uint32 {
	return uint32(id[at]) | uint32(id[at+1])<<8 | uint32(id[at+2])<<16 | uint32(id[at+3])<<24
}

// edgeLists find ids that are twice in a long list of edges, in memory that is used again.
var edgeLists = sync.Pool{New: func() any { return new(hashtable.List) }}

// NormaliseEdges makes the edges distinct and removes the arrival itself from them (docs/algorithm.md,
// section 1). The first occurrence of an id stays, in the order given. It returns the number of dropped
// edges and reuses a.Edges. Weights that are given for the same id are added up, and its relations are joined. Types
// that [Arrival.Relate] has not read are dropped.
func (a *Arrival) NormaliseEdges() (dropped int) {
	a.JoinIncoming()
	a.Types = nil
	if a.Weights != nil || a.Relations != nil {
		return a.merge()
	}
	kept := a.Edges[:0]
	if len(a.Edges) <= linearEdges {
		kept = a.distinctEdges()
	} else {
		l := edgeLists.Get().(*hashtable.List)
		l.Reset(len(a.Edges))
		for _, id := range a.Edges {
			if id == a.ID {
				continue
			}
			if _, there := l.Place(kept, id); !there {
				kept = append(kept, id)
			}
		}
		if l.Bytes() <= 1<<20 { // one huge list does not cost memory for ever
			edgeLists.Put(l)
		}
	}
	dropped = len(a.Edges) - len(kept)
	clear(a.Edges[len(kept):]) // so that the unused tail keeps no record's text alive
	a.Edges = kept
	return dropped
}

// Directions of an edge, as bits.
const (
	Outgoing = 1 << iota // from the node to its neighbour
	Incoming             // from the neighbour to the node
)

// JoinIncoming puts the edges that lead to the node behind those that lead from it, each with its direction. Readers of
// records ([read.Reader]) do so.
func (a *Arrival) JoinIncoming() {
	if len(a.Incoming) == 0 {
		return
	}
	a.Relations = append(slices.Repeat([]uint32{Outgoing}, len(a.Edges)),
		slices.Repeat([]uint32{Incoming}, len(a.Incoming))...)
	a.Edges, a.Incoming = append(a.Edges, a.Incoming...), nil
}

// Relate makes relations of the version that predicts of the type and the directions of each edge; 0: it does not read
// the edge.
func (a *Arrival) Relate(relations func(kind string, directions uint32) uint32) {
	a.JoinIncoming()
	of := make([]uint32, len(a.Edges))
	for k := range of {
		kind, directions := "", uint32(Outgoing)
		if a.Types != nil {
			kind = a.Types[k]
		}
		if a.Relations != nil {
			directions = a.Relations[k]
		}
		of[k] = relations(kind, directions)
	}
	a.Relations, a.Types = of, nil
}

// merge is NormaliseEdges of edges with weights or relations.
func (a *Arrival) merge() (dropped int) {
	places, n := make(map[string]int, len(a.Edges)), 0
	for k, id := range a.Edges {
		if id == a.ID {
			continue
		}
		at, there := places[id]
		if !there {
			at, places[id] = n, n
			a.Edges[n] = id
			n++
		}
		if a.Weights != nil && there {
			a.Weights[at] = min(a.Weights[at]+a.Weights[k], math.MaxFloat32)
		} else if a.Weights != nil {
			a.Weights[at] = a.Weights[k]
		}
		if a.Relations != nil && there {
			a.Relations[at] |= a.Relations[k]
		} else if a.Relations != nil {
			a.Relations[at] = a.Relations[k]
		}
	}
	dropped = len(a.Edges) - n
	clear(a.Edges[n:])
	a.Edges = a.Edges[:n]
	if a.Weights != nil {
		a.Weights = a.Weights[:n]
	}
	if a.Relations != nil {
		a.Relations = a.Relations[:n]
	}
	return dropped
}
