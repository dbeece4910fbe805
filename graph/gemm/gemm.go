package gemm

import (
	"fmt"
	"runtime"
	"sync"

	"rivulet/graph"
)

// View is an r×c matrix in memory of somebody else: element (i, j) is Data[i·RowStride + j·ColStride].
type View struct {
	Rows, Cols           int
	RowStride, ColStride int
	Data                 []float32
}

// Of returns a view of m.
func Of(m *graph.Dense) View {
	return View{Rows: m.Rows, Cols: m.Cols, RowStride: m.Cols, ColStride: 1, Data: m.Data}
}

// T returns the transposed view, of the same memory.
func (v View) T() View {
	return View{Rows: v.Cols, Cols: v.Rows, RowStride: v.ColStride, ColStride: v.RowStride, Data: v.Data}
}

// depth is the number of k in a block: a block of B, 256×48 values, stays in the first cache, and as many rows of
// a transposed A in the second.
const depth = 256

// Add adds alpha·A·B to dst, shapes m×k · k×n → m×n; B is scaled before it is multiplied. Wrong shapes panic. dst
// must not share memory with A or B.
func Add(dst *graph.Dense, alpha float32, a, b View) {
	if !checked(dst, a, b) {
		return
	}
	if a.Cols >= tall && a.Rows*b.Cols <= maxSums {
		addTall(dst, alpha, a, b)
		return
	}
	use := chooseKernel(a.Rows, b.Cols)
	tiles := (a.Rows + use.rows - 1) / use.rows
	parts := max(1, min(tiles/8, 2*runtime.GOMAXPROCS(0))) // few: each packs all of B
	graph.ParallelRows(parts, a.Rows*a.Cols*b.Cols, func(lo, hi int) {
		w := workspaces.Get().(*workspace)
		defer workspaces.Put(w)
		w.add(dst, alpha, a, b, use, lo*tiles/parts*use.rows, min(hi*tiles/parts*use.rows, a.Rows))
	})
}

