package harness

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka asks a broker about topics and groups.
type Kafka struct {
	*kadm.Client
	Addr string
}

// NewKafka makes a client of a broker that speaks plaintext. The caller closes it.
func NewKafka(addr string) (*Kafka, error) {
	client, err := kadm.NewOptClient(kgo.SeedBrokers(addr), kgo.MetadataMinAge(100*time.Millisecond))
	return &Kafka{client, addr}, err
}

// MakeTopics makes topics with these numbers of partitions.
func (k *Kafka) MakeTopics(ctx context.Context, partitions map[string]int) error {
	for name, n := range partitions {
		if _, err := k.CreateTopic(ctx, int32(n), 1, nil, name); err != nil {
			return err
		}
	}
	return nil
}

// Ends returns the next offset of each partition of a topic.
func (k *Kafka) Ends(ctx context.Context, topic string) (map[int]int64, error) {
	listed, err := k.ListEndOffsets(ctx, topic)
	ends := map[int]int64{}
	for partition, end := range listed[topic] {
		ends[int(partition)] = end.Offset
	}
	return ends, err
}

// Committed returns the next offset that a group has committed for partitions of a topic; partitions without one are left out.
func (k *Kafka) Committed(ctx context.Context, group, topic string) (map[int]int64, error) {
	fetched, err := k.FetchOffsets(ctx, group)
	offsets := map[int]int64{}
	for partition, at := range fetched[topic] {
		offsets[int(partition)] = at.At
	}
	return offsets, err
}

// Stable reports whether a group is stable and has this number of members, each of them with partitions.
func (k *Kafka) Stable(ctx context.Context, group string, members int) (bool, error) {
	groups, err := k.DescribeGroups(ctx, group)
	if err != nil {
		return false, err
	}
	assigned := 0
	for _, m := range groups[group].Members {
		if has, ok := m.Assigned.AsConsumer(); ok && len(has.Topics) > 0 {
			assigned++
		}
	}
	return groups[group].State == "Stable" && len(groups[group].Members) == members && assigned == members, nil
}

// Follow passes records to note, one after the other, until stop is called.
func Follow(note func(*kgo.Record), options ...kgo.Opt) (stop func(), err error) {
	reader, err := kgo.NewClient(append([]kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100 * time.Millisecond)}, options...)...)
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
