package kafka

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/expect"
)

// shareLike is another client's way of sharing out partitions, by the name of ours.
type shareLike struct{ kgo.GroupBalancer }

func (shareLike) ProtocolName() string { return GroupProtocol }

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// reading returns a member of another program, which reads in the background.
func (b *bench) reading(topic string, o ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.kafka.Addrs()...), kgo.ClientID("reports"),
		kgo.ConsumerGroup("g"), kgo.ConsumeTopics(topic)}, o...)...)
	expect.OK(b.t, err)
	b.t.Cleanup(c.Close)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !c.PollFetches(b.t.Context()).IsClientClosed() && b.t.Context().Err() == nil {
		}
	}()
	b.t.Cleanup(func() { c.Close(); <-done })
	return c
}

// The leader warns of members that are another program, and names them: one of another purpose, one with other topics,
// and one that says nothing of itself. Each of them gets partitions of its topics.
func TestTheLeaderNamesOtherPrograms(t *testing.T) {
	b, log := newBench(t, 1), &lines{}
	b.with.Logger = slog.New(slog.NewTextHandler(log, nil))
	ours := b.work(b.source(func(o *SourceOptions) { o.Purpose = "writes to predictions" }), false)
	b.await("the group has a member", func() bool { return b.members() == 1 })
	same := b.work(b.source(func(o *SourceOptions) { o.Purpose = "writes to predictions" }), false)
	b.await("two members share the topic", func() bool { return ours.holding() == 1 && same.holding() == 1 })
	if got := log.String(); strings.Contains(got, "another program") {
		t.Errorf("members of one program: %s", got)
	}
	same.end()
	for name, c := range map[string]struct {
		other func() (end func(), has func() int)
		said  string
	}{
		"another purpose": {func() (func(), func() int) {
			w := b.work(b.source(func(o *SourceOptions) { o.Purpose = "writes to scores" }), false)
			return w.end, w.holding
		}, " reads arrivals and writes to scores"},
		"other topics, and another way of telling itself": {func() (func(), func() int) {
			c := b.reading("predictions", kgo.Balancers(shareLike{kgo.RangeBalancer()}))
			return c.Close, func() int { return partitionsOf(b, "reports") }
		}, `reports reads predictions`},
	} {
		end, has := c.other()
		b.await(name+" has its partitions, and is named", func() bool {
			return has() > 0 && strings.Contains(log.String(), c.said)
		})
		if got := log.String(); !strings.Contains(got, "another program is a member") ||
			!strings.Contains(got, "reads arrivals and writes to predictions") {
			t.Errorf("%s: %s", name, got)
		}
		end()
	}
}

// partitionsOf is the number of partitions that the members of a client have, as the group says.
func partitionsOf(b *bench, client string) (n int) {
	g, err := b.way.Group(b.t.Context(), "g")
	if err != nil {
		return 0
	}
	for _, m := range g.Members {
		if m.Client == client {
			n += len(m.Partitions)
		}
	}
	return n
}

// A group whose members share out partitions in another way refuses a join; the error names them.
func TestARefusedJoinNamesTheMembers(t *testing.T) {
	for name, balancer := range map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer()} {
		b := newBench(t, 1)
		b.reading("arrivals", kgo.Balancers(balancer))
		b.await("the other program reads", func() bool { return partitionsOf(b, "reports") == 2 })
		_, err := b.source(asIs).Join(t.Context())
		for _, want := range []string{"reports at ", "reads arrivals (2 partitions)", "by the protocol " + name,
			"this one by rivulet-range"} {
			expect.Error(t, err, want, "%s", name)
		}
		g, err := b.way.Group(t.Context(), "g")
		if err != nil || g.Protocol != name || len(g.Others([]string{"arrivals"}, "")) != 1 {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}

func TestClientOfAMemberID(t *testing.T) {
	for id, want := range map[string]string{"reports-0b5c6a2e-9f1d-4a55-8d0c-1f2e3d4c5b6a": "reports", "a-b": "a-b",
		"": "",
		"reports-2a1cea453a3f161936ad95deafeced86": "reports", "my-app-1-0b5c6a2e-9f1d-4a55-8d0c-1f2e3d4c5b6a": "my-app-1"} {
		expect.Same(t, want, clientOf(id), "%s", id)
	}
}

// Where the brokers lead the group nobody tells a member of the others: it asks for them, and names all but itself.
func TestMembersOfAGroupThatTheBrokersLead(t *testing.T) {
	b, log := newBench(t, 1), &lines{}
	b.with.Logger = slog.New(slog.NewTextHandler(log, nil))
	s := b.source(asIs)
	b.kafka.Cluster.ControlKey(int16(kmsg.ConsumerGroupDescribe), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.kafka.Cluster.KeepControl()
		res := r.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Group = "g"
		for _, id := range []string{"own", "another"} {
			m := kmsg.NewConsumerGroupDescribeResponseGroupMember()
			m.MemberID, m.ClientID, m.SubscribedTopics = id, "client-"+id, []string{"arrivals"}
			g.Members = append(g.Members, m)
		}
		res.Groups = append(res.Groups, g)
		return res, nil, true
	})
	s.survey(t.Context(), "own")
	if got := log.String(); strings.Count(got, "another program is a member") != 1 ||
		!strings.Contains(got, "client-another reads arrivals") {
		t.Errorf("%q", got)
	}
}
