package observe

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"rivulet/consumer"
	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/internal/monitor"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/schema"
	"rivulet/test/expect"
)

// fakeClock moves only when the test moves it.
type fakeClock struct {
	consumer.SystemClock
	now time.Time
}

func (c *fakeClock) Now() time.Time { return c.now }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newTestObserver() (*Observer, *fakeClock) {
	clock := &fakeClock{now: noon}
	return New(monitor.Options{
		Version: func() string { return "v1" },
		Classes: func() []string { return []string{"flash", "lens", "tripod"} },
		Cache:   func() mapping.CacheStats { return mapping.CacheStats{Hits: 40, Misses: 2, Entries: 3, Bytes: 999} },
		Losses:  func() mapping.LossStats { return mapping.LossStats{DamagedRows: 6, EvictedBuckets: 7} },
		Arrivals: func() (arrivals.Stats, bool) {
			return arrivals.Stats{Rows: 30, Bytes: 4000, Written: 20, Refused: 1, Found: 8, Damaged: 4, Lost: 5},
				true
		},
		Clock:     clock,
		Labels:    &monitor.LabelOptions{Remember: 10, TTL: time.Hour},
		Reference: func(string) (monitor.Reference, bool) { return trained(), true },
	}), clock
}

// aBatch returns a batch of three predictions of two classes, one of a producer whose clock is ahead, and a dead
// letter.
func aBatch() consumer.BatchStats {
	return consumer.BatchStats{
		Name: "b", Version: "v1", Records: 4, Bytes: 1000,
		Known: 7, Arrivals: 3, InBatch: 1, Unknown: 2, Isolated: 1, Dropped: 5, OtherSchema: 6, Fetched: 2,
		Values:  []schema.Count{{Feature: "plan", Missing: 2, Unseen: 3, Example: "silver"}},
		Forgets: 3, Forgotten: 2, OldEdges: 13,
		Weights:  consumer.EdgeCounts{Ignored: 7, Missing: 8, Above: 9, Directions: 10, Types: 11, Unknown: 12},
		Features: 3 * time.Millisecond, Lookups: 6,
		Decode: time.Millisecond, Lookup: 2 * time.Millisecond, Attach: 3 * time.Millisecond,
		Infer: 4 * time.Millisecond, Encode: 10 * time.Millisecond, Wait: 5 * time.Millisecond, Publish: 6 * time.Millisecond,
		Commit: 9 * time.Millisecond,
		Solved: 3, Residual: 0.5, Solve: 7 * time.Millisecond, Keep: 8 * time.Millisecond,
		Started: noon, Published: noon.Add(21 * time.Millisecond), Measures: []consumer.Measure{{Norm: 2, Count: 3}},
		Delivered: &event.Batch{
			Predictions: []event.Prediction{
				{ClassName: "lens", IngestTime: noon.Add(-9 * time.Millisecond)},
				{ClassName: "lens", IngestTime: noon.Add(time.Hour)},
				{ClassName: "tripod", Abstained: true, Degraded: true}, // no time known
			},
			DeadLetters: []event.DeadLetter{{Reason: event.ReasonNotFinite}},
		},
	}
}

func observeAll(o *Observer) {
	o.Rebalance([]kafka.TopicPartition{{Topic: "arrivals", Partition: 0}, {Topic: "arrivals", Partition: 1}})
	o.Lag(kafka.TopicPartition{Topic: "arrivals", Partition: 1}, 12)
	o.Throttled("produce", 2500*time.Millisecond)
	o.Window(kafka.TopicPartition{Topic: "arrivals", Partition: 1}, window.Stats{Arrivals: 9, Edges: 9, Bytes: 9,
		Left: [...]int{window.Complete: 1, window.Late: 2, window.Idle: 4}, Joined: 5, Unmatched: 6})
	o.Window(kafka.TopicPartition{Topic: "arrivals", Partition: 0}, window.Stats{Arrivals: 1, Edges: 1, Bytes: 100})
	o.Window(kafka.TopicPartition{Topic: "arrivals", Partition: 1}, window.Stats{Arrivals: 1, Edges: 2, Bytes: 200})
	o.Batch(aBatch())
	o.Label(&event.Label{Class: 0}) // the predictions of aBatch have no ids
	o.Dropped(kafka.RefusedTooLarge)
	o.Retry(consumer.StageFetch, errors.New("broken pipe"))
	o.Lost(kafka.LostRetention, 7)
}

