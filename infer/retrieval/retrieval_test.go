package retrieval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"rivulet/graph"
	"rivulet/test/expect"
)

func top(tb testing.TB, x *Index, queries *graph.Dense, k []int) [][]Hit {
	tb.Helper()
	hits, err := x.Top(tb.Context(), queries, k)
	expect.OK(tb, err)
	return hits
}

// The end of the context ends a search.
func TestASearchEndsWithItsContext(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := New(ids(5000), random(rng, 5000, 8))
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	expect.Error(t, expect.ErrorOf(x.Top(ctx, random(rng, 10, 8), slices.Repeat([]int{10}, 10))), "stopped")
}

func random(rng *rand.Rand, rows, cols int) *graph.Dense {
	m := graph.NewDense(rows, cols)
	for k := range m.Data {
		m.Data[k] = float32(rng.NormFloat64())
	}
	return m
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("c", i)
	}
	return out
}

// naive compares a query with all candidates in float64, and sorts them.
func naive(query []float32, candidates *graph.Dense, k int) (places []int, scores []float64) {
	for c := range candidates.Rows {
		sum := 0.0
		for j, v := range candidates.Row(c) {
			sum += float64(v) * float64(query[j])
		}
		places, scores = append(places, c), append(scores, sum)
	}
	sort.SliceStable(places, func(a, b int) bool { return scores[places[a]] > scores[places[b]] })
	return places[:min(k, len(places))], scores
}

// The best candidates are those of sums in float64, over blocks that are full and not, for as many as each query asks.
func TestTopIsThatOfAllScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, blockSize, 3*blockSize + 5} {
		for _, width := range []int{1, 3, 64} {
			candidates, queries := random(rng, n, width), random(rng, queryRows+9, width)
			k := make([]int, queries.Rows)
			for i := range k {
				k[i] = i % 23
			}
			x := New(ids(n), candidates)
			for i, got := range top(t, x, queries, k) {
				want, scores := naive(queries.Row(i), candidates, k[i])
				if len(got) != len(want) {
					t.Fatalf("%d candidates of %d: %d hits for query %d, want %d", n, width, len(got), i, len(want))
				}
				for j, h := range got {
					if math.Abs(float64(h.Score)-scores[h.Candidate]) > 1e-4 || x.ID(h.Candidate) != fmt.Sprint("c", h.Candidate) ||
						h.Candidate != want[j] && math.Abs(scores[want[j]]-scores[h.Candidate]) > 1e-4 {
						t.Errorf("%d candidates of %d, query %d: hit %d is %+v, want candidate %d of %v", n, width, i, j, h, want[j],
							scores[want[j]])
					}
				}
			}
		}
	}
}

// Equal scores are in the order of the candidates, and a query's hits have the same bits in any batch. What is no
// number is no hit.
func TestTopDependsOnTheQueryAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	candidates := random(rng, 2*blockSize, 5)
	for i := range candidates.Rows {
		copy(candidates.Row(i), candidates.Row(i%100)) // twenty of each
	}
	x, queries := New(ids(candidates.Rows), candidates), random(rng, 130, 5)
	all := top(t, x, queries, slices.Repeat([]int{50}, 130))
	for i := range queries.Rows {
		alone := top(t, x, queries.Take([]int32{int32(i)}), []int{50})[0]
		if !slices.Equal(alone, all[i]) {
			t.Fatalf("query %d: %v alone and %v among others", i, alone, all[i])
		}
		if !slices.IsSortedFunc(alone, compare) || alone[1].Score == alone[0].Score &&
			alone[1].Candidate < alone[0].Candidate {
			t.Fatalf("query %d: %v", i, alone)
		}
	}
	queries.Row(0)[0] = float32(math.NaN())
	if got := top(t, x, queries, slices.Repeat([]int{3}, 130)); len(got[0]) != 0 || len(got[1]) != 3 {
		t.Errorf("%v for what is no number, %v beside it", got[0], got[1])
	}
}

// BenchmarkTop compares a batch of 64 arrivals with a million candidates of length 64, and reports the time an arrival
// and how many times as long a loop over the candidates takes that keeps the same heap. Recall is 1: all candidates
// are compared.
func BenchmarkTop(b *testing.B) {
	const n, width, batch, k = 1_000_000, 64, 64, 10
	rng := rand.New(rand.NewPCG(5, 6))
	candidates, queries := random(rng, n, width), random(rng, batch, width)
	x, ks := New(ids(n), candidates), slices.Repeat([]int{k}, batch)
	var got [][]Hit
	b.ResetTimer()
	for range b.N {
		got = top(b, x, queries, ks)
	}
	b.StopTimer()
	perArrival := b.Elapsed().Seconds() / float64(b.N*batch)
	b.ReportMetric(1e6*perArrival, "µs/arrival")
	found := 0
	const looped = 2
	start := time.Now()
	for i := range looped {
		h := heap{most: k}
		query := queries.Row(i)
		for c := range n {
			sum := float32(0)
			for j, v := range candidates.Row(c) {
				sum += v * query[j]
			}
			h.add(Hit{c, sum})
		}
		for _, hit := range h.hits {
			if slices.ContainsFunc(got[i], func(g Hit) bool { return g.Candidate == hit.Candidate }) {
				found++
			}
		}
	}
	b.ReportMetric(time.Since(start).Seconds()/looped/perArrival, "×loop")
	b.ReportMetric(float64(found)/(looped*k), "recall")
}
