package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rivulet/kafka"
)

// Kafka checks what a consumer needs of Kafka.
type Kafka struct {
	Client  *kafka.Client
	Brokers []string // host:port to begin with, for messages
	// Principal is this client's name in ACLs, for messages, as "User:rivulet".
	Principal string
	// TLS says whether the connections are encrypted.
	TLS bool

	Group                              string
	Purpose                            string // of the consumer in the group, as [kafka.SourceOptions] has it
	Arrivals, Predictions, DeadLetters string
	Labels                             string // empty: none are read
	// TransactionalID begins the ids of transactions; empty if there are none.
	TransactionalID string

	// RecordBytes is the largest arrival that is no dead letter; 0: any.
	RecordBytes int
	// Wait is the time that an arrival waits for its edges.
	Wait time.Duration
	// Timeout is the limit of each question.
	Timeout time.Duration
}

// Run makes all checks and reports each result as soon as it is there.
func (k *Kafka) Run(ctx context.Context, report func(Result)) {
	what := "kafka " + strings.Join(k.Brokers, ", ")
	var cluster *kafka.Cluster
	err := k.asked(ctx, func(ctx context.Context) (err error) {
		cluster, err = k.Client.Describe(ctx, k.Topics()...)
		return err
	})
	if err != nil {
		report(Result{Failed, what, err.Error(), k.advice(err)})
		report(Result{Skipped, "kafka topics and group", "no broker can be asked", ""})
		return
	}
	k.brokers(ctx, what, cluster.Brokers, report)
	var settings map[string]map[string]string
	unread := k.asked(ctx, func(ctx context.Context) (err error) {
		settings, err = k.Client.TopicSettings(ctx, k.Topics(), settingNames)
		return err
	})
	for _, name := range k.Topics() {
		r := k.topic(ctx, name, cluster.Topics[name])
		switch {
		case r.State != OK:
		case settings[name] != nil:
			r = k.judge(r, name, cluster.Topics[name].Replicas, settings)
		case unread != nil:
			r.Found += "; its settings cannot be read: " + unread.Error()
		default:
			r.Found += fmt.Sprintf("; %s may not read its settings (DescribeConfigs), which only this check would", k.Principal)
		}
		report(r)
	}
	report(k.members(ctx, k.right("kafka group "+k.Group, "may be joined", "Read --group "+k.Group,
		k.asked(ctx, func(ctx context.Context) error { return k.Client.MayJoin(ctx, k.Group) }))))
	if k.TransactionalID == "" {
		return
	}
	id := kafka.TransactionalIDFor(k.TransactionalID, k.Arrivals, 0)
	report(k.right("kafka transactional id "+id, "may be used",
		"Write --resource-pattern-type prefixed --transactional-id "+k.TransactionalID,
		k.asked(ctx, func(ctx context.Context) error { return k.Client.MayTransact(ctx, id) })))
}

// members adds the group's members to its result, which fails if some are another program.
func (k *Kafka) members(ctx context.Context, r Result) Result {
	if r.State != OK {
		return r
	}
	var g *kafka.GroupState
	err := k.asked(ctx, func(ctx context.Context) (err error) {
		g, err = k.Client.Group(ctx, k.Group)
		return err
	})
	if err != nil {
		r.Found += "; its members cannot be listed: " + err.Error()
		return r
	}
	names := func(members []kafka.GroupMember) string {
		all := make([]string, len(members))
		for i, m := range members {
			all[i] = m.String()
		}
		return strings.Join(all, "; ")
	}
	if others := g.Others([]string{k.Arrivals}, k.Purpose); len(others) > 0 {
		way := cmp.Or(g.Protocol, "the brokers' own")
		return Result{Failed, r.What, fmt.Sprintf("another program is a member, and each arrival goes to one member "+
			"only: %s; protocol %s", names(others), way),
			"set kafka.group to a group of this consumer's own, or stop that program"}
	}
	if len(g.Members) > 0 {
		r.Found += fmt.Sprintf("; %d members: %s", len(g.Members), names(g.Members))
	}
	return r
}

// asked puts one question.
func (k *Kafka) asked(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	return question(ctx)
}

// Topics are those that are read, and then those that are written to.
func (k *Kafka) Topics() []string {
	all := []string{k.Arrivals}
	if k.Labels != "" {
		all = append(all, k.Labels)
	}
	return append(all, k.Predictions, k.DeadLetters)
}

