package harness

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka asks brokers about topics and groups.
type Kafka struct {
	*kadm.Client
	Addr  string   // of the first broker
	Addrs []string // of all given brokers
	Raw   *kgo.Client
}

// NewKafka makes a client of brokers that speak plaintext. The caller closes it.
func NewKafka(addrs ...string) (*Kafka, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	return &Kafka{kadm.NewClient(client), addrs[0], addrs, client}, nil
}

// MakeTopics makes topics with these numbers of partitions, and as many replicas as the brokers have by default.
func (k *Kafka) MakeTopics(ctx context.Context, partitions map[string]int) error {
	for name, n := range partitions {
		if _, err := k.CreateTopic(ctx, int32(n), -1, nil, name); err != nil {
			return err
		}
	}
	return nil
}

// Configure sets settings of topics.
func (k *Kafka) Configure(ctx context.Context, settings map[string]string, topics ...string) error {
	var alter []kadm.AlterConfig
	for name, value := range settings {
		alter = append(alter, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: kadm.StringPtr(value)})
	}
	answers, err := k.AlterTopicConfigs(ctx, alter, topics...)
	for _, a := range answers {
		err = errors.Join(err, a.Err)
	}
	return err
}

// During does something while topics have other settings.
func (k *Kafka) During(ctx context.Context, during, after map[string]string, topics []string,
	do func() error) (err error) {
	if err := k.Configure(ctx, during, topics...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Configure(context.WithoutCancel(ctx), after, topics...)) }()
	return do()
}

// Members returns the members of a group: the names of their clients, by member id.
func (k *Kafka) Members(ctx context.Context, group string) (map[string]string, error) {
	groups, err := k.DescribeGroups(ctx, group)
	if err == nil {
		err = groups.Error()
	}
	members := map[string]string{}
	for _, m := range groups[group].Members {
		members[m.MemberID] = m.ClientID
	}
	return members, err
}

// Bury takes the members of a client that is dead out of a group, as the end of their sessions would.
func (k *Kafka) Bury(ctx context.Context, group, client string) error {
	members, err := k.Members(ctx, group)
	if err != nil {
		return err
	}
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = group
	for id, of := range members {
		if of == client {
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID = id
			request.Members = append(request.Members, m)
		}
	}
	if len(request.Members) == 0 {
		return nil
	}
	answer, err := request.RequestWith(ctx, k.Raw)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	return err
}

// Follow passes records to note, one after the other, until stop is called.
func Follow(note func(*kgo.Record), options ...kgo.Opt) (stop func(), err error) {
	reader, err := kgo.NewClient(append([]kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100 * time.Millisecond)}, options...)...)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			fetches := reader.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(note)
		}
	})
	return func() {
		reader.Close()
		wg.Wait()
	}, nil
}
