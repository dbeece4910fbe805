package condense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
	"rivulet/trainer/features"
)

// input returns a random world with features.
func (w *world) input(x reference.Matrix) Input {
	raw := convert.Features(x, w.seed%2 == 0)
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	return Input{Adj: convert.Pattern(w.adj), X: features.Factor(raw, plain),
		Points: w.points, Labels: w.labels, Share: w.share}
}

func drawInput(t *rapid.T) (Input, *world, reference.Matrix) {
	w := drawWorld(t)
	x := convert.Normal(stream(w.seed+1), len(w.labels), 4, 0.7)
	return w.input(x), w, x
}

// chosenBy reads the chosen nodes of each synthetic node off M.
func chosenBy(m *graph.CSR) []int32 {
	out := slices.Repeat([]int32{-1}, m.Cols)
	for j := range m.Rows {
		cols, _ := m.Row(j)
		for _, k := range cols {
			out[k] = int32(j)
		}
	}
	return out
}

var coresets = map[string]func(Input, *rand.Rand) *Condensation{"random": Random, "degree": Degree, "herding": Herding,
	"kcenter": KCenter}

// Section 7: S is the subgraph that the chosen nodes induce, M their one-hot rows; each class gets its share of its own
// labelled nodes; attachment is joint.
func TestSection7CoresetIsInducedSubgraph(t *testing.T) {
	for name, method := range coresets {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in, w, x := drawInput(t)
				got := method(in, stream(5))
				nodes := chosenBy(got.M)
				if slices.Contains(nodes, -1) || got.M.NNZ() != len(nodes) || got.M.Rows != len(w.labels) {
					t.Fatalf("M of %d rows and %d entries reaches nodes %v", got.M.Rows, got.M.NNZ(), nodes)
				}
				share := make([]int, len(w.share))
				for k, j := range nodes {
					if w.labels[j] != got.Labels[k] {
						t.Fatalf("synthetic node %d of class %d is node %d of class %d", k, got.Labels[k], j, w.labels[j])
					}
					share[got.Labels[k]]++
				}
				expect.Same(t, w.share, share, "nodes of each class")
				n := len(nodes)
				onto := reference.At(len(w.labels), n, func(j, k int) float64 { return indicator(nodes[k] == int32(j)) })
				for _, c := range []struct {
					what      string
					got, want reference.Matrix
				}{
					{"M", convert.FromCSR(got.M), onto},
					{"A'", convert.FromCSR(got.Adj), reference.At(n, n, func(a, b int) float64 { return w.adj[nodes[a]][nodes[b]] })},
					{"X'", convert.Matrix(got.X), reference.At(n, x.Cols(), func(k, q int) float64 { return x[nodes[k]][q] })},
				} {
					if g := convert.Gap(c.got, c.want); g > 1e-6 {
						t.Fatalf("%s is off by %g", c.what, g)
					}
				}
				if !slices.IsSorted(got.Labels) || got.Attachment != artifact.AttachJoint {
					t.Fatalf("Y' %v, attachment %q", got.Labels, got.Attachment)
				}
				for _, m := range []*graph.CSR{got.Adj, got.M} {
					if err := m.Validate(); err != nil || m.Val == nil {
						t.Fatalf("%v, values %v", err, m.Val)
					}
				}
			})
		})
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// All nodes of a class have the same chance, and the random stream alone decides.
func TestSection7Random(t *testing.T) {
	const n, k, runs = 10, 3, 4000
	plain := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
	in := Input{Adj: &graph.CSR{Rows: n, Cols: n, RowPtr: make([]int, n+1)}, Points: graph.NewDense(n, 1),
		X:      features.Factor(graph.Features{Dense: graph.NewDense(n, 1)}, plain),
		Labels: make([]int32, n), Share: []int{k}}
	count, rng := make([]float64, n), stream(21)
	for range runs {
		for _, j := range chosenBy(Random(in, rng).M) {
			count[j]++
		}
	}
	for j, c := range count {
		if p := float64(k) / n; math.Abs(c-runs*p) > 5*math.Sqrt(runs*p*(1-p)) {
			t.Errorf("node %d was chosen %g times of %d, want about %g", j, c, runs, runs*p)
		}
	}
	if diff := cmp.Diff(Random(in, stream(22)), Random(in, stream(22))); diff != "" {
		t.Errorf("the same stream chooses other nodes:\n%s", diff)
	}
}

