// Package fetch sends the fetches of many partitions in one request for each broker, so that connections do not grow
// with partitions.
package fetch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/kafka/retry"
	"rivulet/kafka/wire"
)

// Few is up to how many partitions of a broker a reader fetches each by requests of its own.
const Few = 16

// Bounds of the shared fetches that go to one broker.
const (
	connections = 4       // fetches under way, each on a connection of its own
	answerBytes = 8 << 20 // bytes of an answer for several partitions, beside the first record batch
	// pinned bounds the memory of a partition whose records nobody takes, as a multiple of their bytes, as the other
	// partitions of its answer lie in the same piece of memory. The records of a smaller part are copied.
	pinned = 8
	// shortWait is the time that the last free connection waits for records, so that it is soon free again.
	shortWait = 10 * time.Millisecond
	// gatherTime is the time that a request waits for partitions that are about to come back from others without records.
	gatherTime = 2 * time.Millisecond
	// partitionTime is waited for each partition of a fetch of manyPartitions. A partition takes some 60 bytes of every
	// request and its answer; without the wait a busy partition would have all others' bytes sent for each of its records.
	partitionTime  = 2 * time.Microsecond
	manyPartitions = 100
)

// ErrThrottled is returned where a quota has kept all partitions out of an answer (KIP-219). It is no news of them, not
// even that they have no records. The next request waits for the end of the pause.
var ErrThrottled = errors.New("the broker holds this client to a quota, and sends no records yet")

// Client sends a request to a broker. The answer is nil if the broker speaks no version from least to most.
type Client interface {
	Fetch(ctx context.Context, req *kmsg.FetchRequest, least, most int16, to wire.Target) (*kmsg.FetchResponse, error)
}

// Pool sends the fetches of a client: one request for all partitions of a broker that wait for records. A reader asks
// again once its records have been taken, so a partition whose records nobody takes is left out of the next requests
// and delays no other partition. There is no goroutine: one of the readers that wait for a broker sends the request,
// and hands the others their answers.
//
// A request waits at its broker until one partition has records. A partition that asks meanwhile is sent by another
// connection; all requests to a broker expire at the same time, and go on as one. Where there are records, partitions
// are spread over several requests, so that answers come side by side.
//
// A reader of few partitions asks for each alone, by a connection of its own: no request waits for other partitions,
// and the answers come side by side.
type Pool struct {
	Client Client

	mu     sync.Mutex
	queues map[int32]*queue        // by broker
	beside map[int32]chan struct{} // by broker: who asks it for other things
}

// queue has the fetches that go to one broker.
type queue struct {
	waiting  []*pending // not sent
	inFlight int        // requests
	chosen   *pending   // sends the next request
	expires  time.Time  // when the requests in flight expire
	begun    bool       // there was a request
	idle     bool       // the last request brought nothing, so its partitions come back together
}

// Partition is a fetch of one partition.
type Partition struct {
	At     wire.TopicPartition
	ID     [16]byte // the topic's; zero: not known
	Leader int32    // the broker; -1: not known, then the fetch is sent alone
	Epoch  int32    // the leader's; -1: not known
	Next   int64    // offset
	// Stable and High are the last stable offset and the high watermark of the answer before; -1 before the first.
	Stable, High int64
	MaxBytes     int
	Wait         time.Duration // at the broker, for records
	Clock        retry.Clock
	// Alone says that the fetch shares no request with others. It is for readers which have at most [Few] partitions
	// at the broker.
	Alone bool
}

// pending is a fetch of one partition that has no answer yet.
type pending struct {
	Partition
	send   chan struct{}
	answer chan result
	left   bool // nobody waits for it any more
}

type result struct {
	partition *kmsg.FetchResponseTopicPartition
	err       error
}

