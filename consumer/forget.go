package consumer

import (
	"context"
	"fmt"
	"slices"

	"rivulet/infer/growth"
)

// Forgetter removes rows of M and stored features by the ids of arrivals.
type Forgetter interface {
	// Forget removes the rows of M and the features of ids, and returns for how many of them there were some. It may be
	// called again. It returns [growth.ErrOvertaken], and has removed no row, as by says.
	Forget(ctx context.Context, ids []growth.Forget, by growth.Fence) (known int, err error)
}

// take decodes a batch, and waits until all that the batches before it forget is removed. Rows are looked up after
// that: an arrival that was read after an id was to be forgotten finds nothing of it.
func (p *Pipeline) take(ctx context.Context, in Intake, b *batch, by model) error {
	err := p.decode(ctx, &b.decoded, in, by)
	if p.Forget == nil || err != nil {
		return err
	}
	err = in.After.Cleared(ctx)
	if err == nil && b.decoded.forgets.Len() == 0 {
		in.Ticket.Clear()
	}
	return err
}

// store removes what the batch forgets, and writes its arrivals' rows.
func (p *Pipeline) store(ctx context.Context, version Version, in Intake, b *batch, stats *BatchStats) error {
	if err := p.forgetIDs(ctx, in, b, stats); err != nil {
		return err
	}
	return p.keep(ctx, version, in, &b.growth)
}

// forgetIDs removes the rows, notes and features of the ids that the batch forgets. The batch before it has written its
// rows by then, and this one has not. In a consumer it tries again until that is done: no outage lets an id stay.
func (p *Pipeline) forgetIDs(ctx context.Context, in Intake, b *batch, stats *BatchStats) error {
	ids := b.decoded.forgotten(b.neighbours.met)
	if p.Forget == nil || len(ids) == 0 {
		return nil
	}
	if err := in.After.Passed(ctx); err != nil {
		return err
	}
	stats.Forgets = len(ids)
	for by, again := p.fence(in), true; again; {
		var err error
		stats.Forgotten, err = p.Forget.Forget(ctx, ids, by)
		if again, err = p.written(ctx, in, &by, err); err != nil {
			return fmt.Errorf("forgetting %d ids: %w", len(ids), err)
		}
	}
	in.Ticket.Clear()
	return nil
}

// forgotten returns the ids that a batch forgets, each with the first arrival after that, whose row stays: a record that
// is read again finds the row that its arrival got the first time.
func (d *decodedBatch) forgotten(met []growthState) (ids []growth.Forget) {
	later := map[string]int{} // id -> the first arrival after all that forgets it
	if d.forgets.Len() > 0 {
		for i, s := range slices.Backward(d.arrivals) {
			if d.forgets.Since(s.arrival.ID, i) {
				later[s.arrival.ID] = i
			}
		}
	}
	for _, id := range d.forgets.IDs() {
		ask := growth.Forget{ID: id}
		if i, there := later[id]; there {
			ask.Except, ask.Later = met[i].record64, true
		}
		ids = append(ids, ask)
	}
	return ids
}

// fence names the place and the generation of a batch's writes, where rows may be removed.
func (p *Pipeline) fence(in Intake) growth.Fence {
	if p.Forget == nil || in.Generation == nil {
		return growth.Fence{}
	}
	by := growth.Fence{Generation: in.Generation.Member().Generation}
	for at := range in.Offsets {
		by.Places = append(by.Places, notePlace(in.Generation.Member().Group, at))
	}
	slices.Sort(by.Places)
	return by
}