// No node of a class that is left out has more neighbours than one that is chosen.
func TestSection7Degree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, w, _ := drawInput(t)
		nodes := chosenBy(Degree(in, nil).M)
		degree := w.adj.RowSums()
		for _, j := range nodes {
			for i, y := range w.labels {
				if y != w.labels[j] || slices.Contains(nodes, int32(i)) {
					continue
				}
				if degree[i] > degree[j] || (degree[i] == degree[j] && int32(i) < j) {
					t.Fatalf("node %d of degree %g is left out, %d of degree %g is chosen", i, degree[i], j, degree[j])
				}
			}
		}
	})
}

// greedily checks that each choice has the least cost of those that are left, given those before it.
func greedily(t *rapid.T, chosen []int, n int, cost func(before []int, i int) float64) {
	for at, c := range chosen {
		before := chosen[:at]
		if slices.Contains(before, c) {
			t.Fatalf("row %d is chosen twice in %v", c, chosen)
		}
		for i := range n {
			if best := cost(before, i); !slices.Contains(before, i) && best < cost(before, c)-1e-4 {
				t.Fatalf("choice %d of %v costs %g, row %d would cost %g", at, chosen, cost(before, c), i, best)
			}
		}
	}
}

func drawPoints(t *rapid.T) (points reference.Matrix, k int) {
	n := rapid.IntRange(1, 20).Draw(t, "n")
	points = convert.Normal(stream(rapid.Uint64().Draw(t, "seed")), n, 3, 1)
	if rapid.Bool().Draw(t, "far from the origin") {
		for _, row := range points {
			row[0] += 30
		}
	}
	return points, rapid.IntRange(0, n).Draw(t, "k")
}

func distance(a, b []float64) float64 {
	d := 0.0
	for q := range a {
		d += sq(a[q] - b[q])
	}
	return math.Sqrt(d)
}

// meanOf returns the mean of the given rows.
func meanOf(rows reference.Matrix, chosen ...int) []float64 {
	out := make([]float64, rows.Cols())
	for _, i := range chosen {
		for q, v := range rows[i] {
			out[q] += v / float64(len(chosen))
		}
	}
	return out
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Herding: each choice brings the mean of the chosen as near as one node can to the class's mean.
func TestSection7Herding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, k := drawPoints(t)
		chosen, mean := herd(convert.Dense(points), k), meanOf(points, all(len(points))...)
		if len(chosen) != k {
			t.Fatalf("%d chosen, want %d", len(chosen), k)
		}
		greedily(t, chosen, len(points), func(before []int, i int) float64 {
			return distance(mean, meanOf(points, slices.Concat(before, []int{i})...))
		})
	})
}

// K-Center: the first is nearest to the class's mean, every further one farthest from its nearest chosen.
func TestSection7KCenter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, k := drawPoints(t)
		chosen, mean := cover(convert.Dense(points), k), meanOf(points, all(len(points))...)
		if len(chosen) != k {
			t.Fatalf("%d chosen, want %d", len(chosen), k)
		}
		greedily(t, chosen, len(points), func(before []int, i int) float64 {
			if len(before) == 0 {
				return distance(mean, points[i])
			}
			nearest := math.Inf(1)
			for _, c := range before {
				nearest = min(nearest, distance(points[c], points[i]))
			}
			return -nearest
		})
	})
}

// Points that coincide leave no class short: each row is chosen once, whatever the distances.
func TestSection7CoincidingPoints(t *testing.T) {
	points := &graph.Dense{Rows: 5, Cols: 2, Data: slices.Repeat([]float32{7, -3}, 5)}
	for name, choose := range map[string]func(*graph.Dense, int) []int{"herding": herd, "kcenter": cover} {
		chosen := choose(points, 5)
		slices.Sort(chosen)
		expect.Same(t, []int{0, 1, 2, 3, 4}, chosen, "%s", name)
	}
}
