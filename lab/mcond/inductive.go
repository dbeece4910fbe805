package mcond

import (
	"math"

	"rivulet/graph"
)

// inductive is L_ind (the paper's Eq. 12): the mean row norm of H_sup − H'_sup over all support nodes, attached at
// once and joint to T and, through r = aM, to S; ã stays. In logits of the relay.
//
// Joint propagation in blocks, with D_S = 1 + A'1 + rᵀ1, D_B = 1 + r1 + ã1, q = D^-½ and s = qz for every z:
//
//	g1 = q_S(A's_S + s_S + rᵀs_B)    b1 = q_B(r s_S + s_B + ã s_B)    out = q_B(r q_S g1 + q_B b1 + ã q_B b1) + b
type inductive[F number] struct {
	a, at *graph.CSR // support nodes' edges to T, n×N, and its transpose N×n
	among *graph.CSR // ã, n×n; nil if there is none
	want  *matrix[F] // H_sup, n×C
	zb    *matrix[F] // x_sup W, n×C

	r, dr          *matrix[F] // n×m
	qs, qb         []F        // m, n
	ss, sb, u, v   *matrix[F] // q_S Z0, q_B z0; g1 and b1 before their q
	gs, gb, rest   *matrix[F] // q_S g1, q_B b1 (m×C, n×C); out, then its gradient
	ds, db, es, eb *matrix[F] // gradients (m×C, n×C)
	norms          []float64
	cs, cb         []F // ∂L/∂q
}

func newInductive[F number](a, among *graph.CSR, m, classes int) *inductive[F] {
	n := a.Rows
	s := func() *matrix[F] { return newMatrix[F](m, classes) }
	b := func() *matrix[F] { return newMatrix[F](n, classes) }
	return &inductive[F]{a: a, at: a.Transpose(), among: among, want: b(), zb: b(), r: newMatrix[F](n, m),
		dr: newMatrix[F](n, m),
		qs: make([]F, m), qb: make([]F, n), ss: s(), sb: b(), u: s(), v: b(), gs: s(), gb: b(), rest: b(),
		ds: s(), db: b(), es: s(), eb: b(), norms: make([]float64, n), cs: make([]F, m), cb: make([]F, n)}
}

// loss returns L_ind and adds β·∂L_ind/∂M to grad (N×m). zs is X'W, m×C; bias is the relay's b.
func (d *inductive[F]) loss(mapping, adj, zs *matrix[F], bias []F, beta F, grad *matrix[F]) float64 {
	if d.a.Rows == 0 {
		return 0
	}
	d.forward(mapping, adj, zs, bias)
	for k, v := range d.want.data {
		d.rest.data[k] = v - d.rest.data[k]
	}
	loss := meanRowNorm(d.rest, d.norms)
	for k := range d.rest.data {
		d.rest.data[k] *= -beta
	}
	d.backward(adj, zs)
	sparseTo(grad, d.at, d.dr, true)
	return loss
}

// forward sets rest to H'_sup.
func (d *inductive[F]) forward(mapping, adj, zs *matrix[F], bias []F) {
	sparseTo(d.r, d.a, mapping, false)
	d.degrees(adj)
	scaleRows(d.ss, d.qs, zs)
	scaleRows(d.sb, d.qb, d.zb)
	copy(d.u.data, d.ss.data)
	gemm(plain, plain, 1, adj, d.ss, 1, d.u)
	gemm(transposed, plain, 1, d.r, d.sb, 1, d.u)
	d.hop(d.v, d.ss, d.sb)
	for i, q := range d.qs {
		scale(d.gs.row(i), q*q, d.u.row(i))
	}
	for i, q := range d.qb {
		scale(d.gb.row(i), q*q, d.v.row(i))
	}
	d.hop(d.eb, d.gs, d.gb)
	scaleRows(d.rest, d.qb, d.eb)
	addBias(d.rest, bias)
}

