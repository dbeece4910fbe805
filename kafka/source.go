package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/balance"
	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Start says where a group begins in a topic for which it has no offset.
type Start string

// Starts.
const (
	Earliest Start = "earliest"
	Latest   Start = "latest"
	AtTime   Start = "time" // the first record not older than SourceOptions.StartTime, or the end if all are
)

// SourceOptions are a source's. Zero values mean the defaults named here.
type SourceOptions struct {
	// Group is the consumer group, Topics the input topics.
	Group  string
	Topics []string
	// Start is for topics for which the group has no committed offset; empty means Earliest, and AtTime wants
	// StartTime. A partition without one beside others that have one is new, and read from its beginning. A
	// partition whose log begins after the committed offset, or ends or divides before it, is read from
	// there, and an Observer is told.
	Start     Start
	StartTime time.Time

	// FetchBytes is the most that one fetch brings; 0 means 1 MiB.
	FetchBytes int
	// RecordBytes is the largest record that is read, key and value together; a larger one has its Damage instead. 0,
	// and more than 64 MiB, means 64 MiB; less than 1 MiB means that.
	RecordBytes int
	// FetchWait is how long the broker holds a fetch open while there is nothing; 0 means 500 ms. It delays no record.
	FetchWait time.Duration

	// SessionTimeout, Heartbeat and RebalanceTimeout are the group's; 0 means 30 s, 3 s and 30 s.
	SessionTimeout, Heartbeat, RebalanceTimeout time.Duration
	// WatchInterval is how often topics are looked at for new partitions; 0 means 5 s.
	WatchInterval time.Duration
}

// fill sets options that are 0 to their defaults.
func fill[T int | time.Duration](name string, value *T, zero T) error {
	if *value < 0 {
		return fmt.Errorf("kafka: %s is %v, want 0 or more", name, *value)
	}
	if *value == 0 {
		*value = zero
	}
	return nil
}

func (o *SourceOptions) complete() error {
	switch {
	case o.Group == "":
		return errors.New("kafka: no group")
	case len(o.Topics) == 0:
		return errors.New("kafka: no topics")
	}
	if o.Start == "" {
		o.Start = Earliest
	}
	if o.Start != Earliest && o.Start != Latest && o.Start != AtTime {
		return fmt.Errorf("kafka: start is %q, want %q, %q or %q", o.Start, Earliest, Latest, AtTime)
	}
	if o.StartTime.IsZero() != (o.Start != AtTime) {
		return fmt.Errorf("kafka: StartTime is %v and start %q: one goes with %q", o.StartTime, o.Start, AtTime)
	}
	return errors.Join(fill("FetchBytes", &o.FetchBytes, defaultFetchBytes),
		fill("FetchWait", &o.FetchWait, defaultFetchWait),
		fill("SessionTimeout", &o.SessionTimeout, 30*time.Second), fill("Heartbeat", &o.Heartbeat, 3*time.Second),
		fill("RebalanceTimeout", &o.RebalanceTimeout, 30*time.Second),
		fill("WatchInterval", &o.WatchInterval, defaultWatchInterval))
}

// bufferBytes bounds the bytes, as they come over the wire, that the cursors of a source have fetched and nobody has
// taken. A partition always has at least one record batch.
const bufferBytes = 64 << 20

// Defaults that a [Source] and a [Reader] share.
const (
	defaultFetchBytes    = 1 << 20
	defaultFetchWait     = 500 * time.Millisecond
	defaultWatchInterval = 5 * time.Second
)

// Source is a member of a consumer group, for one goroutine: Await, then Join for each generation, and Leave.
type Source struct {
	client *Client
	opts   SourceOptions
	with   retry.Patience
	group  *kafkago.ConsumerGroup // nil before the first Join
	// member is this member's id in the last generation, "" where it has none. joins says that kafka-go's group may be
	// joining, by lines. leaving is closed by Leave.
	member  string
	joins   bool
	lines   *wire.Lines
	leaving chan struct{}
	joining *retry.Attempts
	// balancer knows how many partitions each topic has, as this member has last seen it.
	balancer *balance.Balancer
	// begun is how many partitions each topic had when Await first saw the cluster: partitions that come later are read
	// whole. It is 0 for a topic for which a generation has found or chosen a start.
	begun  map[string]int
	memory memory
}

