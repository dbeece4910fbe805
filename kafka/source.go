package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"rivulet/kafka/group"
	"rivulet/kafka/retry"
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
	// Purpose names the use that this program makes of the records, as "writes to predictions". Members of a group with
	// another one are named in a warning.
	Purpose string
	// Writes are topics that must exist, too, before the member joins: it writes there, and makes no topics.
	Writes []string
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
	// FetchWait is the time that the broker holds a fetch open while there is nothing; 0 means 500 ms. It delays no
	// record.
	FetchWait time.Duration

	// Instance, where not empty, is this member's name in the group, which no other member has. A process that comes
	// back under it within SessionTimeout gets the partitions it had, and stops no other member.
	Instance string
	// InstanceByDefault says that nobody chose Instance. Then the member leaves the group at its end, so that only a crash
	// keeps its partitions; and where another process takes the name, the member warns and joins again without one.
	InstanceByDefault bool
	// SessionTimeout, Heartbeat and RebalanceTimeout are the group's; 0 means 30 s, 3 s and 30 s.
	SessionTimeout, Heartbeat, RebalanceTimeout time.Duration
	// WatchInterval is the interval at which topics are looked at for new partitions; 0 means 5 s.
	WatchInterval time.Duration
}

// fill sets options that are 0 to their defaults.
func fill[T int | time.Duration](name string, value *T, zero T) error {
	if *value < 0 {
		return fmt.Errorf("kafka: %s is %v, want 0 or more", name, *value)
	}
	*value = cmp.Or(*value, zero)
	return nil
}

func (o *SourceOptions) complete() error {
	switch {
	case o.Group == "":
		return errors.New("kafka: no group")
	case len(o.Topics) == 0:
		return errors.New("kafka: no topics")
	}
	o.Start = cmp.Or(o.Start, Earliest)
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
	client  *Client
	opts    SourceOptions
	with    retry.Patience
	group   *group.Member
	last    *Generation // nil before the first
	joining *retry.Attempts
	// committing is the outage of commits.
	committing *retry.Outage
	// balancer knows how many partitions each topic has, as this member has last seen it.
	balancer *balancer
	// begun is the number of partitions that each topic had when Await first saw the cluster: partitions that come later
	// are read whole. It is 0 for a topic for which a generation has found or chosen a start.
	begun    map[string]int
	memory   memory
	recalled bool // recall has done its part
}

// NewSource checks the options. It opens no connection and starts nothing.
func NewSource(c *Client, o SourceOptions, p retry.Patience) (*Source, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p = p.Complete()
	b := &balancer{view: memberView{Purpose: o.Purpose}}
	s := &Source{client: c, opts: o, with: p, balancer: b}
	s.group = group.NewMember(groups{c, b}, group.Options{Group: o.Group, Topics: o.Topics, Instance: o.Instance,
		Leaves: o.InstanceByDefault, Session: o.SessionTimeout, Rebalance: o.RebalanceTimeout, Balancer: b, Leads: s.meet})
	s.joining = p.Outage(retry.StageGroup, "group", o.Group).StartsOver(retry.Anew{
		GivesUp: "connections, what is known of the cluster, and the member's id in the group",
		Forget: func(error) error {
			c.Renew()
			s.group.Forget()
			return nil
		}}).Attempts()
	s.committing = p.Outage(retry.StagePublish, "group", o.Group).Named("the group to take offsets",
		"see that the broker that coordinates the group runs, and that the address that it advertises can be reached").
		GiveUpAt(retry.GenerationOver).StartsOver(c.startsOverInGeneration())
	return s, nil
}

// RebalanceTimeout returns how long the group waits for this member when a rebalance begins.
func (s *Source) RebalanceTimeout() time.Duration { return s.opts.RebalanceTimeout }

// Await waits until all topics exist, those that are written to as well.
func (s *Source) Await(ctx context.Context) error {
	topics := s.with.Outage(retry.StageTopics).StartsOver(s.client.startsOver()).Attempts()
	return topics.Repeat(ctx, func() error { return s.look(ctx) })
}

