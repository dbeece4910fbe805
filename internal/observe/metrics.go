package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/build"
	"rivulet/internal/monitor"
	"rivulet/kafka"
	"rivulet/mapping"
)

const namespace = "rivulet"

var (
	// stageBuckets go from 50 µs to 3 s by doubling.
	stageBuckets = prometheus.ExponentialBuckets(50e-6, 2, 17)
	// endToEndBuckets are dense around the latencies of a stream with 5 ms of linger.
	endToEndBuckets = []float64{.001, .002, .005, .01, .015, .02, .025, .05, .075, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	// batchBuckets go from 1 to 16384 records by doubling.
	batchBuckets = prometheus.ExponentialBuckets(1, 2, 15)
)

// metrics holds the metrics that doc.go describes.
type metrics struct {
	registry *prometheus.Registry

	bytes, isolated, dropped, otherSchema, lookups, fetched, rebalances, abstained, degraded prometheus.Counter

	predictions, drops, values, weights, forgotten, skipped, retries, lost, throttled *prometheus.CounterVec

	known, attached, inBatch, unknown prometheus.Counter

	solved, residual prometheus.Counter

	versions *byVersion
	assigned prometheus.Gauge
	lag      *lag
	windows  *windows

	batchRecords, endToEnd prometheus.Histogram
	stages                 [len(stageNames)]prometheus.Observer
}

// stageNames are the values of the label stage. Features is observed of batches that look some up, the last two of
// batches that solve rows.
var stageNames = [...]string{"decode", "lookup", "attach", "infer", "encode", "wait", "publish", "commit", "features",
	"solve", "keep"}

// newRegistry returns a registry with the metrics of this process: of its build, of Go and of the system.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return registry
}

func newMetrics(opts monitor.Options, health *health) *metrics {
	registry := newRegistry()
	registry.MustRegister(artifactInfo(opts.Version), readiness(health.ready),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "stalled_seconds",
			Help: "How long a batch in hand has waited without any delivery, or an arrival for edges beyond attach.wait; " +
				"0: the stream moves."},
			func() float64 { lasts, _ := health.stalledFor(); return lasts.Seconds() }),
	)
	if opts.Cache != nil {
		registry.MustRegister(cacheCollector(opts.Cache))
	}

	if opts.Losses != nil {
		registry.MustRegister(lossesCollector(opts.Losses))
	}
	if opts.Arrivals != nil {
		registry.MustRegister(arrivalsCollector(opts.Arrivals))
	}

	f := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return f.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	}
	neighbours := counters("neighbours_total", "Neighbours of arrivals that were predicted, by kind.", "kind")
	stages := f.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "stage_seconds", Help: "Time of a micro-batch in each stage.", Buckets: stageBuckets,
	}, []string{"stage"})

	predictions := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "predictions_total",
		Help: "Predictions published, by class."}, []string{"class"})
	registry.MustRegister(byClass{predictions, opts.Classes})

	m := &metrics{
		registry: registry,
		versions: newByVersion(opts.Version),
		bytes:    counter("arrival_bytes_total", "Bytes of the keys and values of those records."),
		isolated: counter("isolated_arrivals_total",
			"Arrivals without a neighbour to attach to, predicted from their features alone."),
		dropped: counter("dropped_edges_total",
			"Entries of edge lists that named the arrival itself or a neighbour twice."),
		lookups: counter("row_lookups_total",
			"Rows of M that were asked for: one for each edge if M is in memory, else one for each distinct id of a "+
				"micro-batch."),
		fetched: counter("feature_lookups_total",
			"Arrivals whose records brought no features, which were looked up by id."),
		rebalances: counter("rebalances_total", "Generations of the consumer group that this member took part in."),
		abstained: counter("abstained_predictions_total",
			"Predictions whose probability was below the abstention threshold."),
		degraded: counter("degraded_predictions_total",
			"Predictions that lack rows of M which could not be read, because Redis was down, or had lost or damaged them."),
		predictions: predictions,
		otherSchema: counter("other_schema_records_total",
			"Arrivals with features by name whose header rivulet-schema has another hash than the artifact's schema."),
		values: counters("feature_values_total",
			"Values of features by name that are missing, or are unknown: categories that the table did not have, or too "+
				"rarely.", "feature", "value"),
		weights: counters("edge_weights_total",
			"Edges whose weight, direction or type was read as another one: ignored (the artifact's edges have none) and "+
				"missing (the arrival gives none) as 1, above (all weights of the training graph) by the tables of the heaviest, "+
				"direction and type (the artifact's edges have none) as one without; unknown_type (the artifact's edges have "+
				"none of this name, or the arrival gives none) as an edge to an unknown neighbour.", "reading"),
		drops: counters("dropped_records_total", "Records that no topic takes in any form, by the brokers' reason.",
			"reason"),
		forgotten: counters("forgotten_ids_total",
			"Ids that records asked to forget, by whether something was stored of them: removed or unknown.", "outcome"),
		skipped: counters("skipped_records_total", "Records that are no arrivals and nothing is wrong with, by kind.",
			"kind"),
		retries: counters("retries_total", "Repeated attempts, by stage.", "stage"),
		throttled: counters("throttled_seconds_total",
			"Pauses that brokers asked for by a quota, by the requests that wait for their end.", "requests"),
		lost: counters("lost_records_total",
			"Records of the input that are gone, by reason, as far as their number is known.", "reason"),
		solved: counter("arrival_solves_total", "Arrivals for which a row of M was solved."),
		residual: counter("arrival_residual_total",
			"Sum over these arrivals of the share of the squared norm of their messages that their rows do not reproduce."),
		known:    neighbours.WithLabelValues("known"),
		attached: neighbours.WithLabelValues("arrival"),
		inBatch:  neighbours.WithLabelValues("in_batch"),
		unknown:  neighbours.WithLabelValues("unknown"),
		assigned: f.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "assigned_partitions", Help: "Partitions that are assigned to this member."}),
		lag: newLag(f.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "lag_records",
			Help: "Records between the next one to read and the end of the partition, and those that wait in " +
				"attach.wait."},
			[]string{"topic", "partition"})),
		windows:      newWindows(f),
		batchRecords: histogram("batch_records", "Records of a micro-batch.", batchBuckets),
		endToEnd: histogram("end_to_end_seconds", "Time from an arrival's record timestamp to its published prediction.",
			endToEndBuckets),
	}
	for k, name := range stageNames {
		m.stages[k] = stages.WithLabelValues(name)
	}
	registry.MustRegister(m.versions)
	m.startAtZero()
	return m
}