// Arrivals and dead letters count for the version that answered, from 0 on for the one that is served. Only the newest
// versions keep their counters.
func TestDeadLettersAreCountedByVersion(t *testing.T) {
	serving := "v0"
	o := New(monitor.Options{Version: func() string { return serving }})
	batch := func(version string, records, dead int) {
		letters := make([]event.DeadLetter, dead)
		for k := range letters {
			letters[k].Reason = event.ReasonSchema
		}
		o.Batch(consumer.BatchStats{Version: version, Records: records, Delivered: &event.Batch{DeadLetters: letters}})
	}
	expected := func(want string) {
		t.Helper()
		expect.OK(t, testutil.GatherAndCompare(o.metrics.registry, strings.NewReader("# HELP rivulet_arrivals_total Records that "+
			"were read and delivered, as predictions or dead letters, by the version that answered.\n"+
			"# TYPE rivulet_arrivals_total counter\n"+want), "rivulet_arrivals_total"))
	}
	dead := func(version string) float64 {
		return testutil.ToFloat64(o.metrics.versions.deadLetters.WithLabelValues(event.ReasonSchema, version))
	}
	expected("rivulet_arrivals_total{version=\"v0\"} 0\n")
	batch("v0", 10, 1)
	serving = "v1"
	batch("v1", 10, 7)
	batch("v0", 5, 1) // a batch that had begun before the swap
	if dead("v0") != 2 || dead("v1") != 7 {
		t.Errorf("dead letters are counted as %v of v0 and %v of v1, want 2 and 7", dead("v0"), dead("v1"))
	}
	expected("rivulet_arrivals_total{version=\"v0\"} 15\nrivulet_arrivals_total{version=\"v1\"} 10\n")
	for _, serving = range []string{"v2", "v3", "v4"} {
		batch(serving, 1, 0)
	}
	expected("rivulet_arrivals_total{version=\"v1\"} 10\nrivulet_arrivals_total{version=\"v2\"} 1\n" +
		"rivulet_arrivals_total{version=\"v3\"} 1\nrivulet_arrivals_total{version=\"v4\"} 1\n")
}

// A counter whose label is one of the words of the code has all of them at 0 before anything has happened, so that an
// alert sees the first event as an increase.
func TestEveryLabelValueIsThereFromTheStart(t *testing.T) {
	o, _ := newTestObserver()
	families, err := o.metrics.registry.Gather()
	expect.OK(t, err)
	there := map[string]bool{} // name and value of the label
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				there[f.GetName()+" "+l.GetValue()] = true
			}
		}
	}
	for metric, words := range map[string]struct {
		constant string
		files    []string
	}{
		"rivulet_dead_letters_total": {`Reason\w+`, []string{"../../event/reasons.go"}},
		"rivulet_retries_total":      {`Stage\w+`, []string{"../../kafka/retry/retry.go", "../../consumer/observer.go"}},
	} {
		found := 0
		for _, file := range words.files {
			text, err := os.ReadFile(file)
			expect.OK(t, err)
			for _, constant := range regexp.MustCompile(`(?m)^\t`+words.constant+` += "(\w+)"`).FindAllStringSubmatch(
				string(text), -1) {
				found++
				if !there[metric+" "+constant[1]] {
					t.Errorf("%s has no %q before the first", metric, constant[1])
				}
			}
		}
		if found < 5 {
			t.Errorf("%d values of %s are found in %q: the test would see nothing", found, metric, words.files)
		}
	}
	for _, class := range []string{"flash", "lens", "tripod"} {
		if !there["rivulet_predictions_total "+class] {
			t.Errorf("rivulet_predictions_total has no %q before the first", class)
		}
	}
}

// The gauge says what /readyz answers.
func TestReadyIsAMetric(t *testing.T) {
	o, _ := newTestObserver()
	ready := func() string {
		return fmt.Sprint(testutil.ToFloat64(readiness(o.health.ready)))
	}
	before := ready()
	o.Rebalance(nil)
	joined := ready()
	o.Retry(consumer.StageGroup, nil)
	if got := before + joined + ready(); got != "010" {
		t.Errorf("ready is %s before joining, in the group, and without it again; want 010", got)
	}
}

