package infer_test

import (
	"math/rand/v2"
	"testing"

	"rivulet/graph"
	"rivulet/infer/architecture"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// An edge above the heaviest of T counts as the heaviest, in D too: frozen logits are the oracle's for such an edge,
// bit for bit those of an edge of that weight, and bounded whatever it weighs. A mean takes weights as they are.
func TestHeavyWeightsCountAsTheHeaviest(t *testing.T) {
	const n, arrivals, d, c = 12, 6, 4, 3
	heaviest := weights.Upper[len(weights.Upper)-1]
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		adj, a := triangleFree(rng, n, arrivals)
		x, own := convert.Normal(rng, n, d, 1), convert.Normal(rng, arrivals, d, 1)
		for _, m := range []reference.Matrix{x, own} {
			for i, row := range m {
				m[i] = reference.Each(row, func(v float64) float64 { return max(v, -v) })
			}
		}
		heavy := a.Times(1)
		for _, row := range heavy {
			for j := range row {
				if rng.IntN(2) == 0 {
					row[j] *= []float64{1e2, 1e6, 1e37}[rng.IntN(3)]
				}
			}
		}
		counted := reference.Counted(heavy, float64(heaviest))
		pre := &preprocess.Parameters{Kind: preprocess.None, Scale: 1}
		batch := func(edges reference.Matrix) *attach.Batch {
			b := &attach.Batch{X: graph.Features{Dense: dense(own)}, R: sparse(edges, arrivals, n)}
			b.Count()
			return b
		}
		identity := &graph.CSR{Rows: n, Cols: n, RowPtr: []int{0}}
		for j := range int32(n) {
			identity.ColIdx, identity.Val = append(identity.ColIdx, j), append(identity.Val, 1)
			identity.RowPtr = append(identity.RowPtr, int(j)+1)
		}
		for name, of := range weightedCases(rng, d, c) {
			slots := of.own.Architecture.Slots(weights)
			through, same := *batch(heavy), *batch(heavy)
			through.AttachThrough(batch(heavy).R, identity, &slots)
			same.AttachThrough(batch(counted).R, identity, &slots)
			onT := batch(heavy).InSlots(&slots)
			if name == "sage" {
				for i := range arrivals {
					if through.Degree(i) != batch(heavy).Degree(i) || onT.Degree(i) != batch(heavy).Degree(i) {
						t.Errorf("%s: arrival %d has degree %v, want %v", name, i, through.Degree(i), batch(heavy).Degree(i))
					}
				}
				continue
			}
			frozen := of.own.Frozen(of.own.Tables(sparse(adj, n, n), preprocess.Ready(dense(x)), weights.Edges...), pre)
			want := Alone(of.oracle, adj, x, reference.OnT(counted, reference.New(arrivals, arrivals), own))
			near(t, name, frozen.Logits(onT), want, 1e-4)
			near(t, name+" through M", frozen.Logits(&through), want, 1e-4)
			sameBits(t, name, frozen.Logits(&through).Data, frozen.Logits(&same).Data)
		}
	}
	for _, a := range architecture.Plain() {
		slots, joined := a.Slots(weights), weights.Joined()
		if got := slots.Counted(100); (got == 100) != (a.Name == "sage") || joined.Counted(100) != 100 {
			t.Errorf("%s: an edge of 100 counts %v", a.Name, got)
		}
	}
	if weights.AsTheyAre {
		t.Error("the bins of the graph were changed")
	}
}