// startAtZero makes the known labels visible, so that a rate sees their first event.
func (m *metrics) startAtZero() {
	for _, reason := range []string{kafka.RefusedTooLarge, kafka.RefusedRecord} {
		m.drops.WithLabelValues(reason)
	}
	for _, reading := range []string{"ignored", "missing", "above", "direction", "type", "unknown_type"} {
		m.weights.WithLabelValues(reading)
	}
	for _, outcome := range []string{"removed", "unknown"} {
		m.forgotten.WithLabelValues(outcome)
	}
	for _, kind := range read.Skips {
		m.skipped.WithLabelValues(string(kind))
	}
	for _, stage := range []string{consumer.StageVersion, consumer.StageTopics, consumer.StageGroup,
		consumer.StageOffsets,
		consumer.StageFetch, consumer.StageLookup, consumer.StageRows, consumer.StageSchemas, consumer.StageStore,
		consumer.StagePublish} {
		m.retries.WithLabelValues(stage)
	}
	for _, requests := range kafka.ThrottledRequests() {
		m.throttled.WithLabelValues(requests)
	}
	for _, reason := range kafka.LostReasons {
		m.lost.WithLabelValues(reason)
	}
}

func (m *metrics) batch(s consumer.BatchStats) {
	m.versions.count(s.Version, s.Records, s.Delivered.DeadLetters)
	m.bytes.Add(float64(s.Bytes))
	m.known.Add(float64(s.Known))
	m.attached.Add(float64(s.Arrivals))
	m.inBatch.Add(float64(s.InBatch))
	m.unknown.Add(float64(s.Unknown))
	m.isolated.Add(float64(s.Isolated))
	m.dropped.Add(float64(s.Dropped))
	m.otherSchema.Add(float64(s.OtherSchema))
	for _, of := range s.Values {
		m.values.WithLabelValues(of.Feature, "missing").Add(float64(of.Missing))
		m.values.WithLabelValues(of.Feature, "unknown").Add(float64(of.Unseen))
	}
	m.weights.WithLabelValues("ignored").Add(float64(s.Weights.Ignored))
	m.weights.WithLabelValues("missing").Add(float64(s.Weights.Missing))
	m.weights.WithLabelValues("direction").Add(float64(s.Weights.Directions))
	m.weights.WithLabelValues("above").Add(float64(s.Weights.Above))
	m.weights.WithLabelValues("type").Add(float64(s.Weights.Types))
	m.weights.WithLabelValues("unknown_type").Add(float64(s.Weights.Unknown))
	m.windows.old.Add(float64(s.OldEdges))
	m.lookups.Add(float64(s.Lookups))
	m.batchRecords.Observe(float64(s.Records))

	m.forgotten.WithLabelValues("removed").Add(float64(s.Forgotten))
	m.forgotten.WithLabelValues("unknown").Add(float64(s.Forgets - s.Forgotten))
	for _, kind := range s.Skipped {
		m.skipped.WithLabelValues(string(kind)).Inc()
	}
	took := [...]time.Duration{s.Decode, s.Lookup, s.Attach, s.Infer, s.Encode, s.Wait, s.Publish, s.Commit,
		s.Features, s.Solve, s.Keep}
	for k, d := range took {
		switch stageNames[k] {
		case "features":
			if s.Fetched == 0 {
				continue
			}
		case "solve", "keep":
			if s.Solve == 0 {
				continue
			}
		}
		m.stages[k].Observe(d.Seconds())
	}
	m.fetched.Add(float64(s.Fetched))
	m.solved.Add(float64(s.Solved))
	m.residual.Add(s.Residual)

	// One addition per class and batch: finding a counter by its label costs more than counting.
	classes, abstained, degraded := map[string]int{}, 0, 0
	for i := range s.Delivered.Predictions {
		p := &s.Delivered.Predictions[i]
		classes[p.ClassName]++
		if p.Abstained {
			abstained++
		}
		if p.Degraded {
			degraded++
		}
		if !p.IngestTime.IsZero() {
			m.took(latency(p.IngestTime, s.Published).Seconds(), &p.Trace)
		}
	}
	m.abstained.Add(float64(abstained))
	m.degraded.Add(float64(degraded))
	for class, n := range classes {
		m.predictions.WithLabelValues(class).Add(float64(n))
	}
}