// advice returns a remedy for an error of any question.
func (k *Kafka) advice(err error) string {
	var code kafka.Error
	if errors.As(err, &code) {
		return cmp.Or(kafkaAdvice(code, k.Principal), "look at the broker's log")
	}
	encryption := fmt.Sprintf("kafka.tls.enabled is %t", k.TLS)
	if k.Principal == anonymous {
		encryption += "; or it wants a login: kafka.sasl.mechanism"
	} else {
		encryption += "; or it refuses the login: kafka.sasl.username and kafka.sasl.password"
	}
	return cmp.Or(connectionAdvice(err, "kafka.", encryption),
		"correct the setting that it names, or see whether this is a Kafka broker's port, and look at its log")
}

// anonymous is the principal of a client that has not logged in.
const anonymous = "User:ANONYMOUS"

// brokers tries each broker under the address that the cluster advertises.
func (k *Kafka) brokers(ctx context.Context, what string, all []kafka.BrokerAddress, report func(Result)) {
	reached := 0
	for _, b := range all {
		err := k.asked(ctx, func(ctx context.Context) error { return k.Client.Reach(ctx, b.ID) })
		if err == nil {
			reached++
			continue
		}
		report(Result{Failed, fmt.Sprintf("kafka broker %d at %s, as the cluster advertises it", b.ID, b.Addr),
			err.Error(), k.advice(err) + "; its own address is in its advertised.listeners"})
	}
	if reached > 0 {
		security := "plaintext"
		if k.TLS {
			security = "TLS"
		}
		report(Result{OK, what, fmt.Sprintf("%d of %d brokers answer, %s, as %s", reached, len(all), security, k.Principal),
			""})
	}
}

// topic judges whether a topic is there, and may be used.
func (k *Kafka) topic(ctx context.Context, name string, t kafka.TopicState) Result {
	r := Result{State: Failed, What: "kafka topic " + name}
	operation, allowed, verb := "Read", kafka.MayRead, "read"
	if name == k.Predictions || name == k.DeadLetters {
		operation, allowed, verb = "Write", kafka.MayWrite, "written to"
	}
	allow := fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation Describe --operation %s --topic %s",
		k.Principal, operation, name)
	switch {
	case errors.Is(t.Err, kafka.TopicAuthorizationFailed):
		r.Found, r.Do = fmt.Sprintf("missing ACL: %s may not see it (whether it exists is not told)", k.Principal), allow
	case errors.Is(t.Err, kafka.UnknownTopicOrPartition):
		_ = k.asked(ctx, func(ctx context.Context) error {
			r.Found = "it does not exist" + k.Client.Similar(ctx, name)
			return nil
		})
		r.Do = "kafka-topics.sh --create --topic " + name + "; the consumer waits for it"
	case t.Err != nil && !errors.Is(t.Err, kafka.LeaderNotAvailable):
		r.Found, r.Do = t.Err.Error(), "look at the broker's log"
	case len(t.Leaderless) > 0 || t.Partitions == 0:
		r.Found = fmt.Sprintf("of %d partitions, %v have no leader", t.Partitions, t.Leaderless)
		r.Do = "bring the brokers back that hold them"
	case t.Allowed > 0 && t.Allowed&allowed == 0:
		r.Found, r.Do = fmt.Sprintf("missing ACL: it may not be %s by %s", verb, k.Principal), allow
	case t.Allowed <= 0:
		r.State, r.Found = OK, fmt.Sprintf("%d partitions; whether it may be %s is told by Kafka 2.3 or newer", t.Partitions,
			verb)
	default:
		r.State, r.Found = OK, fmt.Sprintf("%d partitions, may be %s", t.Partitions, verb)
	}
	return r
}

// right is the result of a question about a right.
func (k *Kafka) right(what, found, operation string, err error) Result {
	refusals := []error{kafka.GroupAuthorizationFailed, kafka.TransactionalIDAuthorizationFailed}
	switch {
	case err == nil:
		return Result{OK, what, found, ""}
	case slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }):
		return Result{Failed, what, fmt.Sprintf("missing ACL: %s may not use it", k.Principal),
			fmt.Sprintf("kafka-acls.sh --add --allow-principal '%s' --operation %s", k.Principal, operation)}
	}
	return Result{Failed, what, err.Error(), k.advice(err)}
}
