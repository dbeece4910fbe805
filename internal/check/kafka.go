package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/endtxn"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/heartbeat"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/sasl"
)

// Kafka is what a consumer needs of Kafka.
type Kafka struct {
	Brokers  []string // host:port to begin with
	ClientID string
	TLS      *tls.Config    // nil: plaintext
	SASL     sasl.Mechanism // nil: nobody logs in
	Username string         // who logs in, for messages
	// Principal is whom ACLs name, for messages, as "User:rivulet".
	Principal string

	Group string
	Read  []string // topics that are read
	Write []string // topics that are written to
	// TransactionalID is what the ids of transactions begin with, before ".topic.partition"; "" where there are none.
	TransactionalID string
	// Timeout is the limit of each step of a connection, and of each request.
	Timeout time.Duration
}

// Run tries all of it and reports each result as it is there.
func (k *Kafka) Run(ctx context.Context, report func(Result)) {
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			s.close()
		}
	}()
	var first *session
	try := func(addr, which string) {
		s, p := k.connect(ctx, addr)
		if p != nil {
			report(result("kafka broker "+addr+which, "", p))
			return
		}
		report(result("kafka broker "+addr+which, s.found, nil))
		sessions[addr] = s
		if first == nil {
			first = s
		}
	}
	for _, addr := range k.Brokers {
		try(addr, "")
	}
	if first == nil {
		k.skip(report)
		return
	}
	for _, b := range first.meta.Brokers {
		if addr := address(b.Host, b.Port); !slices.Contains(k.Brokers, addr) {
			try(addr, fmt.Sprintf(" (node %d, as the cluster advertises it)", b.NodeID))
		}
	}
	for _, topic := range k.Read {
		report(k.topic(first.meta, topic, read))
	}
	for _, topic := range k.Write {
		report(k.topic(first.meta, topic, write))
	}
	report(k.coordinator(ctx, k.group(), first, sessions))
	if k.TransactionalID != "" {
		for _, topic := range k.Read {
			report(k.coordinator(ctx, k.transactions(k.TransactionalID+"."+topic+".0"), first, sessions))
		}
	}
}

func (k *Kafka) skip(report func(Result)) {
	const why = "no broker can be asked"
	for _, topic := range append(append([]string{}, k.Read...), k.Write...) {
		report(Result{Skipped, "kafka topic " + topic, why, ""})
	}
	report(Result{Skipped, "kafka group " + k.Group, why, ""})
	if k.TransactionalID != "" {
		report(Result{Skipped, "kafka transactional id " + k.TransactionalID, why, ""})
	}
}

