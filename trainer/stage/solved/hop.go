package solved

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// Names of the stages of hops.
const (
	StageSend    = "send"
	StageReceive = "receive"
	StageMeet    = "meet"
	StageCount   = "count"
)

// HopOptions are the options of stages send and receive: hop 0 sends pre(X)/√D, hop 1 Âpre(X)/√D.
type HopOptions struct {
	FeatureScaling
	Hop int `json:"hop"`
	// Terms is the most that are added up for a node.
	Terms int64 `json:"terms"`
}

// hopScales are the scales of the columns of a hop. If no value of a column of Z is above b, then none of Â^t
// Z/√D is: it is the sum of deg_j + 1 values of at most b, over D_j = deg_j + 1. A little is added for rounding.
func hopScales(largest []float64, terms int64) ([]stage.Scale, error) {
	out := make([]stage.Scale, len(largest))
	for k, l := range largest {
		var err error
		if out[k], err = stage.NewScale64(l*(1+1e-4), terms); err != nil {
			return nil, fmt.Errorf("column %d: %w", k, err)
		}
	}
	return out, nil
}

// sender makes the vectors that stages of package solved send along edges, one a node.
type sender interface {
	// vectors returns a block's vectors, in integers of the scales.
	vectors(in stage.Records) (*stage.Vectors, error)
	scales() []stage.Scale
}

// scatter is stage send of a hop: tag 0 are the tiles, the rest is the sender's.
type scatter struct{ sender }

// Vectors implements [stage.Scatterer].
func (f scatter) Vectors(_ int64, in stage.Records) (*stage.Vectors, error) { return f.vectors(in) }

// Reduce implements [stage.Function]: a message is the length of the tile, the tile, and the vectors of its
// sources as float32, which hold the integers exactly: they come of float32.
func (f scatter) Reduce(key int64, in stage.Records, out stage.Output) error {
	tiles, rest, err := stage.Divide(in)
	if err != nil || len(tiles) == 0 {
		return err
	}
	v, err := f.vectors(rest)
	if err != nil {
		return err
	}
	for _, tile := range tiles {
		payload := append(wire.AppendNumber(nil, len(tile.Payload)), tile.Payload...)
		err := partition.EachSource(tile.Payload, func(from int, _ []int32) error {
			if from >= v.Rows {
				return fmt.Errorf("block %d: an edge from place %d of %d", key, from, v.Rows)
			}
			for k, n := range v.Row(from) {
				payload = wire.AppendU32(payload, math.Float32bits(float32(float64(n)*f.scales()[k].Unit())))
			}
			return nil
		})
		if err != nil {
			return err
		}
		message := stage.Record{Key: stage.FromOrder(tile.Order), Order: stage.OrderOf(key), Payload: payload}
		if err := out.Emit(0, message); err != nil {
			return err
		}
	}
	return nil
}

// gather calls a gatherer for messages: it is Reduce of a hop's second stage.
func gather(f stage.Gatherer, scales []stage.Scale, key int64, in stage.Records, out stage.Output) error {
	messages, rest, err := stage.Divide(in)
	if err != nil {
		return err
	}
	g, err := f.Gather(key, rest)
	if err != nil {
		return err
	}
	for _, m := range messages {
		w := wire.NewReader(m.Payload)
		tile := w.Take(w.Number())
		v, err := received(tile, w, scales)
		if err != nil {
			return err
		}
		if err := g.Add(tile, v); err != nil {
			return err
		}
	}
	return g.End(out)
}

