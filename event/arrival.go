package event

import (
	"math"
	"math/bits"
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
	if a.Weights != nil && len(a.Weights) != n && (a.Relations == nil || len(a.Weights) != a.entries()) {
		return Errorf(ReasonUnparsable, "weights", "%d weights for %d edges", len(a.Weights), n)
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

// EachEdge calls use with the place, the relations and the weights of each edge of a list of distinct ones
// ([Arrival.NormaliseEdges]): a weight for each relation, ascending, and one where there is none; nil: the record gives
// no weights.
func (a *Arrival) EachEdge(use func(e int, relations uint32, weights []float32)) {
	at := 0
	for e := range a.Edges {
		relations, n := uint32(0), 1
		if a.Relations != nil {
			relations = a.Relations[e]
			n = max(1, bits.OnesCount32(relations))
		}
		if a.Weights == nil {
			use(e, relations, nil)
			continue
		}
		use(e, relations, a.Weights[at:at+n:at+n])
		at += n
	}
}

// Heaviest returns the weight of an edge without its relations: the largest of theirs, 1 where the record gives none.
func Heaviest(weights []float32) float32 {
	if weights == nil {
		return 1
	}
	return slices.Max(weights)
}

// entries returns how many weights distinct edges have.
func (a *Arrival) entries() int {
	n := len(a.Edges)
	for _, relations := range a.Relations {
		n += max(1, bits.OnesCount32(relations)) - 1
	}
	return n
}

// Bits returns the numbers of the bits that are set, ascending.
func Bits(set uint32) (numbers []int) {
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros32(set))
	}
	return numbers
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
// edges and reuses a.Edges. The relations of the same id are joined, and weights that are given for it are added up,
// for each relation apart: Weights then has a weight for each relation of each edge, in their order. Types that
// [Arrival.Relate] has not read are dropped.
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
	var sums weightSums
	if a.Weights != nil && a.Relations != nil {
		sums = weightSums{}
	}
	from := 0 // in the weights, where edges are distinct already and have one for each relation
	for k, id := range a.Edges {
		at, there := places[id]
		if id == a.ID {
			at = -1
		} else if !there {
			at, places[id] = n, n
			a.Edges[n] = id
			n++
		}
		switch {
		case a.Relations == nil || sums == nil:
		case len(a.Weights) == len(a.Edges):
			sums.add(at, a.Relations[k], a.Weights[k:k+1])
		default:
			to := from + max(1, bits.OnesCount32(a.Relations[k]))
			sums.add(at, a.Relations[k], a.Weights[from:to])
			from = to
		}
		switch {
		case at < 0:
		case a.Relations != nil && there:
			a.Relations[at] |= a.Relations[k]
		case a.Relations != nil:
			a.Relations[at] = a.Relations[k]
		case there:
			a.Weights[at] = min(a.Weights[at]+a.Weights[k], math.MaxFloat32)
		default:
			a.Weights[at] = a.Weights[k]
		}
	}
	dropped = len(a.Edges) - n
	clear(a.Edges[n:])
	a.Edges = a.Edges[:n]
	if a.Relations == nil {
		a.Weights = a.Weights[:n]
		return dropped
	}
	a.Relations = a.Relations[:n]
	if sums != nil {
		a.Weights = sums.list(a.Relations)
	}
	return dropped
}

// weightSums are sums of the weights of edges, by the edge's place and relation.
type weightSums map[[2]int]float32

// noRelation stands for the relation of an edge that has none.
const noRelation = 32

// add adds the weights of an entry: one for all its relations, or one for each.
func (s weightSums) add(at int, relations uint32, weights []float32) {
	put := func(relation int, w float32) {
		s[[2]int{at, relation}] = min(s[[2]int{at, relation}]+w, math.MaxFloat32)
	}
	if relations == 0 {
		put(noRelation, weights[0])
	}
	for k, relation := range Bits(relations) {
		put(relation, weights[min(k, len(weights)-1)])
	}
}

// list returns the sums in the order of edges and their relations.
func (s weightSums) list(relations []uint32) (weights []float32) {
	weights = []float32{} // nil would mean that the record gives none
	for at, of := range relations {
		if of == 0 {
			weights = append(weights, s[[2]int{at, noRelation}])
		}
		for _, relation := range Bits(of) {
			weights = append(weights, s[[2]int{at, relation}])
		}
	}
	return weights
}
