package links

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/generate"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
)

func prepared(t *testing.T) (*dataset.Dataset, *Problem, *dataset.Dataset) {
	t.Helper()
	d, err := generate.Graph(generate.Generator{Name: "tiny", Nodes: 400, Edges: 4000, Classes: 2, Communities: 8,
		CommunityShare: .6, ClassShare: .2, DegreeExponent: 2.6, Kind: generate.Dense, Features: 8, Train: 200,
		Validation: 100, Test: 100}, 1)
	expect.OK(t, err)
	d.Candidates = make([]bool, d.Nodes())
	for i, y := range d.Labels {
		d.Candidates[i] = y == 1
	}
	expect.OK(t, d.AsLinks())
	d = d.OriginalFirst()
	p, out, err := Prepare(d, rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 3)))
	expect.OK(t, err)
	return d, p, out
}

// About a tenth of the edges between arrivals and candidates is held out, in both directions; every other edge stays.
func TestEdgesAreHeldOut(t *testing.T) {
	d, p, out := prepared(t)
	n, between, gone := len(d.Train), 0, 0
	has := func(adj *graph.CSR, i, j int32) bool {
		cols, _ := adj.Row(int(i))
		return slices.Contains(cols, j)
	}
	for i := range int32(d.Nodes()) {
		cols, _ := d.Adj.Row(int(i))
		for _, c := range cols {
			candidate := int(i) >= n && int(c) < n && d.Candidates[c]
			if candidate {
				between++
			}
			held := candidate && slices.Contains(p.held[i], p.place[c])
			if held {
				gone++
			}
			other := int(c) >= n && int(i) < n && d.Candidates[i] && slices.Contains(p.held[c], p.place[i])
			if there := has(out.Adj, i, c); there == (held || other) {
				t.Fatalf("edge %d–%d: there %t, held out %t", i, c, there, held || other)
			}
		}
	}
	if share := float64(gone) / float64(between); math.Abs(share-HeldOut) > 0.03 || out.Adj.NNZ() != d.Adj.NNZ()-2*gone {
		t.Errorf("%d of %d edges are held out", gone, between)
	}
	for c, i := range p.Candidates {
		if int(i) >= n || !d.Candidates[i] || p.place[i] != int32(c) {
			t.Errorf("node %d is candidate %d", i, c)
		}
	}
}

// A target's products with the vectors of the candidates are the row of the nearest matrix of their rank: of full rank
// they are the edges themselves.
func TestTargetsAreTheEdges(t *testing.T) {
	d, p, out := prepared(t)
	if len(p.Candidates) > Rank {
		t.Fatalf("%d candidates are too many for a matrix of full rank", len(p.Candidates))
	}
	kept, all := 0.0, 0.0
	for i := range d.Train {
		edges := map[int32]float64{}
		cols, _ := p.adj.Row(i)
		for _, c := range cols {
			if at := p.place[c]; at >= 0 {
				edges[at] = 1
			}
		}
		if (len(edges) > 0) != (p.Weights[i] == 1) {
			t.Errorf("node %d has %d candidates and the weight %v", i, len(edges), p.Weights[i])
		}
		for c := range p.Candidates {
			score := 0.0
			for k, v := range p.Vectors.Row(c) {
				score += float64(v) * float64(out.Targets.Row(i)[k])
			}
			kept += (edges[int32(c)] - score) * (edges[int32(c)] - score)
			all += edges[int32(c)]
		}
	}
	if kept > 1e-6*all {
		t.Errorf("%v of the edges' squares are left", kept/all)
	}
}

// The baselines rank by definition: by degree in T, and by 1/log of the degrees of shared neighbours, over known edges
// alone.
func TestBaselines(t *testing.T) {
	d, p, _ := prepared(t)
	q := p.Queries(d.Test)
	popularity, adamicAdar := q.Baselines()
	score := func(of func(i, c int32) float64) float64 {
		sum, n := 0.0, 0.0
		for k, i := range d.Test {
			for _, held := range q.Held[k] {
				rank := 1.0
				for c := range int32(len(p.Candidates)) {
					if slices.Contains(q.Held[k], c) || slices.Contains(q.Known[k], c) {
						continue
					}
					if a, b := of(i, p.Candidates[c]), of(i, p.Candidates[held]); a > b+1e-6 {
						rank++
					} else if a > b-1e-6 {
						rank += .5
					}
				}
				sum, n = sum+100/rank, n+1
			}
		}
		return sum / n
	}
	degree := func(_, c int32) float64 { return float64(p.adj.RowLen(int(c))) }
	shared := func(i, c int32) (sum float64) {
		of, _ := p.rest.Row(int(i))
		for _, j := range of {
			if int(j) >= p.adj.Rows {
				continue
			}
			if cols, _ := p.adj.Row(int(j)); slices.Contains(cols, c) {
				sum += 1 / math.Log(float64(max(2, len(cols))))
			}
		}
		return sum
	}
	if want := score(degree); math.Abs(popularity-want) > 1e-6 {
		t.Errorf("popularity %v, want %v", popularity, want)
	}
	if want := score(shared); math.Abs(adamicAdar-want) > 1e-3 {
		t.Errorf("Adamic-Adar %v, want %v", adamicAdar, want)
	}
}

// Tables have the hops of the candidates' vectors beside the model's, times the share of the highest score: of two that
// are equal the smaller.
func TestVectorsOfKnownCandidates(t *testing.T) {
	_, p, _ := prepared(t)
	m, err := infer.NewSGC(graph.NewDense(3, p.Vectors.Cols), make([]float32, p.Vectors.Cols))
	expect.OK(t, err)
	ones := func() *infer.Tables {
		z := graph.NewDense(p.adj.Rows, p.Vectors.Cols)
		for k := range z.Data {
			z.Data[k] = 1
		}
		return infer.HopTables(p.adj, z, m.Hops)
	}
	var none *Problem
	if plain := ones(); none.Beside(plain, m) != plain || p.Beside(plain, m) != plain {
		t.Error("tables change without a share")
	}
	calls, scores := 0, []float64{1, 2, 7, 7, 3, 0}
	best, err := p.ChooseShare(m, ones(), nil, func() (float64, error) {
		calls++
		return scores[calls-1], nil
	})
	if err != nil || best != 7 || calls != len(shares) {
		t.Fatalf("score %v after %d calls: %v", best, calls, err)
	}
	s := p.structures[m.Name()]
	unit := length(ones()) / length(s.tables)
	if got := s.share / unit; math.Abs(float64(got-shares[2])) > 1e-5 {
		t.Errorf("the share is %v units, want %v", got, shares[2])
	}
	got, plain := p.Beside(ones(), m), ones()
	for k, u := range got.U {
		for i, v := range u.Data {
			if want := plain.U[k].Data[i] + s.share*s.tables.U[k].Data[i]; math.Abs(float64(v-want)) > 1e-5 {
				t.Fatalf("table %d: %v, want %v", k, v, want)
			}
		}
	}
}
