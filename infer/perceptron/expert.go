package perceptron

import (
	"fmt"
	"math"
	"sync"

	"rivulet/graph"
	"rivulet/infer/attach"
)

// Expert is a perceptron that answers together with a model on S, as a product of experts (Hinton, "Training products
// of experts by minimizing contrastive divergence", 2002). The exponent a depends on how many neighbours the model
// reads:
//
//	p ∝ p_S · p_own^a        logits = logits_S + a·own(x)
//
// An arrival whose exponent is 0 has the logits of the model alone, bit for bit, and costs nothing.
type Expert struct {
	*Perceptron
	Exponents Exponents
}

// Exponents are the exponents of an [Expert] by the number of an arrival's neighbours that the model reads: known ones
// and, in a graph batch, arrivals of the batch ([attach.Batch.Degree]).
type Exponents struct {
	None float32 `json:"none"` // of an arrival without any
	Few  float32 `json:"few"`  // of 1 to FewNeighbours
	Many float32 `json:"many"` // of more
}

// FewNeighbours is the largest number of neighbours that counts as few.
const FewNeighbours = 4

// At returns the exponent of an arrival with so many neighbours.
func (e Exponents) At(neighbours int) float32 {
	switch {
	case neighbours == 0:
		return e.None
	case neighbours <= FewNeighbours:
		return e.Few
	}
	return e.Many
}

// Validate checks that the exponents are finite and not negative.
func (e Exponents) Validate() error {
	for _, of := range []struct {
		name  string
		value float32
	}{{"none", e.None}, {"few", e.Few}, {"many", e.Many}} {
		if !(of.value >= 0) || math.IsInf(float64(of.value), 0) {
			return fmt.Errorf("%s is %v, want a finite number of 0 or more", of.name, of.value)
		}
	}
	return nil
}

// HoldNorm returns the expert for features that were divided by their norm already, as infer.HoldNorm does for a
// deployment; nil of nil.
func (e *Expert) HoldNorm() *Expert {
	if e == nil {
		return nil
	}
	return &Expert{&Perceptron{e.layers, e.project.Undivided()}, e.Exponents}
}

// Add adds a·own(x) to a batch's logits of the model on S. nil adds nothing.
func (e *Expert) Add(logits *graph.Dense, b *attach.Batch) {
	if e == nil {
		return
	}
	pass := expertPasses.Get().(*expertPass)
	*pass = expertPass{e, b, logits, b.Dense(logits.Rows, e.layers[0].Width()), b.Dense(logits.Rows, logits.Cols)}
	graph.Parallel(logits.Rows, e.work(b.X), pass)
	*pass = expertPass{}
	expertPasses.Put(pass)
}

// Share returns a·own(x) of arrival i of a batch, C numbers.
func (e *Expert) Share(b *attach.Batch, i int) []float32 {
	out := graph.NewDense(1, e.Classes())
	one := &attach.Batch{X: b.X.Take([]int32{int32(i)}), Known: []int32{int32(b.Neighbours(i))}}
	e.Add(out, one)
	return out.Data
}

// expertPass is a batch to whose logits an expert adds. Its memory is used again, so that a batch allocates nothing.
type expertPass struct {
	*Expert
	batch               *attach.Batch
	logits, hidden, own *graph.Dense
}

var expertPasses = sync.Pool{New: func() any { return new(expertPass) }}

// Rows adds to the logits of arrivals lo to hi. Arrivals with an exponent of 0 are passed over.
func (p *expertPass) Rows(lo, hi int) {
	for lo < hi {
		end := lo
		for end < hi && p.Exponents.At(p.batch.Neighbours(end)) != 0 {
			end++
		}
		if end > lo {
			p.rows(p.own, p.hidden, p.batch.X, lo, end)
		}
		for ; lo < end; lo++ {
			graph.Axpy(p.logits.Row(lo), p.Exponents.At(p.batch.Neighbours(lo)), p.own.Row(lo))
		}
		lo++
	}
}
