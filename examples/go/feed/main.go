// Feed prints predictions as they come: go run ./examples/go/feed BROKERS COUNT.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: feed BROKERS COUNT")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = feed(context.Background(), os.Args[1], count)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// feed prints so many predictions, as a member of the group feed-go. It commits offsets after printing, so after a
// crash some predictions come again. Records that are no predictions in JSON are passed over: a tombstone without a
// word, another one with a line.
func feed(ctx context.Context, brokers string, count int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumerGroup("feed-go"),
		kgo.ConsumeTopics("predictions"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer client.Close()
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := client.Ping(soon); err != nil {
		return fmt.Errorf("no broker of %s answers: %w", brokers, err)
	}
	for count > 0 {
		records, err := client.PollRecords(ctx, count).Records(), ctx.Err()
		if err != nil {
			return err
		}
		for _, record := range records {
			if record.Value == nil { // a tombstone, by which a compacted topic forgets a key
				continue
			}
			p, err := read(record)
			if err != nil {
				log.Printf("%s/%d/%d is passed over: %v", record.Topic, record.Partition, record.Offset, err)
				continue
			}
			fmt.Println(p.ID, p.Class, p.Probability)
			count--
		}
		if err := client.CommitRecords(ctx, records...); err != nil {
			return err
		}
	}
	return nil
}

// prediction has a few fields of a prediction (event/README.md).
type prediction struct {
	ID          string
	Class       int
	Probability float64
}

// read reads a record in JSON. A dead letter and a record of another form are errors.
func read(record *kgo.Record) (p prediction, err error) {
	for _, h := range record.Headers {
		switch {
		case h.Key == "rivulet-reason":
			return p, fmt.Errorf("it is a dead letter: %s", h.Value)
		case h.Key == "content-type" && !strings.HasPrefix(string(h.Value), "application/json"):
			return p, fmt.Errorf("its content-type is %q, and application/json is read", h.Value)
		}
	}
	if err = json.Unmarshal(record.Value, &p); err == nil && p.ID == "" {
		err = errors.New("it has no id")
	}
	return p, err
}
