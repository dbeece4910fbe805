package integration

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// makeTopics makes topics of so many partitions; remove is for the end of the test.
func makeTopics(t *testing.T, client *kafka.Client, partitions map[string]int) (remove func() error) {
	t.Helper()
	var configs []kafka.TopicConfig
	for name, n := range partitions {
		configs = append(configs, kafka.TopicConfig{Topic: name, NumPartitions: n, ReplicationFactor: 1})
	}
	made, err := client.CreateTopics(t.Context(), &kafka.CreateTopicsRequest{Topics: configs})
	if err != nil {
		t.Fatal(err)
	}
	for topic, err := range made.Errors {
		if err != nil {
			t.Fatalf("creating %s: %v", topic, err)
		}
	}
	return func() error {
		names := slices.Collect(maps.Keys(partitions))
		_, err := client.DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: names})
		return err
	}
}

// repeatedly sends twenty times a second until stop is called, which returns when the last of it is acknowledged, or until the test
// ends. What send returns fails the test.
func repeatedly(t *testing.T, send func() error) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := send(); err != nil {
				t.Errorf("sending arrivals: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// readOn notes records as another client than ours reads them, until the test ends.
func readOn(t *testing.T, note func(*kgo.Record), options ...kgo.Opt) {
	t.Helper()
	reader, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
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
	t.Cleanup(func() {
		reader.Close()
		wg.Wait()
	})
}
