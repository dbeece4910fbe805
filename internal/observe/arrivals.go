package observe

import (
	"github.com/prometheus/client_golang/prometheus"

	"rivulet/mapping"
)

// arrivalsCollector collects the counts of rows of arrivals; nothing if arrivals get none. The totals belong to the
// version that is served, and begin again with another one.
func arrivalsCollector(stats func() (mapping.ArrivalStats, bool)) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_arrival_rows"+name, help, nil, nil)
	}
	rows := desc("", "Rows of M of arrivals of the version that is served, by all consumers, as of the last micro-batch.")
	written := desc("_written_total", "Rows of arrivals that this process wrote.")
	refused := desc("_refused_total", "Rows of arrivals that were not written, because there were attach.max_rows.")
	found := desc("_found_total", "Neighbours' ids that were not in the original graph and had a row.")
	return collectorFunc{[]*prometheus.Desc{rows, written, refused, found}, func(ch chan<- prometheus.Metric) {
		s, ok := stats()
		if !ok {
			return
		}
		ch <- prometheus.MustNewConstMetric(rows, prometheus.GaugeValue, float64(s.Rows))
		ch <- prometheus.MustNewConstMetric(written, prometheus.CounterValue, float64(s.Written))
		ch <- prometheus.MustNewConstMetric(refused, prometheus.CounterValue, float64(s.Refused))
		ch <- prometheus.MustNewConstMetric(found, prometheus.CounterValue, float64(s.Found))
	}}
}
