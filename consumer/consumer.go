package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"

	"rivulet/event"
)

// ErrDrainTimeout is returned by Run when the batches in hand could not be delivered in time. Nothing is lost: their
// offsets are not committed.
var ErrDrainTimeout = errors.New("the drain timed out")

// Consumer reads arrivals from Kafka as a member of a consumer group and takes them through the path of a record.
type Consumer struct {
	opts   Options
	client kafka.Client
	lanes  []*lane
	lookup *outage
	group  *outage
	// partitions is how many partitions each topic had before the last join.
	partitions map[string]int
	// begun is how many partitions each topic had when Run first saw the cluster: those that came later are read whole.
	begun map[string]int
}

// lane is one batch at a time on its way: the path and the memory of the records.
type lane struct {
	path    *Pipeline
	records []Record
}

// New checks the options. It opens no connection and starts nothing.
func New(opts Options) (*Consumer, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	c := &Consumer{opts: opts, partitions: make(map[string]int),
		client: kafka.Client{Addr: kafka.TCP(opts.Brokers...), Transport: opts.Transport, Timeout: hung}}
	for range opts.Lanes {
		path, err := NewPipeline(opts.Path)
		if err != nil {
			return nil, err
		}
		path.keeping = c.outage(StageRows)
		c.lanes = append(c.lanes, &lane{path: path})
	}
	c.lookup, c.group = c.outage(StageLookup), c.outage(StageGroup, "group", opts.Group)
	config := c.groupConfig()
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	return c, nil
}

func (c *Consumer) groupConfig() kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		ID: c.opts.Group, Brokers: c.opts.Brokers, Dialer: c.opts.Dialer, Topics: c.opts.Topics,
		HeartbeatInterval: c.opts.Heartbeat, SessionTimeout: c.opts.SessionTimeout,
		RebalanceTimeout: c.opts.RebalanceTimeout, JoinGroupBackoff: time.Second,
		StartOffset: kafka.FirstOffset, // not used: startOffsets asks by itself
	}
}

// Run consumes until ctx ends, then drains: the batches in hand are published and committed, the group is left, and Run
// returns nil. It waits until a version is there to serve and the topics exist before it joins the group. It returns an
// error only for what does not mend by itself. Run may be called once.
func (c *Consumer) Run(ctx context.Context) error {
	if err := c.ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	group, err := kafka.NewConsumerGroup(c.groupConfig())
	if err != nil {
		return fmt.Errorf("consumer group %s: %w", c.opts.Group, err)
	}
	defer group.Close() // leaves the group; ends the last generation, whose function waits for it
	for {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafka.RebalanceInProgress):
			continue // the broker paces the joins
		case err != nil && permanent(err):
			return fmt.Errorf("joining consumer group %s: %w", c.opts.Group, err)
		case err != nil:
			if c.group.failed(ctx, err) != nil {
				return nil
			}
			continue
		}
		again, err := c.generation(ctx, generation)
		if !again {
			return err
		}
	}
}

// ready waits for a version to serve and for the topics.
func (c *Consumer) ready(ctx context.Context) error {
	version := c.outage(StageVersion)
	for c.opts.Path.Versions.Current() == nil {
		if err := version.failed(ctx, ErrNoVersion); err != nil {
			return err
		}
	}
	version.over()
	topics := c.outage(StageTopics)
	for {
		counts, err := c.countPartitions(ctx)
		if c.begun == nil && (err == nil || errors.Is(err, kafka.UnknownTopicOrPartition)) {
			c.begun = counts
		}
		switch {
		case err == nil:
			topics.over()
			c.partitions = counts
			return nil
		case permanent(err):
			return err
		}
		if err := topics.failed(ctx, err); err != nil {
			return err
		}
	}
}

// countPartitions returns how many partitions each topic has, and an error where one has none. The transport answers
// from its cache.
func (c *Consumer) countPartitions(ctx context.Context) (map[string]int, error) {
	m, err := c.opts.Transport.RoundTrip(ctx, c.client.Addr, &metadata.Request{TopicNames: c.opts.Topics})
	if err != nil {
		return nil, fmt.Errorf("reading the partitions of %v: %w", c.opts.Topics, err)
	}
	counts := make(map[string]int)
	for _, t := range m.(*metadata.Response).Topics {
		if t.ErrorCode != 0 {
			err = fmt.Errorf("reading the partitions of %s: %w", t.Name, kafka.Error(t.ErrorCode))
			continue
		}
		counts[t.Name] = len(t.Partitions)
	}
	return counts, err
}

// generation serves one generation of the group to its end. again tells whether to wait for the next one.
func (c *Consumer) generation(ctx context.Context, g *kafka.Generation) (again bool, err error) {
	type outcome struct {
		again bool
		err   error
	}
	served := make(chan outcome, 1)
	g.Start(func(ended context.Context) {
		err := c.serve(ctx, ended, g)
		if errors.Is(err, errGeneration) && !permanent(err) {
			_ = c.group.failed(ctx, err) // where the stream goes on, the pause holds the next join back
			err = nil
		}
		if err == nil && ctx.Err() == nil {
			served <- outcome{again: true}
			return
		}
		// The member stays in the group, with heartbeats, until Run closes it: returning now would join again.
		served <- outcome{err: err}
		<-ended.Done()
	})
	o := <-served
	return o.again, o.err
}

// errGeneration is wrapped by what ends a generation and not the consumer.
var errGeneration = event.ErrGeneration

// fenced commits under one generation only.
type fenced struct {
	generation *kafka.Generation
}

// Member is this process in the generation.
func (f fenced) Member() event.Member {
	return event.Member{Group: f.generation.GroupID, ID: f.generation.MemberID, Generation: f.generation.ID}
}

// Commit stores the next offsets to read. The broker refuses it once a newer generation has begun.
func (f fenced) Commit(_ context.Context, next map[event.TopicPartition]int64) error {
	offsets := make(map[string]map[int]int64, 1)
	for at, offset := range next {
		if offsets[at.Topic] == nil {
			offsets[at.Topic] = make(map[int]int64, len(next))
		}
		offsets[at.Topic][at.Partition] = offset
	}
	if err := f.generation.CommitOffsets(offsets); err != nil {
		return fmt.Errorf("%w: generation %d: %w", errGeneration, f.generation.ID, err)
	}
	return nil
}
