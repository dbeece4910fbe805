package observe

import (
	"github.com/prometheus/client_golang/prometheus"

	"rivulet/serving/candidate"
)

// candidateCollector collects what each candidate answered beside the version that serves.
func candidateCollector(compared func() []candidate.Comparison) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, append(labels, "version"), nil)
	}
	info := desc("candidate_info", "A candidate that is tried; always 1.")
	arrivals := desc("candidate_arrivals_total", "Arrivals, by what the candidate says of them.", "result")
	predictions := desc("candidate_predictions_total", "Predictions of arrivals that both versions answered, by class.",
		"by", "class")
	distance := desc("candidate_class_distance_ratio",
		"Total variation between the classes that the two versions predict.")
	confidence := desc("candidate_confidence", "Mean probability of the predicted class.", "by")
	p99 := desc("candidate_p99_seconds", "99th percentile of a batch, from its records to its predictions.", "by")
	labels := desc("candidate_labels_total", "Labels of arrivals that both versions answered.", "result")
	p := desc("candidate_p_value", "McNemar's test of gain against loss, two-sided.")
	canary := desc("canary_predictions_total", "Predictions that the candidate published.")
	collect := func(ch chan<- prometheus.Metric, c *candidate.Comparison) {
		put := func(of *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(of, kind, v, append(labels, c.Version())...)
		}
		count := func(of *prometheus.Desc, n int, labels ...string) {
			put(of, prometheus.CounterValue, float64(n), labels...)
		}
		put(info, prometheus.GaugeValue, 1)
		for result, n := range map[string]int{"agreed": c.Agreed, "changed": c.Both() - c.Agreed, "dead_letter": c.Dead,
			"dropped": c.Dropped, "failed": c.Failed} {
			count(arrivals, n, result)
		}
		for result, n := range map[string]int{"both_right": c.Right - c.Loss, "gain": c.Gain, "loss": c.Loss,
			"both_wrong": c.Labels - c.Right - c.Gain} {
			count(labels, n, result)
		}
		count(canary, c.Canary)
		put(distance, prometheus.GaugeValue, c.Shift())
		put(p, prometheus.GaugeValue, c.P())
		for k, by := range []string{"current", "candidate"} {
			put(confidence, prometheus.GaugeValue, c.Confidence[k]/float64(max(1, c.Both())), by)
			put(p99, prometheus.GaugeValue, c.P99[k]/1000, by)
			for class, n := range c.Classes {
				count(predictions, n[k], by, class)
			}
		}
	}
	return collectorFunc{[]*prometheus.Desc{info, arrivals, predictions, distance, confidence, p99, labels, p, canary},
		func(ch chan<- prometheus.Metric) {
			for _, c := range compared() {
				collect(ch, &c)
			}
		}}
}
