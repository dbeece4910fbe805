package condense

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// weightsOf returns positive weights, some of them tiny, like weights of nodes with almost no neighbours.
func weightsOf(n int, seed uint64) []float32 {
	rng, out := stream(seed), make([]float32, n)
	for i := range out {
		out[i] = float32(math.Exp(2 * rng.NormFloat64()))
	}
	return out
}

// naiveMeans returns the weighted means of the rows of each cluster.
func naiveMeans(rows reference.Matrix, weights []float64, of []int32, k int) reference.Matrix {
	total := make([]float64, k)
	for i, c := range of {
		total[c] += weights[i]
	}
	out := reference.New(k, rows.Cols())
	for i, c := range of {
		for q, v := range rows[i] {
			out[c][q] += v * weights[i] / total[c]
		}
	}
	return out
}

func widened(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func TestWeightedMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed := rapid.IntRange(1, 20).Draw(t, "n"), rapid.Uint64().Draw(t, "seed")
		k := rapid.IntRange(1, n).Draw(t, "k")
		rows, weights, of := convert.Normal(stream(seed), n, 3, 1), weightsOf(n, seed), make([]int32, n)
		for i := range of {
			of[i] = int32(i % k)
		}
		got := graph.NewDense(k, 3)
		means(got, every(convert.Dense(rows)), weights, of)
		if g := convert.Gap(convert.Matrix(got), naiveMeans(rows, widened(weights), of, k)); g > 1e-5 {
			t.Fatalf("weighted means are off by %g", g)
		}
	})
}

// Heavy weights pull the means, and the result is a fixed point of the weighted iteration.
func TestWeightedKMeansRests(t *testing.T) {
	const n, k = 150, 6
	points, weights := convert.Dense(convert.Normal(stream(11), n, 3, 1)), weightsOf(n, 12)
	of := weightedKMeans(every(points), weights, k, stream(13))
	centres := graph.NewDense(k, 3)
	means(centres, every(points), weights, of)
	again, gap := slices.Clone(of), make([]float32, n)
	if moved := nearest(every(points), squaredNorms(every(points)), centres, again, gap); moved != 0 {
		t.Errorf("%d points are nearer to the weighted mean of another cluster", moved)
	}
	loss := func(of []int32) float64 {
		means(centres, every(points), weights, of)
		total := 0.0
		for i, c := range of {
			for q, v := range points.Row(i) {
				total += float64(weights[i]) * sq(float64(v-centres.Row(int(c))[q]))
			}
		}
		return total
	}
	if weighted, plain := loss(of), loss(kmeans(every(points), k, stream(13))); weighted >= plain {
		t.Errorf("weighted sum of squares %v, by clusters that ignore the weights %v", weighted, plain)
	}
}

// Every row of weight counts as often as its weight says: a point of weight 3 is three points.
func TestWeightsAreRepetitions(t *testing.T) {
	const n, k = 40, 4
	points := blocks(k, n/k, 14)
	weights, repeated := make([]float32, n), []int32{}
	for i := range weights {
		weights[i] = float32(1 + i%3)
		repeated = append(repeated, slices.Repeat([]int32{int32(i)}, 1+i%3)...)
	}
	_, weighted := lloyd(every(points), squaredNorms(every(points)), weights, k, stream(15))
	many := points.Take(repeated)
	_, single := lloyd(every(many), squaredNorms(every(many)), nil, k, stream(15))
	if math.Abs(weighted-single) > 1e-4*single {
		t.Errorf("sum of squares %v by weights, %v by repetition", weighted, single)
	}
}

// Starts are drawn by weight: the first row by weight alone, the next ones by weight times squared distance.
func TestWeightedStarts(t *testing.T) {
	const runs = 4000
	points := &graph.Dense{Rows: 3, Cols: 1, Data: []float32{0, 1, -1}}
	rng, heavy := stream(16), 0.0
	for range runs {
		centres := plusPlus(every(points), squaredNorms(every(points)), []float32{1e9, 1, 3}, 2, rng)
		if centres.Data[0] != 0 {
			t.Fatalf("starts at %v, where next to no weight is", centres.Data[0])
		}
		if centres.Data[1] == -1 {
			heavy++
		}
	}
	if p := 0.75; math.Abs(heavy-runs*p) > 5*math.Sqrt(runs*p*(1-p)) {
		t.Errorf("a row with three quarters of the weight is second %g times of %d", heavy, runs)
	}
}
