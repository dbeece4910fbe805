package solved

import (
	"fmt"

	"rivulet/graph"
	"rivulet/infer"
)

// walker takes the nodes of a block through a model's hops on T, as [infer.Network.Tables] does with a graph in
// memory: z are the answers of nodes on T as it is, and met those of nodes that have met one neighbour more. A
// node's state is a row of both and, of models of hops, of what each hop adds to (a restart) or is added to (a
// mixture).
//
// There are as many hops as the model has layers or hops. Each but the last gives a part of the tables: u of the
// next hop and the columns of c that belong to it. The last gives the logits.
type walker struct {
	model  infer.Model
	layers []walkLayer // of a model whose layers read neighbours
	mix    []float32   // w_0 … w_K of a mixture
}

// walkLayer is a layer that reads neighbours.
type walkLayer struct {
	w     *graph.Dense // [Wn | Ws], or Wn alone
	bias  []float32
	own   bool // there is a Ws
	relus bool
}

func newWalker(m infer.Model) *walker {
	f := &walker{model: m}
	if !m.Architecture.Convolves() {
		if m.Architecture.Mix != nil {
			f.mix = m.Architecture.Mix(m.Alpha, m.Hops)
		}
		return f
	}
	for k, l := range m.Layers {
		f.layers = append(f.layers, walkLayer{graph.Beside(l.Neighbours, l.Self), l.Bias, l.Self != nil,
			k+1 < len(m.Layers)})
	}
	return f
}

// hops is the number of hops to the logits.
func (f *walker) hops() int {
	if f.layers != nil {
		return len(f.layers)
	}
	return f.model.Hops
}

// sent is the number of columns that a node sends at a hop.
func (f *walker) sent(hop int) int {
	if f.layers != nil {
		return len(f.layers[hop].bias)
	}
	return f.model.Classes()
}

// part is the number of columns of u and of c in a part of the tables.
func (f *walker) part(k int) (u, c int) {
	switch {
	case f.layers == nil && k > 0:
		return f.model.Classes(), 0
	case f.layers == nil && f.mix != nil:
		return f.model.Classes(), max(1, f.model.Hops-1)
	case f.layers == nil:
		return f.model.Classes(), 1
	case k > 0:
		c = len(f.layers[k-1].bias)
		if k+1 == len(f.layers) && len(f.layers) > 2 && f.layers[0].own {
			c++ // in* out*
		}
	}
	return len(f.layers[k].bias), c
}

// walked are the results of a step: the state for the next hop, and a part of the tables.
type walked struct{ state, part *graph.Dense }

// enter makes the state before the first hop of pre(X).
func (f *walker) enter(x *graph.Dense, d *degrees) walked {
	switch {
	case f.layers != nil:
		z := graph.MulDense(x, f.layers[0].w)
		in, _ := f.scales(d, 1)
		width, _ := f.part(0)
		u := graph.NewDense(z.Rows, width)
		for j := range u.Rows {
			scaleRow(u.Row(j), in[j], z.Row(j))
		}
		return walked{graph.Beside(z, z), u}
	case f.mix != nil:
		z := graph.MulDense(x, f.model.Layers[0].Self)
		sum := graph.NewDense(z.Rows, z.Cols)
		for k, v := range z.Data {
			sum.Data[k] = f.mix[0] * v
		}
		return walked{graph.Beside(z, z, sum), f.firstPart(z, d)}
	}
	first, second := f.model.Layers[0], f.model.Layers[1]
	hidden := graph.MulDense(x, first.Self).AddRow(first.Bias)
	for k, v := range hidden.Data {
		hidden.Data[k] = max(v, 0)
	}
	z := graph.MulDense(hidden, second.Self).AddRow(second.Bias)
	return walked{graph.Beside(z, z, z), f.firstPart(z, d)}
}

// firstPart is n·z and the ways back n², n⁴, … of models of hops.
func (f *walker) firstPart(z *graph.Dense, d *degrees) *graph.Dense {
	width, ways := f.part(0)
	out := graph.NewDense(z.Rows, width+ways)
	for j := range out.Rows {
		row := out.Row(j)
		scaleRow(row[:width], d.met[j], z.Row(j))
		share := 1 / (2 + float64(d.of[j]))
		power := share
		for k := range ways {
			row[width+k] = float32(power)
			power = float64(power * share)
		}
	}
	return out
}

// scaleRow sets to to a factor times the first columns of from.
func scaleRow(to []float32, factor float32, from []float32) {
	for k := range to {
		to[k] = factor * from[k]
	}
}

