package event

import (
	"math"
	"slices"
	"sort"
)

// Edge is an edge that comes as a record of its own, beside the arrival that it belongs to. It says what an entry of
// the arrival's own list would say.
type Edge struct {
	// Source and Target are the ids of its ends; not empty. The edge leads from Source to Target.
	Source, Target string
	// Weight is finite and above 0; 1 where the record gives none.
	Weight float32
	// Type is the edge's type; empty: the record gives none.
	Type string
	// In says that the arrival is the target, as "in" does in an arrival's list. Otherwise the arrival is the source.
	In bool
}

// Ends returns the id of the arrival that the edge belongs to, and the id of its neighbour.
func (e *Edge) Ends() (arrival, neighbour string) {
	if e.In {
		return e.Target, e.Source
	}
	return e.Source, e.Target
}

// Check refuses an edge that an arrival's own list could not have.
func (e *Edge) Check() error {
	switch {
	case e.Source == "":
		return Errorf(ReasonUnparsable, "source", "is missing")
	case e.Target == "":
		return Errorf(ReasonUnparsable, "target", "is missing")
	case e.Weight-e.Weight != 0:
		return Errorf(ReasonNotFinite, "weight", "%v, weights must be finite", e.Weight)
	case e.Weight <= 0:
		return Errorf(ReasonUnparsable, "weight", "%v, weights must be above 0", e.Weight)
	}
	return nil
}

// Join adds edges that came as records of their own, and sorts all edges: by the neighbour, then by type,
// direction and weight. So the order in which they came changes no bit of the prediction, nor does it matter which of
// them the arrival's record brought itself.
func (a *Arrival) Join(edges []Edge) {
	a.JoinIncoming()
	for i := range edges {
		e := &edges[i]
		if e.Weight != 1 && a.Weights == nil {
			a.Weights = slices.Repeat([]float32{1}, len(a.Edges))
		}
		if e.In && a.Relations == nil {
			a.Relations = slices.Repeat([]uint32{Outgoing}, len(a.Edges))
		}
		if e.Type != "" && a.Types == nil {
			a.Types = make([]string, len(a.Edges))
		}
		_, neighbour := e.Ends()
		a.Edges = append(a.Edges, neighbour)
		if a.Weights != nil {
			a.Weights = append(a.Weights, e.Weight)
		}
		if a.Types != nil {
			a.Types = append(a.Types, e.Type)
		}
		if direction := uint32(Outgoing); a.Relations != nil {
			if e.In {
				direction = Incoming
			}
			a.Relations = append(a.Relations, direction)
		}
	}
	fits := func(n int) bool { return n == 0 || n == len(a.Edges) } // else [Arrival.CheckEdges] refuses the arrival
	switch {
	case a.Weights == nil && a.Relations == nil && a.Types == nil:
		slices.Sort(a.Edges)
	case fits(len(a.Weights)) && fits(len(a.Types)):
		sort.Sort((*sortedEdges)(a))
	}
}

// sortedEdges sorts the edges of an arrival, with their types, directions and weights.
type sortedEdges Arrival

// Len returns the number of edges.
func (s *sortedEdges) Len() int { return len(s.Edges) }

// Less compares two edges.
func (s *sortedEdges) Less(i, j int) bool {
	switch {
	case s.Edges[i] != s.Edges[j]:
		return s.Edges[i] < s.Edges[j]
	case s.Types != nil && s.Types[i] != s.Types[j]:
		return s.Types[i] < s.Types[j]
	case s.Relations != nil && s.Relations[i] != s.Relations[j]:
		return s.Relations[i] < s.Relations[j]
	}
	return s.Weights != nil && math.Float32bits(s.Weights[i]) < math.Float32bits(s.Weights[j]) // positive numbers
}

// Swap exchanges two edges.
func (s *sortedEdges) Swap(i, j int) {
	s.Edges[i], s.Edges[j] = s.Edges[j], s.Edges[i]
	if s.Weights != nil {
		s.Weights[i], s.Weights[j] = s.Weights[j], s.Weights[i]
	}
	if s.Types != nil {
		s.Types[i], s.Types[j] = s.Types[j], s.Types[i]
	}
	if s.Relations != nil {
		s.Relations[i], s.Relations[j] = s.Relations[j], s.Relations[i]
	}
}
