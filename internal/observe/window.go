package observe

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rivulet/consumer/window"
	"rivulet/kafka"
)

// windows are the metrics of arrivals that wait for edges, over all partitions of this member.
type windows struct {
	waiting     *prometheus.GaugeVec
	bytes       prometheus.Gauge
	left, edges *prometheus.CounterVec
	old         prometheus.Counter

	mu  sync.Mutex
	now map[kafka.TopicPartition]window.Stats
}

func newWindows(f promauto.Factory) *windows {
	w := &windows{
		waiting: f.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "edge_wait_records",
			Help: "Arrivals and edges of their own that wait for each other (attach.wait), by kind."}, []string{"kind"}),
		bytes: f.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "edge_wait_bytes",
			Help: "Bytes of the records between those that wait and the last ones that were read."}),
		left: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "edge_wait_arrivals_total",
			Help: "Arrivals that have waited for edges, by why they wait no longer: complete, late, crowded, superseded, idle."},
			[]string{"outcome"}),
		edges: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "edge_wait_edges_total",
			Help: "Edges of their own: joined to an arrival, or unmatched."}, []string{"outcome"}),
		old: f.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "old_edges_total",
			Help: "Edges of their own between two nodes of the graph, for the next refresh."}),
		now: make(map[kafka.TopicPartition]window.Stats),
	}
	w.add(window.Stats{})
	return w
}

// add counts the arrivals and edges that have left a window.
func (w *windows) add(s window.Stats) {
	for k, n := range s.Left {
		w.left.WithLabelValues(window.OutcomeNames[k]).Add(float64(n))
	}
	w.edges.WithLabelValues("joined").Add(float64(s.Joined))
	w.edges.WithLabelValues("unmatched").Add(float64(s.Unmatched))
}

// set takes what a partition's window says.
func (w *windows) set(at kafka.TopicPartition, s window.Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(s)
	w.now[at] = s
	w.show()
}

// assign forgets partitions that are not this member's any more.
func (w *windows) assign(partitions []kafka.TopicPartition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.now, func(at kafka.TopicPartition, _ window.Stats) bool {
		return !slices.Contains(partitions, at)
	})
	w.show()
}

func (w *windows) show() {
	var sum window.Stats
	for _, s := range w.now {
		sum.Arrivals, sum.Edges, sum.Bytes = sum.Arrivals+s.Arrivals, sum.Edges+s.Edges, sum.Bytes+s.Bytes
	}
	w.waiting.WithLabelValues("arrival").Set(float64(sum.Arrivals))
	w.waiting.WithLabelValues("edge").Set(float64(sum.Edges))
	w.bytes.Set(float64(sum.Bytes))
}
