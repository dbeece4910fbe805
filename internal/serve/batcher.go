package serve

import (
	"context"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/internal/gather"
	"rivulet/kafka"
)

// asked is the arrivals of one request.
type asked struct {
	ctx     context.Context // ends when nobody waits for the answers any more
	records []kafka.Record
	answers *texts
	done    chan error // gets one value: then answers are the handler's again

	explained int // arrivals that have had their turn; the explaining lane's
}

// batcher holds the waiting requests.
type batcher struct {
	size   gather.Bounds // of arrivals
	most   int           // arrivals that may wait
	queue  chan *asked
	taking gather.Queue[*asked] // of queue
	clock  consumer.Clock

	counting sync.Mutex
	waiting  int // arrivals in the queue

	forming sync.Mutex // held by the lane that forms a batch
	next    *asked     // did not fit into the batch before; the forming lane's
}

func newBatcher(o Batching, most int, clock consumer.Clock) *batcher {
	// Each request that waits has an arrival, and one larger than the limit waits alone.
	queue := make(chan *asked, most)
	return &batcher{size: gather.Bounds{Records: o.Size}, most: most, queue: queue, clock: clock,
		taking: gather.Queue[*asked]{C: queue, Linger: o.Linger, Clock: clock}}
}

// put has a request wait; it returns false if too much is waiting. It never blocks.
func (b *batcher) put(a *asked) bool {
	b.counting.Lock()
	defer b.counting.Unlock()
	if b.waiting > 0 && b.waiting+len(a.records) > b.most {
		return false
	}
	b.waiting += len(a.records)
	b.queue <- a
	return true
}

// depth returns how many arrivals wait.
func (b *batcher) depth() int {
	b.counting.Lock()
	defer b.counting.Unlock()
	return b.waiting
}

// taken notes that a request waits no more.
func (b *batcher) taken(a *asked) *asked {
	b.counting.Lock()
	b.waiting -= len(a.records)
	b.counting.Unlock()
	return a
}

// collect appends all waiting requests to those whose turns are to come, and then again, the request that has just had
// its turn, if it is not done. It waits for a request if there is none, and returns none when ctx has ended. Requests
// are counted as waiting until they are done.
func (b *batcher) collect(ctx context.Context, turns []*asked, again *asked) []*asked {
	if ctx.Err() != nil {
		if again != nil {
			turns = append(turns, again)
		}
		for _, a := range turns {
			a.done <- ctx.Err()
		}
		return nil
	}
	if len(turns) == 0 && again == nil {
		select {
		case a := <-b.queue:
			turns = append(turns, a)
		case <-ctx.Done():
			return nil
		}
	}
	for {
		select {
		case a := <-b.queue:
			turns = append(turns, a)
		default:
			if again != nil {
				turns = append(turns, again)
			}
			return turns
		}
	}
}

// take appends the next batch to into: waiting requests of up to size arrivals, and at least one request. It returns an
// empty batch when ctx has ended. Requests that nobody waits for are left out.
func (b *batcher) take(ctx context.Context, into []*asked) []*asked {
	b.forming.Lock()
	defer b.forming.Unlock()
	n := 0
	var begun time.Time
	for {
		a := b.next
		if b.next = nil; a == nil {
			var is bool
			if n == 0 {
				a, is = b.taking.First(ctx)
			} else {
				a, is = b.taking.Next(ctx, begun)
			}
			if !is {
				return into
			}
			b.taken(a)
		}
		if err := a.ctx.Err(); err != nil {
			a.done <- err
			continue
		}
		if !b.size.Admit(n, 0, len(a.records), 0) {
			b.next = a
			return into
		}
		if n == 0 {
			begun = b.clock.Now()
		}
		into, n = append(into, a), n+len(a.records)
		if n >= b.size.Records {
			return into
		}
	}
}
