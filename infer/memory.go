package infer

import (
	"slices"

	"rivulet/graph"
)

// Memory is what the forward pass of a batch needs, and its results: the next batch uses it again, so that a
// steady stream of batches allocates nothing. It belongs to one batch at a time.
type Memory struct {
	values   []float32 // what is handed out, from the beginning
	used     int
	wanted   int // what the batch would have had of values, if these had been enough
	matrices []*graph.Dense
	lent     int // of matrices

	nodes       nodePass
	calibrating calibrationBatch
}

// Again returns the memory for another batch. What was handed out to the one before, its logits and
// probabilities too, is overwritten.
func (m *Memory) Again() *Memory {
	if m.wanted > len(m.values) {
		m.values = make([]float32, m.wanted+m.wanted/4)
	}
	m.used, m.wanted, m.lent = 0, 0, 0
	return m
}

// Bytes returns how much memory is kept.
func (m *Memory) Bytes() int { return 4 * cap(m.values) }

// floats returns n zeros.
func (m *Memory) floats(n int) []float32 {
	m.wanted += n
	if m.used+n > len(m.values) {
		return make([]float32, n)
	}
	out := m.values[m.used : m.used+n : m.used+n]
	m.used += n
	clear(out)
	return out
}

// dense returns an r×c matrix of zeros.
func (m *Memory) dense(r, c int) *graph.Dense {
	if m.lent == len(m.matrices) {
		m.matrices = append(m.matrices, new(graph.Dense))
	}
	out := m.matrices[m.lent]
	m.lent++
	*out = graph.Dense{Rows: r, Cols: c, Data: m.floats(r * c)}
	return out
}

// memory returns that of the batch; one of its own if it has none.
func (b *Batch) memory() *Memory {
	if b.Memory == nil {
		return new(Memory)
	}
	return b.Memory
}

// dense returns an r×c matrix of zeros, in the batch's memory if it has some.
func (b *Batch) dense(r, c int) *graph.Dense {
	if b.Memory == nil {
		return graph.NewDense(r, c)
	}
	return b.Memory.dense(r, c)
}

// floats returns n zeros, in the batch's memory if it has some.
func (b *Batch) floats(n int) []float32 {
	if b.Memory == nil {
		return make([]float32, n)
	}
	return b.Memory.floats(n)
}

// room is the memory in which one goroutine takes arrivals through a model.
type room struct {
	values []float32
	read   graph.Dense // of the tables, a few arrivals at a time
	rows   graph.Dense // a view of their edges
}

// floats returns n values, of any content, in the memory of those before.
func (r *room) floats(n int) []float32 {
	r.values = slices.Grow(r.values[:0], n)[:n]
	return r.values
}
