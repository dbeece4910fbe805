package solved

import (
	"fmt"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/wire"
)

// StageMeet is the name of the first stage of a hop by which nodes learn their neighbours' numbers.
const StageMeet = "meet"

// numberSender sends each node's number. Input 1 are the numbers.
type numberSender struct{}

var numberScale = func() []stage.Scale {
	s, err := stage.NewScale(1<<numberBits, 1)
	if err != nil {
		panic(err)
	}
	return []stage.Scale{s}
}()

// numberBits bounds the numbers of nodes: a float32 holds them exactly.
const numberBits = 24

func (numberSender) scales() []stage.Scale { return numberScale }

func (numberSender) vectors(in stage.Records) (*stage.Vectors, error) {
	p, err := stage.Payloads(in, 2)
	if err != nil {
		return nil, err
	}
	of := wire.ReadInts(p[1])
	v := &stage.Vectors{Rows: len(of), Cols: 1, Units: make([]int64, len(of))}
	for j, c := range of {
		if v.Units[j], err = numberScale[0].Integer(float64(c)); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// eachMeeting calls use for each edge of a tile, with the number that numberSender sends for its source and the place
// of its target, unless one of the two has a number below 0. of has the numbers of the targets.
func eachMeeting(key int64, tile []byte, from *stage.Vectors, of []int32, use func(a, j int32)) error {
	per := numberScale[0].Unit()
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
