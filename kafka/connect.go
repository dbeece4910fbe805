package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/tlsclient"
	"rivulet/kafka/fetch"
	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Times of connections.
const (
	dialTimeout        = 10 * time.Second
	idleTimeout        = 5 * time.Minute
	defaultMetadataTTL = 2 * time.Second
)

// Login has a client's credentials, for one of the mechanisms below.
type Login = wire.Login

// SASL mechanisms.
const (
	Plain       = wire.Plain
	ScramSHA256 = wire.ScramSHA256
	ScramSHA512 = wire.ScramSHA512
	OAuthBearer = wire.OAuthBearer
)

// Options say how to connect to a cluster.
type Options struct {
	// Brokers are the bootstrap addresses, host:port.
	Brokers  []string
	ClientID string
	TLS      tlsclient.Source // nil: plaintext
	Login    Login            // nil: nobody logs in
	// Topics are the topics that the client asks the cluster about; none means all. Name them: the broker can then tell a
	// topic that this client may not see from one that does not exist.
	Topics []string
	// MetadataTTL is the time that a change of leaders may go unnoticed; 0 means 2 s.
	MetadataTTL time.Duration
}

// Client is a way to a cluster: a pool of connections for each kind of requests. Several goroutines may use it.
type Client struct {
	clientID  string
	addr      net.Addr
	transport kafkago.RoundTripper
	pools     pools
	throttles throttles
	fetches   fetch.Pool

	renewing sync.Mutex
	renewed  time.Time
}

// pools are the connections to the brokers.
type pools [kinds]*kafkago.Transport

// RoundTrip sends a request over a connection of its kind.
func (p *pools) RoundTrip(ctx context.Context, addr net.Addr, req kafkago.Request) (kafkago.Response, error) {
	return p[kindOf(req)].RoundTrip(ctx, addr, req)
}

// Connect returns a client. It opens no connection; [Client.Close] closes the connections that are opened through it.
func Connect(o Options) (*Client, error) {
	if len(o.Brokers) == 0 {
		return nil, errors.New("kafka: no brokers")
	}
	o.MetadataTTL = cmp.Or(o.MetadataTTL, defaultMetadataTTL)
	var mechanism sasl.Mechanism
	if o.Login != nil {
		mechanism = wire.Mechanism(o.Login)
	}
	c := &Client{clientID: o.ClientID, addr: kafkago.TCP(o.Brokers...)}
	for k := range c.pools {
		c.pools[k] = &kafkago.Transport{ClientID: o.ClientID, Dial: wire.Dialer{TLS: o.TLS}.Dial, DialTimeout: dialTimeout,
			MetadataTTL: o.MetadataTTL, IdleTimeout: idleTimeout, MetadataTopics: o.Topics, SASL: mechanism}
	}
	c.transport = &c.pools
	c.fetches.Client = fetches{c}
	return c, nil
}

// renewEvery is the time that a new beginning of one wait serves for all others.
const renewEvery = time.Minute

// Renew gives up all connections and what is known of the cluster. Requests that are under way are not disturbed.
func (c *Client) Renew() {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	if now := time.Now(); now.Sub(c.renewed) >= renewEvery {
		c.renewed = now
		c.Close()
	}
}

// startsOver begins a wait for brokers anew.
func (c *Client) startsOver() retry.Anew {
	return retry.Anew{GivesUp: "connections, and what is known of the cluster", Forget: func(error) error {
		c.Renew()
		return nil
	}}
}

// startsOverInGeneration begins a wait within a generation anew: with another generation. Where brokers are only
// away the generation stays.
func (c *Client) startsOverInGeneration() retry.Anew {
	return retry.Anew{GivesUp: "connections, what is known of the cluster, and the group's generation unless brokers " +
		"are only away", Forget: func(err error) error {
		c.Renew()
		if retry.Away(err) {
			return nil
		}
		return fmt.Errorf("%w: waited in vain: %w", retry.ErrGeneration, err)
	}}
}

// fetches is the way of a pool of fetches to the brokers.
type fetches struct{ *Client }

// Fetch sends a fetch.
func (c fetches) Fetch(ctx context.Context, req *kmsg.FetchRequest, least, most int16,
	to wire.Target) (*kmsg.FetchResponse, error) {
	return ask[*kmsg.FetchResponse](ctx, c.Client, req, least, most, to)
}

// Close closes the connections that are not in use.
func (c *Client) Close() {
	for _, p := range c.pools {
		p.CloseIdleConnections()
	}
}

// hung is the time beyond its wait that a request may take before the connection is given up. A deadline costs the
// connection, so it must never be reached by a broker that answers.
const hung = 30 * time.Second

