package condense

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/reference/convert"
)

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func sizes(of []int32, k int) []int {
	n := make([]int, k)
	for _, c := range of {
		n[c]++
	}
	return n
}

// Also with points that coincide, fewer distinct ones than clusters, and no spread at all.
func TestKMeansLeavesNoClusterEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		distinct := rapid.IntRange(1, n).Draw(t, "distinct")
		points := convert.Dense(convert.Normal(stream(rapid.Uint64().Draw(t, "seed")), n, 3, 1))
		for i := distinct; i < n; i++ {
			copy(points.Row(i), points.Row(i%distinct))
		}
		of := kmeans(every(points), k, stream(1))
		if len(of) != n || slices.Min(of) < 0 || int(slices.Max(of)) >= k || slices.Contains(sizes(of, k), 0) {
			t.Fatalf("%d points in %d clusters: %v", n, k, of)
		}
		if k == n && slices.Max(sizes(of, k)) != 1 {
			t.Fatalf("k = n = %d, but clusters of sizes %v", n, sizes(of, k))
		}
	})
}

// blocks returns k far corners with n points around each, in turn.
func blocks(k, n int, seed uint64) *graph.Dense {
	points := convert.Dense(convert.Normal(stream(seed), k*n, k, 1))
	for i := range points.Rows {
		points.Row(i)[i%k] += 30
	}
	return points
}

func TestKMeansSeparatesBlocks(t *testing.T) {
	const k = 12
	of := kmeans(every(blocks(k, 20, 1)), k, stream(2))
	for i, c := range of {
		if c != of[i%k] {
			t.Fatalf("points %d and %d of one block are in clusters %d and %d", i%k, i, of[i%k], c)
		}
	}
	if slices.Contains(sizes(of, k), 0) {
		t.Fatalf("blocks were merged: sizes %v", sizes(of, k))
	}
}

func TestKMeansIsSeeded(t *testing.T) {
	points := convert.Dense(convert.Normal(stream(3), 200, 4, 1))
	a := kmeans(every(points), 9, stream(4))
	if !slices.Equal(a, kmeans(every(points), 9, stream(4))) {
		t.Error("the same seed gives other clusters")
	}
	if slices.Equal(a, kmeans(every(points), 9, stream(5))) {
		t.Error("another seed gives the same clusters: is it used?")
	}
}

// Of several starts the best is kept, and Lloyd's iteration does not change it: every point is nearest to its own mean.
func TestKMeansRests(t *testing.T) {
	points := convert.Dense(convert.Normal(stream(6), 150, 3, 1))
	const k = 7
	of := kmeans(every(points), k, stream(7))
	centres := graph.NewDense(k, 3)
	means(centres, every(points), nil, of)
	again, gap := slices.Clone(of), make([]float32, len(of))
	if moved := nearest(every(points), squaredNorms(every(points)), centres, again, gap); moved != 0 {
		t.Errorf("%d points are nearer to the mean of another cluster", moved)
	}
	loss := 0.0
	for _, v := range gap {
		loss += float64(v)
	}
	rng, mean := stream(7), 0.0
	for range kmeansStarts {
		_, single := lloyd(every(points), squaredNorms(every(points)), nil, k, rng)
		if single < loss*(1-1e-5) {
			t.Errorf("one start reaches %v, what was kept %v", single, loss)
		}
		mean += single / kmeansStarts
	}
	if loss > mean*(1-1e-3) {
		t.Errorf("what was kept, %v, is no better than the mean start, %v", loss, mean)
	}
}

func BenchmarkKMeans(b *testing.B) {
	points := blocks(40, 100, 8)
	for b.Loop() {
		kmeans(every(points), 40, stream(9))
	}
	b.ReportMetric(float64(points.Rows)*float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}
