// Producer sends arrivals from a file of JSON lines: go run ./examples/go/producer BROKERS FILE.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: producer BROKERS FILE")
	}
	sent, err := produce(context.Background(), os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d arrivals sent\n", sent)
}

func produce(ctx context.Context, brokers, file string) (sent int, err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.DefaultProduceTopic("arrivals"))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	soon, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := client.Ping(soon); err != nil {
		return 0, fmt.Errorf("no broker of %s answers: %w", brokers, err)
	}
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	var failed kgo.FirstErrPromise
	for {
		line, end := lines.ReadBytes('\n')
		if len(line) > 0 {
			record, err := arrival(line)
			if err != nil {
				return sent, err
			}
			client.Produce(ctx, record, failed.Promise())
			sent++
		}
		if end != nil {
			return sent, failed.Err() // waits for Kafka, which has acks of all replicas by default
		}
	}
}

// arrival makes the record of a line. The key is the node's id, so that a node's arrivals keep their order.
func arrival(line []byte) (*kgo.Record, error) {
	var node struct {
		ID json.RawMessage `json:"id"` // a string or an integer: 17 and "17" are the same node
	}
	if err := json.Unmarshal(line, &node); err != nil {
		return nil, fmt.Errorf("%.60s: %w", line, err)
	}
	id := string(node.ID)
	if strings.HasPrefix(id, `"`) {
		if err := json.Unmarshal(node.ID, &id); err != nil {
			return nil, err
		}
	}
	return &kgo.Record{Key: []byte(id), Value: line,
		Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/json")}}}, nil
}
