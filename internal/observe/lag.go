package observe

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/kafka"
)

// lag keeps one gauge a partition that is assigned here, and none for others: a fetch of the generation before may
// report late, and its gauge would stand still for ever.
type lag struct {
	gauges *prometheus.GaugeVec

	mu       sync.Mutex
	assigned map[kafka.TopicPartition]prometheus.Gauge
}

func newLag(gauges *prometheus.GaugeVec) *lag { return &lag{gauges: gauges} }

func (l *lag) assign(partitions []kafka.TopicPartition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for tp := range l.assigned {
		l.gauges.DeleteLabelValues(tp.Topic, strconv.Itoa(tp.Partition))
	}
	l.assigned = make(map[kafka.TopicPartition]prometheus.Gauge, len(partitions))
	for _, tp := range partitions {
		l.assigned[tp] = nil // no gauge before the lag is known
	}
}

func (l *lag) set(tp kafka.TopicPartition, records int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gauge, ours := l.assigned[tp]
	if !ours {
		return
	}
	if gauge == nil {
		gauge = l.gauges.WithLabelValues(tp.Topic, strconv.Itoa(tp.Partition))
		l.assigned[tp] = gauge
	}
	gauge.Set(float64(records))
}
