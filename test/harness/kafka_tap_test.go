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

// listener notes the values of produced records, and stops requests or responses with a certain value.
type listener struct {
	t  *testing.T
	mu sync.Mutex

	values                     []string // as the clients said them, client: value
	stopRequests, stopResponse bool
}

func (l *listener) Request(r *KafkaRequest) bool {
	if kmsg.Key(r.Key) != kmsg.Produce {
		return true
	}
	records, err := r.Produced()
	if err != nil {
		l.t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range records {
		l.values = append(l.values, r.Client+": "+string(record.Value))
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

// A tap sees produced records, in each codec; if it stops the request, the record is not in the log, if it stops the
// response, it is.
func TestTap(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "topic"))
	expect.OK(t, err)
	defer cluster.Close()
	proxy, err := NewProxy(t.Context())
	expect.OK(t, err)
	defer proxy.Close()
	tap := &listener{t: t}
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
	var want []string
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		value := strings.Repeat(name, 50)
		if err := produce(value, codec, time.Minute); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want = append(want, "client: "+value)
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
	if !slices.Equal(slices.Compact(tap.values), append(want, "client: no request", "client: no response")) {
		t.Errorf("the tap has heard %q", tap.values)
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
		if records, err := (&KafkaRequest{Key: 0, Version: 9, Body: body}).Produced(); err == nil && len(records) > 0 {
			t.Errorf("%v has records: %v", body, records)
		}
	}
	if _, err := unpack(make([]byte, 11)); err == nil {
		t.Error("a batch of 11 bytes is taken")
	}
}

// A request that produces, commits or joins names the process that sent it.
func TestMember(t *testing.T) {
	id := "rivulet-repartition:0"
	produce, end := kmsg.NewPtrProduceRequest(), kmsg.NewPtrEndTxnRequest()
	produce.TransactionID, end.TransactionalID = &id, id
	commit, join := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrJoinGroupRequest()
	commit.Group, join.Group = "rivulet", "rivulet"
	for _, c := range []struct {
		request kmsg.Request
		version int16
		want    string
	}{{produce, 9, id}, {kmsg.NewPtrProduceRequest(), 9, ""}, {end, 3, id}, {commit, 8, "rivulet"}, {join, 9, "rivulet"},
		{kmsg.NewPtrMetadataRequest(), 12, ""}} {
		c.request.SetVersion(c.version)
		r := &KafkaRequest{Key: c.request.Key(), Version: c.version, Body: c.request.AppendTo(nil)}
		got := r.Member()
		if r.Body = nil; got != c.want || r.Member() != c.want {
			t.Errorf("request %d names %q, then %q, want %q", r.Key, got, r.Member(), c.want)
		}
	}
}