// hop sets out = r·s + b + ã·b: the input of the arrivals, before their own q.
func (d *inductive[F]) hop(out, s, b *matrix[F]) {
	copy(out.data, b.data)
	gemm(plain, plain, 1, d.r, s, 1, out)
	if d.among != nil {
		sparseTo(out, d.among, b, true)
	}
}

func (d *inductive[F]) degrees(adj *matrix[F]) {
	sums := make([]float64, len(d.qs))
	for i := range sums {
		sums[i] = 1
		for _, v := range adj.row(i) {
			sums[i] += float64(v)
		}
	}
	for i := range d.qb {
		own := 1.0
		if d.among != nil {
			own += float64(d.among.RowLen(i))
		}
		for k, v := range d.r.row(i) {
			own += float64(v)
			sums[k] += float64(v)
		}
		d.qb[i] = F(1 / math.Sqrt(own))
	}
	for k, v := range sums {
		d.qs[k] = F(1 / math.Sqrt(v))
	}
}

// backward takes rest = ∂L/∂out to dr = ∂L/∂r. eb holds the last hop's sum on entry.
func (d *inductive[F]) backward(adj, zs *matrix[F]) {
	clear(d.cs)
	clear(d.cb)
	// out = q_B·eb, eb = r gs + gb + ã gb
	d.pull(d.cb, d.rest, d.eb)
	scaleRows(d.eb, d.qb, d.rest) // now ∂L/∂eb
	gemm(plain, transposed, 1, d.eb, d.gs, 0, d.dr)
	gemm(transposed, plain, 1, d.r, d.eb, 0, d.ds)
	d.symmetric(d.db, d.eb)
	// gs = q_S² u and gb = q_B² v
	d.pullSquare(d.cs, d.qs, d.ds, d.u)
	d.pullSquare(d.cb, d.qb, d.db, d.v)
	// u = A'ss + ss + rᵀsb and v = r ss + sb + ã sb
	gemm(plain, transposed, 1, d.sb, d.ds, 1, d.dr)
	gemm(plain, transposed, 1, d.db, d.ss, 1, d.dr)
	copy(d.es.data, d.ds.data)
	gemm(plain, plain, 1, adj, d.ds, 1, d.es)
	gemm(transposed, plain, 1, d.r, d.db, 1, d.es)
	d.symmetric(d.eb, d.db)
	gemm(plain, plain, 1, d.r, d.ds, 1, d.eb)
	// ss = q_S zs and sb = q_B zb
	d.pull(d.cs, d.es, zs)
	d.pull(d.cb, d.eb, d.zb)
	// q = D^-½: ∂L/∂D = −½ q³ ∂L/∂q, and every entry of r counts in one D of each side
	for k, q := range d.qs {
		d.cs[k] *= -q * q * q / 2
	}
	for i, q := range d.qb {
		own := -q * q * q / 2 * d.cb[i]
		row := d.dr.row(i)
		for k := range row {
			row[k] += own + d.cs[k]
		}
	}
}

// symmetric sets out = g + ã·g.
func (d *inductive[F]) symmetric(out, g *matrix[F]) {
	copy(out.data, g.data)
	if d.among != nil {
		sparseTo(out, d.among, g, true)
	}
}

// pull adds the gradient of q in y = q·x.
func (d *inductive[F]) pull(into []F, dy, x *matrix[F]) {
	for i := range into {
		into[i] += dot(dy.row(i), x.row(i))
	}
}

// pullSquare adds the gradient of q in y = q²·x and turns dy into ∂L/∂x.
func (d *inductive[F]) pullSquare(into, q []F, dy, x *matrix[F]) {
	for i := range into {
		row := dy.row(i)
		into[i] += 2 * q[i] * dot(row, x.row(i))
		scale(row, q[i]*q[i], row)
	}
}

func scale[F number](dst []F, a F, x []F) {
	for k := range dst {
		dst[k] = a * x[k]
	}
}
