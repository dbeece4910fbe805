package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"rivulet/event"
)

// readPredictions reads all partitions of a topic from the beginning until ctx ends, and returns the first error.
func readPredictions(ctx context.Context, brokers []string, topic string, partitions int, take func(*event.Prediction)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for p := range partitions {
		wg.Go(func() {
			if err := readPartition(ctx, brokers, topic, p, take); err != nil {
				cancel(fmt.Errorf("reading predictions of partition %d: %w", p, err))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func readPartition(ctx context.Context, brokers []string, topic string, partition int, take func(*event.Prediction)) error {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: partition, MinBytes: 1, MaxBytes: 4 << 20,
		MaxWait: 250 * time.Millisecond, ReadBatchTimeout: 10 * time.Second, QueueCapacity: 1000})
	defer r.Close()
	var p event.Prediction
	for {
		m, err := r.ReadMessage(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		p = event.Prediction{}
		if err := (event.JSON{}).DecodePrediction(m.Value, &p); err != nil {
			return fmt.Errorf("offset %d: %w", m.Offset, err)
		}
		take(&p)
	}
}