// AddAlone does the work of [Add] on the calling goroutine alone, for callers that are parallel themselves.
func AddAlone(dst *graph.Dense, alpha float32, a, b View) {
	if !checked(dst, a, b) {
		return
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	w.add(dst, alpha, a, b, chooseKernel(a.Rows, b.Cols), 0, a.Rows)
}

// checked panics if shapes do not fit, and reports whether there is something to add.
func checked(dst *graph.Dense, a, b View) bool {
	if a.Cols != b.Rows || dst.Rows != a.Rows || dst.Cols != b.Cols {
		panic(fmt.Sprintf("gemm: %d×%d · %d×%d into %d×%d", a.Rows, a.Cols, b.Rows, b.Cols, dst.Rows, dst.Cols))
	}
	a.check()
	b.check()
	return a.Rows > 0 && a.Cols > 0 && b.Cols > 0
}

// check panics if an element is outside the memory: the kernels do not look.
func (v View) check() {
	if v.Rows > 0 && v.Cols > 0 {
		_ = v.Data[(v.Rows-1)*v.RowStride+(v.Cols-1)*v.ColStride]
	}
}

// Mul returns A·B.
func Mul(a, b View) *graph.Dense {
	dst := graph.NewDense(a.Rows, b.Cols)
	Add(dst, 1, a, b)
	return dst
}

// A kernel adds to a tile of rows×cols sums the products of k values a row of A and k packed rows of B.
type kernel struct {
	rows, cols int
	add        func(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
}

// workspace is the memory of one goroutine: a packed block of B, packed rows of A and where the rows of each tile lie,
// and a tile for the edges.
type workspace struct {
	packed []float32
	rows   []float32
	strips []strip
	tile   [maxTile]float32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

const (
	// packedValues is the size of as many packed blocks of B as are multiplied with a few rows of A before the next
	// rows are read, if they stay in the second cache: a row of A is read from its beginning to its end.
	packedValues = 1 << 17
	// fewValues is the size of packed blocks of B that leave the second cache to others.
	fewValues = 1 << 15
	// rowsAtOnce is the number of rows of A that are multiplied with a panel of B before the next panel if B is larger:
	// the panel stays in the first cache, and the rows in the second. It is a multiple of the rows of each kernel's tile.
	rowsAtOnce = 96
)

// add computes rows lo to hi of dst.
func (w *workspace) add(dst *graph.Dense, alpha float32, a, b View, use kernel, lo, hi int) {
	width := (b.Cols + use.cols - 1) / use.cols * use.cols
	step := depth * max(1, packedValues/(width*depth))
	if need := width * min(step, a.Cols); cap(w.packed) < need {
		w.packed = make([]float32, need)
	}
	for at := 0; at < a.Cols; at += step {
		end := min(at+step, a.Cols)
		packed := w.packed[:width*(end-at)]
		for from := at; from < end; from += depth {
			k := min(depth, end-from)
			pack(packed[(from-at)*width:][:k*width], alpha, b, from, k, use.cols)
		}
		some := use.rows
		if len(packed) > fewValues {
			some = rowsAtOnce
		}
		for i := lo; i < hi; i += some {
			for from := at; from < end; from += depth {
				w.addRows(dst, a, use, i, min(some, hi-i), from, packed[(from-at)*width:], min(depth, end-from))
			}
		}
	}
}

// addRows adds the products of at most rowsAtOnce rows of A, values from to from+k, and a packed block of B.
func (w *workspace) addRows(dst *graph.Dense, a View, use kernel, i, rows, from int, packed []float32, k int) {
	w.cut(a, use.rows, i, rows, from, k)
	for j := 0; j < dst.Cols; j += use.cols {
		for t, left := range w.strips {
			w.addTile(dst, use, i+t*use.rows, min(use.rows, rows-t*use.rows), j, left, packed[j*k:], k)
		}
	}
}

// strip is the part of A that a tile reads: value (r, p) is data[r·row + p·col].
type strip struct {
	data     []float32
	row, col int
}

// cut sets the strips of some rows of A, values from to from+k: in place, where the values of a row lie side by
// side, else copied to lie as a kernel reads them. Rows that a last strip lacks are zeros.
func (w *workspace) cut(a View, tile, i, rows, from, k int) {
	w.strips = w.strips[:0]
	if need := (rows + tile - 1) / tile * tile * k; cap(w.rows) < need {
		w.rows = make([]float32, need)
	}
	for t := 0; t < rows; t += tile {
		data := a.Data[(i+t)*a.RowStride+from*a.ColStride:]
		if have := min(tile, rows-t); a.ColStride != 1 || have < tile {
			copied := w.rows[t*k:][:tile*k]
			interleave(copied, data, a, have, tile, k)
			w.strips = append(w.strips, strip{copied, 1, tile})
		} else {
			w.strips = append(w.strips, strip{data, a.RowStride, 1})
		}
	}
}

// interleave copies rows×k values, the same value of each row side by side, with zeros up to want rows.
func interleave(out, data []float32, v View, rows, want, k int) {
	switch {
	case v.RowStride == 1 && rows == want && want == 6:
		for p := range k {
			*(*[6]float32)(out[p*6:]) = *(*[6]float32)(data[p*v.ColStride:])
		}
		return
	case v.RowStride == 1 && rows == want && want == 8:
		for p := range k {
			*(*[8]float32)(out[p*8:]) = *(*[8]float32)(data[p*v.ColStride:])
		}
		return
	case v.RowStride == 1 && rows == want && want == 12:
		for p := range k {
			*(*[12]float32)(out[p*12:]) = *(*[12]float32)(data[p*v.ColStride:])
		}
		return
	}
	for p := range k {
		side := out[p*want:][:want]
		for r := range rows {
			side[r] = data[r*v.RowStride+p*v.ColStride]
		}
		clear(side[rows:])
	}
}

// addTile adds the products of one tile; a tile that sticks out of dst is computed beside and added.
func (w *workspace) addTile(dst *graph.Dense, use kernel, i, rows, j int, a strip, b []float32, k int) {
	cols := min(use.cols, dst.Cols-j)
	if rows == use.rows && cols == use.cols {
		use.add(&dst.Data[i*dst.Cols+j], dst.Cols, &a.data[0], a.row, a.col, &b[0], k)
		return
	}
	clear(w.tile[:use.rows*use.cols])
	use.add(&w.tile[0], use.cols, &a.data[0], a.row, a.col, &b[0], k)
	for r := range rows {
		out := dst.Data[(i+r)*dst.Cols+j:][:cols]
		for c, v := range w.tile[r*use.cols:][:cols] {
			out[c] += v
		}
	}
}

// pack copies alpha times rows at to at+k of B, panel after panel of width columns, a row of a panel contiguous, zeros behind
// the last column. B is read as it lies in memory.
func pack(out []float32, alpha float32, b View, at, k, width int) {
	if b.ColStride != 1 && b.RowStride == 1 {
		packColumns(out, alpha, b, at, k, width)
		return
	}
	for r := range k {
		for j := 0; j < b.Cols; j += width {
			cols := min(width, b.Cols-j)
			row := out[j*k+r*width:][:width]
			from := b.Data[(at+r)*b.RowStride+j*b.ColStride:]
			done := 0
			if b.ColStride == 1 && alpha == 1 {
				for ; done+16 <= cols; done += 16 {
					*(*[16]float32)(row[done:]) = *(*[16]float32)(from[done:])
				}
			}
			for c := done; c < cols; c++ {
				row[c] = alpha * from[c*b.ColStride]
			}
			clear(row[cols:])
		}
	}
}

// packColumns is pack for a B whose columns are contiguous: four are read at a time.
func packColumns(out []float32, alpha float32, b View, at, k, width int) {
	column := func(j int) []float32 { return b.Data[j*b.ColStride+at:][:k] }
	for j := 0; j < b.Cols; j += width {
		panel, cols := out[j*k:][:k*width], min(width, b.Cols-j)
		c := 0
		for ; c+4 <= cols; c += 4 {
			c0, c1, c2, c3 := column(j+c), column(j+c+1), column(j+c+2), column(j+c+3)
			for r := range k {
				*(*[4]float32)(panel[r*width+c:]) = [4]float32{alpha * c0[r], alpha * c1[r], alpha * c2[r], alpha * c3[r]}
			}
		}
		for ; c < cols; c++ {
			for r, v := range column(j + c) {
				panel[r*width+c] = alpha * v
			}
		}
		if c < width {
			for r := range k {
				clear(panel[r*width+c:][:width-c])
			}
		}
	}
}
