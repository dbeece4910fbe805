package kafka

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Clock is where time is taken from.
type Clock interface {
	Now() time.Time
	// NewTimer returns a channel that is sent to once, d from now, and a function that releases the timer.
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func())
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return now() }

// NewTimer is [time.NewTimer].
func (SystemClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// sleep waits for d or for ctx, whichever is first.
func sleep(ctx context.Context, clock Clock, d time.Duration) error {
	fired, stop := clock.NewTimer(d)
	defer stop()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Observer is told of attempts that failed and will be repeated, and of records that are gone.
// Several goroutines may call it.
type Observer interface {
	Retry(stage string, err error)
	// Lost is called when records of the input are gone; reason is one of LostReasons, records how many they are as far
	// as that is known, which may be 0.
	Lost(reason string, records int64)
}

// Stages that are waited for.
const (
	StageTopics  = "topics"  // the topics' coming into being
	StageGroup   = "group"   // joining the consumer group, committing to it
	StageOffsets = "offsets" // reading the group's offsets
	StageFetch   = "fetch"   // reading a partition
	StagePublish = "publish" // writing records, transactions included
)

// Pauses between attempts double from firstPause to longestPause; each is spread over its upper half.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// words are the stages as the log names them; others are named as they are.
var words = map[string]string{StageTopics: "the topics", StageGroup: "the consumer group", StageOffsets: "the group's offsets",
	StageFetch: "records", StagePublish: "the brokers to take records"}

// remindEvery is how often the log says of an outage that it goes on.
const remindEvery = 30 * time.Second

// Patience says how what fails for a while is waited for, and who is told. The zero value waits by the machine's
// clock and tells nobody.
type Patience struct {
	Clock Clock
	// Observer is told of each attempt that will be repeated, Logger of each outage: when it begins, every 30 s while
	// it goes on, and when it ends.
	Observer Observer
	Logger   *slog.Logger
}

func (p Patience) complete() Patience {
	if p.Clock == nil {
		p.Clock = SystemClock{}
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	return p
}

// Outage is one thing that may fail for a while, for one goroutine or several.
type Outage struct {
	stage  string
	name   string  // in the log
	quiet  int     // failures in a row that are not worth a line in the log
	giveUp Verdict // from which on attempts end
	with   Patience

	mu      sync.Mutex
	waiting int // goroutines
	since   time.Time
	said    time.Time // when the log last said that it goes on
}

// Outage returns an outage of a stage that has not begun. The attributes are logged with it.
func (p Patience) Outage(stage string, attrs ...any) *Outage {
	with := p.complete()
	with.Logger = with.Logger.With(attrs...)
	return &Outage{stage: stage, name: cmp.Or(words[stage], stage), giveUp: Permanent, with: with}
}

// Named sets what the log says that is waited for, instead of the stage.
func (o *Outage) Named(name string) *Outage {
	o.name = name
	return o
}

// Attempts are those of one goroutine.
func (o *Outage) Attempts() *Attempts { return &Attempts{outage: o} }

// Attempts are the tries of one goroutine until it succeeds. It may go on with the next thing of the
// stage afterwards.
type Attempts struct {
	outage *Outage
	failed int
	pause  time.Duration
	said   bool // this goroutine is among those that wait
}

// Failed notes that an attempt failed with err. It returns nil after a pause: try again. It returns an error, which
// wraps err, if that is not to be tried again or ctx has ended.
func (a *Attempts) Failed(ctx context.Context, err error) error {
	o := a.outage
	if Judge(err) >= o.giveUp {
		a.end(false)
		return err
	}
	if ctx.Err() != nil {
		a.end(false)
		return errors.Join(context.Cause(ctx), err)
	}
	if a.failed++; a.failed == 1 {
		a.pause = firstPause
	} else {
		a.pause = min(2*a.pause, longestPause)
	}
	if a.failed > o.quiet && !a.said {
		a.said = true
		o.begin(err)
	} else if a.said {
		o.remind(err)
	}
	if o.with.Observer != nil {
		o.with.Observer.Retry(o.stage, err)
	}
	if sleep(ctx, o.with.Clock, spread(a.pause)) != nil {
		a.end(false)
		return errors.Join(context.Cause(ctx), err)
	}
	return nil
}

// spread returns a random time in the upper half of a pause.
func spread(pause time.Duration) time.Duration {
	return pause/2 + time.Duration(rand.Float64()*float64(pause/2))
}

// Over notes that an attempt succeeded.
func (a *Attempts) Over() { a.end(true) }

func (a *Attempts) end(well bool) {
	if a.said {
		a.outage.end(well)
	}
	a.failed, a.said = 0, false
}

func (o *Outage) begin(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting++; o.waiting == 1 {
		o.since = o.with.Clock.Now()
		o.said = o.since
		o.with.Logger.Warn("waiting for "+o.name, "error", err)
	}
}

// remind says that the outage goes on, where that was not said for a while.
func (o *Outage) remind(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.with.Clock.Now(); now.Sub(o.said) >= remindEvery {
		o.said = now
		o.with.Logger.Warn("still waiting for "+o.name, "for", now.Sub(o.since).Round(time.Second), "error", err)
	}
}

func (o *Outage) end(well bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting--; o.waiting == 0 && well {
		o.with.Logger.Info("no longer waiting for "+o.name, "after",
			o.with.Clock.Now().Sub(o.since).Round(time.Millisecond))
	}
}
