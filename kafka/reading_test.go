package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

type plainRecord struct {
	Key, Value []byte
	Headers    []Header
	Stamp      int64
}

// committed reads a topic with another client's read-committed consumer, up to the last stable offsets.
func (b *bench) committed(topic string) (out []plainRecord) {
	b.t.Helper()
	left := b.offsets(topic, kafkago.ReadCommitted)
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.kafka.Addrs()...), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(10*time.Millisecond))
	if err != nil {
		b.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for id, end := range left {
		if end == 0 {
			delete(left, id)
		}
	}
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			b.t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if end := left[int(r.Partition)]; r.Offset+1 >= end { // the last one is the end of a transaction
				delete(left, int(r.Partition))
			}
			if r.Attrs.IsControl() {
				return
			}
			p := plainRecord{Key: r.Key, Value: r.Value, Stamp: r.Timestamp.UnixMilli()}
			for _, h := range r.Headers {
				p.Headers = append(p.Headers, Header{Key: h.Key, Value: h.Value})
			}
			out = append(out, p)
		})
	}
	return out
}

// offsets are where the partitions of a topic end for readers of the level.
func (b *bench) offsets(topic string, level kafkago.IsolationLevel) map[int]int64 {
	b.t.Helper()
	var asked []kafkago.OffsetRequest
	for id := range b.kafka.Cluster.PartitionInfos(topic) {
		asked = append(asked, kafkago.LastOffsetOf(id))
	}
	r, err := b.client.ListOffsets(context.Background(), &kafkago.ListOffsetsRequest{IsolationLevel: level,
		Topics: map[string][]kafkago.OffsetRequest{topic: asked}})
	if err != nil {
		b.t.Fatal(err)
	}
	ends := make(map[int]int64)
	for _, p := range r.Topics[topic] {
		if errors.Is(p.Error, kafkago.NotLeaderForPartition) {
			return b.offsets(topic, level) // until the transport has heard of the change
		}
		if p.Error != nil {
			b.t.Fatal(p.Error)
		}
		ends[p.Partition] = p.LastOffset
	}
	return ends
}

func sum(offsets map[int]int64) (n int64) {
	for _, offset := range offsets {
		n += offset
	}
	return n
}

func (b *bench) lastStable(topic string) int64 { return sum(b.offsets(topic, kafkago.ReadCommitted)) }
func (b *bench) ends(topic string) int64       { return sum(b.offsets(topic, kafkago.ReadUncommitted)) }

// join makes a member of the group g; leave takes it out again.
func (b *bench) join() (g member, leave func()) {
	b.t.Helper()
	group, err := kafkago.NewConsumerGroup(kafkago.ConsumerGroupConfig{ID: "g", Brokers: b.kafka.Addrs(),
		Topics: []string{"arrivals"}})
	if err != nil {
		b.t.Fatal(err)
	}
	generation, err := group.Next(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return member{Group: "g", ID: generation.MemberID, Generation: generation.ID}, func() {
		if err := group.Close(); err != nil {
			b.t.Error(err)
		}
	}
}

// cutAfter makes the producer's connections lose the answers to the first n requests with the key: the broker has done
// what was asked.
func (b *bench) cutAfter(key int16, n int32) *cutter {
	c := &cutter{key: key}
	c.left.Store(n)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &cutConn{Conn: conn, c: c}, err
	}
	b.way = b.connect()
	b.way.dialWith(dial)
	return c
}

type cutter struct {
	key  int16
	left atomic.Int32
}

// cutConn carries one request at a time, as kafka-go's connections do.
type cutConn struct {
	net.Conn
	c   *cutter
	cut bool // the next answer is lost
}

// Write looks at the key of a request; kafka-go writes the beginning of each at once.
func (c *cutConn) Write(data []byte) (int, error) {
	const size, key = 0, 4 // of the fields of a request
	if len(data) > 8 && binary.BigEndian.Uint32(data[size:]) < 1<<24 &&
		int16(binary.BigEndian.Uint16(data[key:])) == c.c.key &&
		c.c.left.Add(-1) >= 0 {
		c.cut = true
	}
	return c.Conn.Write(data)
}

func (c *cutConn) Read(data []byte) (int, error) {
	if !c.cut {
		return c.Conn.Read(data)
	}
	if _, err := io.ReadFull(c.Conn, make([]byte, 4)); err != nil { // the broker has answered
		return 0, err
	}
	return 0, errors.New("the connection was cut")
}
