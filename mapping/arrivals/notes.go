package arrivals

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
)

// noteTTL is when notes expire whose consumers are gone for good. A group that is down for longer predicts the records
// that were in flight with the neighbours that are there then.
const noteTTL = 7 * 24 * time.Hour

// Note stores the arrivals' attachments, for a consumer that predicts the same records again. If a record has a note
// already, its attachment replaces the given one, and Earlier is set; a stored note that cannot be decoded sets Lost.
// If a later generation of the group has written notes of the same place, and the given generation is not Confirmed,
// the notes are Overtaken. Notes of one call have one generation. Note may be called again with the same notes. It
// returns [mapping.ErrVanished], and stores nothing, if the version is no longer in Redis.
func (a *Rows) Note(ctx context.Context, notes []growth.Note) error {
	others, err := a.noteAll(ctx, notes, false)
	if len(others) > 0 && err == nil {
		again := make([]growth.Note, len(others))
		for k, i := range others {
			again[k] = notes[i]
		}
		_, err = a.noteAll(ctx, again, true)
		for k, i := range others {
			notes[i] = again[k]
		}
	}
	if err != nil {
		return fmt.Errorf("writing notes of %d arrivals: %w", len(notes), mapping.Permanent(err))
	}
	return nil
}

// noteAll stores notes, and returns the positions of those in whose place there is the note of another record, which
// stays unless it is to be replaced. Only its seal tells such a note from a damaged one, and Redis cannot compute
// seals.
func (a *Rows) noteAll(ctx context.Context, notes []growth.Note, replace bool) (others []int, err error) {
	for lo := 0; lo < len(notes) && err == nil; {
		lo, others, err = a.note(ctx, notes, lo, replace, others)
	}
	return others, err
}

// note stores the notes of one round trip, from lo on. It returns where the next one begins, and others with those of
// this round trip added.
func (a *Rows) note(ctx context.Context, notes []growth.Note, lo int, replace bool, others []int) (int, []int, error) {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	keys, args, hi := a.noteArguments(notes, lo, replace)
	answer, err := a.run(ctx, noteAll, keys, args)
	if err != nil {
		return lo, others, err
	}
	switch {
	case answer[0] == "overtaken":
		for i := range notes[lo:hi] {
			notes[lo+i].Overtaken = true
		}
		return hi, others, nil
	case answer[0] == "gone":
		return lo, others, fmt.Errorf("%w: marker %s is missing or another one", mapping.ErrVanished, a.table.Marker)
	case len(answer) != 1 && len(answer) != 1+hi-lo:
		return lo, others, fmt.Errorf("Redis answered %d notes, want none or %d", len(answer)-1, hi-lo)
	}
	for k, stored := range answer[1:] {
		if stored != "" && !a.recall(&notes[lo+k], []byte(stored)) {
			others = append(others, lo+k)
		}
	}
	return hi, others, nil
}

// noteArguments returns the keys and arguments of noteAll for the notes of one round trip, from lo on, and where the
// next one begins.
func (a *Rows) noteArguments(notes []growth.Note, lo int, replace bool) (keys []string, args []any, hi int) {
	n := min(len(notes)-lo, idsPerPipeline)
	places, ends, arena := make([]int, 0, n), make([]int, 0, n), make([]byte, 0, 96*n)
	keys = []string{a.table.Marker}
	known := map[string]int{} // by place: position of its key in keys; Lua counts from 1
	last, at := "", 0
	for hi = lo; hi-lo < n && len(arena) < mapping.BytesPerPipeline; hi++ {
		if place := notes[hi].Place; at == 0 || place != last {
			if at = known[place]; at == 0 {
				keys = append(keys, a.table.notes(place))
				at = len(keys)
				known[place] = at
			}
			last = place
		}
		note, begin := &notes[hi], len(arena)
		arena = appendSeal(AppendNote(arena, note), begin, a.table.noteSeed(note), note.Place)
		places, ends = append(places, at), append(ends, len(arena))
	}
	texts := mapping.CutText(arena, ends)
	args = append(make([]any, 0, 5+3*len(texts)), a.table.MarkerID, noteTTL.Milliseconds(), notes[lo].Generation,
		notes[lo].Confirmed, replace)
	for i := range texts {
		// pointers, because a value in an interface is allocated
		if args = append(args, &places[i], &notes[lo+i].Offset, &texts[i]); notes[lo+i].Edge > 0 {
			args[len(args)-2] = fmt.Sprintf("%d.%d", notes[lo+i].Offset, notes[lo+i].Edge)
		}
	}
	return keys, args, hi
}