func TestMetrics(t *testing.T) {
	o, _ := newTestObserver()
	observeAll(o)
	const want = `
# HELP rivulet_abstained_predictions_total Predictions whose probability was below the abstention threshold.
# TYPE rivulet_abstained_predictions_total counter
rivulet_abstained_predictions_total 1
# HELP rivulet_arrival_residual_total Sum over these arrivals of the share of the squared norm of their messages ` +
		`that their rows do not reproduce.
# TYPE rivulet_arrival_residual_total counter
rivulet_arrival_residual_total 0.5
# HELP rivulet_arrival_rows Rows of M of arrivals of the version that is served, by all consumers, until they would ` +
		`expire.
# TYPE rivulet_arrival_rows gauge
rivulet_arrival_rows 30
# HELP rivulet_arrival_rows_bytes Approximate memory of these rows in Redis, as attach.max_bytes counts it.
# TYPE rivulet_arrival_rows_bytes gauge
rivulet_arrival_rows_bytes 4000
# HELP rivulet_arrival_rows_damaged_total Stored rows of arrivals that could not be decoded.
# TYPE rivulet_arrival_rows_damaged_total counter
rivulet_arrival_rows_damaged_total 4
# HELP rivulet_arrival_rows_found_total Neighbours' ids that were not in the original graph and had a row.
# TYPE rivulet_arrival_rows_found_total counter
rivulet_arrival_rows_found_total 8
# HELP rivulet_arrival_rows_lost_total Rows of arrivals that were given up because Redis did not take them: ` +
		`redis.outage is degrade, or the version is gone.
# TYPE rivulet_arrival_rows_lost_total counter
rivulet_arrival_rows_lost_total 5
# HELP rivulet_arrival_rows_refused_total Rows of arrivals that were not written, because of attach.max_rows or ` +
		`attach.max_bytes.
# TYPE rivulet_arrival_rows_refused_total counter
rivulet_arrival_rows_refused_total 1
# HELP rivulet_arrival_rows_written_total Rows of arrivals that this process wrote.
# TYPE rivulet_arrival_rows_written_total counter
rivulet_arrival_rows_written_total 20
# HELP rivulet_arrival_solves_total Arrivals for which a row of M was solved.
# TYPE rivulet_arrival_solves_total counter
rivulet_arrival_solves_total 3
# HELP rivulet_arrivals_total Records that were read and delivered, as predictions or dead letters, by the ` +
		`version that answered.
# TYPE rivulet_arrivals_total counter
rivulet_arrivals_total{version="v1"} 4
# HELP rivulet_arrival_bytes_total Bytes of the keys and values of those records.
# TYPE rivulet_arrival_bytes_total counter
rivulet_arrival_bytes_total 1000
# HELP rivulet_artifact_info The version of the artifact that is served; always 1.
# TYPE rivulet_artifact_info gauge
rivulet_artifact_info{version="v1"} 1
# HELP rivulet_assigned_partitions Partitions that are assigned to this member.
# TYPE rivulet_assigned_partitions gauge
rivulet_assigned_partitions 2
# HELP rivulet_cache_bytes Estimated memory of these rows in bytes.
# TYPE rivulet_cache_bytes gauge
rivulet_cache_bytes 999
# HELP rivulet_cache_entries Rows of M in memory.
# TYPE rivulet_cache_entries gauge
rivulet_cache_entries 3
# HELP rivulet_cache_hits_total Rows of M that were found in memory.
# TYPE rivulet_cache_hits_total counter
rivulet_cache_hits_total 40
# HELP rivulet_cache_misses_total Rows of M that were not found in memory.
# TYPE rivulet_cache_misses_total counter
rivulet_cache_misses_total 2
# HELP rivulet_damaged_rows_total Rows of M that were asked for and are damaged in Redis, each time.
# TYPE rivulet_damaged_rows_total counter
rivulet_damaged_rows_total 6
# HELP rivulet_evicted_buckets_total Buckets of M that were asked for and that Redis had lost, though the version ` +
		`is complete, each time.
# TYPE rivulet_evicted_buckets_total counter
rivulet_evicted_buckets_total 7
# HELP rivulet_dead_letters_total Records set aside, by reason and by the version that answered.
# TYPE rivulet_dead_letters_total counter
rivulet_dead_letters_total{reason="content_type",version="v1"} 0
rivulet_dead_letters_total{reason="edge_unmatched",version="v1"} 0
rivulet_dead_letters_total{reason="feature_length",version="v1"} 0
rivulet_dead_letters_total{reason="feature_missing",version="v1"} 0
rivulet_dead_letters_total{reason="feature_type",version="v1"} 0
rivulet_dead_letters_total{reason="feature_unknown",version="v1"} 0
rivulet_dead_letters_total{reason="features_absent",version="v1"} 0
rivulet_dead_letters_total{reason="features_stored",version="v1"} 0
rivulet_dead_letters_total{reason="not_finite",version="v1"} 1
rivulet_dead_letters_total{reason="prediction_refused",version="v1"} 0
rivulet_dead_letters_total{reason="schema",version="v1"} 0
rivulet_dead_letters_total{reason="too_large",version="v1"} 0
rivulet_dead_letters_total{reason="too_many_edges",version="v1"} 0
rivulet_dead_letters_total{reason="unparsable",version="v1"} 0
# HELP rivulet_degraded_predictions_total Predictions that lack rows of M which could not be read, because Redis ` +
		`was down, or had lost or damaged them.
# TYPE rivulet_degraded_predictions_total counter
rivulet_degraded_predictions_total 1
# HELP rivulet_dropped_edges_total Entries of edge lists that named the arrival itself or a neighbour twice.
# TYPE rivulet_dropped_edges_total counter
rivulet_dropped_edges_total 5
# HELP rivulet_dropped_records_total Records that no topic takes in any form, by the brokers' reason.
# TYPE rivulet_dropped_records_total counter
rivulet_dropped_records_total{reason="invalid_record"} 0
rivulet_dropped_records_total{reason="too_large"} 1
# HELP rivulet_edge_wait_arrivals_total Arrivals that have waited for edges, by why they wait no longer: ` +
		`complete, late, crowded, superseded, idle.
# TYPE rivulet_edge_wait_arrivals_total counter
rivulet_edge_wait_arrivals_total{outcome="complete"} 1
rivulet_edge_wait_arrivals_total{outcome="crowded"} 0
rivulet_edge_wait_arrivals_total{outcome="idle"} 4
rivulet_edge_wait_arrivals_total{outcome="late"} 2
rivulet_edge_wait_arrivals_total{outcome="superseded"} 0
# HELP rivulet_edge_wait_bytes Bytes of the records between those that wait and the last ones that were read.
# TYPE rivulet_edge_wait_bytes gauge
rivulet_edge_wait_bytes 300
# HELP rivulet_edge_wait_edges_total Edges of their own: joined to an arrival, or unmatched.
# TYPE rivulet_edge_wait_edges_total counter
rivulet_edge_wait_edges_total{outcome="joined"} 5
rivulet_edge_wait_edges_total{outcome="unmatched"} 6
# HELP rivulet_edge_wait_records Arrivals and edges of their own that wait for each other (attach.wait), by kind.
# TYPE rivulet_edge_wait_records gauge
rivulet_edge_wait_records{kind="arrival"} 2
rivulet_edge_wait_records{kind="edge"} 3
# HELP rivulet_edge_weights_total Edges whose weight, direction or type was read as another one: ignored (the ` +
		`artifact's edges have none) and missing (the arrival gives none) as 1, above (all weights of the training ` +
		`graph) by the tables of the heaviest, direction and type (the artifact's edges have none) as one without; ` +
		`unknown_type (the artifact's edges have none of this name, or the arrival gives none) as an edge to an unknown ` +
		`neighbour.
# TYPE rivulet_edge_weights_total counter
rivulet_edge_weights_total{reading="above"} 9
rivulet_edge_weights_total{reading="direction"} 10
rivulet_edge_weights_total{reading="ignored"} 7
rivulet_edge_weights_total{reading="missing"} 8
rivulet_edge_weights_total{reading="type"} 11
rivulet_edge_weights_total{reading="unknown_type"} 12
# HELP rivulet_feature_lookups_total Arrivals whose records brought no features, which were looked up by id.
# TYPE rivulet_feature_lookups_total counter
rivulet_feature_lookups_total 2
# HELP rivulet_forgotten_ids_total Ids that records asked to forget, by whether something was stored of them: ` +
		`removed or unknown.
# TYPE rivulet_forgotten_ids_total counter
rivulet_forgotten_ids_total{outcome="removed"} 2
rivulet_forgotten_ids_total{outcome="unknown"} 1
# HELP rivulet_isolated_arrivals_total Arrivals without a neighbour to attach to, predicted from their features alone.
# TYPE rivulet_isolated_arrivals_total counter
rivulet_isolated_arrivals_total 1
# HELP rivulet_lag_records Records between the next one to read and the end of the partition, and those that wait in attach.wait.
# TYPE rivulet_lag_records gauge
rivulet_lag_records{partition="1",topic="arrivals"} 12
# HELP rivulet_lost_records_total Records of the input that are gone, by reason, as far as their number is known.
# TYPE rivulet_lost_records_total counter
rivulet_lost_records_total{reason="recreated"} 0
rivulet_lost_records_total{reason="retention"} 7
rivulet_lost_records_total{reason="truncation"} 0
# HELP rivulet_neighbours_total Neighbours of arrivals that were predicted, by kind.
# TYPE rivulet_neighbours_total counter
rivulet_neighbours_total{kind="arrival"} 3
rivulet_neighbours_total{kind="in_batch"} 1
rivulet_neighbours_total{kind="known"} 7
rivulet_neighbours_total{kind="unknown"} 2
# HELP rivulet_old_edges_total Edges of their own between two nodes of the graph, for the next refresh.
# TYPE rivulet_old_edges_total counter
rivulet_old_edges_total 13
# HELP rivulet_feature_values_total Values of features by name that are missing, or are unknown: categories that the ` +
		`table did not have, or too rarely.
# TYPE rivulet_feature_values_total counter
rivulet_feature_values_total{feature="plan",value="missing"} 2
rivulet_feature_values_total{feature="plan",value="unknown"} 3
# HELP rivulet_other_schema_records_total Arrivals with features by name whose header rivulet-schema has another ` +
		`hash than the artifact's schema.
# TYPE rivulet_other_schema_records_total counter
rivulet_other_schema_records_total 6
# HELP rivulet_predictions_total Predictions published, by class.
# TYPE rivulet_predictions_total counter
rivulet_predictions_total{class="flash"} 0
rivulet_predictions_total{class="lens"} 2
rivulet_predictions_total{class="tripod"} 1
# HELP rivulet_ready 1 if /readyz answers that the consumer is ready, 0 if not.
# TYPE rivulet_ready gauge
rivulet_ready 1
# HELP rivulet_rebalances_total Generations of the consumer group that this member took part in.
# TYPE rivulet_rebalances_total counter
rivulet_rebalances_total 1
# HELP rivulet_retries_total Repeated attempts, by stage.
# TYPE rivulet_retries_total counter
rivulet_retries_total{stage="features"} 0
rivulet_retries_total{stage="fetch"} 1
rivulet_retries_total{stage="group"} 0
rivulet_retries_total{stage="labels"} 0
rivulet_retries_total{stage="lookup"} 0
rivulet_retries_total{stage="offsets"} 0
rivulet_retries_total{stage="publish"} 0
rivulet_retries_total{stage="rows"} 0
rivulet_retries_total{stage="schemas"} 0
rivulet_retries_total{stage="topics"} 0
rivulet_retries_total{stage="version"} 0
# HELP rivulet_row_lookups_total Rows of M that were asked for: one for each edge if M is in memory, else one for ` +
		`each distinct id of a micro-batch.
# TYPE rivulet_row_lookups_total counter
rivulet_row_lookups_total 6
# HELP rivulet_skipped_records_total Records that are no arrivals and nothing is wrong with, by kind.
# TYPE rivulet_skipped_records_total counter
rivulet_skipped_records_total{kind="delete"} 0
rivulet_skipped_records_total{kind="edge"} 0
rivulet_skipped_records_total{kind="other"} 0
rivulet_skipped_records_total{kind="tombstone"} 0
# HELP rivulet_throttled_seconds_total Pauses that brokers asked for by a quota, by the requests that wait for their end.
# TYPE rivulet_throttled_seconds_total counter
rivulet_throttled_seconds_total{requests="fetch"} 0
rivulet_throttled_seconds_total{requests="group"} 0
rivulet_throttled_seconds_total{requests="other"} 0
rivulet_throttled_seconds_total{requests="produce"} 2.5
`
	names := rivuletMetrics(t, o)
	names = slices.DeleteFunc(names, func(n string) bool {
		return n == "rivulet_build_info" || strings.HasSuffix(n, "_seconds") || n == "rivulet_batch_records" ||
			strings.HasPrefix(n, "rivulet_window_") || n == "rivulet_labels_total" // they have tests of their own
	})
	if err := testutil.GatherAndCompare(o.metrics.registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// rivuletMetrics returns the names of our own metrics.
func rivuletMetrics(t *testing.T, o *Observer) []string {
	t.Helper()
	families, err := o.metrics.registry.Gather()
	expect.OK(t, err)
	var names []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), namespace) {
			names = append(names, f.GetName())
		}
	}
	return names
}

