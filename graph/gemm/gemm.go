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

// workspace is the memory of one goroutine: a packed block of B, and a tile for the edges.
type workspace struct {
	packed []float32
	tile   [maxTile]float32
	rows   []float32 // the last rows of A, filled up with zeros
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// packedValues is the size of as many packed blocks of B as are multiplied with a few rows of A before the next
// rows are read: they stay in the second cache, and a row of A is read from its beginning to its end.
const packedValues = 1 << 17

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
		for i := lo; i < hi; i += use.rows {
			for from := at; from < end; from += depth {
				w.addRows(dst, a, use, i, min(use.rows, hi-i), from, packed[(from-at)*width:], min(depth, end-from))
			}
		}
	}
}

// addRows adds the products of a tile's rows of A, values from to from+k, and a packed block of B.
func (w *workspace) addRows(dst *graph.Dense, a View, use kernel, i, rows, from int, packed []float32, k int) {
	left, arow, acol := a.Data[i*a.RowStride+from*a.ColStride:], a.RowStride, a.ColStride
	if rows < use.rows {
		left, arow, acol = w.lastRows(left, a, rows, k, use.rows), k, 1
	}
	for j := 0; j < dst.Cols; j += use.cols {
		w.addTile(dst, use, i, rows, j, left, arow, acol, packed[j*k:], k)
	}
}

// addTile adds the products of one tile; a tile that sticks out of dst is computed beside and added.
func (w *workspace) addTile(dst *graph.Dense, use kernel, i, rows, j int, a []float32, arow, acol int, b []float32,
	k int) {
	cols := min(use.cols, dst.Cols-j)
	if rows == use.rows && cols == use.cols {
		use.add(&dst.Data[i*dst.Cols+j], dst.Cols, &a[0], arow, acol, &b[0], k)
		return
	}
	clear(w.tile[:use.rows*use.cols])
	use.add(&w.tile[0], use.cols, &a[0], arow, acol, &b[0], k)
	for r := range rows {
		out := dst.Data[(i+r)*dst.Cols+j:][:cols]
		for c, v := range w.tile[r*use.cols:][:cols] {
			out[c] += v
		}
	}
}

// lastRows copies rows×k values of A and zeros up to want rows.
func (w *workspace) lastRows(a []float32, v View, rows, k, want int) []float32 {
	if cap(w.rows) < want*depth {
		w.rows = make([]float32, want*depth)
	}
	out := w.rows[:want*k]
	clear(out)
	for r := range rows {
		for c := range k {
			out[r*k+c] = a[r*v.RowStride+c*v.ColStride]
		}
	}
	return out
}

// pack copies alpha times rows at to at+k of B, panel after panel of width columns, a row of a panel contiguous, zeros
// behind the last column. A row of B is read to its end before the next one.
func pack(out []float32, alpha float32, b View, at, k, width int) {
	for r := range k {
		for j := 0; j < b.Cols; j += width {
			cols := min(width, b.Cols-j)
			row := out[j*k+r*width:][:width]
			from := b.Data[(at+r)*b.RowStride+j*b.ColStride:]
			if b.ColStride == 1 && alpha == 1 {
				copy(row[:cols], from[:cols])
			} else {
				for c := range cols {
					row[c] = alpha * from[c*b.ColStride]
				}
			}
			clear(row[cols:])
		}
	}
}
