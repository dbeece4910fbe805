package infer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/perceptron"
	"rivulet/infer/preprocess"
	"rivulet/test/expect"
	"rivulet/test/reference"
)

// explainedCase is a model on S, served and in the oracle.
type explainedCase struct {
	candidate
	served *infer.Predictor
	joint  bool
	answer func(b reference.Arrivals) reference.Matrix // the oracle's logits
	tol    float64
}

func (w *world) explained() []explainedCase {
	z := w.fit.Apply(w.x)
	var out []explainedCase
	for _, c := range w.candidates {
		tol := oracleTol * w.magnitudeThrough(c.first) * c.gain
		if infer.Freezable(c.own) == nil {
			exact := w.oracleTables("S", c.oracle.Tables(w.adj, z))
			out = append(out, explainedCase{c, plainly(c.own.Frozen(tables(exact), w.preprocess())), false,
				func(b reference.Arrivals) reference.Matrix { return c.oracle.Frozen(exact, b) }, tol})
		}
		adj, x, oracleAdj, oracleX, _ := w.graph("S")
		out = append(out, explainedCase{c, plainly(c.own.Joint(adj, x, w.preprocess())), true,
			func(b reference.Arrivals) reference.Matrix {
				_, arrivals := Joint(c.oracle, oracleAdj, oracleX, b)
				return arrivals
			}, tol})
	}
	rng := rand.New(rand.NewPCG(uint64(w.features), uint64(len(w.a))))
	for k, c := range out { // each once more, beside an expert of own features
		expert, own := drawExpert(rng, w.preprocess(), w.features, k%3, w.classes())
		served := *c.served
		served.Expert = expert
		out = append(out, explainedCase{c.candidate, &served, c.joint, func(b reference.Arrivals) reference.Matrix {
			logits, of := c.answer(b).Times(1), own(b.X)
			for i, row := range of {
				a := float64(expert.Exponents.At(int(b.Degree[i])))
				for class, v := range row {
					logits[i][class] += a * v
				}
			}
			return logits
		}, c.tol + 1e-5*(1+w.magnitude())*w.ownScale(expert)})
	}
	return out
}

// ownScale bounds how much larger an expert's numbers are than those that [world.magnitude] bounds.
func (w *world) ownScale(e *perceptron.Expert) float64 {
	largest := 1.0
	for _, l := range e.Layers() {
		for _, v := range l.Self.Data {
			largest = max(largest, math.Abs(float64(v)))
		}
	}
	return largest * largest * 20
}

// explain explains arrival i of the world's batch on S.
func (w *world) explain(p *infer.Predictor, graphBatch bool, i int) *explain.Explanation {
	b := w.batch("S", graphBatch)
	logits, probabilities := p.Predict(b)
	return explain.New(p, graph.Slots{}).Explain(b, neighbours(w.a, w.mapping), i, logits.Row(i), probabilities.Row(i))
}

// places are the nodes of T that arrival i's neighbours are, in the order of their rows.
func (w *world) places(i int) []int {
	var out []int
	for j, e := range w.a[i] {
		if e != 0 {
			out = append(out, j)
		}
	}
	return out
}

func lead(row []float64, e *explain.Explanation) explain.Figure {
	return explain.Figure{Class: row[e.Class], Margin: row[e.Class] - row[e.RunnerUp]}
}

func figureNear(t fatal, what string, got, want explain.Figure, tol float64) {
	t.Helper()
	if math.Abs(got.Class-want.Class) > tol*max(1, math.Abs(want.Class)) ||
		math.Abs(got.Margin-want.Margin) > 2*tol*max(1, math.Abs(want.Margin)) {
		t.Fatalf("%s is %+v, want %+v within %.2g", what, got, want, tol)
	}
}

func less(a, b explain.Figure) explain.Figure {
	return explain.Figure{Class: a.Class - b.Class, Margin: a.Margin - b.Margin}
}

