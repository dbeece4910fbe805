package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"rivulet/internal/spelling"
	"rivulet/kafka"
	"rivulet/kafka/probe"
	"rivulet/kafka/retry"
)

// Kafka checks everything that a consumer needs of Kafka.
type Kafka struct {
	Brokers  []string // host:port to begin with
	ClientID string
	TLS      *tls.Config // nil: plaintext
	Login    kafka.Login // nil: nobody logs in
	Username string      // the login's user, for messages
	// Principal is this client's name in ACLs, for messages, as "User:rivulet".
	Principal string

	Group string
	Read  []string // topics that are read
	Write []string // topics that are written to
	// TransactionalID begins the ids of transactions, before ":topic:partition"; "" if there are none.
	TransactionalID string
	// Timeout is the limit of each step of a connection, and of each request.
	Timeout time.Duration
}

// Run makes all checks and reports each result as soon as it is there.
func (k *Kafka) Run(ctx context.Context, report func(Result)) {
	connections := map[string]*connection{}
	defer func() {
		for _, s := range connections {
			s.close()
		}
	}()
	var first *connection
	try := func(addr, which string) {
		s, p := k.connect(ctx, addr)
		if p != nil {
			report(result("kafka broker "+addr+which, "", p))
			return
		}
		report(result("kafka broker "+addr+which, s.found, nil))
		connections[addr] = s
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
	for _, b := range first.cluster.Brokers {
		if !slices.Contains(k.Brokers, b.Addr) {
			try(b.Addr, fmt.Sprintf(" (node %d, as the cluster advertises it)", b.ID))
		}
	}
	for _, topic := range k.Read {
		report(k.topic(first, topic, read))
	}
	for _, topic := range k.Write {
		r := k.topic(first, topic, write)
		if r.State == OK {
			r = k.settings(first, topic, r)
		}
		report(r)
	}
	report(k.coordinator(ctx, k.group(), first, connections))
	if k.TransactionalID == "" {
		return
	}
	for _, topic := range k.Read {
		report(k.coordinator(ctx, k.transactions(kafka.TransactionalIDFor(k.TransactionalID, topic, 0)), first, connections))
	}
}

func (k *Kafka) skip(report func(Result)) {
	const why = "no broker can be asked"
	for _, topic := range k.topics() {
		report(Result{Skipped, "kafka topic " + topic, why, ""})
	}
	report(Result{Skipped, "kafka group " + k.Group, why, ""})
	if k.TransactionalID != "" {
		report(Result{Skipped, "kafka transactional id " + k.TransactionalID, why, ""})
	}
}

// operation is an operation of ACLs. In a broker's list of allowed operations its bit is 1 << code.
type operation struct {
	code       int
	name, verb string
}

var (
	read  = operation{3, "Read", "read"}
	write = operation{4, "Write", "written to"}
)

// topic judges one topic.
func (k *Kafka) topic(s *connection, name string, op operation) Result {
	what, c := "kafka topic "+name, s.cluster
	i := slices.IndexFunc(c.Topics, func(t probe.Topic) bool { return t.Name == name })
	if i < 0 {
		return result(what, "", &problem{"the broker says nothing about it", "look at the broker's log"})
	}
	t := &c.Topics[i]
	allow := fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation Describe --operation %s --topic %s",
		k.Principal, op.name, name)
	switch {
	case errors.Is(t.Err, kafka.TopicAuthorizationFailed):
		return result(what, "", &problem{fmt.Sprintf("missing ACL: %s may not see it (whether it exists is not told)",
			k.Principal), allow})
	case errors.Is(t.Err, kafka.UnknownTopicOrPartition):
		return result(what, "", &problem{"it does not exist" + similar(s, name),
			"kafka-topics.sh --create --topic " + name + "; the consumer waits for it"})
	case t.Err != nil && !errors.Is(t.Err, kafka.LeaderNotAvailable):
		return result(what, "", &problem{t.Err.Error(), "look at the broker's log"})
	case len(t.Leaderless) > 0 || t.Partitions == 0:
		return result(what, "", &problem{fmt.Sprintf("of %d partitions, %v have no leader", t.Partitions,
			t.Leaderless), "bring the brokers back that hold them"})
	}
	found := fmt.Sprintf("%d partitions, may be %s", t.Partitions, op.verb)
	switch {
	case t.Operations <= 0:
		found = fmt.Sprintf("%d partitions; whether it may be %s is not told by this broker, Kafka 2.3 or newer does",
			t.Partitions, op.verb)
	case t.Operations&(1<<op.code) == 0:
		return result(what, "", &problem{fmt.Sprintf("missing ACL: it may not be %s by %s", op.verb, k.Principal), allow})
	}
	return result(what, found, nil)
}

