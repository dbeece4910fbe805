package plane

import (
	"math"
	"math/rand/v2"
	"runtime"
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

// Places are the first two principal directions, each up to its sign, on one scale.
func TestPlacesArePrincipalDirections(t *testing.T) {
	random := rng()
	x := graph.NewDense(500, 20)
	for i := range x.Rows {
		for c := range x.Cols {
			x.Row(i)[c] = float32(0.1 * random.NormFloat64())
		}
		x.Row(i)[4] += float32(9 * random.Float64())
		x.Row(i)[7] += float32(3 * random.Float64())
	}
	want := framed(graph.Beside(x.Columns(4, 5), x.Columns(7, 8)))
	got := place(x, rng())
	for k := range 2 {
		sign := float32(1)
		if got.Row(0)[k]*want.Row(0)[k] < 0 {
			sign = -1
		}
		for i := range got.Rows {
			if d := sign*got.Row(i)[k] - want.Row(i)[k]; math.Abs(float64(d)) > 0.05 {
				t.Fatalf("node %d: %v, want %v", i, got.Row(i), want.Row(i))
			}
		}
	}
}

// The same seed gives the same bits, on one processor and on two.
func TestLayoutIsRepeated(t *testing.T) {
	s := blobs(400, 30, 4, 0.6)
	first := place(s.X.Clone(), rng())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(first, place(s.X, rng())); diff != "" {
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
			xy := place(s.X, rng())
			for k, v := range xy.Data {
				if math.IsNaN(float64(v)) || v < -1 || v > 1 {
					t.Errorf("N' %d, spread %g: coordinate %d is %v", n, spread, k, v)
				}
			}
		}
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
