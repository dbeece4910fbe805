package replay

import (
	"context"
	"fmt"
	"time"

	"rivulet/dataset"
	"rivulet/event"
)

// Sink takes arrivals, in order.
type Sink interface {
	// Send returns when all of the arrivals are accepted. It keeps nothing of them.
	Send(ctx context.Context, arrivals []event.Arrival) error
}

// Options of a replay.
type Options struct {
	// Rate is in arrivals a second; 0 means as fast as the sink takes them.
	Rate float64
	// Chunk is the most arrivals of one Send, at least 1.
	Chunk int
	// Limit ends the replay after as many arrivals; 0 means all test nodes.
	Limit int
	// Now is the clock, and Sleep waits; nil means the machine's.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// tick is how often a paced replay looks whether more arrivals are due.
const tick = 2 * time.Millisecond

// Replay sends the test nodes of d and returns how many were sent.
func Replay(ctx context.Context, d *dataset.Dataset, sink Sink, o Options) (int, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	nodes := d.Test
	if o.Limit > 0 && o.Limit < len(nodes) {
		nodes = nodes[:o.Limit]
	}
	chunk := make([]event.Arrival, 0, o.Chunk)
	start := o.Now()
	for sent := 0; sent < len(nodes); {
		now := o.Now()
		due := len(nodes)
		if o.Rate > 0 {
			due = min(due, int(o.Rate*now.Sub(start).Seconds())+1)
		}
		if due == sent {
			if err := o.Sleep(ctx, tick); err != nil {
				return sent, err
			}
			continue
		}
		chunk = chunk[:0]
		for i := sent; i < min(due, sent+o.Chunk); i++ {
			at := now
			if o.Rate > 0 { // when it was due: a sink that is slow must not make the stream look faster than it is
				at = start.Add(time.Duration(float64(i) / o.Rate * float64(time.Second)))
			}
			chunk = append(chunk, Arrival(d, nodes[i], at))
		}
		if err := sink.Send(ctx, chunk); err != nil {
			return sent, fmt.Errorf("sending arrivals %d to %d of %s: %w", sent, sent+len(chunk)-1, d.Name, err)
		}
		sent += len(chunk)
	}
	return len(nodes), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Arrival is a node of a data set as an arrival at a time. Its features share the data set's memory.
func Arrival(d *dataset.Dataset, node int32, at time.Time) event.Arrival {
	a := event.Arrival{ID: d.IDs[node], Edges: d.Neighbours(node), Time: at}
	if d.X.Sparse == nil {
		a.Features.Values = d.X.Dense.Row(int(node))
		return a
	}
	a.Features.Sparse = true
	a.Features.Indices, a.Features.Values = d.X.Sparse.Row(int(node))
	if a.Features.Values == nil { // a pattern: all ones
		a.Features.Values = make([]float32, len(a.Features.Indices))
		for k := range a.Features.Values {
			a.Features.Values[k] = 1
		}
	}
	return a
}
