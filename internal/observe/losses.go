package observe

import (
	"github.com/prometheus/client_golang/prometheus"

	"rivulet/mapping"
)

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
