package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"rivulet/consumer/window"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// ErrDrainTimeout is returned by Run when the batches in hand could not be delivered in time. Nothing is lost: their
// offsets are not committed.
var ErrDrainTimeout = errors.New("the drain timed out")

// Consumer reads arrivals from Kafka as a member of a consumer group and takes them through the path of a record.
type Consumer struct {
	opts   Options
	wait   retry.Patience
	source *kafka.Source
	lanes  []*lane
	// schemas is the outage of the registry. Each partition waits in it by itself.
	schemas *retry.Outage
	formed  atomic.Int64 // batches, for their names
}

// New checks the options. It opens no connection and starts nothing.
func New(opts Options) (*Consumer, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	c := &Consumer{opts: opts, wait: retry.Patience{Clock: opts.Path.Clock, Observer: opts.Path.Observer,
		Logger: opts.Logger}}
	opts.Source.RecordBytes = opts.Path.Limits.RecordBytes // larger records are not even unpacked
	// nobody changes fetched bytes, and a batch drops them at its end
	opts.Path.Forms.InPlace = true
	var err error
	if c.source, err = kafka.NewSource(opts.Kafka, opts.Source, c.wait); err != nil {
		return nil, err
	}
	c.schemas = RegistryOutage(c.wait, opts.Registry)
	forms := opts.Path.Forms
	forms.LookUp = opts.Path.Features != nil
	c.opts.Window.Forms, c.opts.Window.Limits = &forms, opts.Path.Limits
	lookup := c.wait.Outage(StageLookup).Named("rows of M", "see that the Redis of redis.url runs and can be reached; "+
		"with redis.outage: degrade arrivals are predicted without the rows")
	keeping := c.wait.Outage(StageRows).Named("rows of arrivals to be written",
		"see that the Redis of redis.url runs and takes writes")
	store := featuresOutage(c.wait)
	kept := &spares{most: 2 * opts.Lanes}
	for range opts.Lanes {
		path, err := NewPipeline(opts.Path)
		if err != nil {
			return nil, err
		}
		path.keeping = keeping.Attempts()
		path.spares = kept
		c.lanes = append(c.lanes, &lane{path: path, lookup: lookup.Attempts(), store: store.Attempts()})
	}
	return c, nil
}

// Run consumes until ctx ends, then drains: the batches in hand are published and committed, the group is left, and Run
// returns nil. It waits until a version is there to serve and the topics exist before it joins the group. It returns an
// error only for failures that waiting does not mend, such as a wrong password. Run may be called once.
func (c *Consumer) Run(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer c.source.Leave() //nolint:contextcheck // ctx has ended then; nothing of the last generation is under way
	for {
		generation, err := c.source.Join(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		err = c.serve(ctx, generation)
		if err != nil && !c.source.Outlives(err) {
			return err
		}
		if generation.End(ctx, err) != nil {
			return nil
		}
	}
}

// ready waits for a version to serve and for the topics.
func (c *Consumer) ready(ctx context.Context) error {
	if err := c.awaitVersion(ctx); err != nil {
		return err
	}
	return c.source.Await(ctx)
}

// awaitVersion waits for a version to serve.
func (c *Consumer) awaitVersion(ctx context.Context) error {
	outage := c.wait.Outage(StageVersion).Named("a version to serve",
		"see that the Redis of redis.url runs, and that a version is published there: trainer versions")
	outage.StartsOver(retry.Anew{GivesUp: "that a version was refused", Forget: func(error) error {
		c.opts.Path.Versions.StartOver()
		return nil
	}})
	return outage.Attempts().Repeat(ctx, func() error {
		if c.opts.Path.Versions.Current() == nil {
			return c.noVersion()
		}
		return nil
	})
}

// noVersion returns why there is no version to serve, as far as its source says.
func (c *Consumer) noVersion() error {
	if why := c.opts.Path.Versions.Trouble(); why != nil {
		return fmt.Errorf("%w: %w", ErrNoVersion, why)
	}
	return ErrNoVersion
}

// Options are a consumer's. Zero values mean the defaults named here.
type Options struct {
	// Kafka is the way to the cluster; Source says which topics are read, and how.
	Kafka  *kafka.Client
	Source kafka.SourceOptions

	// BatchSize is the most records in a batch; 0 means 256. BatchLinger is how long a batch waits for more records,
	// counted from the fetch of its first one; 0 means that it takes only the records that are there. While records queue
	// up, nothing waits for it.
	BatchSize   int
	BatchLinger time.Duration
	// BatchBytes is the most bytes of keys, values and headers in a batch; 0 means no limit. A larger record is a batch
	// of its own.
	BatchBytes int

	// Lanes is the number of batches that are under way at once, delivered in order; 0 means DefaultLanes: while some are
	// being committed or published, the next are computed.
	Lanes int

	// Window has arrivals wait for edges that come as records of their own; with a Wait of 0 these are passed over. Its
	// Forms and Limits are the path's. Its Bytes bound all partitions of this consumer together, in equal shares; 0 means
	// 64 MiB.
	Window window.Options

	// DrainTimeout is the time that the batches in hand have to be delivered after Run's context has ended; 0 means 20 s.
	DrainTimeout time.Duration

	// Registry has the schemas of records in the Confluent wire format, and is the registry of Path.Forms too; nil: there
	// is none.
	Registry Registry

	// Transactions are those that Path.Deliverer publishes into; nil: it publishes at least once.
	Transactions Transactions
	// CommitInterval is the time that offsets wait for later ones to be committed with them; 0: they are committed at
	// once. In transactions predictions wait as long to be seen.
	CommitInterval time.Duration

	// Path is the path of a record; its Observer and Clock are used throughout.
	Path PipelineOptions
	// Logger is told of generations of the group, and of outages: at their begin, every 30 s and at their end. nil means
	// none. Batches log nothing.
	Logger *slog.Logger
}

// DefaultLanes is the default of Options.Lanes.
const DefaultLanes = 5

func (o *Options) complete() error {
	if o.Kafka == nil {
		return errors.New("consumer: Kafka must be set")
	}
	o.BatchSize = cmp.Or(o.BatchSize, 256)
	o.Lanes = cmp.Or(o.Lanes, DefaultLanes)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 20*time.Second)
	o.Window.Bytes = cmp.Or(o.Window.Bytes, 64<<20)
	if o.BatchSize < 0 || o.BatchBytes < 0 || o.Lanes < 0 || o.BatchLinger < 0 || o.DrainTimeout < 0 ||
		o.CommitInterval < 0 {
		return fmt.Errorf("consumer: BatchSize is %d, BatchBytes %d, Lanes %d, BatchLinger %v, DrainTimeout %v, "+
			"CommitInterval %v: want 0 or more", o.BatchSize, o.BatchBytes, o.Lanes, o.BatchLinger, o.DrainTimeout,
			o.CommitInterval)
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
	return nil
}
