package bench

import (
	"slices"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/internal/quantile"
	"rivulet/kafka"
)

// meter measures one stream, as the consumer's observer.
type meter struct {
	consumer.NopObserver
	want    int
	reached func()        // called once, when want arrivals are delivered
	joined  chan struct{} // closed when partitions are assigned

	mu          sync.Mutex
	start       time.Time // when the first arrival is due at a pace; zero: no pace
	pace        float64   // arrivals a second by which they are due; 0: no latencies are taken
	warm        int       // arrivals before them, which are not due at any time
	begun, last *spent
	delivered   int
	letters     int
	late        []time.Duration // per arrival, from when it was due until published
}

func newMeter(want int) *meter { return &meter{want: want, joined: make(chan struct{})} }

// Rebalance is called when the group has assigned partitions: the clock begins.
func (m *meter) Rebalance(assigned []kafka.TopicPartition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(assigned) > 0 && m.begun == nil {
		m.begun = stamp()
		close(m.joined)
	}
}

// Batch is called when a batch is published and committed.
func (m *meter) Batch(s consumer.BatchStats) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range s.Delivered.Predictions {
		m.publishedAt(s.Delivered.Predictions[i].ID, s.Published)
	}
	m.letters += len(s.Delivered.DeadLetters)
	m.count(s.Records)
}

// publishedAt takes the latency of an arrival, whose number in the stream ends its id.
func (m *meter) publishedAt(id string, at time.Time) {
	if m.pace == 0 {
		return
	}
	if k, ok := numberOf(id); ok && k >= m.warm {
		m.late = append(m.late, at.Sub(m.start.Add(time.Duration(float64(k-m.warm)/m.pace*float64(time.Second)))))
	}
}

func (m *meter) count(n int) {
	before := m.delivered
	if m.delivered += n; before < m.want && m.delivered >= m.want {
		m.last = stamp()
		m.reached()
	}
}

// progress returns how many arrivals are delivered.
func (m *meter) progress() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.delivered
}

// paced begins a stream whose arrivals, after the first warm ones, are due at a pace; 0: as soon as possible.
func (m *meter) paced(start time.Time, pace float64, warm int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start, m.pace, m.warm, m.begun = start, pace, warm, stamp()
}

// total is the process's use from the beginning to the last arrival.
func (m *meter) total() spent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last.since(*m.begun)
}

// rate returns arrivals a second.
func (m *meter) rate() float64 { return float64(m.want-m.warm) / m.total().wall.Seconds() }

func stamp() *spent {
	at := now()
	return &at
}

// quantiles returns quantiles of the latencies in milliseconds.
func (m *meter) quantiles(of ...float64) []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	slices.Sort(m.late)
	out := make([]float64, len(of))
	for k, q := range of {
		out[k] = quantile.Of(m.late, q)
	}
	return out
}
