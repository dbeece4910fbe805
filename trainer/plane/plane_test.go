package plane

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/test/expect"
)

// blobs returns an S of classes that are apart in its features.
func blobs(n, d, classes int, spread float64) *artifact.Synthetic {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	s := &artifact.Synthetic{X: graph.NewDense(n, d), Labels: make([]int32, n)}
	centres := graph.NewDense(classes, d)
	for k := range centres.Data {
		centres.Data[k] = float32(rng.NormFloat64())
	}
	for i := range n {
		s.Labels[i] = int32(i % classes)
		for c := range d {
			s.X.Row(i)[c] = centres.Row(i % classes)[c] + float32(spread*rng.NormFloat64())
		}
	}
	return s
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }

// Classes that are apart stay apart, and nearest neighbours are found again, at least 20 times as often as by chance
// (10/N') or in 40% of the places.
func TestNeighboursAreKept(t *testing.T) {
	for _, n := range []int{46, 300, 2000} {
		s := blobs(n, 20, 5, 0.4)
		points := pointsOf(s.X.Clone(), rng())
		q := measure(points, place(points, rng()), s.Labels, 10)
		t.Logf("N' %d: kept %.2f, pure %.3f (points %.3f)", n, q.kept, q.pure, q.before)
		if q.pure < q.before-0.03 || q.kept < min(0.4, 20*10/float64(n)) {
			t.Errorf("N' %d: %+v", n, q)
		}
	}
}

// The same seed gives the same bits, on one processor and on two.
func TestLayoutIsRepeated(t *testing.T) {
	s := blobs(400, 30, 4, 0.6)
	first := place(pointsOf(s.X.Clone(), rng()), rng())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(first, place(pointsOf(s.X, rng()), rng())); diff != "" {
		t.Errorf("another layout (-two processors +one):\n%s", diff)
	}
}

// However small S is, and whether or not its nodes differ, places are finite and in the frame.
func TestSmallAndAlike(t *testing.T) {
	for _, n := range []int{1, 2, 3, 20} {
		for _, spread := range []float64{0, 1} {
			s := blobs(n, 3, min(n, 2), spread)
			if spread == 0 {
				clear(s.X.Data)
			}
			xy := place(pointsOf(s.X, rng()), rng())
			for k, v := range xy.Data {
				if math.IsNaN(float64(v)) || v < -1 || v > 1 {
					t.Errorf("N' %d, spread %g: coordinate %d is %v", n, spread, k, v)
				}
			}
		}
	}
}

// Nearest neighbours are those of a full sort.
func TestNearest(t *testing.T) {
	x := blobs(60, 7, 3, 1).X
	copy(x.Row(9), x.Row(4)) // a tie for everybody
	got := nearest(x, 8)
	for i := range x.Rows {
		var all []neighbour
		for j := range x.Rows {
			if j != i {
				all = append(all, neighbour{int32(j), float32(math.Sqrt(float64(squared(x.Row(i), x.Row(j)))))})
			}
		}
		slices.SortStableFunc(all, func(a, b neighbour) int {
			switch {
			case a.distance < b.distance:
				return -1
			case a.distance > b.distance:
				return 1
			}
			return 0
		})
		if !slices.Equal(got[i], all[:8]) {
			t.Errorf("row %d: %v, want %v", i, got[i], all[:8])
		}
	}
}

// A node's surenesses sum to log2 of their number, and a pair has u + v − uv of its two ends.
func TestSection3Ties(t *testing.T) {
	near := nearest(blobs(80, 6, 3, 1).X, 10)
	own := map[[2]int32]float64{}
	for i, list := range near {
		sum := 0.0
		for k, sure := range surenesses(list) {
			sum += sure
			own[[2]int32{int32(i), list[k].node}] = sure
		}
		if math.Abs(sum-math.Log2(10)) > 1e-4 {
			t.Errorf("node %d: surenesses sum to %g", i, sum)
		}
	}
	seen := 0
	for _, tie := range ties(near) {
		u, a := own[[2]int32{tie.a, tie.b}]
		v, b := own[[2]int32{tie.b, tie.a}]
		if want := u + v - u*v; math.Abs(tie.weight-want) > 1e-12 || !(a || b) {
			t.Errorf("%d and %d: %g, want %g", tie.a, tie.b, tie.weight, want)
		}
		for _, there := range []bool{a, b} {
			if there {
				seen++
			}
		}
	}
	if seen != len(own) {
		t.Errorf("%d of %d neighbours are in ties", seen, len(own))
	}
}

