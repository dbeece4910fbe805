package observe

import (
	"cmp"
	"time"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/internal/monitor"
	"rivulet/kafka"
)

// Observer counts the consumer's events and knows its health. It is safe for concurrent use and has no goroutine.
type Observer struct {
	metrics *metrics
	health  *health
	drift   *drift
	labels  *labels // nil: none are read
}

func init() { monitor.Register(func(o monitor.Options) monitor.Monitor { return New(o) }) }

// New returns an Observer with metrics of its own, in a registry of its own.
func New(opts monitor.Options) *Observer {
	if opts.Clock == nil {
		opts.Clock = consumer.SystemClock{}
	}
	opts.StallAfter = cmp.Or(opts.StallAfter, 2*time.Minute)
	if opts.Reference == nil {
		opts.Reference = func(string) (monitor.Reference, bool) { return monitor.Reference{}, false }
	}
	if opts.Classes == nil {
		opts.Classes = func() []string { return nil }
	}
	health := newHealth(opts)
	o := &Observer{newMetrics(opts, health), health, newDrift(opts.Reference), nil}
	o.metrics.registry.MustRegister(o.drift.collector())
	if opts.Labels != nil {
		o.labels = newLabels(*opts.Labels, opts.Clock, o.metrics.registry)
		o.metrics.retries.WithLabelValues(monitor.StageLabels)
	}
	return o
}

// Batch counts a delivered batch.
func (o *Observer) Batch(s consumer.BatchStats) {
	o.health.delivered()
	o.metrics.batch(s)
	o.drift.batch(&s)
	if o.labels != nil {
		o.labels.predicted(s.Delivered.Predictions)
	}
}

// Label compares a label with its prediction, now or when the prediction comes. Options.Labels must have been set.
func (o *Observer) Label(l *event.Label) { o.labels.label(l) }

// RefuseLabel counts a record that is not a label.
func (o *Observer) RefuseLabel() { o.labels.totals.WithLabelValues(labelRefused).Inc() }

// RetryLabels counts a failure of reading labels. It is no sign that the consumer's loop moves.
func (o *Observer) RetryLabels() { o.metrics.retries.WithLabelValues(monitor.StageLabels).Inc() }

// Dropped counts a record that no topic takes.
func (o *Observer) Dropped(reason string) { o.metrics.drops.WithLabelValues(reason).Inc() }

// Lag sets the lag of a partition.
func (o *Observer) Lag(tp kafka.TopicPartition, lag int64) {
	o.health.sign()
	o.metrics.lag.set(tp, lag)
}

// Window counts the arrivals and edges that have left a partition's window, and shows how many wait.
func (o *Observer) Window(tp kafka.TopicPartition, s window.Stats) {
	o.health.waits(tp, s)
	o.metrics.windows.set(tp, s)
}

// Rebalance counts a generation of the group, and removes the lag of partitions that other members have now.
func (o *Observer) Rebalance(assigned []kafka.TopicPartition) {
	o.health.joined(len(assigned))
	o.metrics.rebalances.Inc()
	o.metrics.assigned.Set(float64(len(assigned)))
	o.metrics.lag.assign(assigned)
	o.metrics.windows.assign(assigned)
}

// Retry counts a repeated attempt. A consumer that waits for its topics or tries to join its group is not ready.
func (o *Observer) Retry(stage string, err error) {
	o.health.retried(stage, err)
	if stage == consumer.StageGroup || stage == consumer.StageTopics {
		o.health.left()
	}
	o.metrics.retries.WithLabelValues(stage).Inc()
}

// Throttled adds up the pauses that brokers ask for.
func (o *Observer) Throttled(requests string, pause time.Duration) {
	o.health.throttled(pause)
	o.metrics.throttled.WithLabelValues(requests).Add(pause.Seconds())
}

// Lost counts records of the input that are gone.
func (o *Observer) Lost(reason string, records int64) {
	o.metrics.lost.WithLabelValues(reason).Add(float64(records))
}
