package condense

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"rivulet/graph"
	"rivulet/graph/gemm"
)

// kmeansIterations bounds Lloyd's iterations of one start, which also ends when no more than one row in
// kmeansSettled moves. If a whole large graph is one partition there are fewer, down to kmeansFewest: kmeansLong
// bounds their multiplications, to about ten seconds on two cores. The last iterations move almost nothing.
const (
	kmeansIterations = 50
	kmeansFewest     = 10
	kmeansLong       = 5e10
	kmeansSettled    = 1000
)

// Several starts compete. On amazon_photo W_S gains about 0.8 points from the best of ten, and twenty lower the
// deviation between seeds from 0.5 to 0.3 points. If classes are large there are fewer, down to one: kmeansWork
// bounds their multiplications at kmeansUsual iterations each.
const (
	kmeansStarts = 20
	kmeansWork   = 4e9
	kmeansUsual  = 20
)

// selection is some rows of a matrix, read where they are: the points of a class are a large part of a graph.
type selection struct {
	all  *graph.Dense
	rows []int32 // nil: every row
}

// every selects all rows.
func every(points *graph.Dense) selection { return selection{all: points} }

func (s selection) len() int {
	if s.rows == nil {
		return s.all.Rows
	}
	return len(s.rows)
}

func (s selection) row(i int) []float32 {
	if s.rows == nil {
		return s.all.Row(i)
	}
	return s.all.Row(int(s.rows[i]))
}

// block returns n of the rows from lo on: a view if every row is selected, else a copy in memory.
func (s selection) block(lo, n int, memory []float32) *graph.Dense {
	cols := s.all.Cols
	if s.rows == nil {
		return &graph.Dense{Rows: n, Cols: cols, Data: s.all.Data[lo*cols : (lo+n)*cols]}
	}
	out := &graph.Dense{Rows: n, Cols: cols, Data: memory[:n*cols]}
	for r := range n {
		copy(out.Row(r), s.row(lo+r))
	}
	return out
}

// kmeans partitions the rows of points (n×p) into k clusters and returns the cluster of each row: of several starts
// the partition with the smallest sum of squared distances. Every cluster has at least one row; 1 ≤ k ≤ n.
func kmeans(points selection, k int, rng *rand.Rand) []int32 {
	return weightedKMeans(points, nil, k, rng)
}

// weightedKMeans does kmeans with rows that count weights[i] > 0 times each (nil: once), in the sum and in the
// means.
func weightedKMeans(points selection, weights []float32, k int, rng *rand.Rand) []int32 {
	of := make([]int32, points.len())
	switch {
	case k == 1:
		return of
	case k >= points.len():
		return graph.Indices(points.len())
	}
	norms := squaredNorms(points)
	best := math.Inf(1)
	starts := int(kmeansWork / kmeansUsual / (float64(points.len()) * float64(points.all.Cols) * float64(k)))
	for range max(1, min(kmeansStarts, starts)) {
		start, loss := lloyd(points, norms, weights, k, rng)
		if loss < best {
			of, best = start, loss
		}
	}
	return of
}

// lloyd runs Lloyd's algorithm from a k-means++ start and returns the partition with its weighted sum of squared
// distances to the centres of its last assignment.
func lloyd(points selection, norms, weights []float32, k int, rng *rand.Rand) (of []int32, loss float64) {
	of = make([]int32, points.len())
	gap := make([]float32, points.len()) // squared distance to the own centre, times the weight
	centres := plusPlus(points, norms, weights, k, rng)
	work := float64(points.len()) * float64(points.all.Cols) * float64(k)
	for iteration := range max(kmeansFewest, int(min(kmeansIterations, kmeansLong/max(1, work)))) {
		moved := nearest(points, norms, centres, of, gap)
		weigh(gap, gap, weights)
		refill(of, gap, k)
		if moved <= points.len()/kmeansSettled && iteration > 0 {
			break
		}
		means(centres, points, weights, of)
	}
	return of, sum(gap)
}

func squaredNorms(points selection) []float32 {
	out := make([]float32, points.len())
	for i := range out {
		out[i] = float32(squaredLength(points.row(i)))
	}
	return out
}

