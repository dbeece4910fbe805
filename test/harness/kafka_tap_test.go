package harness

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/test/expect"
)

// listener counts produced records, and stops requests or responses.
type listener struct {
	mu sync.Mutex

	clients                    []string // of the records that were produced
	stopRequests, stopResponse bool
}

func (l *listener) Request(r *KafkaRequest) bool {
	if kmsg.Key(r.Key) != kmsg.Produce {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for range r.Produced() {
		l.clients = append(l.clients, r.Client)
	}
	return !l.stopRequests
}

func (l *listener) Response(r *KafkaRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return kmsg.Key(r.Key) != kmsg.Produce || !l.stopResponse
}

func (l *listener) set(requests, responses bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopRequests, l.stopResponse = requests, responses
}

// A tap counts produced records, in each codec; if it stops the request, the record is not in the log, if it stops the
// response, it is.
func TestTap(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	expect.OK(t, err)
	defer cluster.Close()
	proxy, err := NewProxy(t.Context())
	expect.OK(t, err)
	defer proxy.Close()
	tap := new(listener)
	proxy.ServeTapped(t.Context(), cluster.ListenAddrs()[0], tap)
	produce := func(value string, codec kgo.CompressionCodec, limit time.Duration) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(proxy.Addr()), kgo.ClientID("client"), kgo.DefaultProduceTopic("topic"),
			kgo.DisableIdempotentWrite(),
			kgo.ProducerBatchCompression(codec), kgo.RecordRetries(0), kgo.RequestRetries(0),
			kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
			}))
		expect.OK(t, err)
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return client.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr()
	}
	want := 0
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		value := strings.Repeat(name, 50)
		if err := produce(value, codec, time.Minute); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want++
	}
	tap.set(true, false)
	if err := produce("no request", kgo.NoCompression(), time.Minute); err == nil {
		t.Error("a request that is stopped succeeds")
	}
	tap.set(false, true)
	if err := produce("no response", kgo.NoCompression(), time.Minute); err == nil {
		t.Error("a request whose response is stopped succeeds")
	}
	tap.mu.Lock()
	defer tap.mu.Unlock()
	if len(tap.clients) < want+2 || tap.clients[0] != "client" {
		t.Errorf("the tap has heard %d records of %q, want %d", len(tap.clients), tap.clients, want+2)
	}
	var stored []string
	stop, err := Follow(func(r *kgo.Record) {
		tap.mu.Lock()
		defer tap.mu.Unlock()
		stored = append(stored, string(r.Value))
	}, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("topic"))
	expect.OK(t, err)
	defer stop()
	tap.mu.Unlock()
	err = Await(t.Context(), time.Minute, "the record whose response was stopped is in the log", func() bool {
		tap.mu.Lock()
		defer tap.mu.Unlock()
		return slices.Contains(stored, "no response")
	})
	tap.mu.Lock()
	if err != nil || slices.Contains(stored, "no request") {
		t.Errorf("the log has %q: %v", stored, err)
	}
}

func TestTapRefusesWhatIsNoRequest(t *testing.T) {
	for _, frame := range [][]byte{nil, make([]byte, 9), {0, 18, 0, 0, 0, 0, 0, 1, 0, 9, 'x'}} {
		if r, _, err := parseRequest(frame); err == nil {
			t.Errorf("%v is taken for %+v", frame, r)
		}
	}
	for _, body := range [][]byte{{1, 2, 3}, make([]byte, 5)} {
		if records := (&KafkaRequest{Key: 0, Version: 9, Body: body}).Produced(); records > 0 {
			t.Errorf("%v has %d records", body, records)
		}
	}
	if got := count(make([]byte, 11)); got > 0 {
		t.Errorf("%d records in a batch of 11 bytes", got)
	}
}
