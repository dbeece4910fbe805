package consumer

import (
	"context"
	"slices"
	"strconv"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/kafka"
)

// attachmentNotes holds the rows that the arrivals of a batch are attached to. A consumer that reads a record again
// attaches it to the same rows. They differ from the rows that were looked up if another consumer has predicted the
// record before.
type attachmentNotes struct {
	rows     [][]attach.Row // rows[i]: rows of the neighbours of arrival i, in the order of its edges
	attached [][]int32      // attached[i]: positions in its edges of arrivals with rows, ascending
	lost     []bool         // per arrival: predicted again, it may get other neighbours
	any      bool           // some are lost

	notes []growth.Note
	of    []int32      // notes[k] is of arrival of[k]
	arena []attach.Row // memory of rows in notes, and of rows as noted
}

// note stores in Redis, before anything is predicted, which neighbours of each arrival of a node batch are arrivals,
// and their rows. Only neighbours outside of T matter; rows of T never change under one version. A note stays until the
// record's offset is committed ([Pipeline.forgetNotes]).
//
// An arrival with a row that could not be read has no note: its prediction is degraded, and the next attempt may do
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

// begin takes over the rows that were looked up.
func (n *attachmentNotes) begin(found *neighbours) {
	n.rows, n.attached = append(n.rows[:0], found.rows...), sized(n.attached, len(found.met))
	for i := range found.met {
		n.attached[i] = found.met[i].attached
	}
	n.lost, n.any = zeroed(n.lost, len(found.met)), false
	n.notes, n.of, n.arena = n.notes[:0], n.of[:0], n.arena[:0]
}

// store writes the notes; a note that is already there replaces the given one. A member that was stopped while others
// took over its partitions would write notes of records which those have committed: the coordinator is asked, and says
// that its generation is over. If notes of a later generation are there and the coordinator knows of none, the group
// was deleted and counts anew.
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

// write fills n.notes.
func (n *attachmentNotes) write(by kafka.Member, arrivals []*slot, found *neighbours) {
	var at kafka.TopicPartition
	place := ""
	for i, s := range arrivals {
		if !mayChange(found.rows[i]) {
			continue
		}
		position := &s.record.Position
		if of := (kafka.TopicPartition{Topic: position.Topic, Partition: position.Partition}); place == "" || of != at {
			at, place = of, notePlace(by.Group, of)
		}
		from := len(n.arena)
		for _, e := range n.attached[i] {
			n.arena = append(n.arena, found.rows[i][e])
		}
		n.notes = append(n.notes, growth.Note{Place: place, Offset: position.Offset, Record: found.met[i].record64,
			Generation: by.Generation, Attached: n.attached[i], Rows: n.arena[from:len(n.arena):len(n.arena)]})
		n.of = append(n.of, int32(i))
	}
}

// mayChange reports whether the next lookup of the same neighbours may find other rows, though all of these were read.
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

// attach returns an arrival's rows with the note's in place.
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

// forgetNotes removes the notes of committed offsets, also notes that other consumers left behind. A note that cannot
// be removed now is removed with the next batch of its partition.
func (p *Pipeline) forgetNotes(ctx context.Context, version Version, in Intake, n *attachmentNotes) {
	if len(n.notes) == 0 {
		return
	}
	below := make(map[string]int64, len(in.Offsets))
	for at, next := range in.Offsets {
		below[notePlace(in.Generation.Member().Group, at)] = next
	}
	_ = version.(GrowingVersion).ForgetNotes(ctx, below)
}
