package record

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"

	"rivulet/event"
	"rivulet/event/json"
)

// Neighbours that an arrival keeps of the data set: nodes of T, and other arrivals. They are few, so that some arrivals
// have no earlier one as a neighbour.
const (
	mostT     = 8
	mostOther = 2
)

// Make makes arrivals of a data set's test nodes, which lines has as JSON, at least as many as are wanted: several of
// each node under new ids, so that a refresh may merge them, with edges to nodes of T, to other arrivals, and to those
// that are sent just before and after.
func Make(lines []byte, wanted int) (all []Arrival, err error) {
	var nodes []event.Arrival
	test := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var a event.Arrival
		if err := (json.Codec{}).DecodeArrival(bytes.TrimSpace(line), &a); err != nil {
			return nil, err
		}
		nodes = append(nodes, a)
		test[a.ID] = true
	}
	copies := max(1, (wanted+len(nodes)-1)/len(nodes))
	name := func(id string, of int) string { return fmt.Sprintf("n%s-%d", id, of%copies) }
	for k := range copies * len(nodes) {
		a := nodes[k%len(nodes)]
		id := name(a.ID, k/len(nodes))
		edges := make([]string, 0, mostT+mostOther+4)
		inT, other := 0, 0
		for _, e := range a.Edges {
			switch {
			case test[e] && other < mostOther:
				edges = append(edges, name(e, int(hash(id+e))))
				other++
			case !test[e] && inT < mostT:
				edges = append(edges, e)
				inT++
			}
		}
		for _, by := range []int{-40, -2, -1, 33} {
			other := (k + by + 40*copies*len(nodes)) % (copies * len(nodes))
			edges = append(edges, name(nodes[other%len(nodes)].ID, other/len(nodes)))
		}
		slices.Sort(edges)
		a.ID, a.Edges = id, slices.Compact(edges)
		one, err := write(&a)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func hash(text string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return h.Sum32()
}
