package consumer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"rivulet/event"
	"rivulet/event/json"
	"rivulet/internal/devstack"
	"rivulet/test/expect"
)

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// packed is a record batch that zstd packs as it is written, so that nobody needs memory for what it unpacks to.
type packed struct {
	t     testing.TB
	body  bytes.Buffer
	into  *zstd.Encoder
	count int
}

func newPacked(t testing.TB) *packed {
	t.Helper()
	p := &packed{t: t}
	var err error
	if p.into, err = zstd.NewWriter(&p.body, zstd.WithEncoderConcurrency(1)); err != nil {
		t.Fatal(err)
	}
	return p
}

// add writes a record whose value has n bytes.
func (p *packed) add(key string, value io.Reader, n int64) {
	p.t.Helper()
	head := binary.AppendVarint([]byte{0, 0}, int64(p.count)) // attributes, time, offset
	head = append(binary.AppendVarint(head, int64(len(key))), key...)
	head = binary.AppendVarint(head, n)
	if _, err := p.into.Write(append(binary.AppendVarint(nil, int64(len(head))+n+1), head...)); err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.CopyN(p.into, value, n); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.into.Write([]byte{0}); err != nil { // no headers
		p.t.Fatal(err)
	}
	p.count++
}

// produce sends the batch to partition 0 of the arrivals, and returns its size.
func (p *packed) produce(s *stack) int {
	p.t.Helper()
	if err := p.into.Close(); err != nil {
		p.t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	batch := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, Attributes: 4, LastOffsetDelta: int32(p.count - 1),
		FirstTimestamp: now,
		MaxTimestamp:   now, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(p.count),
		Records: p.body.Bytes()}
	batch.Length = int32(len(batch.AppendTo(nil)) - 12)
	batch.CRC = int32(crc32.Checksum(batch.AppendTo(nil)[21:], crc32.MakeTable(crc32.Castagnoli)))
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = batch.AppendTo(nil)
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = arrivalsTopic, []kmsg.ProduceRequestTopicPartition{partition}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 10_000, []kmsg.ProduceRequestTopic{topic}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.MaxVersions(kversion.V2_5_0()))
	if err != nil {
		p.t.Fatal(err)
	}
	defer client.Close()
	answer, err := req.RequestWith(p.t.Context(), client)
	if err != nil || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		p.t.Fatalf("sending the batch: %v, %+v", err, answer)
	}
	return len(partition.Records)
}

// peakHeap watches the heap in use; most returns by how many bytes it exceeded its size at the beginning.
func peakHeap(t testing.TB) (most func() uint64) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	before, stop, done := inUse(), make(chan struct{}), make(chan struct{})
	var peak atomic.Uint64
	go func() {
		defer close(done)
		for {
			peak.Store(max(peak.Load(), inUse()))
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return max(peak.Load(), before) - before
	}
}

// A few KiB that unpack to 256 MiB take no memory; what came with them is predicted.
func TestACompressionBombIsADeadLetter(t *testing.T) {
	s, seen := newStackOn(t, devstack.KafkaOptions{Topics: map[string]int{arrivalsTopic: 1, predictionsTopic: 1,
		lettersTopic: 1}}), &recorder{}
	bomb := newPacked(t)
	good := func() {
		a := arrival(fmt.Sprintf("n%d", s.sent), "t0")
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(t, err)
		bomb.add(fmt.Sprintf("key-%d", s.sent), bytes.NewReader(value), int64(len(value)))
		s.sent++
	}
	good()
	bomb.add("bomb", zeros{}, 256<<20)
	good()
	size := bomb.produce(s)
	bomb.into = nil
	s.send(1)

	most := peakHeap(t)
	o := s.options(seen)
	o.Source.FetchBytes, o.Path.Limits = 64<<10, event.Limits{RecordBytes: 1 << 20, Edges: 10000}
	stop := s.start(o)
	s.wait("all is committed", func() bool { return s.committed() == 4 })
	peak := most()
	expect.OK(t, stop())
	t.Logf("%d bytes of a batch unpack to 256 MiB; the heap grew by %d KiB at most", size, peak>>10)
	if peak > 32<<20 {
		t.Errorf("the heap grew by %d MiB, want 32 at most", peak>>20)
	}
	s.check()
	letters := s.published(lettersTopic)
	if len(letters) != 1 || string(letters[0].Key) != "bomb" {
		t.Fatalf("dead letters: %+v, want one for the bomb", letters)
	}
	headers := map[string]string{}
	for _, h := range letters[0].Headers {
		headers[h.Key] = string(h.Value)
	}
	if headers[event.HeaderReason] != event.ReasonTooLarge || headers[event.HeaderSourceOffset] != "1" ||
		!strings.Contains(headers[event.HeaderDetail], "268435460 bytes") {
		t.Errorf("the dead letter says %v", headers)
	}
}
