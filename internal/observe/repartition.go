package observe

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rivulet/consumer"
	"rivulet/internal/repartition"
	"rivulet/kafka"
)

// Repartition observes the repartition of other topics in the same process. It adds its lag, dead letters and retries
// to the consumer's metrics; neither is ready or alive without the other.
type Repartition struct {
	of      *Observer
	health  *health
	lag     *lag
	records *prometheus.CounterVec
	delay   prometheus.Histogram
}

var _ repartition.Observer = (*Repartition)(nil)

// Repartition returns the observer of the repartition. It is called once, before anything is served.
func (o *Observer) Repartition() *Repartition {
	f := promauto.With(o.metrics.register)
	r := &Repartition{of: o, lag: newLag(o.metrics.lag.gauges),
		health: newHealth(Options{Clock: o.health.clock, StallAfter: o.health.stallAfter,
			Version: func() string { return "none is needed" }}),
		records: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "repartition_records_total",
			Help: "Records of other topics that were brought to the topic of arrivals, by outcome: node, edge, forget, " +
				"skipped, dead_letter."}, []string{"outcome"}),
		delay: f.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "repartition_seconds",
			Help: "Time from a record's timestamp until it was committed to the topic of arrivals.", Buckets: endToEndBuckets})}
	for _, name := range repartition.OutcomeNames {
		r.records.WithLabelValues(name)
	}
	o.health.repartition = r.health
	return r
}

// Retry counts a repeated attempt.
func (r *Repartition) Retry(stage string, err error) {
	r.health.retried(stage, err)
	if stage == consumer.StageGroup {
		r.health.left()
	}
	r.of.metrics.retries.WithLabelValues(stage).Inc()
}

// Lost counts records that are gone.
func (r *Repartition) Lost(reason string, records int64) { r.of.Lost(reason, records) }

// Rebalance takes note of a generation of the group.
func (r *Repartition) Rebalance(assigned []kafka.TopicPartition) {
	r.health.joined(len(assigned))
	r.lag.assign(assigned)
}

// Lag sets the lag of a partition.
func (r *Repartition) Lag(at kafka.TopicPartition, lag int64) {
	r.health.sign()
	r.lag.set(at, lag)
}

// Committed counts the records of a transaction.
func (r *Repartition) Committed(s repartition.Stats) {
	r.health.delivered()
	for k, n := range s.Outcomes {
		r.records.WithLabelValues(repartition.OutcomeNames[k]).Add(float64(n))
	}
	for _, reason := range s.DeadLetters {
		r.of.DeadLetter(reason)
	}
	for _, reason := range s.Dropped {
		r.of.Dropped(reason)
	}
	for _, t := range s.Times {
		r.delay.Observe(max(0, s.At.Sub(t).Seconds()))
	}
}