func TestHistograms(t *testing.T) {
	o, _ := newTestObserver()
	observeAll(o)
	families, err := o.metrics.registry.Gather()
	expect.OK(t, err)
	type sums struct {
		Count uint64
		Sum   float64
	}
	got := map[string]sums{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil && strings.HasPrefix(f.GetName(), namespace) {
				name := f.GetName()
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = sums{h.GetSampleCount(), h.GetSampleSum()}
			}
		}
	}
	want := map[string]sums{
		"rivulet_batch_records":          {1, 4},
		"rivulet_end_to_end_seconds":     {2, 0.030}, // 30 ms, and 0 if the producer's clock is ahead
		"rivulet_stage_seconds decode":   {1, 0.001},
		"rivulet_stage_seconds features": {1, 0.003},
		"rivulet_stage_seconds lookup":   {1, 0.002},
		"rivulet_stage_seconds attach":   {1, 0.003},
		"rivulet_stage_seconds solve":    {1, 0.007},
		"rivulet_stage_seconds keep":     {1, 0.008},
		"rivulet_stage_seconds infer":    {1, 0.004},
		"rivulet_stage_seconds encode":   {1, 0.010},
		"rivulet_stage_seconds wait":     {1, 0.005},
		"rivulet_stage_seconds publish":  {1, 0.006},
		"rivulet_stage_seconds commit":   {1, 0.009},
	}
	expect.Same(t, want, got, "histograms")
}

