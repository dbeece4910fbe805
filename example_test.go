package rivulet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"rivulet"
	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/config"
	"rivulet/internal/devstack"
	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// A program of its own sends an arrival, runs the consumer, and reads the prediction. A broker inside the process
// stands for Kafka, and an artifact of random numbers for one that trainer train has written.
func ExampleRunConsumer() {
	if err := predictOne(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// new-1 has 2 known neighbours
}

func predictOne(ctx context.Context) error {
	broker, err := devstack.StartKafka(devstack.KafkaOptions{Topics: map[string]int{"arrivals": 1, "predictions": 1,
		"arrivals.dead-letters": 1}})
	if err != nil {
		return err
	}
	defer broker.Close()
	dir, err := os.MkdirTemp("", "rivulet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	if err := model.Seal(); err != nil {
		return err
	}

	cfg := config.Default[config.Consumer]()
	cfg.Kafka.Brokers.Brokers = broker.Addrs()
	cfg.HTTP.Listen = "" // no metrics and no health in this example
	cfg.Artifact = filepath.Join(dir, "artifact")
	if err := artifact.Write(cfg.Artifact, model); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rivulet.RunConsumer(running, cfg, slog.New(slog.DiscardHandler)) }()

	said, err := exchange(ctx, broker.Addrs(), fmt.Sprintf(`{"id": "new-1", "features": [1, 0, 2], "edges": [%q, %q]}`,
		model.Mapping.IDs[0], model.Mapping.IDs[1]))
	stop() // batches in hand are published and committed
	if drained := <-ended; err == nil {
		err = drained
	}
	fmt.Println(said)
	return err
}

// exchange sends an arrival and says what its prediction knows of the neighbours.
func exchange(ctx context.Context, brokers []string, arrival string) (said string, err error) {
	client, err := kafka.Connect(kafka.Options{Brokers: brokers})
	if err != nil {
		return "", err
	}
	defer client.Close()
	to, err := kafka.NewSink(client, "", retry.Patience{})
	if err != nil {
		return "", err
	}
	from, err := kafka.NewReader(client, kafka.ReaderOptions{Topic: "predictions"}, retry.Patience{})
	if err != nil {
		return "", err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	err = from.Follow(following, func() {
		sent <- to.Send(ctx, "arrivals", []kafka.Record{{Key: []byte("new-1"), Value: []byte(arrival)}})
	}, func(r kafka.Record) {
		var prediction struct {
			ID    string `json:"id"`
			Known int    `json:"known_neighbours"`
		}
		err := json.Unmarshal(r.Value, &prediction)
		said = fmt.Sprintf("%s has %d known neighbours", prediction.ID, prediction.Known)
		if err != nil {
			said = err.Error()
		}
		stop()
	})
	return said, errors.Join(err, <-sent)
}