// Fetch returns the answer for a partition. If the partition has no news, it may take longer than Wait.
func (f *Pool) Fetch(ctx context.Context, from Partition) (*kmsg.FetchResponseTopicPartition, error) {
	p := &pending{Partition: from, send: make(chan struct{}, 1), answer: make(chan result, 1)}
	if from.Leader < 0 { // the answer says why the leader is not known, at once
		done, err := f.Beside(ctx, from.Leader)
		if err != nil {
			return nil, err
		}
		defer done()
		from.Wait = 0
	}
	if from.Alone || from.Leader < 0 {
		a := f.ask(ctx, []*pending{p}, from.Wait).of(p)
		return a.partition, a.err
	}
	f.mu.Lock()
	q := f.queues[from.Leader]
	if q == nil {
		if f.queues == nil {
			f.queues = make(map[int32]*queue)
		}
		q = new(queue)
		f.queues[from.Leader] = q
	}
	q.waiting = append(q.waiting, p)
	q.goOn()
	f.mu.Unlock()
	for {
		select {
		case a := <-p.answer:
			return a.partition, a.err
		case <-p.send:
			f.send(ctx, q, p)
		case <-ctx.Done():
			f.leave(q, p)
			return nil, context.Cause(ctx)
		}
	}
}

// Beside waits until fewer than [connections] readers ask a broker for other things than records, such as the end of an
// epoch. When a broker has started again all its partitions have something to ask at once, and each request under way
// has a connection of its own. The caller calls done.
func (f *Pool) Beside(ctx context.Context, broker int32) (done func(), err error) {
	f.mu.Lock()
	turns := f.beside[broker]
	if turns == nil {
		if f.beside == nil {
			f.beside = make(map[int32]chan struct{})
		}
		turns = make(chan struct{}, connections)
		f.beside[broker] = turns
	}
	f.mu.Unlock()
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// leave takes a fetch back for which nobody waits any more.
func (f *Pool) leave(q *queue, p *pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.left = true
	q.waiting = slices.DeleteFunc(q.waiting, func(w *pending) bool { return w == p })
	if q.chosen == p {
		q.chosen = nil
	}
	q.goOn()
}

// goOn lets the first waiting fetch send a request, if there is a connection for it.
func (q *queue) goOn() {
	if q.chosen == nil && len(q.waiting) > 0 && q.inFlight < connections {
		q.chosen = q.waiting[0]
		q.chosen.send <- struct{}{}
	}
}

// send sends a request for partitions that wait, and hands out the answers. Partitions without news go on waiting, but
// not that of the sender: every answer shows one goroutine that reading goes on.
func (f *Pool) send(ctx context.Context, q *queue, p *pending) {
	f.mu.Lock()
	pause := q.pause(p.Clock.Now())
	f.mu.Unlock()
	if pause > 0 && retry.Sleep(ctx, p.Clock, pause) != nil {
		return
	}
	f.mu.Lock()
	group := q.take(p)
	wait := q.begin(p)
	q.goOn()
	f.mu.Unlock()
	all := f.ask(ctx, group, wait)

	f.mu.Lock()
	defer f.mu.Unlock()
	q.inFlight--
	q.idle = len(group) > 1
	for _, g := range group {
		a := all.of(g)
		quiet := ctx.Err() != nil || a.err == nil && len(a.partition.RecordBatches) == 0 &&
			a.partition.LastStableOffset == g.Stable && a.partition.HighWatermark == g.High
		q.idle = q.idle && quiet
		switch {
		case g.left:
		case quiet && g != p:
			q.waiting = append(q.waiting, g)
		default:
			g.answer <- a
		}
	}
	q.goOn()
}

// ask sends one request for partitions of one broker, and waits for its answer.
func (f *Pool) ask(ctx context.Context, group []*pending, wait time.Duration) *answers {
	const (
		withEpochs = 11 // Kafka 2.3
		byID       = 13 // Kafka 3.1
	)
	broker := wire.Broker(group[0].Leader)
	if group[0].Leader < 0 {
		broker = wire.Leader(group[0].At)
	}
	return newAnswers(f.Client.Fetch(ctx, request(group, wait), withEpochs, byID, broker))
}

// pause returns how long the next request waits for more partitions.
func (q *queue) pause(now time.Time) (pause time.Duration) {
	if len(q.waiting) > manyPartitions {
		pause = time.Duration(len(q.waiting)) * partitionTime
	}
	if !q.begun || q.idle || q.inFlight > 0 && q.expires.Sub(now) < gatherTime {
		pause = max(pause, gatherTime)
	}
	return pause
}

// take removes the fetches of the next request: p's, and those of other partitions that wait. If nothing came these
// are all; else requests share them, but one connection stays free for partitions that ask later.
func (q *queue) take(p *pending) []*pending {
	most := len(q.waiting)
	if free := connections - 1 - q.inFlight; !q.idle && free > 1 {
		most = (most + free - 1) / free
	}
	group, has := []*pending{p}, map[wire.TopicPartition]bool{p.At: true}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *pending) bool {
		if w == p || has[w.At] || len(group) == most { // the same partition for another reader, or for another request
			return w == p
		}
		has[w.At] = true
		group = append(group, w)
		return true
	})
	return group
}

