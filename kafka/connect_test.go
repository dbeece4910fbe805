package kafka

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

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
	b.way.pool.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
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
