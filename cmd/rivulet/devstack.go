package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"rivulet/config"
	"rivulet/internal/devstack"
)

// labelsTopic is the topic of labels. The consumer reads none unless labels.topic names it; a refresh does.
const labelsTopic = "labels"

func devstackCommand() *cobra.Command {
	var kafkaAddr, redisAddr, dataDir string
	var partitions int
	cmd := &cobra.Command{
		Use:   "devstack",
		Short: "Run an embedded Kafka broker and Redis, for trying the real binaries without installing anything",
		Long: "devstack runs a broker that speaks Kafka's protocol and a Redis in this process until it is interrupted,\n" +
			"with the topics that the consumer's defaults name and one of labels. It is for development: one copy of all\n" +
			"data, in memory unless --dir.",
		Args: cobra.NoArgs,
		Example: "  rivulet devstack &                              # Kafka on localhost:9092, Redis on localhost:6379\n" +
			"  trainer publish --artifact out/small && consumer &\n" +
			"  rivulet replay --preset small",
	}
	flags := cmd.Flags()
	flags.StringVar(&kafkaAddr, "kafka", "127.0.0.1:9092", "address of the broker")
	flags.StringVar(&redisAddr, "redis", "127.0.0.1:6379", "address of Redis; empty: none")
	flags.StringVar(&dataDir, "dir", "",
		"directory in which the broker keeps its records over a restart; empty: in memory")
	flags.IntVar(&partitions, "partitions", 4, "partitions of the topics of arrivals, predictions and labels")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(free(cmd.Context(), "kafka", kafkaAddr), free(cmd.Context(), "redis", redisAddr)); err != nil {
			return err
		}
		topics := config.Default[config.Consumer]().Kafka.Topics
		kafka, err := devstack.StartKafka(devstack.KafkaOptions{Addr: kafkaAddr, DataDir: dataDir, Topics: map[string]int{
			topics.Arrivals: partitions, topics.Predictions: partitions, topics.DeadLetters: 1, labelsTopic: partitions}})
		if err != nil {
			return err
		}
		defer kafka.Close()
		fmt.Fprintf(cmd.OutOrStdout(), "embedded Kafka broker on %s, topics %s, %s, %s and %s\n", kafka.Addr(),
			topics.Arrivals, topics.Predictions, topics.DeadLetters, labelsTopic)
		if redisAddr != "" {
			redis, err := devstack.StartRedisAt(redisAddr)
			if err != nil {
				return err
			}
			defer redis.Close()
			fmt.Fprintf(cmd.OutOrStdout(), "embedded Redis on %s\n", redis.URL())
		}
		<-cmd.Context().Done()
		return nil
	}
	return cmd
}

// free returns an error if the address of a flag is taken, before anything is started: a broker beside another one's
// Redis would mix up two stacks.
func free(ctx context.Context, flag, address string) error {
	if address == "" {
		return nil
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("--%s: %s is taken, by another devstack or a service of its own; nothing was started: stop that "+
			"one, or give another address here and to the other commands (--kafka.brokers, --redis.url)", flag, address)
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return l.Close()
}
