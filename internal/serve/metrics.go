package serve

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are the metrics of requests; the path's observer counts arrivals.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// requestBuckets go from 100 µs to 6.5 s by doubling.
var requestBuckets = prometheus.ExponentialBuckets(100e-6, 2, 17)

func newMetrics(registry prometheus.Registerer, s *Server) *metrics {
	f := promauto.With(registry)
	const namespace, subsystem = "rivulet", "http"
	gauge := func(name, help string, value func() float64) {
		f.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, value)
	}
	gauge("waiting_arrivals", "Arrivals of requests that wait to be predicted or explained.",
		func() float64 { return float64(s.predicts.depth() + s.explains.depth()) })
	gauge("body_bytes", "Bytes of the bodies of all requests under way.",
		func() float64 { return float64(s.bytes.inUse()) })
	m := &metrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "requests_total", Help: "Requests, by route and status."}, []string{"route", "status"}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem,
			Name: "request_seconds", Help: "Time from a request's headers to the end of its answer, by route.",
			Buckets: requestBuckets}, []string{"route"}),
	}
	for _, path := range []string{predictPath, explainPath} {
		for _, status := range []int{200, 429, 503, 504} {
			m.requests.WithLabelValues(path, strconv.Itoa(status))
		}
	}
	return m
}