// look takes note of the topics as they are now.
func (s *Source) look(ctx context.Context) error {
	views, err := s.client.look(ctx, slices.Concat(s.opts.Topics, s.opts.Writes)...)
	maps.DeleteFunc(views, func(topic string, _ topicView) bool { return !slices.Contains(s.opts.Topics, topic) })
	if s.begun == nil && (err == nil || errors.Is(err, kafkago.UnknownTopicOrPartition)) {
		s.begun = make(map[string]int, len(views))
		for topic, v := range views {
			s.begun[topic] = v.partitions
		}
	}
	if err != nil {
		return err
	}
	s.balancer.saw(views)
	return s.recall(ctx)
}

// Join joins the group, or joins it again after a generation has ended, and returns the next generation. It waits for
// brokers and coordinators, and first for the topics: a member that joined with what it remembers of a deleted topic
// would be told to read partitions that are not there. It returns an error when ctx has ended, or for a failure that
// waiting does not mend.
func (s *Source) Join(ctx context.Context) (*Generation, error) {
	for begun := s.with.Clock.Now(); ; {
		in, err := s.enter(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case s.takenOver(err):
			s.dropInstance()
			continue
		case err == nil:
			if in.Leaderless {
				s.survey(ctx, in.ID)
			}
			return s.begin(in), nil //nolint:contextcheck // its heartbeats go on until End or Leave
		case errors.Is(err, kafkago.RebalanceInProgress) && s.with.Clock.Now().Sub(begun) < s.with.StartOver:
			continue // the broker paces the joins
		}
		err = fmt.Errorf("joining consumer group %s: %w", s.opts.Group, s.refused(ctx, err))
		if err := s.joining.Failed(ctx, err); err != nil {
			return nil, err
		}
	}
}

// Outlives reports whether the next generation may go on after a failure that ended this one.
func (s *Source) Outlives(err error) bool {
	return retry.Judge(err) == retry.GenerationOver || s.takenOver(err)
}

// takenOver reports whether an error says that another process has taken this member's default name in the group.
func (s *Source) takenOver(err error) bool {
	return s.opts.InstanceByDefault && errors.Is(err, kafkago.FencedInstanceID)
}

// dropInstance has this member go on without a name. It never takes the name again, so two processes of one name do not
// put each other out of the group in turn.
func (s *Source) dropInstance() {
	s.with.Logger.Warn("another process has this process's default name in the consumer group, and its partitions: this "+
		"one joins again without a name. Give each process a kafka.instance_id of its own", "group", s.opts.Group,
		"instance", s.opts.Instance)
	s.opts.Instance = ""
	s.group.DropInstance()
}

// enter looks at the topics, waits where one is missing, and joins the group.
func (s *Source) enter(ctx context.Context) (in group.Membership, err error) {
	if err = s.look(ctx); errors.Is(err, kafkago.UnknownTopicOrPartition) {
		err = s.Await(ctx)
	}
	if err != nil {
		return in, err
	}
	return s.group.Join(ctx)
}

// begin starts the heartbeats of a generation, which [Generation.End] and Leave end.
func (s *Source) begin(in group.Membership) *Generation {
	rebalance, begins := context.WithCancel(context.Background())
	g := &Generation{source: s, in: in, coordinator: in.Coordinator, rebalance: rebalance, trail: new(trail),
		stop: make(chan struct{}), silent: make(chan struct{})}
	beating, still := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	beats.Go(func() {
		h := heartbeats{coordinator: in.Coordinator, heard: s.with.Clock.Now()}
		for retry.Sleep(beating, s.with.Clock, s.opts.Heartbeat) == nil {
			if !g.beat(beating, &h) {
				begins()
			}
		}
	})
	go func() {
		defer close(g.silent)
		<-g.stop
		still()
		beats.Wait()
		begins()
	}()
	s.last = g
	return g
}

// Leave leaves the group and ends the last generation. No work of that generation may be under way any more. A member
// with an instance id that somebody chose stays in the group for the rest of its session: it is expected back.
func (s *Source) Leave() {
	if s.last != nil {
		s.last.hush()
	}
	s.group.Leave()
}
