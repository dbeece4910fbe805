package observe

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"rivulet/event"
)

// versionsKept is the number of versions that keep their counters: a refresh every ten minutes makes a thousand
// versions a week.
const versionsKept = 4

// byVersion counts arrivals and dead letters by the version that answered. The counters of the version that is served
// begin at 0, so that a rate sees the first event; only the newest versions keep theirs.
type byVersion struct {
	arrivals, deadLetters *prometheus.CounterVec
	serving               func() string // "" before the first version

	mu       sync.Mutex
	versions []string // that have counters, the oldest first
}

func newByVersion(serving func() string) *byVersion {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	return &byVersion{serving: serving,
		arrivals: counters("arrivals_total",
			"Records that were read and delivered, as predictions or dead letters, by the version that answered.", "version"),
		deadLetters: counters("dead_letters_total", "Records set aside, by reason and by the version that answered.",
			"reason", "version")}
}

// count adds a batch of a version.
func (b *byVersion) count(version string, records int, letters []event.DeadLetter) {
	b.begin(version)
	b.arrivals.WithLabelValues(version).Add(float64(records))
	for i := range letters {
		b.deadLetters.WithLabelValues(letters[i].Reason, version).Inc()
	}
}

// begin makes the counters of a version. If there are too many versions, it removes the counters of the oldest.
func (b *byVersion) begin(version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if version == "" || slices.Contains(b.versions, version) {
		return
	}
	if b.versions = append(b.versions, version); len(b.versions) > versionsKept {
		old := prometheus.Labels{"version": b.versions[0]}
		b.arrivals.DeletePartialMatch(old)
		b.deadLetters.DeletePartialMatch(old)
		b.versions = b.versions[1:]
	}
	b.arrivals.WithLabelValues(version)
	for _, reason := range event.Reasons {
		b.deadLetters.WithLabelValues(reason.Name, version)
	}
}

// Describe implements [prometheus.Collector].
func (b *byVersion) Describe(ch chan<- *prometheus.Desc) {
	b.arrivals.Describe(ch)
	b.deadLetters.Describe(ch)
}

// Collect implements [prometheus.Collector].
func (b *byVersion) Collect(ch chan<- prometheus.Metric) {
	b.begin(b.serving())
	b.arrivals.Collect(ch)
	b.deadLetters.Collect(ch)
}
