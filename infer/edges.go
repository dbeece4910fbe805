package infer

import "rivulet/graph"

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
	if b.Full != nil {
		return graph.MulDense(b.Full, tables)
	}
	return graph.Mul(b.R, tables)
}

// readBlock is how many rows are read together of full edges: a few times those that a kernel takes at once.
const readBlock = 16

// eachRead calls f with the leading width columns of a·tables for each of the arrivals lo to hi, in order. read is
// f's until it returns.
func (b *Batch) eachRead(lo, hi int, tables *graph.Dense, width int, f func(i int, read []float32)) {
	if b.Full == nil {
		read := make([]float32, width)
		for i := lo; i < hi; i++ {
			clear(read)
			cols, vals := b.R.Row(i)
			graph.AddRows(read, cols, vals, tables)
			f(i, read)
		}
		return
	}
	m := b.Full.Cols
	read := graph.NewDense(min(readBlock, hi-lo), width)
	for ; lo < hi; lo += read.Rows {
		read.Rows = min(readBlock, hi-lo)
		read.Data = read.Data[:read.Rows*width]
		clear(read.Data)
		rows := &graph.Dense{Rows: read.Rows, Cols: m, Data: b.Full.Data[lo*m : (lo+read.Rows)*m]}
		graph.AddProduct(read, rows, tables, 0, read.Rows)
		for k := range read.Rows {
			f(lo+k, read.Row(k))
		}
	}
}
