package consumer

import (
	"context"
	"slices"
	"strconv"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/kafka"
)

// attachmentNotes has the rows that the arrivals of a batch are attached to. A consumer that reads a record again
// attaches it to the same rows. They differ from the rows that were looked up if another consumer has predicted the
// record before.
type attachmentNotes struct {
	rows     [][]attach.Row // rows[i] are of the edges of arrival i, in their order
	attached [][]int32      // attached[i] are the places in its edges of arrivals with rows, ascending
	lost     []bool         // of each arrival: if it is predicted again, it may be attached to others
	any      bool           // some are lost

	notes []growth.Note
	of    []int32      // the arrivals that they are of
	arena []attach.Row // memory of rows in notes, and of rows as noted
}

// note has it noted, before anything is predicted, what each arrival of a node batch is attached to: which of its
// neighbours are arrivals, and their rows. Only neighbours outside of T matter; the others' rows never change under
// one version. A note is there until the record's offset is committed ([Pipeline.forget]).
//
// An arrival of which a row could not be read has no note: its prediction is degraded, and the next attempt may do
// better.
func (p *Pipeline) note(ctx context.Context, out *attachmentNotes, version Version, in Intake, arrivals []*slot,
	n *neighbours) error {
	out.begin(n)
	if !p.Notes || p.Mode != Node || in.Generation == nil {
		return nil
	}
	out.write(in.Generation.Member(), arrivals, n)
	if len(out.notes) == 0 {
		return nil
	}
	if err := out.store(ctx, version.(GrowingVersion), in.Generation); err != nil {
		return err
	}
	for k, i := range out.of {
		switch note := &out.notes[k]; {
		case note.Lost:
			out.lost[i], out.any = true, true
		case note.Earlier:
			out.attached[i], out.rows[i] = note.Attached, out.attach(n.rows[i], note)
		}
	}
	return nil
}

// begin takes over what was looked up.
func (n *attachmentNotes) begin(found *neighbours) {
	n.rows, n.attached = append(n.rows[:0], found.rows...), sized(n.attached, len(found.met))
	for i := range found.met {
		n.attached[i] = found.met[i].attached
	}
	n.lost, n.any = zeroed(n.lost, len(found.met)), false
	n.notes, n.of, n.arena = n.notes[:0], n.of[:0], n.arena[:0]
}

// store has the notes stored, or replaced by those that are there. A member that was stopped, and whose
// partitions others have taken over meanwhile, would write notes of what those have committed: its generation
// is over. Where there are notes of a later generation and the coordinator knows of none, the group was deleted
// and has begun to count anew.
func (n *attachmentNotes) store(ctx context.Context, version GrowingVersion, by kafka.Committer) error {
	if err := version.NoteArrivals(ctx, n.notes); err != nil {
		return err
	}
	if !slices.ContainsFunc(n.notes, func(note growth.Note) bool { return note.Overtaken }) {
		return nil
	}
	if err := by.Current(ctx); err != nil {
		return err
	}
	for i := range n.notes {
		n.notes[i].Confirmed, n.notes[i].Overtaken = true, false
	}
	return version.NoteArrivals(ctx, n.notes)
}

// write makes the notes.
func (n *attachmentNotes) write(by kafka.Member, arrivals []*slot, found *neighbours) {
	var at kafka.TopicPartition
	place := ""
	for i, s := range arrivals {
		if !mayChange(found.rows[i]) {
			continue
		}
		position := &s.record.Position
		if of := (kafka.TopicPartition{Topic: position.Topic,
			Partition: position.Partition}); place == "" || of != at {
			at, place = of, notePlace(by.Group, of)
		}
		from := len(n.arena)
		for _, e := range n.attached[i] {
			n.arena = append(n.arena, found.rows[i][e])
		}
		n.notes = append(n.notes, growth.Note{Place: place, Offset: position.Offset, Record: found.met[i].record64,
			Generation: by.Generation,
			Attached:   n.attached[i], Rows: n.arena[from:len(n.arena):len(n.arena)]})
		n.of = append(n.of, int32(i))
	}
}

// mayChange reports whether the next lookup of the same neighbours may find other rows, though all of
// these were read.
func mayChange(rows []attach.Row) bool {
	outside := false
	for i := range rows {
		if rows[i].Unread {
			return false
		}
		outside = outside || !rows[i].Known || rows[i].Arrived
	}
	return outside
}

// attach returns an arrival's rows as they were noted.
func (n *attachmentNotes) attach(found []attach.Row, note *growth.Note) []attach.Row {
	from := len(n.arena)
	for _, row := range found {
		if row.Arrived {
			row = attach.Row{}
		}
		n.arena = append(n.arena, row)
	}
	rows := n.arena[from:len(n.arena):len(n.arena)]
	for k, e := range note.Attached {
		rows[e] = note.Rows[k]
	}
	return rows
}

// notePlace names the notes of one group and partition. Names of topics hold no colon.
func notePlace(group string, at kafka.TopicPartition) string {
	return group + ":" + at.Topic + ":" + strconv.Itoa(at.Partition)
}

// forget removes the notes of offsets that are committed, with those that others left behind. What cannot be removed
// now is removed with the next batch of its partition.
func (p *Pipeline) forget(ctx context.Context, version Version, in Intake, n *attachmentNotes) {
	if len(n.notes) == 0 {
		return
	}
	below := make(map[string]int64, len(in.Offsets))
	for at, next := range in.Offsets {
		below[notePlace(in.Generation.Member().Group, at)] = next
	}
	_ = version.(GrowingVersion).ForgetNotes(ctx, below)
}
