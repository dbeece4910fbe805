package observe

import (
	"github.com/prometheus/client_golang/prometheus"

	"rivulet/mapping"
	"rivulet/mapping/arrivals"
)

// arrivalsCollector collects the counts of rows of arrivals; nothing if arrivals get none. The totals belong to the
// version that is served, and begin again with another one.
func arrivalsCollector(stats func() (arrivals.Stats, bool)) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_arrival_rows"+name, help, nil, nil)
	}
	rows := desc("", "Rows of M of arrivals of the version that is served, by all consumers, until they would expire.")
	written := desc("_written_total", "Rows of arrivals that this process wrote.")
	refused := desc("_refused_total",
		"Rows of arrivals that were not written, because of attach.max_rows or attach.max_bytes.")
	found := desc("_found_total", "Neighbours' ids that were not in the original graph and had a row.")
	bytes := desc("_bytes", "Approximate memory of these rows in Redis, as attach.max_bytes counts it.")
	damaged := desc("_damaged_total", "Stored rows of arrivals that could not be decoded.")
	lost := desc("_lost_total",
		"Rows of arrivals that were given up because Redis did not take them: redis.outage is degrade, or the version is "+
			"gone.")
	return collectorFunc{[]*prometheus.Desc{rows, bytes, written, refused, found, damaged, lost},
		func(ch chan<- prometheus.Metric) {
			s, ok := stats()
			if !ok {
				return
			}
			ch <- prometheus.MustNewConstMetric(rows, prometheus.GaugeValue, float64(s.Rows))
			ch <- prometheus.MustNewConstMetric(written, prometheus.CounterValue, float64(s.Written))
			ch <- prometheus.MustNewConstMetric(refused, prometheus.CounterValue, float64(s.Refused))
			ch <- prometheus.MustNewConstMetric(found, prometheus.CounterValue, float64(s.Found))
			ch <- prometheus.MustNewConstMetric(bytes, prometheus.GaugeValue, float64(s.Bytes))
			ch <- prometheus.MustNewConstMetric(damaged, prometheus.CounterValue, float64(s.Damaged))
			ch <- prometheus.MustNewConstMetric(lost, prometheus.CounterValue, float64(s.Lost))
		}}
}

// lossesCollector collects the counts of rows of M that Redis damaged or lost.
func lossesCollector(stats func() mapping.LossStats) prometheus.Collector {
	damaged := prometheus.NewDesc(namespace+"_damaged_rows_total",
		"Rows of M that were asked for and are damaged in Redis, each time.", nil, nil)
	evicted := prometheus.NewDesc(namespace+"_evicted_buckets_total",
		"Buckets of M that were asked for and that Redis had lost, though the version is complete, each time.", nil, nil)
	return collectorFunc{[]*prometheus.Desc{damaged, evicted}, func(ch chan<- prometheus.Metric) {
		s := stats()
		ch <- prometheus.MustNewConstMetric(damaged, prometheus.CounterValue, float64(s.DamagedRows))
		ch <- prometheus.MustNewConstMetric(evicted, prometheus.CounterValue, float64(s.EvictedBuckets))
	}}
}
