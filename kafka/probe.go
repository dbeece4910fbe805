package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/sasl"
)

// Probe is a connection to one broker that is taken step by step: Versions, Handshake and Authenticate if somebody
// logs in, then the others. Its caller learns which step failed; a [Client] hides that, and tries again in the
// background. A probe changes nothing.
type Probe struct {
	conn  *protocol.Conn
	limit time.Duration
}

// NewProbe speaks over a connection, which is the probe's from then on. limit is the time that each
// request may take.
func NewProbe(conn net.Conn, clientID string, limit time.Duration) *Probe {
	return &Probe{protocol.NewConn(conn, clientID), limit}
}

// Close closes the connection.
func (p *Probe) Close() { _ = p.conn.Close() }

func (p *Probe) ask(request protocol.Message) (protocol.Message, error) {
	if err := p.conn.SetDeadline(time.Now().Add(p.limit)); err != nil {
		return nil, err
	}
	return p.conn.RoundTrip(request)
}

// Versions asks which versions of which requests the broker speaks.
func (p *Probe) Versions() error {
	m, err := p.ask(new(apiversions.Request))
	if err != nil {
		return err
	}
	answer := m.(*apiversions.Response)
	if err := failure(answer.ErrorCode); err != nil {
		return err
	}
	versions := make(map[protocol.ApiKey]int16, len(answer.ApiKeys))
	for _, a := range answer.ApiKeys {
		key := protocol.ApiKey(a.ApiKey)
		versions[key] = key.SelectVersion(a.MinVersion, a.MaxVersion)
	}
	// From version 1 on kafka-go takes the throttle time of an answer for its error, and its version 4 has strings of
	// the old form, which name another group.
	versions[protocol.Heartbeat] = 0
	p.conn.SetVersions(versions)
	return nil
}

// Handshake asks to log in with a SASL mechanism. If the broker refuses, it says which ones it offers.
func (p *Probe) Handshake(mechanism string) (offered []string, err error) {
	m, err := p.ask(&saslhandshake.Request{Mechanism: mechanism})
	if err != nil {
		return nil, err
	}
	answer := m.(*saslhandshake.Response)
	return answer.Mechanisms, failure(answer.ErrorCode)
}

// Authenticate proves to the broker at an address who the client is. An error that [Judge] calls Permanent is about
// the settings; others say why the broker refused.
func (p *Probe) Authenticate(ctx context.Context, addr string, login Login) error {
	host, port, _ := net.SplitHostPort(addr)
	at := &sasl.Metadata{Host: host}
	at.Port, _ = strconv.Atoi(port)
	state, message, err := exchange{login}.Start(sasl.WithMetadata(ctx, at))
	if err != nil {
		return wiring(err.Error())
	}
	for done := false; !done; {
		m, err := p.ask(&saslauthenticate.Request{AuthBytes: message})
		if err != nil {
			return errors.New("it closed the connection")
		}
		answer := m.(*saslauthenticate.Response)
		if answer.ErrorCode != 0 {
			return errors.New(strings.TrimSpace(kafkago.Error(answer.ErrorCode).Title() + ". " + answer.ErrorMessage))
		}
		if done, message, err = state.Next(ctx, answer.AuthBytes); err != nil {
			return fmt.Errorf("the broker could not prove that it knows it: %w", err)
		}
	}
	return nil
}

// Cluster describes a cluster, as one of its brokers answers.
type Cluster struct {
	Brokers []Broker
	Topics  []Topic
}

// Broker is one broker as the cluster advertises it.
type Broker struct {
	ID   int32
	Addr string // host:port
}

// Topic is one topic that was asked about.
type Topic struct {
	Name       string
	Err        error // nil, or the broker's code
	Partitions int
	Leaderless []int32 // partitions
	Replicas   int     // of the partition that has the fewest
	// Operations are what the client may do: a bit for each operation of ACLs; 0 or less if an older broker does
	// not tell.
	Operations int32
}

