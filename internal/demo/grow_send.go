package demo

import (
	"context"
	"time"

	"rivulet/event"
)

// gate is where a stream waits until it is opened.
type gate struct {
	at   int             // arrivals before it
	open <-chan struct{} // closed when the stream may go on
}

// held is a time in which nothing was sent.
type held struct{ from, to time.Time }

// pacer sends arrivals at a rate, and waits at gates.
type pacer struct {
	plan  *plan
	rate  float64 // arrivals a second
	gates []gate  // ascending
	sink  *counting
	now   func() time.Time

	held []held // where a gate was not open yet; for the reader once run has returned
}

// pacing is how often a pacer looks whether more arrivals are due.
const pacing = 2 * time.Millisecond

// run sends all arrivals. The clock by which they are due stands still at a gate.
func (p *pacer) run(ctx context.Context) error {
	ticker := time.NewTicker(pacing)
	defer ticker.Stop()
	start := p.now()
	for sent := 0; sent < len(p.plan.order); {
		if len(p.gates) > 0 && p.gates[0].at == sent {
			waited, err := p.wait(ctx, p.gates[0])
			if err != nil {
				return err
			}
			p.gates, start = p.gates[1:], start.Add(waited)
			continue
		}
		limit := len(p.plan.order)
		if len(p.gates) > 0 {
			limit = p.gates[0].at
		}
		due := min(limit, sent+chunk, int(p.rate*p.now().Sub(start).Seconds())+1)
		if due <= sent {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		var arrivals []event.Arrival
		for k := sent; k < due; k++ {
			arrivals = append(arrivals, p.plan.arrival(k, start.Add(time.Duration(float64(k)/p.rate*float64(time.Second)))))
		}
		if err := p.sink.Send(ctx, arrivals); err != nil {
			return err
		}
		sent = due
	}
	return nil
}

func (p *pacer) wait(ctx context.Context, g gate) (time.Duration, error) {
	select {
	case <-g.open:
		return 0, nil
	default:
	}
	from := p.now()
	select {
	case <-g.open:
		p.held = append(p.held, held{from, p.now()})
		return p.now().Sub(from), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
