package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/segmentio/kafka-go"
)

// Start says where a partition begins that the group has never committed.
type Start string

// Starts.
const (
	Earliest Start = "earliest"
	Latest   Start = "latest"
	AtTime   Start = "time" // the first record not older than Options.StartTime, or the end where all are
)

// Options are a consumer's. Zero values mean the defaults named here.
type Options struct {
	// Brokers are the bootstrap addresses, host:port. Dialer opens the group's connections (nil: kafka.DefaultDialer);
	// Transport all others. Both carry TLS and SASL. The Transport's MetadataTTL bounds how long a change of leaders goes
	// unnoticed; one or two seconds is right.
	Brokers   []string
	Dialer    *kafka.Dialer
	Transport kafka.RoundTripper

	// Group is the consumer group, Topics what it reads. The consumer waits for topics that do not exist.
	Group  string
	Topics []string
	// Start is for partitions without a committed offset; empty means Earliest, and AtTime wants StartTime. A partition
	// whose committed offset is out of range is read from the earliest offset there is, and a warning says so.
	Start     Start
	StartTime time.Time
	// ReadUncommitted also reads records of open and aborted transactions. By default they are left out.
	ReadUncommitted bool

	// BatchSize is the most records in a batch; 0 means 256. BatchLinger is how long the first record of a batch waits for
	// more since it was fetched; 0 means that a batch takes what is there. It is not waited for while records queue up.
	BatchSize   int
	BatchLinger time.Duration

	// BufferBytes bounds what is fetched and not yet in a batch, over all partitions, as it comes over the wire; 0 means
	// 64 MiB. A partition always has at least one record batch.
	BufferBytes int
	// FetchBytes is the most that one fetch brings; 0 means 1 MiB.
	FetchBytes int
	// FetchWait is how long the broker holds a fetch open while there is nothing; 0 means 500 ms. It delays no record.
	FetchWait time.Duration

	// Lanes is how many batches are under way at once, delivered in order; 0 means DefaultLanes: while one is being published the
	// next is computed.
	Lanes int

	// SessionTimeout, Heartbeat and RebalanceTimeout are the group's; 0 means 30 s, 3 s and 30 s. A batch in hand when a
	// rebalance begins has half of RebalanceTimeout to be delivered.
	SessionTimeout, Heartbeat, RebalanceTimeout time.Duration
	// WatchInterval is how often topics are looked at for new partitions; 0 means 5 s.
	WatchInterval time.Duration
	// DrainTimeout is how long the batches in hand have to be delivered after Run's context has ended; 0 means 20 s.
	DrainTimeout time.Duration

	// Fencer, where not nil, is told of each generation before anything of it is read.
	Fencer Fencer

	// Path is the path of a record; its Observer and Clock are used throughout.
	Path PipelineOptions
	// Logger is told of outages, once when they begin and once when they end; nil means none. Normal operation logs
	// nothing.
	Logger *slog.Logger
	// Rand gives numbers in [0,1) that spread the pauses between attempts; nil means a random source.
	Rand func() float64
}

// DefaultLanes is the number of batches under way at once where nothing is said.
const DefaultLanes = 2

func (o *Options) complete() error {
	switch {
	case len(o.Brokers) == 0:
		return errors.New("consumer: no brokers")
	case o.Transport == nil:
		return errors.New("consumer: Transport must be set")
	case o.Group == "":
		return errors.New("consumer: no group")
	case len(o.Topics) == 0:
		return errors.New("consumer: no topics")
	}
	if o.Start == "" {
		o.Start = Earliest
	}
	if o.Start != Earliest && o.Start != Latest && o.Start != AtTime {
		return fmt.Errorf("consumer: start is %q, want %q, %q or %q", o.Start, Earliest, Latest, AtTime)
	}
	if o.StartTime.IsZero() != (o.Start != AtTime) {
		return fmt.Errorf("consumer: StartTime is %v and start %q: one goes with %q", o.StartTime, o.Start, AtTime)
	}
	for _, n := range []struct {
		name  string
		value *int
		zero  int
	}{
		{"BatchSize", &o.BatchSize, 256},
		{"BufferBytes", &o.BufferBytes, 64 << 20},
		{"FetchBytes", &o.FetchBytes, 1 << 20},
		{"Lanes", &o.Lanes, DefaultLanes},
	} {
		if *n.value < 0 {
			return fmt.Errorf("consumer: %s is %d, want 0 or more", n.name, *n.value)
		}
		if *n.value == 0 {
			*n.value = n.zero
		}
	}
	if err := o.completeTimes(); err != nil {
		return err
	}
	if o.Path.Observer == nil {
		o.Path.Observer = NopObserver{}
	}
	if o.Path.Clock == nil {
		o.Path.Clock = SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Dialer == nil {
		o.Dialer = kafka.DefaultDialer
	}
	return nil
}

func (o *Options) completeTimes() error {
	for _, n := range []struct {
		name  string
		value *time.Duration
		zero  time.Duration
	}{
		{"BatchLinger", &o.BatchLinger, 0},
		{"FetchWait", &o.FetchWait, 500 * time.Millisecond},
		{"SessionTimeout", &o.SessionTimeout, 30 * time.Second},
		{"Heartbeat", &o.Heartbeat, 3 * time.Second},
		{"RebalanceTimeout", &o.RebalanceTimeout, 30 * time.Second},
		{"WatchInterval", &o.WatchInterval, 5 * time.Second},
		{"DrainTimeout", &o.DrainTimeout, 20 * time.Second},
	} {
		if *n.value < 0 {
			return fmt.Errorf("consumer: %s is %v, want 0 or more", n.name, *n.value)
		}
		if *n.value == 0 {
			*n.value = n.zero
		}
	}
	return nil
}