// begin notes a request in flight, and returns how long it may wait at the broker.
func (q *queue) begin(p *pending) time.Duration {
	q.chosen, q.begun, q.idle = nil, true, false
	now, short := p.Clock.Now(), min(shortWait, p.Wait)
	left := q.expires.Sub(now)
	switch q.inFlight++; {
	case q.inFlight == connections:
		return short
	case q.inFlight > 1 && left >= short && left <= p.Wait: // else they have expired, or the clock was set
		return left
	}
	q.expires = now.Add(p.Wait)
	return p.Wait
}

// request returns a request for partitions.
func request(group []*pending, wait time.Duration) *kmsg.FetchRequest {
	type topic struct {
		name string
		id   [16]byte
	}
	req, bytes, places := kmsg.NewPtrFetchRequest(), 0, make(map[topic]int, 1)
	for _, g := range group {
		place, has := places[topic{g.At.Topic, g.ID}]
		if !has {
			place = len(req.Topics)
			places[topic{g.At.Topic, g.ID}] = place
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = g.At.Topic, g.ID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.FetchOffset = int32(g.At.Partition), g.Epoch, g.Next
		p.PartitionMaxBytes = int32(g.MaxBytes)
		req.Topics[place].Partitions = append(req.Topics[place].Partitions, p)
		if bytes += g.MaxBytes; bytes > answerBytes {
			bytes = max(answerBytes, g.MaxBytes)
		}
	}
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(wait.Milliseconds()), 1, int32(bytes)
	req.IsolationLevel, req.SessionEpoch = int8(kafkago.ReadCommitted), -1
	return req
}

// answers are the answers of a request by partition. Topics have a name there or an id.
type answers struct {
	err       error
	byName    map[wire.TopicPartition]*kmsg.FetchResponseTopicPartition
	byID      map[[16]byte]map[int32]*kmsg.FetchResponseTopicPartition
	bytes     int  // of the records of all partitions
	throttled bool // it has no partitions, for a quota
}

func newAnswers(m *kmsg.FetchResponse, err error) *answers {
	a := &answers{err: err, byName: make(map[wire.TopicPartition]*kmsg.FetchResponseTopicPartition),
		byID: make(map[[16]byte]map[int32]*kmsg.FetchResponseTopicPartition)}
	switch {
	case err != nil:
		return a
	case m == nil:
		a.err = kafkago.UnsupportedVersion
		return a
	}
	a.err, a.throttled = wire.Failure(m.ErrorCode), m.ThrottleMillis > 0 && len(m.Topics) == 0
	for i := range m.Topics {
		t := &m.Topics[i]
		ofID := make(map[int32]*kmsg.FetchResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			a.bytes += len(p.RecordBatches)
			if t.Topic != "" {
				a.byName[wire.TopicPartition{Topic: t.Topic, Partition: int(p.Partition)}] = p
			} else {
				ofID[p.Partition] = p
			}
		}
		if t.Topic == "" {
			a.byID[t.TopicID] = ofID
		}
	}
	return a
}

// of returns the answer for a partition.
func (a *answers) of(g *pending) result {
	if a.err != nil {
		return result{err: a.err}
	}
	p := a.byName[g.At]
	if p == nil {
		p = a.byID[g.ID][int32(g.At.Partition)]
	}
	if p == nil && a.throttled {
		return result{err: ErrThrottled}
	}
	if p == nil {
		return result{err: errors.New("the broker did not answer for this partition")}
	}
	if len(p.RecordBatches)*pinned < a.bytes {
		p.RecordBatches = slices.Clone(p.RecordBatches)
	}
	return result{p, wire.Failure(p.ErrorCode)}
}
