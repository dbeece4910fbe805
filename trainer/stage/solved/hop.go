package solved

import (
	"fmt"
	"math"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

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

// featureSums adds up, for each node of a block, the vectors of its neighbours.
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
