package kafka

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// dialWith has a client open all its connections in another way.
func (c *Client) dialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	for _, p := range c.pools {
		p.Dial = dial
	}
}

func TestConnectingWithoutBrokers(t *testing.T) {
	if _, err := Connect(Options{}); err == nil {
		t.Error("connected without brokers")
	}
}

// A broker that holds a fetch open until its wait is over answers a moment later. A deadline at that time would close
// the connection.
func TestAnIdleFetchKeepsItsConnection(t *testing.T) {
	b := newBench(t, 1)
	var dials atomic.Int32
	b.way.dialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	})
	c := b.cursor(0)
	c.wait = 30 * time.Millisecond
	const fetches = 10
	var first int32
	for k := range fetches {
		if records, _, err := c.fetch(t.Context()); err != nil || len(records) != 0 {
			t.Fatalf("fetch %d: %d records, %v", k, len(records), err)
		}
		if k == 0 {
			first = dials.Load()
		}
	}
	// The transport may open one more by itself, for metadata; a fetch that loses its connection opens another each time.
	if got := dials.Load(); got > first+2 {
		t.Errorf("%d connections were opened for %d fetches, %d of them for the first", got, fetches, first)
	}
}

// Sixty partitions of two brokers are read at once by a few connections. What one of them has comes while the others
// wait, and while nobody takes what one more has.
func TestConnectionsDoNotGrowWithPartitions(t *testing.T) {
	const partitions = 60
	b := newBench(t, partitions)
	sink := b.sink()
	b.way = b.connect()
	var open atomic.Int32
	b.way.dialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			open.Add(1)
		}
		return conn, err
	})
	ids, _, err := b.way.topicIDs(t.Context(), "predictions")
	expect.OK(t, err)
	got := make(chan Position, partitions)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for id := range partitions {
		at := TopicPartition{Topic: "predictions", Partition: id}
		c := b.way.cursor(at, 0, 1<<20, 0, 300*time.Millisecond, retry.Patience{})
		c.id = ids["predictions"]
		readers.Go(func() {
			for {
				records, _, err := c.Await(ctx)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Error(err)
				}
				for _, r := range records {
					got <- r.Position
				}
				if id == 0 && len(records) > 0 {
					<-ctx.Done() // nobody takes more
					return
				}
			}
		})
	}
	const rounds, each = 3, 200
	seen := map[Position]bool{}
	for range rounds {
		var batch []Record
		for k := range each {
			batch = append(batch, Record{Key: fmt.Append(nil, k), Value: []byte("x")})
		}
		expect.OK(t, sink.Send(t.Context(), "predictions", batch))
	}
	for range rounds*each - int(b.kafka.Cluster.PartitionInfo("predictions", 0).HighWatermark) {
		for at := range got {
			if seen[at] {
				t.Errorf("%v came twice", at)
			}
			if seen[at] = true; at.Partition != 0 {
				break
			}
		}
	}
	stop()
	readers.Wait()
	// Besides those of fetches, the transport has one for metadata at each broker, and may replace one.
	if n := open.Load(); n > 2*(4+3) {
		t.Errorf("%d connections for %d partitions", n, partitions)
	}
}