// without is the world with an arrival's feature, neighbour or edge in ã removed; the first with the norm held, so
// that it is given as preprocessed features.
func (w *world) without(i, feature, neighbour, arrival int) (x reference.Matrix, changed *world) {
	of := *w
	copied := func(m reference.Matrix) reference.Matrix { return m.Times(1) }
	of.a, of.among, x = copied(w.a), copied(w.among), copied(w.fit.Apply(w.arrivals))
	if feature >= 0 {
		x[i][feature] = w.fit.Apply(reference.New(1, w.features))[0][feature] // as of a feature that is 0
	}
	if neighbour >= 0 {
		of.a[i][neighbour] = 0
	}
	if arrival >= 0 {
		of.among[i][arrival], of.among[arrival][i] = 0, 0
	}
	return x, &of
}

// linear reports whether the model has shares.
func (c *explainedCase) linear() bool { return !c.joint && c.own.Architecture.Mix != nil }

// Section 10: a removal computed from scratch on dense matrices is what the second answer gives, for every model,
// frozen and joint, in node and graph batches.
func TestSection10WithoutAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if len(w.a) == 0 {
			return
		}
		i := rapid.IntRange(0, len(w.a)-1).Draw(t, "arrival")
		graphBatch := rapid.Bool().Draw(t, "graph batch")
		for _, c := range w.explained() {
			e := w.explain(c.served, graphBatch, i)
			answer := func(feature, neighbour, arrival int) explain.Figure {
				x, changed := w.without(i, feature, neighbour, arrival)
				b := changed.oracle("S", graphBatch)
				b.X = x
				return lead(c.answer(b)[i], e)
			}
			whole := answer(-1, -1, -1)
			name := fmt.Sprintf("%s, joint %v: ", c.name, c.joint)
			figureNear(t, name+"logit", e.Logit, whole, c.tol)
			if e.Shares != c.linear() {
				t.Fatalf("%sshares %v", name, e.Shares)
			}
			for _, term := range e.Features {
				figureNear(t, fmt.Sprint(name, "without feature ", term.At), term.Without, less(whole, answer(term.At, -1, -1)),
					2*c.tol)
			}
			for _, term := range e.Neighbours {
				figureNear(t, fmt.Sprint(name, "without neighbour ", term.At), term.Without,
					less(whole, answer(-1, w.places(i)[term.At], -1)), 2*c.tol)
			}
			for _, term := range e.Batch {
				figureNear(t, fmt.Sprint(name, "without arrival ", term.At), term.Without, less(whole, answer(-1, -1, term.At)),
					2*c.tol)
			}
			checkTerms(t, name, w, e, i, graphBatch)
			strongest := w.strongest(t, c, e, graphBatch, i)
			if c.linear() && e.Own == nil { // its reasons are shares
				continue
			}
			for _, r := range strongest {
				figures := map[string]explain.Figure{}
				switch r.Kind {
				case explain.ReasonFeature:
					figures[r.Kind] = less(whole, answer(r.At, -1, -1))
				case explain.ReasonNeighbour:
					figures[r.Kind] = less(whole, answer(-1, w.places(i)[r.At], -1))
				case explain.ReasonArrival:
					figures[r.Kind] = less(whole, answer(-1, -1, r.At))
				}
				figureNear(t, fmt.Sprint(name, "reason ", r.Kind, r.At), r.Figure, figures[r.Kind], 2*c.tol)
			}
		}
	})
}

