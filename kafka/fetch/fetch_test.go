package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
	"rivulet/test/expect"
)

// broker answers requests as Kafka does: at once where a partition has records, else after the request's wait.
type broker struct {
	mu       sync.Mutex
	records  map[int32][]byte
	fails    map[int32]kafkago.Error
	requests [][]int32
	inFlight int
	most     int
	wake     chan struct{} // closed when there are more records
}

func newBroker() *broker {
	return &broker{records: map[int32][]byte{}, fails: map[int32]kafkago.Error{}, wake: make(chan struct{})}
}

func (b *broker) write(partition int32, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records[partition] = []byte(text)
	close(b.wake)
	b.wake = make(chan struct{})
}

// Fetch answers a request.
func (b *broker) Fetch(ctx context.Context, req *kmsg.FetchRequest, _, _ int16, _ wire.Target) (*kmsg.FetchResponse,
	error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight++
	defer func() { b.inFlight-- }()
	b.most = max(b.most, b.inFlight)
	var asked []int32
	for _, p := range req.Topics[0].Partitions {
		asked = append(asked, p.Partition)
	}
	b.requests = append(b.requests, asked)
	over := time.After(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	for {
		m, full := kmsg.NewPtrFetchResponse(), false
		t := kmsg.NewFetchResponseTopic()
		t.Topic = req.Topics[0].Topic
		for _, id := range asked {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.LastStableOffset, p.RecordBatches, p.ErrorCode = id, 0, b.records[id], int16(b.fails[id])
			full = full || len(p.RecordBatches) > 0 || p.ErrorCode != 0
			delete(b.records, id)
			t.Partitions = append(t.Partitions, p)
		}
		m.Topics = append(m.Topics, t)
		if full {
			return m, nil
		}
		wake, ended := b.wake, false
		b.mu.Unlock()
		select {
		case <-wake:
		case <-over:
			ended = true
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ended || ctx.Err() != nil {
			return m, ctx.Err()
		}
	}
}

func at(id int) wire.TopicPartition { return wire.TopicPartition{Topic: "t", Partition: id} }

func partition(id int) Partition {
	return Partition{At: at(id), Epoch: -1, MaxBytes: 1 << 20, Wait: 500 * time.Millisecond, Clock: retry.SystemClock{}}
}

// read asks for a partition until it has records or an error.
func read(ctx context.Context, f *Pool, id int) (string, error) {
	for {
		p, err := f.Fetch(ctx, partition(id))
		if err != nil || len(p.RecordBatches) > 0 {
			if p != nil {
				return string(p.RecordBatches), err
			}
			return "", err
		}
	}
}

// A hundred partitions wait for records for a minute: they take one request each half second.
// Records come at once all the same.
func TestPartitionsShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		f := &Pool{Client: b}
		const partitions = 100
		got := make(chan string, partitions)
		for id := range partitions {
			go func() {
				text, err := read(t.Context(), f, id)
				got <- fmt.Sprint(id, text, err)
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(b.requests); n > 130 || b.most > connections {
			t.Errorf("%d requests in a minute, %d at once", n, b.most)
		}
		begin := time.Now()
		for id := range int32(partitions) {
			b.write(id, "x")
			if text, want := <-got, fmt.Sprint(id, "x<nil>"); text != want {
				t.Errorf("%s, want %s", text, want)
			}
		}
		if took := time.Since(begin); took > partitions*gatherTime || b.most > connections {
			t.Errorf("records came after %v, by %d requests at once", took, b.most)
		}
	})
}

// A partition that fails, and one that nobody asks for, hold no other up.
func TestPartitionsFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		f := &Pool{Client: b}
		b.fails[0] = kafkago.NotLeaderForPartition
		b.write(1, "nobody takes this")
		failed := make(chan error, 1)
		go func() {
			_, err := read(t.Context(), f, 0)
			failed <- err
		}()
		for k := range 10 {
			b.write(2, fmt.Sprint(k))
			if text, err := read(t.Context(), f, 2); err != nil || text != fmt.Sprint(k) {
				t.Errorf("%q, %v", text, err)
			}
		}
		if err := <-failed; !errors.Is(err, kafkago.NotLeaderForPartition) {
			t.Errorf("partition 0: %v", err)
		}
		for _, asked := range b.requests {
			for _, id := range asked {
				if id == 1 {
					t.Error("a partition was asked for that nobody wants")
				}
			}
		}
	})
}

// The reader that has sent the request for all of them stops: the others are asked for anew.
func TestTheSenderStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		f := &Pool{Client: b}
		got := make(chan string)
		contexts := map[int]context.CancelFunc{}
		for id := range 6 {
			ctx, stop := context.WithCancel(t.Context())
			contexts[id] = stop
			go func() {
				text, err := read(ctx, f, id)
				got <- fmt.Sprint(id, text, err)
			}()
		}
		time.Sleep(1300 * time.Millisecond)
		for id := range 5 {
			contexts[id]()
			if text, want := <-got, fmt.Sprint(id, "", context.Canceled); text != want {
				t.Errorf("%s, want %s", text, want)
			}
		}
		synctest.Wait()
		b.write(5, "x")
		if text := <-got; text != "5x<nil>" {
			t.Error(text)
		}
		contexts[5]()
	})
}

