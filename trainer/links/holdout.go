package links

import (
	"math/rand/v2"
	"slices"

	"rivulet/dataset"
	"rivulet/graph"
	"rivulet/infer/target"
)

// Ask holds out edges between a data set's held-out nodes and candidates, given by their ids, to compare versions that
// were trained on other graphs. It returns the data without these edges, and a function that asks a version for those
// of the validation nodes, given its vectors of the candidates, a row each.
func Ask(d *dataset.Dataset, ids []string, rng *rand.Rand) (rest *dataset.Dataset,
	queries func(vectors *graph.Dense) *target.Queries, err error) {
	place := make(map[string]int32, len(ids))
	for c, id := range ids {
		place[id] = int32(c)
	}
	p := &Problem{place: slices.Repeat([]int32{-1}, d.Nodes())}
	for i, id := range d.IDs {
		if c, is := place[id]; is {
			p.place[i] = c
		}
	}
	if err := p.holdOut(d, rng); err != nil {
		return nil, nil, err
	}
	out := *d
	out.Adj = p.rest
	return &out, func(vectors *graph.Dense) *target.Queries {
		of := *p
		of.Vectors = vectors
		return of.Queries(d.Validation)
	}, nil
}