// strongest returns the three strongest reasons, and holds them to the largest terms of the explanation in full.
func (w *world) strongest(t fatal, c explainedCase, e *explain.Explanation, graphBatch bool, i int) []explain.Reason {
	t.Helper()
	b := w.batch("S", graphBatch)
	logits, _ := c.served.Predict(b)
	reasons, other := explain.New(c.served, graph.Slots{}).Strongest(nil, 3, b, neighbours(w.a, w.mapping), i, e.Class,
		logits.Row(i))
	if other != e.RunnerUp {
		t.Fatalf("%s: reasons for the lead over class %d, want %d", c.name, other, e.RunnerUp)
	}
	var sizes []float64
	shares := e.Shares && e.Own == nil
	for _, terms := range [][]explain.Term{e.Features, e.Neighbours, e.Batch} {
		for _, term := range terms {
			if shares {
				sizes = append(sizes, math.Abs(term.Share.Margin))
			} else if term.Removed {
				sizes = append(sizes, math.Abs(term.Without.Margin))
			}
		}
	}
	sizes = slices.DeleteFunc(sizes, func(v float64) bool { return v == 0 })
	slices.Sort(sizes)
	slices.Reverse(sizes)
	sizes = sizes[:min(3, len(sizes))]
	if len(reasons) != len(sizes) {
		t.Fatalf("%s: %d reasons, want the figures %v", c.name, len(reasons), sizes)
	}
	all := shares || len(e.Features) <= 8 && len(e.Neighbours)+len(e.Batch) <= 8 // else the largest may be left out
	for k, r := range reasons {
		if d := sizes[k] - math.Abs(r.Figure.Margin); d < -1e-9*max(1, sizes[k]) || all && d > 1e-9*max(1, sizes[k]) {
			t.Fatalf("%s: reason %d is %+v, want one of size %v", c.name, k, r, sizes[k])
		}
	}
	return reasons
}

// checkTerms holds the terms of an explanation to what the arrival is made of.
func checkTerms(t fatal, name string, w *world, e *explain.Explanation, i int, graphBatch bool) {
	count := 0
	for _, v := range w.arrivals[i] {
		if v != 0 {
			count++
		}
	}
	among := 0
	for _, v := range w.among[i] {
		if v != 0 && graphBatch {
			among++
		}
	}
	if len(e.Features) != count || len(e.Neighbours) != len(w.places(i)) || len(e.Batch) != among || e.NotRemoved != 0 {
		t.Fatalf("%s%d features, %d neighbours, %d of the batch, %d not removed; want %d, %d, %d, 0", name, len(e.Features),
			len(e.Neighbours), len(e.Batch), e.NotRemoved, count, len(w.places(i)), among)
	}
	for _, terms := range [][]explain.Term{e.Features, e.Neighbours, e.Batch} {
		for _, term := range terms {
			sum := explain.Figure{}
			for _, through := range term.Through {
				sum.Class, sum.Margin = sum.Class+through.Share.Class, sum.Margin+through.Share.Margin
			}
			if !term.Removed || len(term.Through) > 0 && sum != term.Share {
				t.Fatalf("%sterm %+v: not removed, or its share does not come through its synthetic nodes", name, term)
			}
		}
	}
}

// Section 10: shares of a linear model add up to its logit with no rest, also where the edges among the arrivals
// have weights.
func TestSection10SharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if rapid.Bool().Draw(t, "weights") {
			weigh(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), w.among, true)
		}
		for _, c := range w.explained() {
			for i := 0; i < len(w.a) && c.linear(); i++ {
				for _, graphBatch := range []bool{false, true} {
					e := w.explain(c.served, graphBatch, i)
					figureNear(t, c.name+": sum of shares", e.Sum(), e.Logit, c.tol)
					if (e.Own != nil) != (c.served.Expert != nil) {
						t.Fatalf("%s: own features have the share %v", c.name, e.Own)
					}
					if e.Own == nil {
						continue
					}
					alone := *c.served
					alone.Expert = nil
					b := w.batch("S", graphBatch)
					without, _ := alone.Predict(b)
					with, _ := c.served.Predict(b)
					row := make([]float64, w.classes())
					for class := range row {
						row[class] = float64(with.Row(i)[class]) - float64(without.Row(i)[class])
					}
					figureNear(t, c.name+": share of own features", *e.Own, lead(row, e), c.tol)
				}
			}
		}
	})
}