// weigh sets dst = weights∘gap; weights nil are ones. dst may be gap.
func weigh(dst, gap, weights []float32) {
	copy(dst, gap)
	for i, w := range weights {
		dst[i] *= w
	}
}

// plusPlus draws k rows, each with probability proportional to its squared distance from those drawn before, times
// its weight (Arthur and Vassilvitskii, "k-means++", 2007). Rows that coincide with a centre are drawn only if no
// other is left.
func plusPlus(points selection, norms, weights []float32, k int, rng *rand.Rand) *graph.Dense {
	centres := graph.NewDense(k, points.all.Cols)
	gap, chance := make([]float32, points.len()), make([]float32, points.len())
	for i := range gap {
		gap[i] = math.MaxFloat32
	}
	pick := rng.IntN(points.len())
	if weights != nil {
		pick = draw(weights, rng.Float64()*sum(weights), pick)
	}
	for c := range k {
		centre := centres.Row(c)
		copy(centre, points.row(pick))
		for i := range gap {
			d := norms[i] + norms[pick] - 2*dot(points.row(i), centre)
			gap[i] = max(0, min(gap[i], d))
		}
		weigh(chance, gap, weights)
		pick = draw(chance, rng.Float64()*sum(chance), pick)
	}
	return centres
}

func sum(v []float32) float64 {
	total := 0.0
	for _, x := range v {
		total += float64(x)
	}
	return total
}

// draw returns the row at which the running sum of weights reaches target, the row before it if all weights are 0.
func draw(weights []float32, target float64, otherwise int) int {
	at := otherwise
	for i, w := range weights {
		if w <= 0 {
			continue
		}
		at = i
		if target -= float64(w); target <= 0 {
			break
		}
	}
	return at
}

func dot(x, y []float32) float32 {
	return blas32.Dot(blas32.Vector{N: len(x), Inc: 1, Data: x}, blas32.Vector{N: len(y), Inc: 1, Data: y})
}

// nearest assigns every row to its nearest centre and returns how many moved; gap gets the squared distances.
func nearest(points selection, norms []float32, centres *graph.Dense, of []int32, gap []float32) (moved int) {
	const block = 1024 // rows of the n×k product that are held at a time
	own := squaredNorms(every(centres))
	product := graph.NewDense(min(block, points.len()), centres.Rows)
	var memory []float32
	if points.rows != nil {
		memory = make([]float32, product.Rows*points.all.Cols)
	}
	for lo := 0; lo < points.len(); lo += block {
		rows := min(block, points.len()-lo)
		out := &graph.Dense{Rows: rows, Cols: centres.Rows, Data: product.Data[:rows*centres.Rows]}
		clear(out.Data)
		gemm.Add(out, 1, gemm.Of(points.block(lo, rows, memory)), gemm.Of(centres).T())
		for r := range rows {
			best, at := float32(math.Inf(1)), int32(0)
			for c, v := range product.Row(r) {
				if d := own[c] - 2*v; d < best {
					best, at = d, int32(c)
				}
			}
			i := lo + r
			gap[i] = max(0, best+norms[i])
			if of[i] != at {
				of[i] = at
				moved++
			}
		}
	}
	return moved
}

// refill moves into every empty cluster the row with the largest gap that is not alone in its cluster.
func refill(of []int32, gap []float32, k int) {
	size := make([]int, k)
	for _, c := range of {
		size[c]++
	}
	for c := range k {
		if size[c] > 0 {
			continue
		}
		far := -1
		for i := range of {
			if size[of[i]] > 1 && (far < 0 || gap[i] > gap[far]) {
				far = i
			}
		}
		size[of[far]]--
		of[far] = int32(c)
		gap[far] = 0
		size[c] = 1
	}
}

// means sets the centres to the weighted means of their rows.
func means(centres *graph.Dense, points selection, weights []float32, of []int32) {
	clear(centres.Data)
	size := make([]float32, centres.Rows)
	for i, c := range of {
		weight := float32(1)
		if weights != nil {
			weight = weights[i]
		}
		graph.Axpy(centres.Row(int(c)), weight, points.row(i))
		size[c] += weight
	}
	for c, n := range size {
		row := centres.Row(c)
		for k := range row {
			row[k] /= n
		}
	}
}
