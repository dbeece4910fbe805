package solved

import (
	"fmt"
	"slices"

	"rivulet/graph"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// Names of the stages that bring some nodes' rows to the run.
const (
	StagePick     = "pick"
	StagePickRows = "pickrows"
)

// asked returns the places that records of one input ask for, each once, ascending, and the payloads of the others, of
// tables with at most one record a key.
func asked(in stage.Records, input int32) (places []int32, p map[int32][]byte, err error) {
	p = map[int32][]byte{}
	err = stage.Each(in, func(r stage.Record) error {
		switch {
		case r.Tag == input:
			places = append(places, wire.ReadInts(r.Payload)...)
		case p[r.Tag] != nil:
			return fmt.Errorf("input %d has a record too many", r.Tag)
		default:
			p[r.Tag] = r.Payload
		}
		return nil
	})
	slices.Sort(places)
	return slices.Compact(places), p, err
}

// appendPlaces begins a payload with places of a block, ascending, which must be among its so many rows.
func appendPlaces(block int64, places []int32, rows int) ([]byte, error) {
	if last := places[len(places)-1]; int(last) >= rows {
		return nil, fmt.Errorf("block %d: place %d of %d", block, last, rows)
	}
	return wire.AppendInts(wire.AppendNumber(nil, len(places)), places), nil
}

// pick brings rows of dense tables (inputs from 1 on), side by side, of the nodes that input 0 asks for.
type pick struct{}

// Reduce implements [stage.Function].
func (pick) Reduce(key int64, in stage.Records, out stage.Output) error {
	places, p, err := asked(in, 0)
	if err != nil || len(places) == 0 {
		return err
	}
	var rows []*graph.Dense
	var payload []byte
	for tag := int32(1); p[tag] != nil; tag++ {
		of, err := wire.ReadDense(p[tag])
		if err != nil {
			return err
		}
		if payload, err = appendPlaces(key, places, of.Rows); err != nil {
			return err
		}
		rows = append(rows, of.Take(places))
	}
	return out.Emit(0, stage.Record{Key: key, Payload: append(payload, wire.AppendDense(nil, graph.Beside(rows...))...)})
}

// ReadPicked reads a record of stage pick: places, and a row of each.
func ReadPicked(payload []byte) ([]int32, *graph.Dense, error) {
	w := wire.NewReader(payload)
	places := w.Ints(w.Count(4))
	rows := w.Dense()
	if rows.Rows != len(places) {
		return nil, nil, wire.ErrPayload
	}
	return places, rows, w.End()
}

// pickRows brings rows of M (input 1) of the nodes that input 0 asks for.
type pickRows struct{}

// Reduce implements [stage.Function].
func (pickRows) Reduce(key int64, in stage.Records, out stage.Output) error {
	places, p, err := asked(in, 0)
	if err != nil || len(places) == 0 {
		return err
	}
	m, err := wire.ReadMapping(p[1])
	if err != nil {
		return err
	}
	payload, err := appendPlaces(key, places, m.Rows)
	if err != nil {
		return err
	}
	return out.Emit(0, stage.Record{Key: key, Payload: wire.AppendMapping(payload, m.Take(places))})
}

// ReadPickedRows reads a record of stage pickrows: places, and a row of M of each.
func ReadPickedRows(payload []byte) ([]int32, *graph.CSR, error) {
	w := wire.NewReader(payload)
	places := w.Ints(w.Count(4))
	m := w.Mapping()
	if m.Rows != len(places) {
		return nil, nil, wire.ErrPayload
	}
	return places, m, w.End()
}
