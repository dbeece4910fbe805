package attach

import (
	"slices"
	"sync"

	"rivulet/graph"
)

// Access to a batch's edges to the graph, in either form.

// Stored is about how many entries a product with the edges visits.
func (b *Batch) Stored() int {
	if b.Full != nil {
		return len(b.Full.Data)
	}
	return b.R.NNZ()
}

// Sparse are the edges to the graph as a sparse matrix (n×m): R, or the non-zeros of Full.
func (b *Batch) Sparse() *graph.CSR {
	if b.Full == nil {
		return b.R
	}
	r := &graph.CSR{Rows: b.Full.Rows, Cols: b.Full.Cols, RowPtr: make([]int, 1, b.Full.Rows+1)}
	nz := graph.NewNonZeros(r.Cols)
	for i := range r.Rows {
		nz.Set(b.Full.Row(i))
		r.ColIdx, r.Val = append(r.ColIdx, nz.Cols...), append(r.Val, nz.Vals...)
		r.RowPtr = append(r.RowPtr, len(r.ColIdx))
	}
	return r
}

// Read returns a·tables, n×cols of tables (m×cols).
func (b *Batch) Read(tables *graph.Dense) *graph.Dense {
	out := b.Dense(b.Len(), tables.Cols)
	if b.Full != nil {
		graph.ParallelRows(out.Rows, len(b.Full.Data)*out.Cols, func(lo, hi int) {
			graph.AddProduct(out, b.Full, tables, lo, hi)
		})
		return out
	}
	graph.MulTo(out, b.R, tables)
	return out
}

// reading is the memory in which one goroutine reads tables.
type reading struct {
	read graph.Dense // rows of the tables, for a few arrivals at a time
	rows graph.Dense // a view of their edges
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// ReadBlock is the number of rows of full edges that are read together: a few times as many as a kernel takes at once.
const ReadBlock = 24

// EachRead calls f with the leading width columns of a·tables for each of the arrivals lo to hi, in order. read is
// f's until it returns.
func (b *Batch) EachRead(lo, hi int, tables *graph.Dense, width int, f func(i int, read []float32)) {
	s := readings.Get().(*reading)
	defer readings.Put(s)
	block := 1
	if b.Full != nil {
		block = min(ReadBlock, hi-lo)
	}
	read := &s.read
	read.Cols, read.Data = width, slices.Grow(read.Data[:0], block*width)[:block*width]
	if b.Full == nil {
		for i := lo; i < hi; i++ {
			clear(read.Data)
			cols, vals := b.R.Row(i)
			graph.AddRows(read.Data, cols, vals, tables)
			f(i, read.Data)
		}
		return
	}
	m := b.Full.Cols
	for ; lo < hi; lo += read.Rows {
		read.Rows = min(block, hi-lo)
		read.Data = read.Data[:read.Rows*width]
		clear(read.Data)
		s.rows = graph.Dense{Rows: read.Rows, Cols: m, Data: b.Full.Data[lo*m : (lo+read.Rows)*m]}
		graph.AddProduct(read, &s.rows, tables, 0, read.Rows)
		for k := range read.Rows {
			f(lo+k, read.Row(k))
		}
	}
	s.rows = graph.Dense{}
}

// Spread sets dst = qz + ã(qz): the messages from the arrival itself and from the batch, before its own q.
func (b *Batch) Spread(dst *graph.Dense, q []float32, z *graph.Dense) {
	for i := range dst.Rows {
		b.SpreadRow(dst.Row(i), i, q, z, 0)
	}
}

// SpreadRow is row i of spread, of the columns of z from at on.
func (b *Batch) SpreadRow(dst []float32, i int, q []float32, z *graph.Dense, at int) {
	own := z.Row(i)[at:]
	for k := range dst {
		dst[k] = q[i] * own[k]
	}
	b.Gather(dst, i, q, z, at)
}

// Gather adds ã(in·z) of arrival i to dst, of the columns of z from at on.
func (b *Batch) Gather(dst []float32, i int, in []float32, z *graph.Dense, at int) {
	if b.Adj == nil {
		return
	}
	cols, weights := b.Adj.Row(i)
	for p, j := range cols {
		share := in[j]
		if weights != nil {
			share *= weights[p]
		}
		graph.Axpy(dst, share, z.Row(int(j))[at:])
	}
}
