package retry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
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

// Sleep waits for d or until ctx ends, and then returns why ctx ended.
func Sleep(ctx context.Context, clock Clock, d time.Duration) error {
	fired, stop := clock.NewTimer(d)
	defer stop()
	select {
	case <-fired:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Observer hears of attempts that failed and will be repeated, of records that Kafka deleted unread, and of quotas.
// Several goroutines may call it.
type Observer interface {
	Retry(stage string, err error)
	// Lost is called when records of the input are gone. reason is one of kafka.LostReasons; records is how many they
	// are, 0 where that is not known.
	Lost(reason string, records int64)
	// Throttled is called when a broker asks for a pause before the next requests of a kind: produce, fetch, group or
	// other.
	Throttled(requests string, pause time.Duration)
}

// Stages of a stream that wait for brokers.
const (
	StageTopics  = "topics"  // until the topics exist
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

// names has, for the log, the thing that a stage waits for. Other stages appear by their own names.
var names = map[string]string{StageTopics: "the topics", StageGroup: "the consumer group",
	StageOffsets: "the group's offsets", StageFetch: "records", StagePublish: "the brokers to take records"}

// brokersAdvice and topicsAdvice say in the log what to do about an outage of a stage of Kafka, beside its error.
const (
	brokersAdvice = "see that the brokers run, and that they and the addresses that they advertise can be reached " +
		"from here"
	topicsAdvice = brokersAdvice + "; create a topic that does not exist"
)

// remindEvery is the interval at which the log repeats that an outage goes on.
const remindEvery = 30 * time.Second

// Patience has the clock by which failures are waited over, and the observers of the waiting. The zero value takes the
// machine's clock and tells nobody.
type Patience struct {
	Clock Clock
	// Observer hears of each attempt that will be repeated. Logger gets a line when an outage begins, one every 30 s
	// while it lasts, and one when it ends.
	Observer Observer
	Logger   *slog.Logger
	// StartOver is the time that a wait lasts before it gives up what it remembers and begins anew; 0 means [StartOver].
	StartOver time.Duration
}

// StartOver is the time that a wait lasts before it begins anew, by default.
const StartOver = 3 * time.Minute

// Complete returns the patience with defaults for missing parts.
func (p Patience) Complete() Patience {
	if p.Clock == nil {
		p.Clock = SystemClock{}
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	p.StartOver = cmp.Or(p.StartOver, StartOver)
	return p
}

// Outage is a failure of one thing that lasts a while, seen by one goroutine or several. The log speaks of it once.
type Outage struct {
	stage  string
	name   string  // in the log
	advice string  // in the log: what to do
	quiet  int     // failures in a row that are not worth a line in the log
	giveUp Verdict // attempts end at this verdict and at later ones
	anew   Anew
	with   Patience

	mu      sync.Mutex
	waiting int // goroutines
	since   time.Time
	said    time.Time // when the log last told that it goes on
}

// Outage returns an outage of a stage, before it begins. Its lines in the log carry the attributes.
func (p Patience) Outage(stage string, attrs ...any) *Outage {
	with := p.Complete()
	with.Logger = with.Logger.With(attrs...)
	o := &Outage{stage: stage, name: cmp.Or(names[stage], stage), advice: brokersAdvice, giveUp: Permanent, with: with}
	if stage == StageTopics {
		o.advice = topicsAdvice
	}
	return o
}

// Named sets the words that follow "waiting for" in the log, instead of the stage, and what to do about it: the error
// beside them has the cause.
func (o *Outage) Named(name, advice string) *Outage {
	o.name, o.advice = name, advice
	return o
}

// GiveUpAt makes attempts end at errors of this verdict and of the later ones; the default is Permanent.
func (o *Outage) GiveUpAt(v Verdict) *Outage {
	o.giveUp = v
	return o
}

// Anew forgets the facts on which a wait rests, and which may not hold any more: the brokers that were there,
// the partitions that a topic had.
type Anew struct {
	// GivesUp names it in the log.
	GivesUp string
	// Forget gives it up. err is the failure that lasts. A returned error ends the wait, as its place is in a state that
	// is given up as well.
	Forget func(err error) error
}

// StartsOver has a wait that has lasted for [Patience].StartOver begin anew, and again each time it has lasted for as
// long.
func (o *Outage) StartsOver(a Anew) *Outage {
	o.anew = a
	return o
}

// Quiet sets how many failures in a row are not worth a line in the log.
func (o *Outage) Quiet(failures int) *Outage {
	o.quiet = failures
	return o
}

// Attempts returns the attempts of one goroutine.
func (o *Outage) Attempts() *Attempts { return &Attempts{outage: o} }

// Attempts counts the failures of one goroutine until it succeeds. Afterwards it may serve the next thing of the same
// stage.
type Attempts struct {
	outage *Outage
	failed int
	since  time.Time // of the first failure in a row, or of the last new beginning
	pause  time.Duration
	said   bool // this goroutine is counted among the waiting ones
}

// Failed takes note of an attempt that failed with err. It pauses and returns nil: try again. It returns an error that
// wraps err where trying again is of no use or ctx has ended.
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
	pausing, release := unlessInVain(ctx, err)
	defer release()
	if pausing.Err() != nil {
		a.end(false)
		return err
	}
	if a.failed++; a.failed == 1 {
		a.pause, a.since = firstPause, o.with.Clock.Now()
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
	if over := a.startOver(err); over != nil {
		a.end(false)
		return over
	}
	if Sleep(pausing, o.with.Clock, Spread(a.pause)) != nil {
		a.end(false)
		if ctx.Err() == nil {
			return err
		}
		return errors.Join(context.Cause(ctx), err)
	}
	return nil
}

// Repeat does the work again and again until it succeeds, and waits over failures as Failed does.
func (a *Attempts) Repeat(ctx context.Context, work func() error) error {
	return a.RepeatIf(ctx, func(error) bool { return true }, work)
}

// RepeatIf is Repeat over failures that again accepts. Other errors are returned at once, as they came; an outage that
// has begun goes on until the work succeeds, or the caller gives it up.
func (a *Attempts) RepeatIf(ctx context.Context, again func(error) bool, work func() error) error {
	for {
		err := work()
		if err == nil {
			a.Over()
			return nil
		}
		if !again(err) {
			return err
		}
		if err := a.Failed(ctx, err); err != nil {
			return err
		}
	}
}

// drainKey is the key of a context's drain.
type drainKey struct{}

// Draining returns a context of work that is to be finished once drain has ended. A wait for a topic that does not
// exist ends then at once: nobody makes it while the program stops.
func Draining(work, drain context.Context) context.Context {
	return context.WithValue(work, drainKey{}, drain)
}

// unlessInVain returns a context that ends when it is of no use to wait any longer after err.
func unlessInVain(ctx context.Context, err error) (context.Context, context.CancelFunc) {
	drain, drains := ctx.Value(drainKey{}).(context.Context)
	if !drains || !errors.Is(err, kafkago.UnknownTopicOrPartition) {
		return ctx, func() {}
	}
	either, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(drain, func() { cancel(context.Cause(drain)) })
	return either, func() {
		stop()
		cancel(nil)
	}
}

// startOver gives up what the wait remembers, if it is time for that.
func (a *Attempts) startOver(err error) error {
	o, now := a.outage, a.outage.with.Clock.Now()
	lasted := now.Sub(a.since)
	if o.anew.Forget == nil || lasted < o.with.StartOver {
		return nil
	}
	a.since = now
	o.with.Logger.Warn("still waiting for "+o.name+": starting over", "for", lasted.Round(time.Second), "gives_up",
		o.anew.GivesUp, "error", err, "advice", o.advice)
	return o.anew.Forget(err)
}

// Spread returns a random time in the upper half of a pause, so that clients do not come back all at once.
func Spread(pause time.Duration) time.Duration {
	return pause/2 + time.Duration(rand.Float64()*float64(pause/2))
}

// Failures returns how many attempts in a row have failed.
func (a *Attempts) Failures() int { return a.failed }

// GiveUp takes note that there is no further attempt: the log does not say that the outage is over, and the next one
// has lines of its own.
func (a *Attempts) GiveUp() { a.end(false) }

// Over takes note of an attempt that succeeded.
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
		o.with.Logger.Warn("waiting for "+o.name, "error", err, "advice", o.advice)
	}
}

// remind logs that the outage lasts, at most once in remindEvery.
func (o *Outage) remind(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.with.Clock.Now(); now.Sub(o.said) >= remindEvery {
		o.said = now
		o.with.Logger.Warn("still waiting for "+o.name, "for", now.Sub(o.since).Round(time.Second), "error", err,
			"advice", o.advice)
	}
}

func (o *Outage) end(well bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting--; o.waiting == 0 && well {
		o.with.Logger.Info("no longer waiting for "+o.name, "after", o.with.Clock.Now().Sub(o.since).Round(time.Millisecond))
	}
}