// recall takes the attachment of a stored note over. It reports false for the note of another record.
func (a *Rows) recall(n *growth.Note, stored []byte) bool {
	var earlier *growth.Note
	data, err := unseal(stored, a.table.noteSeed(n), n.Place)
	if err == nil {
		earlier, err = DecodeNote(data, a.table.Synthetic)
	}
	if err != nil {
		a.damage(&a.saidNote, "a stored note of an arrival is damaged: its prediction is marked as degraded", "place",
			n.Place, "offset", n.Offset, "error", err)
		n.Lost = true
		return true
	}
	if earlier.Record != n.Record {
		return false
	}
	n.Attached, n.Rows, n.Earlier = earlier.Attached, earlier.Rows, true
	return true
}

// Forget removes the notes of each place below an offset.
func (a *Rows) Forget(ctx context.Context, below map[string]int64) error {
	ctx, cancel := mapping.Within(ctx, a.o.Limit)
	defer cancel()
	var keys []string
	var args []any
	for place, offset := range below {
		keys, args = append(keys, a.table.notes(place)), append(args, offset)
	}
	if err := forgetNotes.Run(ctx, a.client, keys, args...).Err(); err != nil {
		return fmt.Errorf("removing notes: %w", err)
	}
	return nil
}

// notes returns the key of the notes of a place.
func (t *Table) notes(place string) string { return t.Notes + ":" + place }

// AppendNote appends the encoding of a note without its place and offset: the record's fingerprint in 8 bytes,
// little-endian, the number of places at which it was attached, and of each the gap before it, the length of its row
// (uvarints) and the row as [mapping.AppendRow] encodes it. Places must ascend.
func AppendNote(dst []byte, n *growth.Note) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, n.Record)
	dst = binary.AppendUvarint(dst, uint64(len(n.Attached)))
	last := int32(-1)
	for k, p := range n.Attached {
		if p <= last {
			panic(fmt.Sprintf("mapping: place %d after place %d", p, last))
		}
		dst = binary.AppendUvarint(dst, uint64(p-last-1))
		dst = mapping.AppendRow(binary.AppendUvarint(dst, uint64(mapping.RowLength(n.Rows[k]))), n.Rows[k])
		last = p
	}
	return dst
}

// DecodeNote decodes the encoding of [AppendNote]; the caller sets place and offset. Allocations are bounded by
// len(data).
func DecodeNote(data []byte, synthetic int) (*growth.Note, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("note of %d bytes, want at least 8", len(data))
	}
	n := &growth.Note{Record: binary.LittleEndian.Uint64(data)}
	count, rest, err := mapping.Uvarint(data[8:])
	if err != nil {
		return nil, fmt.Errorf("note: number of places: %w", err)
	}
	last := int32(-1)
	for p := range count {
		var row attach.Row
		if last, row, rest, err = attachedRow(last, rest, synthetic); err != nil {
			return nil, fmt.Errorf("note: place %d: %w", p, err)
		}
		n.Attached, n.Rows = append(n.Attached, last), append(n.Rows, row)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("note: %d bytes after its end", len(rest))
	}
	return n, nil
}

// attachedRow reads the place after last, and its row.
func attachedRow(last int32, data []byte, synthetic int) (place int32, row attach.Row, rest []byte, err error) {
	if place, rest, err = placeAfter(last, data); err != nil {
		return 0, row, nil, err
	}
	size, rest, err := mapping.Uvarint(rest)
	if err != nil {
		return 0, row, nil, err
	}
	if size > uint64(len(rest)) {
		return 0, row, nil, fmt.Errorf("row of %d bytes, %d are left", size, len(rest))
	}
	row, err = mapping.DecodeRow(rest[:size], synthetic)
	row.Arrived = true
	return place, row, rest[size:], err
}
