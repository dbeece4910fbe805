// Package tile multiplies dense float32 matrices by tiles that fit a processor's registers: C += A·B, for products that
// are row-stable ([Chain], called by package graph) and for those of training ([Add], called by package gemm).
//
//	tile.go               views of matrices, and the loops: blocks of rows, blocks of k, panels of B, tiles
//	kernel_*.go, .s       the kernels of a tile: AVX-512, AVX2, arm64, and plain Go with a fused multiply-add
//
// The loops are those of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), without the
// packing of A, whose blocks are read in place. B is packed into panels as wide as a tile if many rows are multiplied
// with it, and read in place if it is a few, as packing costs as much as the product of ten to twenty rows.
//
// A kernel of Chain begins its sums with the values of C, so a sum is one chain of fused multiply-adds in ascending k,
// however k is cut into blocks. A kernel of Add begins at 0 and adds its sums to C, block after block.
//
// # Why assembler
//
// Go's own package for this, simd/archsimd, is there only if the program is built with GOEXPERIMENT=simd. With `go run
// ./cmd/demo` or `go test ./...` alone it is not set, and users would get plain Go; and its interface is
// experimental and may change with each release of Go. A package in C needs cgo and a C compiler.
package tile

import (
	"fmt"
	"sync"
)

// View is an r×c matrix in another's memory: element (i, j) is Data[i·RowStride + j·ColStride].
type View struct {
	Rows, Cols           int
	RowStride, ColStride int
	Data                 []float32
}

// T returns the transposed view, of the same memory.
func (v View) T() View {
	return View{Rows: v.Cols, Cols: v.Rows, RowStride: v.ColStride, ColStride: v.RowStride, Data: v.Data}
}

// Columns returns columns from up to to of v.
func (v View) Columns(from, to int) View {
	v.Data, v.Cols = v.Data[from*v.ColStride:], to-from
	return v
}

// check panics if an element is outside the memory: the kernels do not look. It reads no element, as another goroutine
// may be about to write the last row.
func (v View) check() {
	last := (v.Rows-1)*v.RowStride + (v.Cols-1)*v.ColStride
	if v.Rows > 0 && v.Cols > 0 && last >= len(v.Data) {
		panic(fmt.Sprintf("tile: a view of %d×%d ends at %d, its memory at %d", v.Rows, v.Cols, last, len(v.Data)))
	}
}

