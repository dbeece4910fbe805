// Feed prints predictions as they come: go run ./examples/go/feed BROKERS COUNT.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

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
// crash some predictions come again.
func feed(ctx context.Context, brokers string, count int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumerGroup("feed-go"),
		kgo.ConsumeTopics("predictions"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer client.Close()
	for count > 0 {
		records, err := client.PollRecords(ctx, count).Records(), ctx.Err()
		if err != nil {
			return err
		}
		for _, record := range records {
			var p struct {
				ID          string
				Class       int
				Probability float64
			}
			if err := json.Unmarshal(record.Value, &p); err != nil {
				return fmt.Errorf("prediction at %s/%d/%d: %w", record.Topic, record.Partition, record.Offset, err)
			}
			fmt.Println(p.ID, p.Class, p.Probability)
		}
		if err := client.CommitRecords(ctx, records...); err != nil {
			return err
		}
		count -= len(records)
	}
	return nil
}