func address(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// operation is something that ACLs allow. Its bit is 1 << code in what a broker says somebody may do.
type operation struct {
	code       int
	name, verb string
}

var (
	read  = operation{3, "Read", "read"}
	write = operation{4, "Write", "written to"}
)

// topic judges one topic.
func (k *Kafka) topic(m *metadata.Response, name string, op operation) Result {
	what := "kafka topic " + name
	i := slices.IndexFunc(m.Topics, func(t metadata.ResponseTopic) bool { return t.Name == name })
	if i < 0 {
		return result(what, "", &problem{"the broker says nothing about it", "look at the broker's log"})
	}
	t := &m.Topics[i]
	allow := fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation Describe --operation %s --topic %s", k.Principal, op.name, name)
	switch code := kafka.Error(t.ErrorCode); {
	case errors.Is(code, kafka.TopicAuthorizationFailed):
		return result(what, "", &problem{fmt.Sprintf("missing ACL: %s may not see it (whether it exists is not told)", k.Principal), allow})
	case errors.Is(code, kafka.UnknownTopicOrPartition):
		return result(what, "", &problem{"it does not exist", "kafka-topics.sh --create --topic " + name + "; the consumer waits for it"})
	case t.ErrorCode != 0 && !errors.Is(code, kafka.LeaderNotAvailable):
		return result(what, "", &problem{code.Error(), "look at the broker's log"})
	}
	var leaderless []int32
	for _, p := range t.Partitions {
		if p.LeaderID < 0 || p.ErrorCode != 0 {
			leaderless = append(leaderless, p.PartitionIndex)
		}
	}
	if len(leaderless) > 0 || len(t.Partitions) == 0 {
		return result(what, "", &problem{fmt.Sprintf("of %d partitions, %v have no leader", len(t.Partitions), leaderless), "bring the brokers back that hold them"})
	}
	found := fmt.Sprintf("%d partitions, may be %s", len(t.Partitions), op.verb)
	switch may := t.TopicAuthorizedOperations; {
	case may == math.MinInt32 || may == 0: // not told: an older broker
		found = fmt.Sprintf("%d partitions; whether it may be %s is not told by this broker, Kafka 2.3 or newer does", len(t.Partitions), op.verb)
	case may&(1<<op.code) == 0:
		return result(what, "", &problem{fmt.Sprintf("missing ACL: it may not be %s by %s", op.verb, k.Principal), allow})
	}
	return result(what, found, nil)
}

// patience is how often a coordinator that is not ready is asked again: the first group of a cluster has to wait until
// Kafka has made the topic of offsets.
const patience = 20

// coordinated is something that has a coordinator: a group, or a transactional id.
type coordinated struct {
	what string
	kind int8 // of coordinator, as FindCoordinator has it
	key  string
	// probe is a request that the coordinator judges by its rights first, and refuses otherwise without any effect; code is
	// what the answer says.
	probe  protocol.Message
	code   func(answer protocol.Message) int16
	denied kafka.Error   // for missing rights
	judged []kafka.Error // for requests that have the rights, and are refused for who they say they are
	// operation and resource are what an ACL needs.
	operation, resource string
	may                 string
}

// group sends a heartbeat of a member that does not exist.
func (k *Kafka) group() coordinated {
	return coordinated{what: "kafka group " + k.Group, kind: 0, key: k.Group,
		probe:  &heartbeat.Request{GroupID: k.Group, GenerationID: -1, MemberID: "nobody"},
		code:   func(answer protocol.Message) int16 { return answer.(*heartbeat.Response).ErrorCode },
		denied: kafka.GroupAuthorizationFailed, judged: []kafka.Error{kafka.UnknownMemberId, kafka.GroupIdNotFound, kafka.IllegalGeneration, kafka.RebalanceInProgress},
		operation: "Read", resource: "--group " + k.Group, may: "may be joined"}
}

// transactions ends a transaction of a producer that does not exist.
func (k *Kafka) transactions(id string) coordinated {
	return coordinated{what: "kafka transactional id " + id, kind: 1, key: id,
		probe:  &endtxn.Request{TransactionalID: id, ProducerID: -1, ProducerEpoch: -1},
		code:   func(answer protocol.Message) int16 { return answer.(*endtxn.Response).ErrorCode },
		denied: kafka.TransactionalIDAuthorizationFailed, judged: []kafka.Error{kafka.InvalidProducerIDMapping, kafka.InvalidProducerEpoch, kafka.InvalidTransactionState},
		operation: "Write", may: "may be used",
		resource: "--resource-pattern-type prefixed --transactional-id " + k.TransactionalID}
}

// coordinator judges what has one.
func (k *Kafka) coordinator(ctx context.Context, c coordinated, first *session, sessions map[string]*session) Result {
	for try := 1; ; try++ {
		code, at, p := c.ask(first, sessions)
		if p != nil {
			return result(c.what, "", p)
		}
		switch {
		case errors.Is(code, c.denied):
			return result(c.what, "", &problem{fmt.Sprintf("missing ACL: %s may not use it", k.Principal),
				fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation %s %s", k.Principal, c.operation, c.resource)})
		case errors.Is(code, kafka.GroupCoordinatorNotAvailable), errors.Is(code, kafka.GroupLoadInProgress), errors.Is(code, kafka.NotCoordinatorForGroup):
			if try < patience && pause(ctx, 250*time.Millisecond) {
				continue
			}
			return result(c.what, "", &problem{"it has no coordinator: " + code.Title(), "look at the brokers' logs, and at the topics __consumer_offsets and __transaction_state"})
		case !slices.Contains(c.judged, code):
			return result(c.what, "", &problem{"its coordinator answers: " + code.Error(), "look at the broker's log"})
		}
		return result(c.what, c.may+", coordinator "+at, nil)
	}
}

// ask sends the probe to the coordinator and returns what it says.
func (c *coordinated) ask(first *session, sessions map[string]*session) (code kafka.Error, at string, p *problem) {
	m, err := first.ask(&findcoordinator.Request{Key: c.key, KeyType: c.kind})
	if err != nil {
		return 0, "", &problem{"asking for its coordinator: " + err.Error(), "look at the broker's log"}
	}
	found := m.(*findcoordinator.Response)
	if found.ErrorCode != 0 {
		return kafka.Error(found.ErrorCode), "", nil
	}
	at = address(found.Host, found.Port)
	coordinator := sessions[at]
	if coordinator == nil {
		return 0, "", &problem{"its coordinator " + at + " cannot be reached", "see the lines about brokers"}
	}
	if m, err = coordinator.ask(c.probe); err != nil {
		return 0, "", &problem{"asking its coordinator " + at + ": " + err.Error(), "look at the broker's log"}
	}
	return kafka.Error(c.code(m)), at, nil
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
