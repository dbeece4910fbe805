package infer

import (
	"slices"
	"sync"

	"rivulet/graph"
)

// What models read of a batch's edges to the graph, in either form.

// stored is about how many entries a product with the edges visits.
func (b *Batch) stored() int {
	if b.Full != nil {
		return len(b.Full.Data)
	}
	return b.R.NNZ()
}

// Sparse are the edges to the graph as a sparse matrix (n×m), R or what Full has of not zero.
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

// read returns a·tables, n×cols of tables (m×cols).
func (b *Batch) read(tables *graph.Dense) *graph.Dense {
	out := b.dense(b.Len(), tables.Cols)
	if b.Full != nil {
		graph.ParallelRows(out.Rows, len(b.Full.Data)*out.Cols, func(lo, hi int) {
			graph.AddProduct(out, b.Full, tables, lo, hi)
		})
		return out
	}
	graph.MulTo(out, b.R, tables)
	return out
}

// project returns the projection of the batch's features.
func (b *Batch) project(p *Projection) *graph.Dense {
	out := b.dense(b.Len(), p.Width())
	graph.ParallelRows(out.Rows, p.work(b.X), func(lo, hi int) { p.rows(out, b.X, lo, hi) })
	return out
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// readBlock is how many rows are read together of full edges: a few times those that a kernel takes at once.
const readBlock = 16

// eachRead calls f with the leading width columns of a·tables for each of the arrivals lo to hi, in order. read is
// f's until it returns.
func (b *Batch) eachRead(lo, hi int, tables *graph.Dense, width int, f func(i int, read []float32)) {
	s := rooms.Get().(*room)
	defer rooms.Put(s)
	block := 1
	if b.Full != nil {
		block = min(readBlock, hi-lo)
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