func TestNamesFollowTheConventions(t *testing.T) {
	o, _ := newTestObserver()
	observeAll(o)
	problems, err := testutil.GatherAndLint(o.metrics.registry, rivuletMetrics(t, o)...)
	expect.OK(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// doc.go lists exactly the metrics that exist.
func TestDocListsTheMetrics(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	expect.OK(t, err)
	listed := regexp.MustCompile(`rivulet_\w+`).FindAllString(string(doc), -1)
	slices.Sort(listed)
	o, _ := newTestObserver()
	observeAll(o)
	if diff := cmp.Diff(rivuletMetrics(t, o), slices.Compact(listed)); diff != "" {
		t.Errorf("metrics of doc.go (-registered +listed):\n%s", diff)
	}
}

func lags(t *testing.T, o *Observer) map[string]float64 {
	t.Helper()
	families, err := o.metrics.registry.Gather()
	expect.OK(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "rivulet_lag_records" {
				got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return got
}

// After a rebalance only this member's partitions have a lag, even if a fetch of the generation before reports late.
func TestLagOfOtherMembersPartitionsIsForgotten(t *testing.T) {
	o, _ := newTestObserver()
	p := func(n int) kafka.TopicPartition { return kafka.TopicPartition{Topic: "arrivals", Partition: n} }
	o.Rebalance([]kafka.TopicPartition{p(0), p(1)})
	o.Lag(p(0), 5)
	o.Lag(p(1), 6)
	o.Rebalance([]kafka.TopicPartition{p(1), p(2)})
	o.Lag(p(0), 7) // late
	o.Lag(p(2), 8)
	expect.Same(t, map[string]float64{"2": 8}, lags(t, o), "lag by partition")
	o.Lag(p(1), 0)
	expect.Same(t, map[string]float64{"1": 0, "2": 8}, lags(t, o), "lag by partition")
}

// Without an artifact there is no info, and without a cache there are no cache metrics.
func TestWhatIsNotThereIsNotShown(t *testing.T) {
	o := New(monitor.Options{Version: func() string { return "" }})
	for _, name := range rivuletMetrics(t, o) {
		if name == "rivulet_artifact_info" || strings.HasPrefix(name, "rivulet_cache") {
			t.Errorf("%s is there", name)
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	o, _ := newTestObserver()
	stats := aBatch()
	stats.Delivered = &event.Batch{Predictions: make([]event.Prediction, 256)}
	for i := range stats.Delivered.Predictions {
		stats.Delivered.Predictions[i] = event.Prediction{ClassName: string(rune('a' + i%8)), IngestTime: noon}
	}
	for b.Loop() {
		o.Batch(stats)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*256), "ns/prediction")
}