// A kernel has the sums of a tile of rows×cols: of products of k values a row of A and k rows of B. add adds the sums
// to C; chain begins the sums with the values of C.
type kernel struct {
	rows, cols int
	add, chain func(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
}

const (
	// Depth is the number of k in a block: a panel of B, 256×16 values, stays in the first cache beside rows of A.
	Depth = 256
	// blockRows is about how many rows of A are multiplied with all panels of B before the next rows are: a block of
	// them, 96×256 values, stays in the second cache. It is a multiple of the rows of every kernel.
	blockRows = 96
	// packedValues is roughly the number of values of B that are packed together if several blocks of rows read them.
	packedValues = 1 << 17
)

// workspace is the memory of one goroutine.
type workspace struct {
	packed []float32 // panels of B
	side   []float32 // the last columns of a block of C, if they are fewer than a tile has
	tile   [maxTile]float32
	filled []float32 // the rows of an A that has fewer than a tile
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// product is C += α·A·B under way for rows lo to hi of C, which has a row every stride values.
type product struct {
	*workspace
	kernel
	c      []float32
	stride int
	alpha  float32
	a, b   View
	lo, hi int
	onward bool // sums begin with the values of C
}

// Add adds rows lo to hi of α·A·B to C: sums of blocks of k, one block after the other; B is scaled before it is
// multiplied. C has a row every stride values.
func Add(c []float32, stride int, alpha float32, a, b View, lo, hi int) {
	product{kernel: choose(hi-lo, b.Cols), c: c, stride: stride, alpha: alpha, a: a, b: b, lo: lo, hi: hi}.run()
}

// Chain adds rows lo to hi of A·B to C: each sum begins with the value of C and is one chain of fused
// multiply-adds in ascending k.
func Chain(c []float32, stride int, a, b View, lo, hi int) {
	product{kernel: choose(hi-lo, b.Cols), c: c, stride: stride, alpha: 1, a: a, b: b, lo: lo, hi: hi, onward: true}.run()
}

// run computes blocks of rows. It packs B before the first one, as much of it at a time as all blocks read.
func (p product) run() {
	if p.lo >= p.hi || p.a.Cols == 0 || p.b.Cols == 0 {
		return
	}
	p.a.check()
	p.b.check()
	_ = p.c[(p.hi-1)*p.stride+p.b.Cols-1]
	p.workspace = workspaces.Get().(*workspace)
	defer workspaces.Put(p.workspace)
	p.side = room(p.side, blockRows*p.cols)
	if p.onward && p.hi-p.lo <= blockRows && p.b.ColStride == 1 {
		p.inPlace()
		return
	}
	width := (p.b.Cols + p.cols - 1) / p.cols * p.cols
	step := min(p.a.Cols, Depth*max(1, packedValues/(width*Depth)))
	p.packed = room(p.packed, width*step)
	for at := 0; at < p.a.Cols; at += step {
		end := min(at+step, p.a.Cols)
		for from := at; from < end; from += Depth {
			p.pack(p.packed[(from-at)*width:], from, min(Depth, end-from))
		}
		for lo := p.lo; lo < p.hi; lo += blockRows {
			p.block(lo, min(lo+blockRows, p.hi), at, end, func(from, j, k int) ([]float32, int) {
				return p.packed[(from-at)*width+j*k:], p.cols
			})
		}
	}
}

// inPlace reads B where it lies. A tile that sticks out of B's last columns reads the first values of the next rows
// beside them, for sums that nobody uses. The last row of B has no next one, and is copied. If the rows before it are
// so narrow that their tiles stick out of B, too, B is copied in front of zeros: a tile of 16 columns reads six rows of
// three values.
func (p *product) inPlace() {
	n, width, b := p.a.Cols, (p.b.Cols+p.cols-1)/p.cols*p.cols, p.b.Data
	reach := func(rows int) int { return (rows-1)*p.b.RowStride + width }
	if reach(n) > len(b) {
		n--
	}
	copied := 0
	if n > 0 && reach(n) > len(b) {
		copied = reach(n)
	}
	if copied > 0 || n < p.a.Cols {
		p.packed = room(p.packed, copied+width)
	}
	if copied > 0 {
		b = p.packed[:copied]
		clear(b[copy(b, p.b.Data):])
	}
	p.block(p.lo, p.hi, 0, n, func(from, j, _ int) ([]float32, int) {
		return b[from*p.b.RowStride+j:], p.b.RowStride
	})
	if n < p.a.Cols {
		last := p.packed[copied:]
		copy(last, p.b.Data[n*p.b.RowStride:][:p.b.Cols])
		p.block(p.lo, p.hi, n, p.a.Cols, func(_, j, _ int) ([]float32, int) { return last[j:], 0 })
	}
}

// room returns memory for as many values.
func room(memory []float32, values int) []float32 {
	if cap(memory) < values {
		return make([]float32, values)
	}
	return memory[:values]
}

// pack copies α times rows from to from+k of B: panel after panel, a row of a panel contiguous, zeros behind the last
// column. A row of B is read to its end before the next one.
func (p *product) pack(out []float32, from, k int) {
	for r := range k {
		for j := 0; j < p.b.Cols; j += p.cols {
			cols := min(p.cols, p.b.Cols-j)
			row := out[j*k+r*p.cols:][:p.cols]
			values := p.b.Data[(from+r)*p.b.RowStride+j*p.b.ColStride:]
			switch {
			case p.b.ColStride != 1 || p.alpha != 1:
				for c := range cols {
					row[c] = p.alpha * values[c*p.b.ColStride]
				}
			case cols == p.cols:
				for c := 0; c < cols; c += 16 { // faster than a call that copies
					*(*[16]float32)(row[c:]) = *(*[16]float32)(values[c:])
				}
			default:
				copy(row, values[:cols])
			}
			clear(row[cols:])
		}
	}
}

// block adds the products of values at to end of rows lo to hi. panel returns rows from to from+k of B's columns from j
// on, and the values from row to row.
func (p *product) block(lo, hi, at, end int, panel func(from, j, k int) (b []float32, stride int)) {
	last := p.b.Cols / p.cols * p.cols
	for i := lo; last < p.b.Cols && i < hi; i++ {
		copy(p.side[(i-lo)*p.cols:][:p.b.Cols-last], p.c[i*p.stride+last:])
	}
	for from := at; from < end; from += Depth {
		k := min(Depth, end-from)
		for j := 0; j < p.b.Cols; j += p.cols {
			b, bstride := panel(from, j, k)
			c, cstride := p.c[lo*p.stride+j:], p.stride
			if j == last {
				c, cstride = p.side, p.cols
			}
			for i := lo; i < hi; i += p.rows {
				p.tileRows(c[(i-lo)*cstride:], cstride, i, min(p.rows, hi-i), from, b, bstride, k)
			}
		}
	}
	for i := lo; last < p.b.Cols && i < hi; i++ {
		copy(p.c[i*p.stride+last:][:p.b.Cols-last], p.side[(i-lo)*p.cols:])
	}
}

// tileRows adds to n rows of a tile of C, from row i of A on. If the tile has more rows, it is computed beside.
func (p *product) tileRows(c []float32, cstride, i, n, from int, b []float32, bstride, k int) {
	use := p.add
	if p.onward {
		use = p.chain
	}
	a, arow, acol := p.a.Data[from*p.a.ColStride:], p.a.RowStride, p.a.ColStride
	if n == p.rows {
		use(&c[0], cstride, &a[i*arow], arow, acol, &b[0], bstride, k)
		return
	}
	first := max(0, min(i, p.a.Rows-p.rows)) // rows before i are computed again, and not used
	if a = a[first*arow:]; p.a.Rows < p.rows {
		a, arow, acol = p.fill(a, k), k, 1
	}
	tile := p.tile[:p.rows*p.cols]
	for r := range n {
		copy(tile[(i-first+r)*p.cols:][:p.cols], c[r*cstride:])
	}
	use(&tile[0], p.cols, &a[0], arow, acol, &b[0], bstride, k)
	for r := range n {
		copy(c[r*cstride:][:p.cols], tile[(i-first+r)*p.cols:])
	}
}

// fill copies k values of all rows of A, and rows of zeros up to the height of a tile.
func (p *product) fill(a []float32, k int) []float32 {
	if len(p.filled) < p.rows*Depth {
		p.filled = make([]float32, p.rows*Depth)
	}
	out := p.filled[:p.rows*k]
	clear(out)
	for r := range p.a.Rows {
		for c := range k {
			out[r*k+c] = a[r*p.a.RowStride+c*p.a.ColStride]
		}
	}
	return out
}