// Two readers of one partition, as a page and a consumer in one process are, ask in requests of their own.
func TestOnePartitionTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		f := &Pool{Client: b}
		got := make(chan string)
		for range 2 {
			go func() {
				text, err := read(t.Context(), f, 7)
				got <- fmt.Sprint(text, err)
			}()
		}
		for range 2 {
			synctest.Wait()
			b.write(7, "x")
			if text := <-got; text != "x<nil>" {
				t.Error(text)
			}
		}
		for _, asked := range b.requests {
			if len(asked) != 1 {
				t.Errorf("a request for partitions %v", asked)
			}
		}
	})
}

// An answer for several partitions lies in one piece of memory. A small part of it is copied, as a partition whose
// records nobody takes would keep all of it.
func TestASmallPartOfAnAnswerIsCopied(t *testing.T) {
	body := []byte(strings.Repeat("large", 20) + "one")
	m, topic := kmsg.NewPtrFetchResponse(), kmsg.NewFetchResponseTopic()
	topic.Topic = "t"
	for id, records := range [][]byte{body[:100], body[100:]} {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.RecordBatches = int32(id), records
		topic.Partitions = append(topic.Partitions, p)
	}
	m.Topics = append(m.Topics, topic)
	all := newAnswers(m, nil)
	large, small := all.of(&pending{Partition: partition(0)}), all.of(&pending{Partition: partition(1)})
	clear(body)
	if text := string(small.partition.RecordBatches); text != "one" {
		t.Errorf("a thirtieth of the answer: %q", text)
	}
	if text := string(large.partition.RecordBatches); text != string(body[:100]) {
		t.Errorf("most of the answer was copied: %q", text)
	}
}

// A reader of few partitions sends a request for each, at once, and they do not wait for one another.
func TestFewPartitionsShareNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		f := &Pool{Client: b}
		begin := time.Now()
		b.write(0, "x")
		for id := range 4 {
			from := partition(id)
			from.Alone, from.Leader = id < 2, int32(-id/3) // two that are few, one that is not, one without a leader
			_, err := f.Fetch(t.Context(), from)
			if err != nil || id == 0 && time.Since(begin) > 0 || len(b.requests) != id+1 || len(b.requests[id]) != 1 {
				t.Errorf("partition %d: %v, requests for %v after %v", id, err, b.requests, time.Since(begin))
			}
		}
	})
}

// The answer for many partitions is bounded, and one large partition is always asked for in full.
func TestAnswersAreBounded(t *testing.T) {
	many := make([]*pending, 1000)
	for i := range many {
		many[i] = &pending{Partition: partition(i)}
	}
	if got := request(many, time.Second).MaxBytes; got != answerBytes {
		t.Errorf("%d bytes for 1000 partitions, want %d", got, answerBytes)
	}
	many[3].MaxBytes = 50 << 20
	if got := request(many[:4], time.Second).MaxBytes; got != 50<<20 {
		t.Errorf("%d bytes beside a partition of 50 MiB", got)
	}
}

// When leaders have moved, a few partitions at a time ask each broker beside their fetches, and those of an unknown
// leader; other brokers' have turns of their own.
func TestPartitionsOfMovedLeadersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()

		f, ctx := &Pool{Client: &slow{broker: b}}, t.Context()
		var all sync.WaitGroup
		for id := range 100 {
			all.Go(func() {
				from := partition(id)
				from.Leader = -1
				_, _ = f.Fetch(ctx, from)
			})
		}
		all.Wait()
		if b.most > connections || len(b.requests) != 100 {
			t.Errorf("%d requests, %d of them at a time", len(b.requests), b.most)
		}
		var taken []func()
		for range connections {
			done, err := f.Beside(ctx, 1)
			expect.OK(t, err)
			taken = append(taken, done)
		}
		other, err := f.Beside(ctx, 2)
		expect.OK(t, err)
		other()
		within, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := f.Beside(within, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one more than there are connections: %v", err)
		}
		taken[0]()
		if done, err := f.Beside(ctx, 1); err != nil {
			t.Error(err)
		} else {
			done()
		}
	})
}

// slow answers after a while, whatever a request's wait is.
type slow struct{ *broker }

func (s *slow) Fetch(context.Context, *kmsg.FetchRequest, int16, int16, wire.Target) (*kmsg.FetchResponse, error) {
	s.mu.Lock()
	s.inFlight++
	s.broker.most = max(s.broker.most, s.inFlight)
	s.requests = append(s.requests, nil)
	s.mu.Unlock()
	time.Sleep(time.Second)
	s.mu.Lock()
	s.inFlight--
	s.mu.Unlock()
	return nil, errors.New("no leader")
}
