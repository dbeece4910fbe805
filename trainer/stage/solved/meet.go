package solved

import (
	"fmt"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// clusterSender sends each node's cluster. Input 1 are the clusters.
type clusterSender struct{}

var clusterScale = func() []stage.Scale {
	s, err := stage.NewScale64(1<<valueOfCluster, 1)
	if err != nil {
		panic(err)
	}
	return []stage.Scale{s}
}()

// valueOfCluster bounds the numbers of clusters, in bits: a float32 holds them exactly.
const valueOfCluster = 24

func (clusterSender) scales() []stage.Scale { return clusterScale }

func (clusterSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 2)
	if err != nil {
		return nil, err
	}
	of := wire.ReadInts(p[1])
	v := &stage.Vectors{Rows: len(of), Cols: 1, Units: make([]int64, len(of))}
	for j, c := range of {
		if v.Units[j], err = clusterScale[0].Integer(float64(c)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// count counts edges between clusters: a record a block at key 0. Input 1 are the clusters.
type count struct{}

// Reduce implements [stage.Function].
func (f count) Reduce(key int64, in stage.Records, out stage.Output) error {
	return gather(f, clusterScale, key, in, out)
}

// Gather implements [stage.Gatherer].
func (count) Gather(key int64, in stage.Records) (stage.BlockSums, error) {
	p, err := stage.Payloads(in, 2)
	return &clusterEdges{key, wire.ReadInts(p[1]), map[[2]int32]int64{}}, err
}

type clusterEdges struct {
	key   int64
	of    []int32
	count map[[2]int32]int64
}

// Bytes is the memory of the clusters; the counts are few.
func (g *clusterEdges) Bytes() int64 { return int64(4*len(g.of)) + 1<<16 }

func (g *clusterEdges) Add(tile []byte, from *stage.Vectors) error {
	return eachMeeting(g.key, tile, from, g.of, func(a, j int32) { g.count[[2]int32{a, g.of[j]}]++ })
}

// eachMeeting calls use for each edge of a tile, with the number that clusterSender sends for its source and the place
// of its target, unless one of the two has a number below 0. of has the numbers of the targets.
func eachMeeting(key int64, tile []byte, from *stage.Vectors, of []int32, use func(a, j int32)) error {
	per := clusterScale[0].Unit()
	return partition.EachSource(tile, func(source int, to []int32) error {
		if source >= from.Rows {
			return fmt.Errorf("block %d: an edge from place %d of %d", key, source, from.Rows)
		}
		a := int32(float64(from.Units[source]) * per)
		for _, j := range to {
			if int(j) >= len(of) {
				return fmt.Errorf("block %d: an edge to place %d of %d", key, j, len(of))
			}
			if a >= 0 && of[j] >= 0 {
				use(a, j)
			}
		}
		return nil
	})
}

func (g *clusterEdges) End(out stage.Output) error {
	var payload []byte
	for _, pair := range sortedPairs(g.count) {
		payload = wire.AppendNumber(wire.AppendNumber(wire.AppendNumber(payload, int(pair[0])), int(pair[1])),
			int(g.count[pair]))
	}
	return out.Emit(0, stage.Record{Order: stage.OrderOf(g.key), Payload: payload})
}
