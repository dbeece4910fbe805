package observe

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// subsystemHTTP is in the names of the metrics of requests.
const subsystemHTTP = "http"

// requestBuckets go from 100 µs to 6.5 s by doubling.
var requestBuckets = prometheus.ExponentialBuckets(100e-6, 2, 17)

// HTTP adds metrics of requests to a registry.
type HTTP struct{ Registry prometheus.Registerer }

// Gauge adds a figure that is read when it is asked for.
func (h HTTP) Gauge(name, help string, value func() float64) {
	promauto.With(h.Registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystemHTTP, Name: name,
		Help: help}, value)
}

// Requests adds the metrics of requests by route, and returns what counts one.
func (h HTTP) Requests(routes []string, statuses []int) (count func(route string, status int, took time.Duration)) {
	f := promauto.With(h.Registry)
	requests := f.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystemHTTP,
		Name: "requests_total", Help: "Requests, by route and status."}, []string{"route", "status"})
	seconds := f.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystemHTTP,
		Name: "request_seconds", Help: "Time from a request's headers to the end of its answer, by route.",
		Buckets: requestBuckets}, []string{"route"})
	for _, route := range routes {
		for _, status := range statuses {
			requests.WithLabelValues(route, strconv.Itoa(status))
		}
	}
	return func(route string, status int, took time.Duration) {
		requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
		seconds.WithLabelValues(route).Observe(took.Seconds())
	}
}

// Gauge implements [monitor.HTTP].
func (o *Observer) Gauge(name, help string, value func() float64) {
	HTTP{o.metrics.registry}.Gauge(name, help, value)
}

// Requests implements [monitor.HTTP].
func (o *Observer) Requests(routes []string, statuses []int) func(route string, status int, took time.Duration) {
	return HTTP{o.metrics.registry}.Requests(routes, statuses)
}
