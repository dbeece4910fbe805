package attach

import "rivulet/graph"

// Memory is the memory of a batch's forward pass and of its results: the next batch uses it again, so that a steady
// stream of batches allocates nothing. It belongs to one batch at a time.
type Memory struct {
	values   []float32 // lent out from the beginning
	used     int
	wanted   int // numbers that the batch asked for
	matrices []*graph.Dense
	lent     int // matrices in use
}

// Again returns the memory for another batch. The results of the batch before, its logits and probabilities too, are
// overwritten.
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

// Dense returns an r×c matrix of zeros, in the batch's memory if it has some.
func (b *Batch) Dense(r, c int) *graph.Dense {
	if b.Memory == nil {
		return graph.NewDense(r, c)
	}
	return b.Memory.dense(r, c)
}

// Floats returns n zeros, in the batch's memory if it has some.
func (b *Batch) Floats(n int) []float32 {
	if b.Memory == nil {
		return make([]float32, n)
	}
	return b.Memory.floats(n)
}