// NewSource checks the options. It opens no connection and starts nothing.
func NewSource(c *Client, o SourceOptions, p retry.Patience) (*Source, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p = p.Complete()
	s := &Source{client: c, opts: o, with: p, balancer: &balance.Balancer{}, lines: wire.NewLines(),
		leaving: make(chan struct{}),
		joining: p.Outage(retry.StageGroup, "group", o.Group).Attempts()}
	config := s.groupConfig()
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return s, nil
}

func (s *Source) groupConfig() kafkago.ConsumerGroupConfig {
	dialer := *s.client.dialer
	dialer.DialFunc = s.lines.Dial
	return kafkago.ConsumerGroupConfig{
		ID: s.opts.Group, Brokers: s.client.brokers, Dialer: &dialer, Topics: s.opts.Topics,
		HeartbeatInterval: s.opts.Heartbeat, SessionTimeout: s.opts.SessionTimeout,
		RebalanceTimeout: s.opts.RebalanceTimeout, JoinGroupBackoff: time.Second, GroupBalancers: s.balancer.All(),
		StartOffset: kafkago.FirstOffset, // not used: Cursors asks by itself
	}
}

// RebalanceTimeout returns how long the group waits for this member when a rebalance begins.
func (s *Source) RebalanceTimeout() time.Duration { return s.opts.RebalanceTimeout }

// Await waits until the topics exist.
func (s *Source) Await(ctx context.Context) error {
	topics := s.with.Outage(retry.StageTopics).Attempts()
	for {
		counts, err := s.client.countPartitions(ctx, s.opts.Topics...)
		if s.begun == nil && (err == nil || errors.Is(err, kafkago.UnknownTopicOrPartition)) {
			s.begun = maps.Clone(counts)
		}
		if err == nil {
			topics.Over()
			s.balancer.Saw(counts)
			return nil
		}
		if err := topics.Failed(ctx, err); err != nil {
			return err
		}
	}
}

// Join joins the group, or joins it again after a generation has ended, and returns the next generation. It waits for
// brokers and coordinators. It returns an error when ctx has ended, or for a failure that waiting does not mend.
func (s *Source) Join(ctx context.Context) (*Generation, error) {
	if s.group == nil {
		var err error
		if s.group, err = kafkago.NewConsumerGroup(s.groupConfig()); err != nil {
			return nil, fmt.Errorf("consumer group %s: %w", s.opts.Group, err)
		}
	}
	s.joins = true
	for {
		joined, err := s.group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			return s.begin(joined), nil
		case errors.Is(err, kafkago.RebalanceInProgress):
			continue // the broker paces the joins
		}
		if s.member != "" { // kafka-go's group joins as a new member after an error, and may have left the old one behind
			s.client.leave(s.opts.Group, s.member) //nolint:contextcheck // it leaves also where ctx ends
			s.member = ""
		}
		if err := s.joining.Failed(ctx, fmt.Errorf("joining consumer group %s: %w", s.opts.Group, err)); err != nil {
			s.joins = ctx.Err() != nil
			return nil, err
		}
	}
}

// begin keeps a generation of kafka-go's from ending: its group waits for the function that is started
// here before it joins again.
func (s *Source) begin(joined *kafkago.Generation) *Generation {
	s.member, s.joins = joined.MemberID, false
	g := &Generation{source: s, joined: joined, over: make(chan struct{}), trail: new(trail)}
	entered := make(chan context.Context)
	joined.Start(func(rebalance context.Context) {
		entered <- rebalance
		select {
		case <-g.over:
		case <-s.leaving: // returning before that would join again; the member stays in the group, with heartbeats
			<-rebalance.Done()
		}
	})
	g.rebalance = <-entered
	return g
}
