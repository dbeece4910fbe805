//go:build amd64 && !purego

package graph

import "golang.org/x/sys/cpu"

//go:noescape
func addRows1(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows2(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows3(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows4(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows5(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows6(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows7(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)

//go:noescape
func addWide1(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide2(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide3(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide4(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide5(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide6(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide7(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addWide8(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)

//go:noescape
func addTile1(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)

//go:noescape
func addTile2(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)

//go:noescape
func addTile3(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)

// Columns of the narrowest sum that a kernel takes.
const narrowest = 1

// masks[k] selects the leading k of eight columns.
var masks = func() (masks [9][8]int32) {
	for k := range masks {
		for i := range k {
			masks[k][i] = -1
		}
	}
	return masks
}()

// vectors is the number of columns of a vector: 16 with AVX-512, 8 with AVX2, 0 without either.
var vectors = func() int {
	switch {
	case cpu.X86.HasAVX512F:
		return 16
	case cpu.X86.HasAVX2:
		return 8
	}
	return 0
}()

// add calls the kernel for v vectors of which the last has the given number of columns. It is not a table of
// functions, because the compiler would then assume that y escapes.
func add(v int, to, from *float32, stride int, cols *int32, factors *float32, step, n, last int) {
	if vectors == 16 {
		mask := 1<<last - 1
		switch v {
		case 1:
			addWide1(to, from, stride, cols, factors, step, n, mask)
		case 2:
			addWide2(to, from, stride, cols, factors, step, n, mask)
		case 3:
			addWide3(to, from, stride, cols, factors, step, n, mask)
		case 4:
			addWide4(to, from, stride, cols, factors, step, n, mask)
		case 5:
			addWide5(to, from, stride, cols, factors, step, n, mask)
		case 6:
			addWide6(to, from, stride, cols, factors, step, n, mask)
		case 7:
			addWide7(to, from, stride, cols, factors, step, n, mask)
		case 8:
			addWide8(to, from, stride, cols, factors, step, n, mask)
		}
		return
	}
	mask := &masks[last]
	switch v {
	case 1:
		addRows1(to, from, stride, cols, factors, step, n, mask)
	case 2:
		addRows2(to, from, stride, cols, factors, step, n, mask)
	case 3:
		addRows3(to, from, stride, cols, factors, step, n, mask)
	case 4:
		addRows4(to, from, stride, cols, factors, step, n, mask)
	case 5:
		addRows5(to, from, stride, cols, factors, step, n, mask)
	case 6:
		addRows6(to, from, stride, cols, factors, step, n, mask)
	case 7:
		addRows7(to, from, stride, cols, factors, step, n, mask)
	case 8:
		addRows8(to, from, stride, cols, factors, step, n, mask)
	}
}

// tileVectors is how many vectors a row of a tile has at most.
const tileVectors = 3

// addTiles adds columns from…to of rows lo…hi of x, times those rows of w, to rows of dst, tileRows at a time, and
// returns the row at which it stopped: lo if the processor has no such vectors.
func addTiles(dst, x, w *Dense, lo, hi, from, to int) int {
	if vectors != 16 || from == to {
		return lo
	}
	_, _, _ = dst.Data[:hi*dst.Cols], x.Data[:hi*x.Cols], w.Data[:to*w.Cols] // the kernels check nothing
	for ; lo+tileRows <= hi; lo += tileRows {
		for at := 0; at < dst.Cols; at += tileVectors * vectors {
			end := min(at+tileVectors*vectors, dst.Cols)
			v := (end - at + vectors - 1) / vectors
			mask := 1<<(end-at-(v-1)*vectors) - 1
			y, of, by := &dst.Data[lo*dst.Cols+at], &x.Data[lo*x.Cols+from], &w.Data[from*w.Cols+at]
			switch v {
			case 1:
				addTile1(y, 4*dst.Cols, of, 4*x.Cols, by, 4*w.Cols, to-from, mask)
			case 2:
				addTile2(y, 4*dst.Cols, of, 4*x.Cols, by, 4*w.Cols, to-from, mask)
			case 3:
				addTile3(y, 4*dst.Cols, of, 4*x.Cols, by, 4*w.Cols, to-from, mask)
			}
		}
	}
	return lo
}