// took observes the seconds that an arrival took, with the id of its trace as an exemplar if it has one.
func (m *metrics) took(seconds float64, of *event.TraceContext) {
	id, traced := of.Sampled()
	exemplars, ok := m.endToEnd.(prometheus.ExemplarObserver)
	if !traced || !ok {
		m.endToEnd.Observe(seconds)
		return
	}
	exemplars.ObserveWithExemplar(seconds, prometheus.Labels{"trace_id": id})
}

// latency returns to−from, but 0 if the producer's clock is ahead of ours.
func latency(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

func buildInfo() prometheus.Collector {
	b := build.Read()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "The build of this program; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Commit, "go_version": b.Go},
	})
	g.Set(1)
	return g
}

// collectorFunc collects the results of a function at the time of a scrape.
type collectorFunc struct {
	descs   []*prometheus.Desc
	collect func(ch chan<- prometheus.Metric)
}

func (c collectorFunc) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c collectorFunc) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

// readiness is the answer of /readyz as a metric, for alerts.
func readiness(ready func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "ready",
		Help: "1 if /readyz answers that the consumer is ready, 0 if not."}, func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
}

// byClass is a counter by class that begins at 0 for the classes of the version that is served.
type byClass struct {
	*prometheus.CounterVec
	classes func() []string
}

// Collect implements [prometheus.Collector].
func (c byClass) Collect(ch chan<- prometheus.Metric) {
	for _, class := range c.classes() {
		c.WithLabelValues(class)
	}
	c.CounterVec.Collect(ch)
}

func artifactInfo(version func() string) prometheus.Collector {
	desc := prometheus.NewDesc(namespace+"_artifact_info", "The version of the artifact that is served; always 1.",
		[]string{"version"}, nil)
	return collectorFunc{[]*prometheus.Desc{desc}, func(ch chan<- prometheus.Metric) {
		if v := version(); v != "" {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 1, v)
		}
	}}
}

func cacheCollector(stats func() mapping.CacheStats) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_cache_"+name, help, nil, nil)
	}
	hits := desc("hits_total", "Rows of M that were found in memory.")
	misses := desc("misses_total", "Rows of M that were not found in memory.")
	entries := desc("entries", "Rows of M in memory.")
	size := desc("bytes", "Estimated memory of these rows in bytes.")
	return collectorFunc{[]*prometheus.Desc{hits, misses, entries, size}, func(ch chan<- prometheus.Metric) {
		s := stats()
		ch <- prometheus.MustNewConstMetric(hits, prometheus.CounterValue, float64(s.Hits))
		ch <- prometheus.MustNewConstMetric(misses, prometheus.CounterValue, float64(s.Misses))
		ch <- prometheus.MustNewConstMetric(entries, prometheus.GaugeValue, float64(s.Entries))
		ch <- prometheus.MustNewConstMetric(size, prometheus.GaugeValue, float64(s.Bytes))
	}}
}