// The legend of an S of three nodes, by hand.
func TestLegend(t *testing.T) {
	s := &artifact.Synthetic{Adj: graph.NewCSR(3, 3, nil), X: graph.NewDense(3, 2), Labels: []int32{0, 1, 1}}
	s.X.Data = []float32{1, 0, 3, 0, 9, 4}
	m := graph.NewCSR(4, 3, []graph.Edge{{Row: 0, Col: 0, Val: 0.5}, {Row: 1, Col: 0, Val: 1.5}, {Row: 1, Col: 1, Val: 2},
		{Row: 2, Col: 0, Val: 1.5}, {Row: 3, Col: 0, Val: 0.5}})
	b := &artifact.Bundle{Synthetic: *s, Mapping: &artifact.Mapping{IDs: []string{"a", "b", "c", "d"}, Rows: m}}
	b.Manifest.Data.Classes = []string{"no", "yes"}
	got := mapOf(t, b, true)
	if diff := cmp.Diff([]float32{4, 2, 0}, got.Mass); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float32{0.4, 0.6, 0, 1, 0, 1}, got.Shares.Data); diff != "" {
		t.Error(diff)
	}
	want := [][]artifact.Heavy{{{ID: "b", Weight: 1.5}, {ID: "c", Weight: 1.5}, {ID: "a", Weight: 0.5},
		{ID: "d", Weight: 0.5}},
		{{ID: "b", Weight: 2}}, nil}
	if diff := cmp.Diff(want, got.Heaviest, cmp.Transformer("short", func(h []artifact.Heavy) []artifact.Heavy {
		return append([]artifact.Heavy{}, h...)
	})); diff != "" {
		t.Error(diff)
	}
	// The mean is (4·1 + 2·3)/6 and 0.
	if diff := cmp.Diff([]artifact.Strength{{Feature: 0, Weight: float32(9 - 10.0/6)}, {Feature: 1, Weight: 4}},
		got.Features[2]); diff != "" {
		t.Error(diff)
	}
	if without := mapOf(t, b, false); without.Heaviest != nil {
		t.Error("ids are in a map without ids")
	}
}

// mapOf is the map of a bundle whose M comes in two pieces, of four nodes of T.
func mapOf(t *testing.T, b *artifact.Bundle, ids bool) *artifact.Map {
	t.Helper()
	labels := []int32{0, 1, -1, 0}
	out, err := Of(b, func(yield func(Rows, error) bool) {
		for lo := 0; lo < 4; lo += 2 {
			rows := b.Mapping.Rows.Take([]int32{int32(lo), int32(lo + 1)})
			if !yield(Rows{&artifact.Mapping{IDs: b.Mapping.IDs[lo : lo+2], Rows: rows}, labels[lo : lo+2]}, nil) {
				return
			}
		}
	}, ids, rng())
	expect.OK(t, err)
	return out
}

// On artifacts below RIVULET_MAPS, directories of trained ones, the quality is printed.
func TestQualityOfArtifacts(t *testing.T) {
	dir := os.Getenv("RIVULET_MAPS")
	if dir == "" {
		t.Skip("RIVULET_MAPS names no directory of artifacts")
	}
	all, err := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	expect.OK(t, err)
	for _, name := range all {
		b, err := artifact.ReadAll(filepath.Dir(name))
		expect.OK(t, err)
		points := pointsOf(read(b), rng())
		q := measure(points, place(points, rng()), b.Synthetic.Labels, 5)
		t.Logf("%s: N' %d: kept %.2f, pure %.3f (points %.3f)", b.Manifest.Data.Name, b.Manifest.SyntheticNodes, q.kept,
			q.pure,
			q.before)
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		s := blobs(n, 100, 10, 1)
		b.Run(map[int]string{1000: "1000", 10000: "10000"}[n], func(b *testing.B) {
			for b.Loop() {
				place(pointsOf(s.X.Clone(), rng()), rng())
			}
		})
	}
}
