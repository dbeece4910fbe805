package solved

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/trainer/stage"
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
	return toBlocks(in, out, f.Blocks, f.rows, func(w *wire) (string, error) {
		e := w.edge()
		if (e.Source == "" || e.Target == "") && !w.bad {
			return "", fmt.Errorf("edges row %d: an end is empty or null", e.Row)
		}
		return e.Source, nil
	})
}

// firstNames takes the only record of the table of names from the front of a key's records, empty if there is none.
func firstNames(in stage.Records) (*Names, *stage.List, error) {
	first, rest, err := divided(in)
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
	names, rest, err := firstNames(in)
	if err != nil {
		return err
	}
	places, roles, unknown := names.places(), names.Roles, 0
	b := newBuckets(out, OutHalves, appendNumber(nil, int(key)))
	var half []byte
	err = each(rest, func(r stage.Record) error {
		w := &wire{b: r.Payload}
		for w.more() {
			e := w.edge()
			if w.bad {
				break
			}
			place, ok := places[e.Source]
			if !ok && f.DropUnknown {
				unknown++
				continue
			}
			if !ok {
				return fmt.Errorf("edges row %d: its source %s is not the id of a node with a role", e.Row, quoted(e.Source))
			}
			half = appendText(appendNumber(append(appendNumber(half[:0], int(place)), byte(roles[place])), int(e.Row)), e.Target)
			if err := b.add(blockOf(e.Target, f.Blocks), half); err != nil {
				return err
			}
		}
		return w.end()
	})
	return errors.Join(err, b.flush(), emitCount(out, OutNoSource, key, unknown))
}

// emitCount gives a number of a block, if it is not 0.
func emitCount(out stage.Output, output int, block int64, n int) error {
	if n == 0 {
		return nil
	}
	return out.Emit(output, stage.Record{Order: order(block), Payload: appendNumber(nil, n)})
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
	names, rest, err := firstNames(in)
	if err != nil {
		return err
	}
	places, roles, loops, unknown := names.places(), names.Roles, 0, 0
	pairs, held := newBuckets(out, OutPairs, nil), newBuckets(out, OutHeld, nil)
	put := func(a, b end) error {
		switch {
		case a.role.original() && b.role.original():
			word := appendPair(nil, a.block, a.place, b.place)
			return pairs.add(b.block, word)
		case !b.role.original():
			bytes := append(appendNumber(appendNumber(appendNumber(nil, int(b.place)), int(a.block)), int(a.place)),
				byte(a.role))
			return held.add(b.block, bytes)
		}
		return nil
	}
	err = each(rest, func(r stage.Record) error {
		w := &wire{b: r.Payload}
		block := int64(w.number())
		for w.more() {
			a := end{block, int32(w.number()), Role(w.byte())}
			row, id := w.number(), w.text()
			if w.bad {
				break
			}
			place, ok := places[id]
			if !ok && f.DropUnknown {
				unknown++
				continue
			}
			if !ok {
				return fmt.Errorf("edges row %d: its target %s is not the id of a node with a role", row, quoted(id))
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
		return w.end()
	})
	if err != nil {
		return err
	}
	return errors.Join(pairs.flush(), held.flush(),
		emitCount(out, OutLoops, key, loops), emitCount(out, OutNoTarget, key, unknown))
}

func appendPair(dst []byte, block int64, from, to int32) []byte {
	word := uint64(block)<<(2*placeBits) | uint64(from)<<placeBits | uint64(to)
	dst = appendU32(dst, uint32(word))
	return appendU32(dst, uint32(word>>32))
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
	err := each(in, func(r stage.Record) error {
		w := &wire{b: r.Payload}
		if r.Tag == 0 {
			count = w.number()
			return w.end()
		}
		words = slices.Grow(words, len(r.Payload)/8)
		for w.more() {
			words = append(words, uint64(w.u32())|uint64(w.u32())<<32)
		}
		return w.end()
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
		tile := stage.Record{Key: int64(block), Order: order(key), Payload: appendTile(nil, words[lo:hi])}
		if err := out.Emit(OutTiles, tile); err != nil {
			return err
		}
		lo = hi
	}
	payload, highest := appendNumber(nil, count), uint32(0)
	for _, d := range degrees {
		payload, highest = appendU32(payload, d), max(highest, d)
	}
	return errors.Join(
		out.Emit(OutDegrees, stage.Record{Key: key, Payload: payload}),
		out.Emit(OutEntries,
			stage.Record{Order: order(key), Payload: appendNumber(appendNumber(nil, len(words)), int(highest))}),
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
		dst = appendNumber(appendNumber(dst, from-before), hi-lo)
		before = from
		last := 0
		for _, word := range words[lo:hi] {
			to := place(word)
			dst = appendNumber(dst, to-last)
			last = to
		}
		lo = hi
	}
	return dst
}

func place(word uint64) int { return int(word & (maxPlaces - 1)) }

// eachSource walks a tile: use gets the place of each source and of its destinations, which are valid until the
// next.
func eachSource(tile []byte, use func(from int, to []int32) error) error {
	w := &wire{b: tile}
	from := 0
	var to []int32
	for w.more() {
		from += w.number()
		n := w.count(1)
		if to = to[:0]; n == 0 {
			return errPayload
		}
		last := 0
		for range n {
			last += w.number()
			to = append(to, int32(last))
		}
		if w.bad || from >= maxPlaces || last >= maxPlaces {
			return errPayload
		}
		if err := use(from, to); err != nil {
			return err
		}
	}
	return w.end()
}

// readDegrees reads a record of the table of degrees.
func readDegrees(payload []byte) ([]int32, error) {
	w := &wire{b: payload}
	out := w.ints(w.count(4))
	return out, w.end()
}
