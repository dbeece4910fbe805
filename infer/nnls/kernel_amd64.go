//go:build amd64 && !purego

package nnls

import "golang.org/x/sys/cpu"

// vectors reports whether the processor can run the kernels of kernel_amd64.s.
var vectors = cpu.X86.HasAVX2

//go:noescape
func productsAVX2(to, across, t *float32, rows, bytes int)

//go:noescape
func fillAVX2(s *residuals, whole, b *float32, n, bytes int)

//go:noescape
func scanAVX2(s *residuals, bytes int)

// products sets to = across·t, as productsPlain does.
func products(to, across, t []float32) {
	if !vectors || len(to) == 0 || len(t) == 0 {
		productsPlain(to, across, t)
		return
	}
	_ = across[:len(t)*len(to)] // the kernel checks nothing
	productsAVX2(&to[0], &across[0], &t[0], len(t), 4*len(to))
}

// fill computes left and r as fillPlain does.
func (s *residuals) fill(q *Solver, cols []int32, b []float32) {
	if !vectors {
		s.fillPlain(q, cols, b)
		return
	}
	fillAVX2(s, &q.diagonal[0], &b[0], s.n, 4*len(s.r))
}

// scan sets most and col as scanPlain does.
func (s *residuals) scan() {
	if !vectors || len(s.r) == 0 {
		s.scanPlain()
		return
	}
	scanAVX2(s, 4*len(s.r))
}
