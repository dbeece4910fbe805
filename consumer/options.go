package consumer

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"rivulet/internal/kafka"
)

// Options are a consumer's. Zero values mean the defaults named here.
type Options struct {
	// Kafka is the way to the cluster, Source what is read there and how.
	Kafka  *kafka.Client
	Source kafka.SourceOptions

	// BatchSize is the most records in a batch; 0 means 256. BatchLinger is how long the first record of a batch waits for
	// more since it was fetched; 0 means that a batch takes what is there. It is not waited for while records queue up.
	BatchSize   int
	BatchLinger time.Duration

	// Lanes is how many batches are under way at once, delivered in order; 0 means DefaultLanes: while one is being
	// published the next is computed.
	Lanes int

	// DrainTimeout is how long the batches in hand have to be delivered after Run's context has ended; 0 means 20 s.
	DrainTimeout time.Duration

	// Fencer, where not nil, is told of each generation before anything of it is read.
	Fencer Fencer

	// Path is the path of a record; its Observer and Clock are used throughout.
	Path PipelineOptions
	// Logger is told of outages, once when they begin and once when they end; nil means none. Normal operation logs
	// nothing.
	Logger *slog.Logger
}

// DefaultLanes is the number of batches under way at once where nothing is said.
const DefaultLanes = 2

func (o *Options) complete() error {
	if o.Kafka == nil {
		return errors.New("consumer: Kafka must be set")
	}
	if o.BatchSize == 0 {
		o.BatchSize = 256
	}
	if o.Lanes == 0 {
		o.Lanes = DefaultLanes
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 20 * time.Second
	}
	if o.BatchSize < 0 || o.Lanes < 0 || o.BatchLinger < 0 || o.DrainTimeout < 0 {
		return fmt.Errorf("consumer: BatchSize is %d, Lanes %d, BatchLinger %v and DrainTimeout %v: want 0 or more",
			o.BatchSize, o.Lanes, o.BatchLinger, o.DrainTimeout)
	}
	if o.Path.Observer == nil {
		o.Path.Observer = NopObserver{}
	}
	if o.Path.Clock == nil {
		o.Path.Clock = SystemClock{}
	}
	return nil
}