// received are the vectors of a message, at the places of their sources.
func received(tile []byte, w *wire.Reader, scales []stage.Scale) (*stage.Vectors, error) {
	v := &stage.Vectors{Cols: len(scales)}
	err := partition.EachSource(tile, func(from int, _ []int32) error {
		if from >= v.Rows {
			v.Units = append(v.Units, make([]int64, (from+1-v.Rows)*v.Cols)...)
			v.Rows = from + 1
		}
		for k, x := range w.Floats(v.Cols) {
			n, err := scales[k].Integer(float64(x))
			if err != nil {
				return err
			}
			v.Row(from)[k] = n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return v, w.End()
}

// featureSender sends propagated features. Inputs: 1 features, 2 degrees and, of hop 1, 3 the sums of hop 0.
type featureSender struct {
	featurePreparer
	hop   int
	scale []stage.Scale
}

func newSend(o HopOptions, sides stage.Sides) (stage.Function, error) {
	p, err := newPrepared(o.FeatureScaling, sides)
	if err != nil {
		return nil, err
	}
	scale, err := hopScales(wire.ReadDoubles(sides[SideLargest]), o.Terms)
	return scatter{&featureSender{p, o.Hop, scale}}, err
}

func (s *featureSender) scales() []stage.Scale { return s.scale }

func (s *featureSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 4)
	if err != nil {
		return nil, err
	}
	b, err := s.block(p[1], p[2], p[3], nil)
	if err != nil {
		return nil, err
	}
	z := b.x
	if s.hop > 0 {
		z = b.one()
	}
	for j := range z.Rows {
		graph.Scale(z.Row(j), b.inv[j])
	}
	return integers(z, s.scale)
}

// block are the tables of a block of T.
type block struct {
	*degrees
	x      *graph.Dense // pre(X), without the global scale
	s1, s2 *graph.Dense // Σ_k B_jk X_k/√D_k and the same for ÂX; nil if not asked for
}

// block reads the tables of a block; sums may be nil.
func (p featurePreparer) block(features, degree, s1, s2 []byte) (*block, error) {
	raw, err := wire.ReadFeatures(features)
	if err != nil {
		return nil, err
	}
	b := &block{}
	if b.x, err = p.rows(raw); err != nil {
		return nil, err
	}
	if b.degrees, err = newDegrees(degree); err != nil {
		return nil, err
	}
	for _, sum := range []struct {
		from []byte
		to   **graph.Dense
	}{{s1, &b.s1}, {s2, &b.s2}} {
		if sum.from == nil {
			continue
		}
		if *sum.to, err = wire.ReadDense(sum.from); err != nil {
			return nil, err
		}
		if (*sum.to).Rows != b.x.Rows {
			return nil, fmt.Errorf("%d rows of sums for %d nodes", (*sum.to).Rows, b.x.Rows)
		}
	}
	if len(b.of) != b.x.Rows {
		return nil, fmt.Errorf("%d degrees for %d nodes", len(b.of), b.x.Rows)
	}
	return b, nil
}

// one returns Z¹ = ÂX, in the memory of x.
func (b *block) one() *graph.Dense { return b.step(b.x, b.s1) }

// two returns Z² = Â²X, in the memory of x.
func (b *block) two() *graph.Dense { return b.step(b.one(), b.s2) }

// step takes Z to ÂZ = (Σ_k B_jk Z_k/√D_k + Z_j/√D_j)/√D_j, with the sum given, in the memory of Z.
func (b *block) step(z, sum *graph.Dense) *graph.Dense {
	for j := range z.Rows {
		row := z.Row(j)
		graph.Scale(row, b.inv[j])
		graph.Add(row, sum.Row(j))
		graph.Scale(row, b.inv[j])
	}
	return z
}

// receive is the second stage of a hop of features: the sums at each node of T, a dense block. Input 1 are
// degrees.
type receive struct{ scale []stage.Scale }

func newReceive(o HopOptions, sides stage.Sides) (stage.Function, error) {
	scale, err := hopScales(wire.ReadDoubles(sides[SideLargest]), o.Terms)
	return &receive{scale}, err
}

// Reduce implements [stage.Function].
func (f *receive) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, f.scale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (f *receive) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	p, err := stage.Payloads(in, 2)
	if err != nil {
		return nil, err
	}
	of, err := partition.ReadDegrees(p[1])
	if err != nil {
		return nil, err
	}
	return newFeatureSums(f.scale, key, len(of)), nil
}

type featureSums struct {
	scale []stage.Scale
	key   int64
	rows  int
	sums  []int64
}

func newFeatureSums(scale []stage.Scale, key int64, rows int) *featureSums {
	return &featureSums{scale, key, rows, make([]int64, rows*len(scale))}
}

func (g *featureSums) Bytes() int64 { return int64(8 * len(g.sums)) }

func (g *featureSums) Add(tile []byte, from *stage.Vectors) error {
	cols := len(g.scale)
	return partition.EachSource(tile, func(source int, to []int32) error {
		if source >= from.Rows {
			return fmt.Errorf("block %d: an edge from place %d of %d", g.key, source, from.Rows)
		}
		row := from.Row(source)
		for _, j := range to {
			if int(j) >= g.rows {
				return fmt.Errorf("block %d: an edge to place %d of %d", g.key, j, g.rows)
			}
			addUnits(g.sums[int(j)*cols:(int(j)+1)*cols], row)
		}
		return nil
	})
}

// addUnits adds a row to sums of the same length.
func addUnits(sums, row []int64) {
	sums = sums[:len(row)]
	k := 0
	for ; k+4 <= len(row); k += 4 {
		s, r := sums[k:k+4:k+4], row[k:k+4:k+4]
		s[0] += r[0]
		s[1] += r[1]
		s[2] += r[2]
		s[3] += r[3]
	}
	for ; k < len(row); k++ {
		sums[k] += row[k]
	}
}

func (g *featureSums) End(out stage.Output) error {
	return out.Emit(0, stage.Record{Key: g.key, Payload: wire.AppendDense(nil, g.values())})
}

// values are the sums as numbers.
func (g *featureSums) values() *graph.Dense {
	m := graph.NewDense(g.rows, len(g.scale))
	units := make([]float64, len(g.scale))
	for k, s := range g.scale {
		units[k] = s.Unit()
	}
	for j := range m.Rows {
		for k := range units {
			m.Row(j)[k] = float32(float64(g.sums[j*len(units)+k]) * units[k])
		}
	}
	return m
}