// Describe asks for the cluster, for topics, and for what this client may do with them.
func (p *Probe) Describe(topics []string) (*Cluster, error) {
	m, err := p.ask(&metadata.Request{TopicNames: topics, IncludeTopicAuthorizedOperations: true})
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	for _, b := range m.(*metadata.Response).Brokers {
		c.Brokers = append(c.Brokers, Broker{b.NodeID, address(b.Host, b.Port)})
	}
	for _, t := range m.(*metadata.Response).Topics {
		topic := Topic{Name: t.Name, Err: failure(t.ErrorCode), Partitions: len(t.Partitions),
			Operations: t.TopicAuthorizedOperations}
		for i, p := range t.Partitions {
			if i == 0 || len(p.ReplicaNodes) < topic.Replicas {
				topic.Replicas = len(p.ReplicaNodes)
			}
			if p.LeaderID < 0 || p.ErrorCode != 0 {
				topic.Leaderless = append(topic.Leaderless, p.PartitionIndex)
			}
		}
		c.Topics = append(c.Topics, topic)
	}
	return c, nil
}

// Settings asks for some settings of a topic, by their names; one that the broker does not know is missing. The
// error is the broker's code where this client may not read them (DescribeConfigs).
func (p *Probe) Settings(topic string, names ...string) (map[string]string, error) {
	const ofTopic = 2 // the type of resource
	m, err := p.ask(&describeconfigs.Request{Resources: []describeconfigs.RequestResource{{ResourceType: ofTopic, ResourceName: topic,
		ConfigNames: names}}})
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, r := range m.(*describeconfigs.Response).Resources {
		if err := failure(r.ErrorCode); err != nil {
			return nil, err
		}
		for _, e := range r.ConfigEntries {
			found[e.ConfigName] = e.ConfigValue
		}
	}
	return found, nil
}

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Coordinated is something that has a coordinator: a group, or a transactional id.
type Coordinated struct {
	key  string
	kind int8 // of coordinator, as FindCoordinator has it
	// probe is a request that the coordinator judges by its rights first, and refuses otherwise without any effect,
	// with one of judged.
	probe  protocol.Message
	judged []kafkago.Error
}

// Group is a consumer group. It is probed with a heartbeat of a member that does not exist.
func Group(id string) Coordinated {
	return Coordinated{key: id, kind: 0, probe: &heartbeat{GroupID: id, GenerationID: -1, MemberID: "nobody"},
		judged: []kafkago.Error{kafkago.UnknownMemberId, kafkago.GroupIdNotFound, kafkago.IllegalGeneration,
			kafkago.RebalanceInProgress}}
}

// TransactionalID is a transactional id. It is probed with the end of a transaction of a producer
// that does not exist.
func TransactionalID(id string) Coordinated {
	return Coordinated{key: id, kind: 1, probe: &endtxn.Request{TransactionalID: id, ProducerID: -1, ProducerEpoch: -1},
		judged: []kafkago.Error{kafkago.InvalidProducerIDMapping, kafkago.InvalidProducerEpoch,
			kafkago.InvalidTransactionState}}
}

// Coordinator returns the address of the coordinator.
func (p *Probe) Coordinator(of Coordinated) (addr string, err error) {
	m, err := p.ask(&findcoordinator.Request{Key: of.key, KeyType: of.kind})
	if err != nil {
		return "", err
	}
	answer := m.(*findcoordinator.Response)
	return address(answer.Host, answer.Port), failure(answer.ErrorCode)
}

// MayUse asks the coordinator, which the probe must be connected to, whether this client has the rights. It returns
// nil if it has them, and otherwise the coordinator's code.
func (p *Probe) MayUse(of Coordinated) error {
	m, err := p.ask(of.probe)
	if err != nil {
		return err
	}
	var code kafkago.Error
	switch answer := m.(type) {
	case *beaten:
		code = kafkago.Error(answer.ErrorCode)
	case *endtxn.Response:
		code = kafkago.Error(answer.ErrorCode)
	}
	if slices.Contains(of.judged, code) {
		return nil
	}
	return code
}
