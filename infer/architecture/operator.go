package architecture

import (
	"math"

	"rivulet/graph"
)

// Operator scales the messages of a hop in a graph with weights B: from messages z node i receives
//
//	out_i (Σ_k B_ik in_k z_k [+ in_i z_i])        […] where there are self-loops
//
// with in and out functions of the degree, the sum of a node's edge weights without self-loop.
type Operator struct {
	Name   string // of the model that it is first known from
	Scales func(degree float64) (in, out float64)
	Loops  bool
}

// Normalised is Â = D̃^-½ (B+I) D̃^-½ with D̃ = degree + 1: SGC, GCN, APPNP, LP and EP.
var Normalised = &Operator{Name: "gcn", Loops: true, Scales: func(degree float64) (in, out float64) {
	inv := 1 / math.Sqrt(1+degree)
	return inv, inv
}}

// mean is the mean of the neighbours, weighted where edges are: GraphSAGE.
var mean = &Operator{Name: "sage", Scales: func(degree float64) (in, out float64) {
	if degree <= 0 {
		return 1, 0
	}
	return 1, 1 / degree
}}

// symmetric is D^-½ B D^-½: Cheby.
var symmetric = &Operator{Name: "cheby", Scales: func(degree float64) (in, out float64) {
	if degree <= 0 {
		return 0, 0
	}
	inv := 1 / math.Sqrt(degree)
	return inv, inv
}}

// Slots returns the slots of a graph's edges as the architecture's models read them. The mean over the neighbours is
// bounded whatever an edge weighs, and takes weights as they are.
func (a *Architecture) Slots(of graph.Slots) graph.Slots {
	of.AsTheyAre = a.Operator == mean
	return of
}

// At are the scales of a degree in single precision.
func (o *Operator) At(degree float64) (in, out float32) {
	wideIn, wideOut := o.Scales(degree)
	return float32(wideIn), float32(wideOut)
}

// All are the scales of degrees, each with extra more.
func (o *Operator) All(degrees []float32, extra float64) (in, out []float32) {
	in, out = make([]float32, len(degrees)), make([]float32, len(degrees))
	o.SetAll(in, out, degrees, extra)
	return in, out
}

// SetSums sets in and out to the scales of degrees that are sums of two parts; in may be the memory of one of these.
func (o *Operator) SetSums(in, out, some, others []float32) {
	if o == Normalised { // in a loop without calls, in which the processor computes several at once
		others, in = others[:len(some)], in[:len(some)]
		for i, d := range some {
			in[i] = float32(1 / math.Sqrt(1+(float64(d)+float64(others[i]))))
		}
		copy(out, in)
		return
	}
	for i, d := range some {
		in[i], out[i] = o.At(float64(d) + float64(others[i]))
	}
}

// SetAll sets in and out to the scales of degrees, each with extra more.
func (o *Operator) SetAll(in, out, degrees []float32, extra float64) {
	for i, d := range degrees {
		in[i], out[i] = o.At(float64(d) + extra)
	}
}
