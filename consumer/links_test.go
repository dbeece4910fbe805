package consumer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"rivulet/graph"
	"rivulet/infer/retrieval"
	"rivulet/test/expect"
)

// endsAfter is a context that ends when it has been looked at so many times.
type endsAfter struct {
	context.Context
	looks *int
}

var errLooked = errors.New("it was looked at")

func (e endsAfter) Err() error {
	if *e.looks--; *e.looks < 0 {
		return errLooked
	}
	return nil
}

type listed [][]string

func (l listed) NeighboursOf(i int) []string { return l[i] }

// The search for the best candidates of arrivals with very many edges leaves all of them out, and ends with its
// context wherever it is.
func TestLinksOfManyEdges(t *testing.T) {
	const candidates, edges = 12_000, 10_000
	ids, vectors := make([]string, candidates), graph.NewDense(candidates, 1)
	for i := range ids {
		ids[i], vectors.Data[i] = fmt.Sprint("c", i), float32(candidates-i) // the first ones have the highest scores
	}
	index := retrieval.New(ids, vectors)
	arrivals := listed{ids[:edges], ids[1:2], nil}
	embeddings := graph.NewDense(3, 1)
	embeddings.Data[0], embeddings.Data[1], embeddings.Data[2] = 1, 1, 1
	got, err := BestLinks(t.Context(), index, embeddings, arrivals, 2)
	expect.OK(t, err)
	for i, want := range []string{"c10000 c10001", "c0 c2", "c0 c1"} {
		expect.Same(t, want, got[i][0].ID+" "+got[i][1].ID, "arrival %d", i)
	}
	all := 1_000_000
	ctx := endsAfter{t.Context(), &all}
	_, err = BestLinks(ctx, index, embeddings, arrivals, 2)
	expect.OK(t, err)
	whole := 1_000_000 - all
	for _, after := range []int{0, 1, whole / 2, whole - 1} {
		looks := after
		_, err := BestLinks(endsAfter{t.Context(), &looks}, index, embeddings, arrivals, 2)
		if err == nil && context.Cause(t.Context()) == nil {
			t.Errorf("it went on after the context had ended, at look %d of %d", after, whole)
		}
	}
}
