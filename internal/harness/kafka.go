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
