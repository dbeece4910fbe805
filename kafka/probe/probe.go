// Package probe takes a connection to a broker step by step, for checks. Its caller learns which step failed; a
// kafka.Client hides that, and tries again in the background. A probe changes nothing on the broker.
package probe

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
	"github.com/segmentio/kafka-go/sasl"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Probe is a connection to one broker that is taken step by step: Versions, Handshake and Authenticate if there is a
// login, then the others. Its caller learns which step failed.
type Probe struct {
	conn     net.Conn
	clientID string
	limit    time.Duration
	versions wire.Versions
}

// New returns a probe over a connection, which is the probe's from then on. limit is the time that each request may
// take.
func New(conn net.Conn, clientID string, limit time.Duration) *Probe {
	return &Probe{conn: conn, clientID: clientID, limit: limit}
}

// Close closes the connection.
func (p *Probe) Close() { _ = p.conn.Close() }

// ask sends a request in the newest version, at most the given one, that the broker speaks.
func ask[A kmsg.Response](p *Probe, request kmsg.Request, most int16) (answer A, err error) {
	if !p.versions.Choose(request, 0, most) {
		return answer, kafkago.UnsupportedVersion
	}
	if err := p.conn.SetDeadline(time.Now().Add(p.limit)); err != nil {
		return answer, err
	}
	m, err := wire.Exchange(p.conn, p.clientID, request)
	if err != nil {
		return answer, err
	}
	return m.(A), nil
}

// Versions asks for the broker's supported versions of each request.
func (p *Probe) Versions() (err error) {
	if err := p.conn.SetDeadline(time.Now().Add(p.limit)); err != nil {
		return err
	}
	p.versions, err = wire.AskVersions(p.conn, p.clientID)
	return err
}

// Handshake asks to log in with a SASL mechanism. If the broker refuses, it says which ones it offers.
func (p *Probe) Handshake(mechanism string) (offered []string, err error) {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = mechanism
	answer, err := ask[*kmsg.SASLHandshakeResponse](p, req, req.MaxVersion())
	if err != nil {
		return nil, err
	}
	return answer.SupportedMechanisms, wire.Failure(answer.ErrorCode)
}

// Authenticate proves to the broker at an address who the client is. If [retry.Judge] calls an error Permanent, the
// settings are wrong; other errors say why the broker refused.
func (p *Probe) Authenticate(ctx context.Context, addr string, login wire.Login) error {
	host, port, _ := net.SplitHostPort(addr)
	at := &sasl.Metadata{Host: host}
	at.Port, _ = strconv.Atoi(port)
	state, message, err := wire.Mechanism(login).Start(sasl.WithMetadata(ctx, at))
	if err != nil {
		return retry.Misuse(err.Error())
	}
	for done := false; !done; {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.SASLAuthBytes = message
		answer, err := ask[*kmsg.SASLAuthenticateResponse](p, req, req.MaxVersion())
		if err != nil {
			return errors.New("it closed the connection")
		}
		if answer.ErrorCode != 0 {
			text := kafkago.Error(answer.ErrorCode).Title() + ". "
			if answer.ErrorMessage != nil {
				text += *answer.ErrorMessage
			}
			return errors.New(strings.TrimSpace(text))
		}
		if done, message, err = state.Next(ctx, answer.SASLAuthBytes); err != nil {
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
	Replicas   int     // of the partition with the fewest
	// Operations are the operations that the client is allowed: a bit for each ACL operation; 0 or less if an older broker
	// does not tell.
	Operations int32
}

// Describe asks for the cluster, for topics (nil: all that this client may see), and for the operations that it is
// allowed on them.
func (p *Probe) Describe(topics []string) (*Cluster, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	const withAll = 12 // the last version in which each topic has its own error
	m, err := ask[*kmsg.MetadataResponse](p, req, withAll)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	for _, b := range m.Brokers {
		c.Brokers = append(c.Brokers, Broker{b.NodeID, address(b.Host, b.Port)})
	}
	for _, t := range m.Topics {
		topic := Topic{Err: wire.Failure(t.ErrorCode), Partitions: len(t.Partitions), Operations: t.AuthorizedOperations}
		if t.Topic != nil {
			topic.Name = *t.Topic
		}
		for i, p := range t.Partitions {
			if i == 0 || len(p.Replicas) < topic.Replicas {
				topic.Replicas = len(p.Replicas)
			}
			if p.Leader < 0 || p.ErrorCode != 0 {
				topic.Leaderless = append(topic.Leaderless, p.Partition)
			}
		}
		c.Topics = append(c.Topics, topic)
	}
	return c, nil
}

// Settings asks for some settings of a topic, by their names; one that the broker does not know is missing. The
// error is the broker's code where this client may not read them (DescribeConfigs).
func (p *Probe) Settings(topic string, names ...string) (map[string]string, error) {
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	resource.ConfigNames = names
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = append(req.Resources, resource)
	m, err := ask[*kmsg.DescribeConfigsResponse](p, req, req.MaxVersion())
	if err != nil {
		return nil, err
	}
	found := make(map[string]string)
	for _, r := range m.Resources {
		if err := wire.Failure(r.ErrorCode); err != nil {
			return nil, err
		}
		for _, e := range r.Configs {
			if e.Value != nil {
				found[e.Name] = *e.Value
			} else {
				found[e.Name] = ""
			}
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
	kind int8 // of coordinator, as in FindCoordinator
	// request has no effect: the coordinator looks at the rights for it first, and then refuses it with one of refusals.
	request  kmsg.Request
	most     int16 // version of the request
	refusals []kafkago.Error
}

// Group is a consumer group. Its request is a heartbeat of a member that does not exist.
func Group(id string) Coordinated {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = id, -1, "nobody"
	return Coordinated{key: id, kind: 0, request: req, most: req.MaxVersion(),
		refusals: []kafkago.Error{kafkago.UnknownMemberId, kafkago.GroupIdNotFound, kafkago.IllegalGeneration,
			kafkago.RebalanceInProgress}}
}

// TransactionalID is a transactional id. Its request ends a transaction of a producer that does not exist.
func TransactionalID(id string) Coordinated {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, -1, -1
	const beforeVerification = 3 // later versions are for clients of transactions of another kind (KIP-890)
	return Coordinated{key: id, kind: 1, request: req, most: beforeVerification,
		refusals: []kafkago.Error{kafkago.InvalidProducerIDMapping, kafkago.InvalidProducerEpoch,
			kafkago.InvalidTransactionState}}
}

// Coordinator returns the address of the coordinator.
func (p *Probe) Coordinator(of Coordinated) (addr string, err error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorType = of.key, of.kind
	const oneKey = 3 // from version 4 on a request names several
	answer, err := ask[*kmsg.FindCoordinatorResponse](p, req, oneKey)
	if err != nil {
		return "", err
	}
	return address(answer.Host, answer.Port), wire.Failure(answer.ErrorCode)
}

// MayUse asks the coordinator, which the probe must be connected to, whether this client has the rights. It returns
// nil if it has them, and otherwise the coordinator's code.
func (p *Probe) MayUse(of Coordinated) error {
	m, err := ask[kmsg.Response](p, of.request, of.most)
	if err != nil {
		return err
	}
	var code kafkago.Error
	switch answer := m.(type) {
	case *kmsg.HeartbeatResponse:
		code = kafkago.Error(answer.ErrorCode)
	case *kmsg.EndTxnResponse:
		code = kafkago.Error(answer.ErrorCode)
	}
	if slices.Contains(of.refusals, code) {
		return nil
	}
	return code
}
