package partition

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// A pair of nodes is one word: 16 bits of the source's block, 24 of its place, 24 of the destination's place.
const (
	placeBits = 24
	maxPlaces = 1 << placeBits
	maxBlocks = 1 << 16
)

// edges takes rows of edges (payloads of AppendEdge, one or more rows each; with the side form, rows of a table in
// place) to the blocks of their sources.
type edges struct {
	BlockOptions
	*edgeCells // nil without the side
}

func newEdges(o BlockOptions, sides stage.Sides) (stage.Function, error) {
	cells, err := newEdgeCells(sides)
	return &edges{o, cells}, errors.Join(o.check(), err)
}

// Reduce implements [stage.Function].
func (f *edges) Reduce(_ int64, in stage.Records, out stage.Output) error {
	return toBlocks(in, out, f.Blocks, f.rows, func(w *wire.Reader) (string, error) {
		e := readEdge(w)
		if (e.Source == "" || e.Target == "") && !w.Bad() {
			return "", fmt.Errorf("edges row %d: an end is empty or null", e.Row)
		}
		return e.Source, nil
	})
}

// FirstNames takes the only record of the table of names from the front of a key's records, empty if there is none.
func FirstNames(in stage.Records) (*Names, *stage.List, error) {
	first, rest, err := stage.Divide(in)
	if err != nil || len(first) == 0 {
		return &Names{}, rest, err
	}
	names, err := ReadNames(first[0].Payload)
	return names, rest, err
}

// Outputs of stage sources.
const (
	OutHalves   = iota // edges by the block of their targets
	OutNoSource        // numbers of edges that were dropped, key 0
	sourcesOutputs
)

// sources finds the sources of edges (tag 1) among the names (tag 0) and takes the edges on to the blocks of
// their targets.
type sources struct{ BlockOptions }

func newSources(o BlockOptions, _ stage.Sides) (stage.Function, error) {
	return &sources{o}, o.check()
}

// Reduce implements [stage.Function].
func (f *sources) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, rest, err := FirstNames(in)
	if err != nil {
		return err
	}
	places, roles, unknown := names.places(), names.Roles, 0
	b := NewBuckets(out, OutHalves, wire.AppendNumber(nil, int(key)))
	var half []byte
	err = stage.Each(rest, func(r stage.Record) error {
		w := wire.NewReader(r.Payload)
		for w.More() {
			e := readEdge(w)
			if w.Bad() {
				break
			}
			place, ok := places[e.Source]
			if !ok && f.DropUnknown {
				unknown++
				continue
			}
			if !ok {
				return fmt.Errorf("edges row %d: its source %s is not the id of a node with a role", e.Row, Quoted(e.Source))
			}
			half = wire.AppendText(wire.AppendNumber(append(wire.AppendNumber(half[:0], int(place)), byte(roles[place])),
				int(e.Row)), e.Target)
			if err := b.Add(blockOf(e.Target, f.Blocks), half); err != nil {
				return err
			}
		}
		return w.End()
	})
	return errors.Join(err, b.Flush(), emitCount(out, OutNoSource, key, unknown))
}

// emitCount gives a number of a block, if it is not 0.
func emitCount(out stage.Output, output int, block int64, n int) error {
	if n == 0 {
		return nil
	}
	return out.Emit(output, stage.Record{Order: stage.OrderOf(block), Payload: wire.AppendNumber(nil, n)})
}

// Outputs of stage targets.
const (
	OutPairs    = iota // edges within T, both directions, by the destination's block
	OutHeld            // edges of nodes that are held out, by their block
	OutLoops           // numbers of self-loops, key 0
	OutNoTarget        // numbers of edges that were dropped, key 0
	targetsOutputs
)

// targets finds the targets of edges (tag 1) among the names (tag 0).
type targets struct{ BlockOptions }

func newTargets(o BlockOptions, _ stage.Sides) (stage.Function, error) {
	return &targets{o}, o.check()
}

// end is one end of an edge.
type end struct {
	block int64
	place int32
	role  Role
}

// Reduce implements [stage.Function].
func (f *targets) Reduce(key int64, in stage.Records, out stage.Output) error {
	names, rest, err := FirstNames(in)
	if err != nil {
		return err
	}
	places, roles, loops, unknown := names.places(), names.Roles, 0, 0
	pairs, held := NewBuckets(out, OutPairs, nil), NewBuckets(out, OutHeld, nil)
	put := func(a, b end) error {
		switch {
		case a.role.Original() && b.role.Original():
			word := appendPair(nil, a.block, a.place, b.place)
			return pairs.Add(b.block, word)
		case !b.role.Original():
			bytes := append(wire.AppendNumber(wire.AppendNumber(wire.AppendNumber(nil, int(b.place)), int(a.block)),
				int(a.place)),
				byte(a.role))
			return held.Add(b.block, bytes)
		}
		return nil
	}
	err = stage.Each(rest, func(r stage.Record) error {
		w := wire.NewReader(r.Payload)
		block := int64(w.Number())
		for w.More() {
			a := end{block, int32(w.Number()), Role(w.Byte())}
			row, id := w.Number(), w.Text()
			if w.Bad() {
				break
			}
			place, ok := places[id]
			if !ok && f.DropUnknown {
				unknown++
				continue
			}
			if !ok {
				return fmt.Errorf("edges row %d: its target %s is not the id of a node with a role", row, Quoted(id))
			}
			b := end{key, place, roles[place]}
			if a.block == b.block && a.place == b.place {
				loops++
				continue
			}
			if err := errors.Join(put(a, b), put(b, a)); err != nil {
				return err
			}
		}
		return w.End()
	})
	if err != nil {
		return err
	}
	return errors.Join(pairs.Flush(), held.Flush(),
		emitCount(out, OutLoops, key, loops), emitCount(out, OutNoTarget, key, unknown))
}