// Section 10: a share is how the logit changes with what the arrival reads of one neighbour, its degree held: of SGC of
// one hop the oracle's derivative, of two hops the whole difference.
func TestSection10SharesAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if len(w.a) == 0 {
			return
		}
		i := rapid.IntRange(0, len(w.a)-1).Draw(t, "arrival")
		graphBatch := rapid.Bool().Draw(t, "graph batch")
		b := w.oracle("S", graphBatch)
		for _, c := range w.explained() {
			if !slices.Contains([]string{"sgc", "sgc of 1 hops"}, c.name) || c.joint {
				continue
			}
			e := w.explain(c.served, graphBatch, i)
			for _, term := range e.Neighbours {
				row := w.mapping[w.places(i)[term.At]]
				slope(t, fmt.Sprint(c.name, ": neighbour ", term.At), c, e, b, i, term, func(b *reference.Arrivals, by float64) {
					b.R = b.R.Times(1)
					for s, m := range row {
						b.R[i][s] += by * m
					}
				})
			}
			for _, term := range e.Batch {
				slope(t, fmt.Sprint(c.name, ": arrival ", term.At), c, e, b, i, term, func(b *reference.Arrivals, by float64) {
					b.Among = b.Among.Times(1)
					b.Among[i][term.At] += by
				})
			}
		}
	})
}

// slope holds a share to the change of the oracle's logit when more or less is read; where a relu is in between, to
// neither.
func slope(t fatal, what string, c explainedCase, e *explain.Explanation, b reference.Arrivals, i int,
	term explain.Term,
	read func(b *reference.Arrivals, by float64)) {
	t.Helper()
	by := 1e-5
	if c.name == "sgc" {
		by = 1
	}
	at := func(by float64) explain.Figure {
		changed := b
		read(&changed, by)
		return lead(c.answer(changed)[i], e)
	}
	more, now, fewer := at(by), at(0), at(-by)
	up, down := less(more, now), less(now, fewer)
	if math.Abs(up.Class-down.Class)+math.Abs(up.Margin-down.Margin) > 1e-3*by {
		return
	}
	figureNear(t, what, term.Share, explain.Figure{Class: down.Class / by, Margin: down.Margin / by}, c.tol+1e-4)
}

// Section 10, of SGC: own features and centring, at two hops to the arrival itself.
func TestSection10OwnFeatures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, c := range w.explained() {
			for i := 0; i < len(w.a) && c.name == "sgc" && !c.joint && c.served.Expert == nil; i++ {
				e, q2 := w.explain(c.served, false, i), 1/w.oracle("S", false).D()[i]
				x, zero := w.fit.Apply(w.arrivals)[i], w.fit.Apply(reference.New(1, w.features))[0]
				through := func(of []float64) explain.Figure {
					z := reference.Matrix{of}.Mul(w.model.W).Times(q2 * q2)
					return lead(z[0], e)
				}
				figureNear(t, "centring", e.Centring, through(zero), c.tol)
				for _, term := range e.Features {
					own := make([]float64, w.features)
					own[term.At] = x[term.At] - zero[term.At]
					figureNear(t, "feature", term.Share, through(own), c.tol)
				}
				figureNear(t, "bias", e.Bias, lead(w.model.B, e), c.tol)
			}
		}
	})
}

