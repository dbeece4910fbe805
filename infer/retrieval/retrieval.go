// Package retrieval finds, for the embedding of an arrival, the candidates with the largest dot products. It compares
// all of them, so that it misses none.
//
// Candidates lie in blocks of 1024, each transposed, r×1024 for vectors of length r: a block is multiplied with 64
// queries while it is in the processor's cache, and each query keeps its k best in a heap. A million candidates of
// length 64 take 256 MB. A score is one chain of multiply-adds (package graph/tile), so that it has the same bits
// whatever other queries are in the batch, and equal scores are ordered by the candidates' order.
package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"rivulet/graph"
	"rivulet/graph/tile"
)

// Index holds candidates. It never changes and is safe for concurrent use.
type Index struct {
	ids    []string
	width  int
	blocks [][]float32 // each width×(number of its candidates)
}

// Hit is a candidate, by its place in the index, with its score.
type Hit struct {
	Candidate int
	Score     float32
}

const (
	blockSize = 1024 // candidates of a block
	queryRows = 64   // queries that are compared with a block at once
)

// New makes an index of candidates: ids[i] has the vector in row i. It copies the vectors.
func New(ids []string, vectors *graph.Dense) *Index {
	if len(ids) != vectors.Rows {
		panic(fmt.Sprintf("retrieval: %d ids of %d vectors", len(ids), vectors.Rows))
	}
	x := &Index{ids: ids, width: vectors.Cols}
	for lo := 0; lo < len(ids); lo += blockSize {
		n := min(blockSize, len(ids)-lo)
		block := make([]float32, n*x.width)
		for i := range n {
			for k, v := range vectors.Row(lo + i) {
				block[k*n+i] = v
			}
		}
		x.blocks = append(x.blocks, block)
	}
	return x
}

// Len returns the number of candidates.
func (x *Index) Len() int { return len(x.ids) }

// Vectors returns the vectors of candidates, given by their ids, a row each; zeros of an id that is no candidate.
func (x *Index) Vectors(ids []string) *graph.Dense {
	place := make(map[string]int, len(x.ids))
	for c, id := range x.ids {
		place[id] = c
	}
	out := graph.NewDense(len(ids), x.width)
	for i, id := range ids {
		if c, is := place[id]; is {
			block := x.blocks[c/blockSize]
			for k := range x.width {
				out.Row(i)[k] = block[k*(len(block)/x.width)+c%blockSize]
			}
		}
	}
	return out
}

// IDs returns the ids of all candidates, which must not be changed.
func (x *Index) IDs() []string { return x.ids }

// ID returns the id of a candidate.
func (x *Index) ID(candidate int) string { return x.ids[candidate] }

// Top returns for each query, a row of length r, its k[i] best candidates, the best first, or all if there are fewer.
// A score that is not a number is left out.
func (x *Index) Top(ctx context.Context, queries *graph.Dense, k []int) ([][]Hit, error) {
	if queries.Cols != x.width || queries.Rows != len(k) {
		panic(fmt.Sprintf("retrieval: %d×%d queries and %d counts for candidates of length %d", queries.Rows, queries.Cols,
			len(k), x.width))
	}
	best := make([]heap, queries.Rows)
	for i := range best {
		best[i].most = min(k[i], x.Len())
	}
	var merging sync.Mutex
	graph.ParallelRows(len(x.blocks), queries.Rows*x.width*x.Len(), func(lo, hi int) {
		scores, of := make([]float32, queryRows*blockSize), make([]heap, queryRows)
		for from := 0; from < queries.Rows; from += queryRows {
			to := min(from+queryRows, queries.Rows)
			for i := from; i < to; i++ {
				of[i-from] = heap{most: best[i].most}
			}
			for b := lo; b < hi; b++ {
				if ctx.Err() != nil {
					return
				}
				x.score(scores, queries, from, to, b, of)
			}
			merging.Lock()
			for i := from; i < to; i++ {
				for _, h := range of[i-from].hits {
					best[i].add(h)
				}
			}
			merging.Unlock()
		}
	})
	out := make([][]Hit, len(best))
	for i := range best {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out[i] = best[i].hits
		slices.SortFunc(out[i], compare)
	}
	return out, nil
}

// score compares queries from up to to with the candidates of a block.
func (x *Index) score(scores []float32, queries *graph.Dense, from, to, block int, of []heap) {
	n := len(x.blocks[block]) / x.width
	scores = scores[:(to-from)*n]
	clear(scores)
	a := tile.View{Rows: to - from, Cols: x.width, RowStride: x.width, ColStride: 1, Data: queries.Data[from*x.width:]}
	b := tile.View{Rows: x.width, Cols: n, RowStride: n, ColStride: 1, Data: x.blocks[block]}
	tile.Chain(scores, n, a, b, 0, to-from)
	for i := range to - from {
		of[i].scan(scores[i*n:(i+1)*n], block*blockSize)
	}
}

// compare orders hits: the higher score first, and of equal ones the earlier candidate.
func compare(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Candidate, b.Candidate))
}

// heap keeps the best hits, at most so many, with the worst of them at its root.
type heap struct {
	hits []Hit
	most int
}

// scan adds the scores of candidates from first on.
func (h *heap) scan(scores []float32, first int) {
	if h.most == 0 {
		return
	}
	for c, s := range scores {
		if len(h.hits) == h.most && !(s > h.hits[0].Score) { // of equal ones the earlier stays
			continue
		}
		h.add(Hit{first + c, s})
	}
}

// add takes a hit if it is among the best so far.
func (h *heap) add(hit Hit) {
	switch {
	case math.IsNaN(float64(hit.Score)) || h.most == 0:
	case len(h.hits) < h.most:
		h.hits = append(h.hits, hit)
		for at := len(h.hits) - 1; at > 0; {
			parent := (at - 1) / 2
			if compare(h.hits[parent], h.hits[at]) > 0 {
				break
			}
			h.hits[parent], h.hits[at] = h.hits[at], h.hits[parent]
			at = parent
		}
	case compare(hit, h.hits[0]) < 0:
		h.hits[0] = hit
		h.sink()
	}
}

// sink moves the root down to its place.
func (h *heap) sink() {
	for at := 0; ; {
		worst := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(h.hits); child++ {
			if compare(h.hits[child], h.hits[worst]) > 0 {
				worst = child
			}
		}
		if worst == at {
			return
		}
		h.hits[at], h.hits[worst] = h.hits[worst], h.hits[at]
		at = worst
	}
}