func appendPair(dst []byte, block int64, from, to int32) []byte {
	word := uint64(block)<<(2*placeBits) | uint64(from)<<placeBits | uint64(to)
	dst = wire.AppendU32(dst, uint32(word))
	return wire.AppendU32(dst, uint32(word>>32))
}

// Outputs of stage tiles.
const (
	OutTiles   = iota // edges by the source's block, the destination's block as order
	OutDegrees        // degrees of the nodes of T in a block
	OutEntries        // key 0: entries of A and the highest degree of each block
	tilesOutputs
)

// tiles sorts the pairs (tag 1) of a block of destinations; tag 0 counts the block's nodes. Repeated pairs are one
// edge.
type tiles struct{}

// Reduce implements [stage.Function].
func (tiles) Reduce(key int64, in stage.Records, out stage.Output) error {
	count := 0
	var words []uint64
	err := stage.Each(in, func(r stage.Record) error {
		w := wire.NewReader(r.Payload)
		if r.Tag == 0 {
			count = w.Number()
			return w.End()
		}
		words = slices.Grow(words, len(r.Payload)/8)
		for w.More() {
			words = append(words, uint64(w.U32())|uint64(w.U32())<<32)
		}
		return w.End()
	})
	if err != nil {
		return err
	}
	if count > maxPlaces {
		return fmt.Errorf("block %d has %d nodes, want at most %d", key, count, maxPlaces)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	degrees := make([]uint32, count)
	for lo := 0; lo < len(words); {
		block, hi := words[lo]>>(2*placeBits), lo
		for hi < len(words) && words[hi]>>(2*placeBits) == block {
			degrees[words[hi]&(maxPlaces-1)]++
			hi++
		}
		tile := stage.Record{Key: int64(block), Order: stage.OrderOf(key), Payload: appendTile(nil, words[lo:hi])}
		if err := out.Emit(OutTiles, tile); err != nil {
			return err
		}
		lo = hi
	}
	payload, highest := wire.AppendNumber(nil, count), uint32(0)
	for _, d := range degrees {
		payload, highest = wire.AppendU32(payload, d), max(highest, d)
	}
	return errors.Join(
		out.Emit(OutDegrees, stage.Record{Key: key, Payload: payload}),
		out.Emit(OutEntries,
			stage.Record{Order: stage.OrderOf(key), Payload: wire.AppendNumber(wire.AppendNumber(nil, len(words)),
				int(highest))}),
	)
}

// appendTile appends the edges from one block to another, which are sorted: for each source the step from the
// one before, how many destinations, and the steps of these.
func appendTile(dst []byte, words []uint64) []byte {
	before := 0
	for lo := 0; lo < len(words); {
		from, hi := place(words[lo]>>placeBits), lo
		for hi < len(words) && place(words[hi]>>placeBits) == from {
			hi++
		}
		dst = wire.AppendNumber(wire.AppendNumber(dst, from-before), hi-lo)
		before = from
		last := 0
		for _, word := range words[lo:hi] {
			to := place(word)
			dst = wire.AppendNumber(dst, to-last)
			last = to
		}
		lo = hi
	}
	return dst
}

func place(word uint64) int { return int(word & (maxPlaces - 1)) }

// EachSource walks a tile: use gets the place of each source and of its destinations, which are valid until the
// next.
func EachSource(tile []byte, use func(from int, to []int32) error) error {
	w := wire.NewReader(tile)
	from := 0
	var to []int32
	for w.More() {
		from += w.Number()
		n := w.Count(1)
		if to = to[:0]; n == 0 {
			return wire.ErrPayload
		}
		last := 0
		for range n {
			last += w.Number()
			to = append(to, int32(last))
		}
		if w.Bad() || from >= maxPlaces || last >= maxPlaces {
			return wire.ErrPayload
		}
		if err := use(from, to); err != nil {
			return err
		}
	}
	return w.End()
}

// ReadDegrees reads a record of the table of degrees.
func ReadDegrees(payload []byte) ([]int32, error) {
	w := wire.NewReader(payload)
	out := w.Ints(w.Count(4))
	return out, w.End()
}