// ask sends a request that kafka-go lacks, in a version from least to most, and waits for the answer. The answer is nil
// where the broker speaks none of these versions.
func ask[A kmsg.Response](ctx context.Context, c *Client, req kmsg.Request, least, most int16,
	to wire.Target) (answer A, err error) {
	got, err := c.within(ctx, hung, &wire.Request{Request: req, Least: least, Most: most, To: to})
	if err != nil {
		return answer, err
	}
	answer, _ = got.(A)
	return answer, nil
}

// within sends a request that kafka-go lacks, and waits for the answer for a limit at most.
func (c *Client) within(ctx context.Context, limit time.Duration, req *wire.Request) (kmsg.Response, error) {
	req.ClientID = c.clientID
	m, err := c.send(ctx, limit, req)
	if err != nil {
		return nil, err
	}
	return m.(*wire.Answer).Response, nil
}

// send sends a request as soon as the broker reads from its connection, and waits for the answer for a limit at most.
func (c *Client) send(ctx context.Context, limit time.Duration, req kafkago.Request) (kafkago.Response, error) {
	key := throttleKeyOf(req)
	if err := c.throttles.wait(ctx, key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := c.transport.RoundTrip(ctx, c.addr, req)
	if err == nil {
		c.throttles.note(key, throttleOf(m))
	}
	return m, err
}

// RoundTrip is send for a client of kafka-go.
func (c *Client) RoundTrip(ctx context.Context, _ net.Addr, req kafkago.Request) (kafkago.Response, error) {
	return c.send(ctx, hung, req)
}

// groups is the way of a group's members to the brokers.
type groups struct {
	*Client
	balancer *balancer
}

// Coordinator asks which broker coordinates a group.
func (c groups) Coordinator(ctx context.Context, group string) (int32, error) {
	return c.coordinator(ctx, group)
}

// Ask sends a member's request.
func (c groups) Ask(ctx context.Context, limit time.Duration, req kmsg.Request, least int16,
	to wire.Target) (kmsg.Response, error) {
	return c.within(ctx, limit, &wire.Request{Request: req, Least: least, Most: req.MaxVersion(), To: to})
}

// Partitions returns how many partitions each topic has now. The balancer learns it, too: it shares them out.
func (c groups) Partitions(ctx context.Context, topics []string) (map[string]int, error) {
	views, err := c.look(ctx, topics...)
	if err == nil {
		c.balancer.saw(views)
	}
	counts := make(map[string]int, len(views))
	for topic, v := range views {
		counts[topic] = v.partitions
	}
	return counts, err
}

// Foreign returns how many partitions topics have now that only other members read. Topics that this client may not
// see, or that do not exist, are missing: they must not keep the group from its own.
func (c groups) Foreign(ctx context.Context, topics []string) map[string]int {
	counts := make(map[string]int, len(topics))
	for _, topic := range topics {
		if views, err := c.look(ctx, topic); err == nil {
			counts[topic] = views[topic].partitions
		}
	}
	return counts
}

// coordinator asks which broker coordinates a group.
func (c *Client) coordinator(ctx context.Context, group string) (int32, error) {
	m, err := c.send(ctx, hung, &findcoordinator.Request{Key: group})
	if err == nil {
		err = wire.Failure(m.(*findcoordinator.Response).ErrorCode)
	}
	if err != nil {
		return -1, fmt.Errorf("asking for the coordinator: %w", err)
	}
	return m.(*findcoordinator.Response).NodeID, nil
}

// topic returns the cluster's metadata of a topic that has partitions. The transport answers from its cache.
func (c *Client) topic(ctx context.Context, topic string) (*metadata.ResponseTopic, error) {
	m, err := c.transport.RoundTrip(ctx, c.addr, &metadata.Request{TopicNames: []string{topic}})
	if err != nil {
		return nil, err
	}
	for i := range m.(*metadata.Response).Topics {
		t := &m.(*metadata.Response).Topics[i]
		switch {
		case t.Name != topic:
		case t.ErrorCode != 0:
			return nil, kafkago.Error(t.ErrorCode)
		case len(t.Partitions) == 0:
			return nil, kafkago.LeaderNotAvailable
		default:
			return t, nil
		}
	}
	return nil, kafkago.UnknownTopicOrPartition
}

// countPartitions returns the partitions of each topic that has some; the error of another one names a similar topic.
func (c *Client) countPartitions(ctx context.Context, topics ...string) (counts map[string]int, err error) {
	counts = make(map[string]int, len(topics))
	for _, name := range topics {
		t, missing := c.topic(ctx, name)
		if missing == nil {
			counts[name] = len(t.Partitions)
			continue
		}
		err = c.unusable(ctx, name, missing)
	}
	return counts, err
}