// scales are the operator's for each node, its degree being that of T and extra more.
func (f *walker) scales(d *degrees, extra float64) (in, out []float32) {
	of := make([]float32, len(d.of))
	for j, degree := range d.of {
		of[j] = float32(degree)
	}
	return f.model.Architecture.Operator.All(of, extra)
}

// columns is the number of columns of the state before a hop.
func (f *walker) columns(hop int) int {
	if f.layers != nil {
		return 2 * f.layers[hop].w.Cols
	}
	return 3 * f.model.Classes()
}

// step takes a block through a hop: sums is what its nodes were sent. There is no part after the last hop, and its
// state are the logits.
func (f *walker) step(hop int, state, sums *graph.Dense, d *degrees) (walked, error) {
	if state.Cols != f.columns(hop) || state.Rows != len(d.of) {
		return walked{}, fmt.Errorf("a state of %d×%d for %d nodes and %d columns", state.Rows, state.Cols, len(d.of),
			f.columns(hop))
	}
	if f.layers != nil {
		return f.convolve(hop, state, sums, d), nil
	}
	return f.spread(hop, state, sums, d), nil
}

// convolve is a layer that reads neighbours, of nodes on T as it is (h) and of those that met one more (met).
func (f *walker) convolve(hop int, state, sums *graph.Dense, d *degrees) walked {
	l, width := f.layers[hop], f.sent(hop)
	in, out := f.scales(d, 0)
	metIn, metOut := f.scales(d, 1)
	h, met := graph.NewDense(state.Rows, width), graph.NewDense(state.Rows, width)
	for j := range state.Rows {
		z, zMet := state.Row(j)[:l.w.Cols], state.Row(j)[l.w.Cols:]
		f.close(l, h.Row(j), sums.Row(j), z, in[j], out[j])
		f.close(l, met.Row(j), sums.Row(j), zMet, metIn[j], metOut[j])
	}
	if !l.relus {
		return walked{state: h}
	}
	next := f.layers[hop+1]
	z, zMet := graph.MulDense(h, next.w), graph.MulDense(met, next.w)
	u, ways := f.part(hop + 1)
	part := graph.NewDense(state.Rows, u+ways)
	for j := range part.Rows {
		row := part.Row(j)
		scaleRow(row[:u], metIn[j], zMet.Row(j))
		way := metIn[j] * metOut[j]
		for k, v := range met.Row(j) {
			if v > 0 {
				row[u+k] = way
			}
		}
		if ways > width {
			row[u+width] = way
		}
	}
	return walked{graph.Beside(z, zMet), part}
}

// close sets h to a layer's answer: out(sum [+ in z]) + z's own part + b, and the relu.
func (f *walker) close(l walkLayer, h, sum, z []float32, in, out float32) {
	loops := f.model.Architecture.Operator.Loops
	for k := range h {
		v := sum[k]
		if loops {
			v += float32(in * z[k])
		}
		v = float32(out * v)
		if l.own {
			v += z[len(h)+k]
		}
		if v += l.bias[k]; l.relus {
			v = max(v, 0)
		}
		h[k] = v
	}
}

// spread is a hop of a mixture, or of a restart.
func (f *walker) spread(hop int, state, sums *graph.Dense, d *degrees) walked {
	classes, last := f.model.Classes(), hop+1 == f.hops()
	keep, part := float32(1), graph.NewDense(state.Rows, classes)
	if f.mix == nil {
		keep = 1 - f.model.Alpha
	}
	next := graph.NewDense(state.Rows, state.Cols)
	for j := range state.Rows {
		from, to := state.Row(j), next.Row(j)
		for k := range classes {
			z, met, third := from[k], from[classes+k], from[2*classes+k]
			z = float32(float32(sums.Row(j)[k]+float32(d.inv[j]*z)) * float32(keep*d.inv[j]))
			met = float32(float32(sums.Row(j)[k]+float32(d.met[j]*met)) * float32(keep*d.met[j]))
			if f.mix != nil {
				third += float32(f.mix[hop+1] * z)
			} else {
				again := float32(f.model.Alpha * third)
				z, met = z+again, met+again
			}
			to[k], to[classes+k], to[2*classes+k] = z, met, third
			part.Row(j)[k] = d.met[j] * met
		}
	}
	if !last {
		return walked{next, part}
	}
	logits := graph.NewDense(state.Rows, classes)
	for j := range logits.Rows {
		if f.mix == nil {
			copy(logits.Row(j), next.Row(j))
			continue
		}
		copy(logits.Row(j), next.Row(j)[2*classes:])
		graph.Add(logits.Row(j), f.model.Layers[0].Bias)
	}
	return walked{state: logits}
}