// Section 10: the order of neighbours changes no share. An unknown id has neither figure, a known neighbour with an
// empty row no share but its own removal, as it counts in the degree.
func TestSection10NeighboursInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		if len(w.a) == 0 {
			return
		}
		rows := neighbours(w.a, w.mapping)
		rows[0] = append(rows[0], attach.Row{}, attach.Row{Known: true}, attach.Row{Known: true, Arrived: true,
			Cols: []int32{0}, Vals: []float32{0.5}}, attach.Row{Unread: true})
		n := len(rows[0])
		order := rapid.Permutation(indices(n)).Draw(t, "order")
		turned := slices.Clone(rows)
		turned[0] = make([]attach.Row, n)
		for k, at := range order {
			turned[0][k] = rows[0][at]
		}
		for _, c := range w.explained() {
			first, second := explainRows(w, c.served, rows), explainRows(w, c.served, turned)
			if first.Class != second.Class || first.RunnerUp != second.RunnerUp { // equal to the last bits but one
				continue
			}
			byPlace := map[int]explain.Term{}
			for _, term := range second.Neighbours {
				byPlace[order[term.At]] = term
			}
			for _, term := range first.Neighbours {
				other, row := byPlace[term.At], rows[0][term.At]
				figureNear(t, c.name+": share in another order", other.Share, term.Share, 1e-5*max(1, math.Abs(first.Logit.Class)))
				none := explain.Figure{}
				switch {
				case !row.Known && (term.Share != none || term.Without != none || term.Removed):
					t.Fatalf("%s: an unknown id has %+v", c.name, term)
				case row.Known && len(row.Cols) == 0 && term.Share != none:
					t.Fatalf("%s: an empty row has share %+v", c.name, term.Share)
				case row.Known && !term.Removed:
					t.Fatalf("%s: neighbour %d was not removed", c.name, term.At)
				}
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for k := range out {
		out[k] = k
	}
	return out
}

// explainRows explains arrival 0 of a node batch with these rows.
func explainRows(w *world, p *infer.Predictor, rows [][]attach.Row) *explain.Explanation {
	b := &attach.Batch{X: w.rows(w.arrivals, true)}
	b.Attach(rows, len(w.synAdj))
	logits, probabilities := p.Predict(b)
	return explain.New(p, graph.Slots{}).Explain(b, rows, 0, logits.Row(0), probabilities.Row(0))
}

// A known neighbour with an empty row counts in the degree: without it the logit is another one.
func TestEmptyRowHasItsOwnRemoval(t *testing.T) {
	model, err := infer.NewSGC(&graph.Dense{Rows: 1, Cols: 2, Data: []float32{1, -1}}, []float32{0, 0})
	expect.OK(t, err)
	p := plainly(model.Frozen(&infer.Tables{U: []*graph.Dense{{Rows: 1, Cols: 2, Data: []float32{0, 0}},
		{Rows: 1, Cols: 2, Data: []float32{0, 0}}}, C: &graph.Dense{Rows: 1, Cols: 1, Data: []float32{0}}},
		&preprocess.Parameters{Kind: preprocess.None, Scale: 1}))
	rows := [][]attach.Row{{{Known: true}, {}}}
	b := &attach.Batch{X: graph.Features{Dense: &graph.Dense{Rows: 1, Cols: 1, Data: []float32{8}}}}
	b.Attach(rows, 1)
	logits, probabilities := p.Predict(b)
	e := explain.New(p, graph.Slots{}).Explain(b, rows, 0, logits.Row(0), probabilities.Row(0))
	// At D = 2 the logit is 8/4, without the neighbour 8.
	figureNear(t, "without the empty row", e.Neighbours[0].Without, explain.Figure{Class: -6, Margin: -12}, 1e-6)
	if e.Neighbours[1].Removed {
		t.Fatal("an unknown id was removed")
	}
}

// Of many terms the largest are removed and the others counted.
func TestMostTermsAreCounted(t *testing.T) {
	b, p := flickr(4)
	rows := make([][]attach.Row, 4)
	for k := range 50 {
		rows[1] = append(rows[1], attach.Row{Known: true, Cols: []int32{int32(k)}, Vals: []float32{float32(k + 1)}})
	}
	b.Attach(rows, p.Model.Nodes())
	logits, probabilities := p.Predict(b)
	e := explain.New(p, graph.Slots{}).Explain(b, rows, 1, logits.Row(1), probabilities.Row(1))
	removed := func(terms []explain.Term) int {
		n := 0
		for k := range terms {
			if terms[k].Removed != (k < n+1 && terms[k].Removed) {
				t.Fatal("a smaller term is removed before a larger one")
			}
			if terms[k].Removed {
				n++
			}
		}
		return n
	}
	features, near := removed(e.Features), removed(e.Neighbours)
	if features != explain.MostFeaturesRemoved || near != explain.MostNeighboursRemoved ||
		e.NotRemoved != len(e.Features)-features+50-near {
		t.Fatalf("%d of %d features and %d of 50 neighbours are removed, %d counted", features, len(e.Features), near,
			e.NotRemoved)
	}
}
