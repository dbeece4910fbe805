//go:build amd64 && !purego

package nnls

import "golang.org/x/sys/cpu"

// vectors reports whether the processor has what the kernels of kernel_amd64.s need.
var vectors = cpu.X86.HasAVX2

//go:noescape
func productsAVX2(to *float64, across, t *float32, rows, bytes int)

//go:noescape
func projectAVX2(s, before *stage, earlier **stage, n int, gram *float64, inverse float64, bytes int)

//go:noescape
func risingAVX2(r, left *float64, most float64, from, bytes int) int

// products sets to = across·t, as productsPlain does.
func products(to []float64, across, t []float32) {
	if !vectors || len(to) == 0 || len(t) == 0 {
		productsPlain(to, across, t)
		return
	}
	_ = across[:len(t)*len(to)] // the kernel checks nothing
	productsAVX2(&to[0], &across[0], &t[0], len(t), 8*len(to))
}

// project fills s as projectPlain does.
func project(s *stage, path []*stage, gram []float64) {
	if !vectors {
		projectPlain(s, path, gram)
		return
	}
	last := len(path) - 1
	projectAVX2(s, path[last], &path[0], last, &gram[0], 1/s.lower[last], 8*len(gram))
}

// rising searches as risingPlain does.
func rising(r, left []float64, most float64, from int) int {
	if !vectors || from >= len(r) {
		return risingPlain(r, left, most, from)
	}
	return risingAVX2(&r[0], &left[0], most, 8*from, 8*len(r)) / 8
}

//go:noescape
func quickProductsAVX2(to, across, t *float32, rows, bytes int)

//go:noescape
func fillAVX2(s *coordinates, whole, b *float32, n, bytes int)

//go:noescape
func scanAVX2(p *pick, s *coordinates, n, bytes int)

// quickProducts sets to = across·t, as quickProductsPlain does.
func quickProducts(to, across, t []float32) {
	if !vectors || len(to) == 0 || len(t) == 0 {
		quickProductsPlain(to, across, t)
		return
	}
	_ = across[:len(t)*len(to)] // the kernel checks nothing
	quickProductsAVX2(&to[0], &across[0], &t[0], len(t), 4*len(to))
}

// fill computes c, left and r as fillPlain does.
func (s *coordinates) fill(q *quick, cols []int32, b []float32) {
	if !vectors {
		s.fillPlain(q, cols, b)
		return
	}
	fillAVX2(s, &q.whole[0], &b[0], s.n, 4*s.stride)
}

// scan sets most and col as scanPlain does.
func (p *pick) scan(s *coordinates) {
	if !vectors {
		p.scanPlain(s)
		return
	}
	_ = p.a[:s.stride]
	scanAVX2(p, s, s.n, 4*s.stride)
}