// similar names the topic that was probably meant by one that does not exist.
func similar(s *connection, name string) string {
	all, err := s.Describe(nil)
	if err != nil {
		return ""
	}
	names := make([]string, len(all.Topics))
	for i, t := range all.Topics {
		names[i] = t.Name
	}
	return spelling.DidYouMean(name, names)
}

// patience is how often a coordinator that is not ready is asked again: the first group of a cluster has to wait
// until Kafka has made the topic of offsets.
const patience = 20

// coordinated is something that has a coordinator.
type coordinated struct {
	probe.Coordinated
	what string
	// operation and resource name the ACL that is needed.
	operation, resource string
	may                 string
}

// topics are all topics that are read or written to.
func (k *Kafka) topics() []string { return slices.Concat(k.Read, k.Write) }

func (k *Kafka) group() coordinated {
	return coordinated{probe.Group(k.Group), "kafka group " + k.Group, "Read", "--group " + k.Group, "may be joined"}
}

func (k *Kafka) transactions(id string) coordinated {
	return coordinated{probe.TransactionalID(id), "kafka transactional id " + id, "Write",
		"--resource-pattern-type prefixed --transactional-id " + k.TransactionalID, "may be used"}
}

// coordinator checks a group or transactional id at its coordinator.
func (k *Kafka) coordinator(ctx context.Context, c coordinated, first *connection,
	connections map[string]*connection) Result {
	for try := 1; ; try++ {
		at, p, err := c.ask(first, connections)
		var code kafka.Error
		switch {
		case p != nil:
			return result(c.what, "", p)
		case err == nil:
			return result(c.what, c.may+", coordinator "+at, nil)
		case errors.Is(err, kafka.GroupAuthorizationFailed), errors.Is(err, kafka.TransactionalIDAuthorizationFailed):
			return result(c.what, "", &problem{fmt.Sprintf("missing ACL: %s may not use it", k.Principal),
				fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation %s %s", k.Principal, c.operation, c.resource)})
		case errors.Is(err, kafka.CoordinatorNotAvailable), errors.Is(err, kafka.CoordinatorLoadInProgress),
			errors.Is(err, kafka.NotCoordinator):
			if try < patience && retry.Sleep(ctx, retry.SystemClock{}, 250*time.Millisecond) == nil {
				continue
			}
			errors.As(err, &code)
			return result(c.what, "", &problem{"it has no coordinator: " + code.Title(),
				"look at the brokers' logs, and at the topics __consumer_offsets and __transaction_state"})
		}
		return result(c.what, "", &problem{"its coordinator answers: " + err.Error(), "look at the broker's log"})
	}
}

// ask asks the coordinator, and returns its answer as an error: nil if this client may use the group or id.
func (c *coordinated) ask(first *connection, connections map[string]*connection) (at string, p *problem,
	refused error) {
	var code kafka.Error
	at, err := first.Coordinator(c.Coordinated)
	switch {
	case errors.As(err, &code):
		return "", nil, code
	case err != nil:
		return "", &problem{"asking for its coordinator: " + err.Error(), "look at the broker's log"}, nil
	case connections[at] == nil:
		return "", &problem{"its coordinator " + at + " cannot be reached", "see the lines about brokers"}, nil
	}
	if err = connections[at].MayUse(c.Coordinated); err != nil && !errors.As(err, &code) {
		return "", &problem{"asking its coordinator " + at + ": " + err.Error(), "look at the broker's log"}, nil
	}
	return at, nil, err
}
