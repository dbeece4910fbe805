package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rivulet/config"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// reachPatience bounds the wait of [Reach] for brokers that are started beside it, and for their topics.
const reachPatience = 15 * time.Second

// Reach returns an error that names the brokers if none answers within some seconds, and one that names a topic
// that does not exist. Programs that end ask it first; a service waits for its brokers.
func Reach(ctx context.Context, b config.Brokers, client *kafka.Client, topics ...string) error {
	return reachWithin(ctx, reachPatience, b, client, topics)
}

func reachWithin(ctx context.Context, patience time.Duration, b config.Brokers, client *kafka.Client,
	topics []string) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := look(within, client, topics)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case within.Err() == nil || last == nil: // the end of the wait hides the reason
			last = err
		}
		if retry.Judge(err) == retry.Permanent || retry.Sleep(within, retry.SystemClock{}, time.Second/2) != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(last, kafka.UnknownTopicOrPartition) {
		return last
	}
	return fmt.Errorf("no broker of kafka.brokers (%s) answers: %w", strings.Join(b.Brokers, ", "), AdviseKafka(last, b))
}

// look asks for the topics once.
func look(ctx context.Context, client *kafka.Client, topics []string) error {
	cluster, err := client.Describe(ctx, topics...)
	if err != nil {
		return err
	}
	for _, name := range topics {
		if err := cluster.Topics[name].Err; errors.Is(err, kafka.UnknownTopicOrPartition) {
			return fmt.Errorf("topic %s does not exist%s: %w", name, client.Similar(ctx, name), err)
		}
	}
	return nil
}
