package consumer

import (
	"context"
	"math"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/retrieval"
)

// linksAsked is the number of candidates of a prediction where the settings ask for none.
const linksAsked = 10

// Neighbours are the ids of the neighbours of some arrivals.
type Neighbours interface{ NeighboursOf(i int) []string }

// BestLinks returns for each arrival the k candidates with the highest scores, given its embedding in a row; 0: 10 of
// them. Candidates that are neighbours of the arrival are left out: it has them already. An embedding that is not
// finite gets a score that is no number, which isFinite finds. The end of ctx is an error: a record with very many
// edges takes a while.
func BestLinks(ctx context.Context, candidates *retrieval.Index, embeddings *graph.Dense, arrivals Neighbours,
	k int) ([][]event.Link, error) {
	if k == 0 {
		k = linksAsked
	}
	most := make([]int, embeddings.Rows)
	for i := range most {
		most[i] = k + len(arrivals.NeighboursOf(i))
	}
	out := make([][]event.Link, embeddings.Rows)
	known := map[string]bool{}
	best, err := candidates.Top(ctx, embeddings, most)
	if err != nil {
		return nil, err
	}
	for i, hits := range best {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out[i] = make([]event.Link, 0, min(k, len(hits)))
		clear(known)
		for _, id := range arrivals.NeighboursOf(i) {
			known[id] = true
		}
		for _, hit := range hits {
			if len(out[i]) == k {
				break
			}
			if id := candidates.ID(hit.Candidate); !known[id] {
				out[i] = append(out[i], event.Link{ID: id, Score: hit.Score})
			}
		}
		if !allFinite(embeddings.Row(i)) {
			out[i] = []event.Link{{Score: float32(math.NaN())}}
		}
	}
	return out, nil
}
