// Package monitor is what a running stream needs of its metrics and health. Package observe has them, with a library
// that is large to build, and registers itself; a program without that package runs a stream that nobody measures.
package monitor

import (
	"context"
	"net"
	"net/http"
	"time"

	"rivulet/artifact/baseline"
	"rivulet/consumer"
	"rivulet/event"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
)

// Options are the sources of figures that a [Monitor] reads by itself, and its bounds.
type Options struct {
	// Version returns the name of the artifact that is served; "" before the first one is loaded. Required.
	Version func() string
	// Trouble returns why there is no artifact to serve, and what to do; nil, or no error: nobody knows.
	Trouble func() error
	// Classes returns the class names of that artifact; nil: they are not known before they are predicted.
	Classes func() []string
	// Cache returns the counts of the cache of the version that is served; nil: no cache metrics.
	Cache func() mapping.CacheStats
	// Losses returns the counts of rows and buckets of M that Redis damaged or lost; nil: no such metrics.
	Losses func() mapping.LossStats
	// Reference returns the figures of training by the name of a version; false if they are not known. nil: they
	// never are.
	Reference func(version string) (Reference, bool)
	// Arrivals returns the counts of rows of arrivals of the serving version; ok is false if arrivals get none. nil: no
	// such metrics.
	Arrivals func() (stats arrivals.Stats, ok bool)
	// Labels, if not nil, lets predictions be compared with labels.
	Labels *LabelOptions
	// Clock is the consumer's; nil: the machine's.
	Clock consumer.Clock
	// NoGroup says that the arrivals come from no consumer group: a loaded artifact then suffices to be ready.
	NoGroup bool
	// StallAfter is the time that a consumer with partitions may be silent before /healthz fails; 0: two minutes.
	StallAfter time.Duration
}

// Reference holds the figures with which a stream is compared: the artifact's, and the serving model's.
type Reference struct {
	baseline.Reference
	Model string
}

// LabelOptions bounds the predictions and labels that wait for their counterpart.
type LabelOptions struct {
	// Remember is the number of the last predictions, and of the last labels, that wait; TTL is how long they wait.
	Remember int
	TTL      time.Duration
}

// StageLabels is the stage of retries under which failures of reading labels are counted.
const StageLabels = "labels"

// ReadyWithin is the time that a stream may stand before the consumer is not ready.
const ReadyWithin = 30 * time.Second

// Monitor counts the consumer's events, knows its health and tells both over HTTP.
type Monitor interface {
	consumer.Observer
	// Label compares a label with its prediction, now or when the prediction comes.
	Label(l *event.Label)
	// RefuseLabel counts a record that is not a label.
	RefuseLabel()
	// RetryLabels counts a failure of reading labels.
	RetryLabels()
	// Handler serves /metrics, /healthz and /readyz.
	Handler() http.Handler
	// Serve answers as Handler until ctx ends, which is no error, and closes the listener. hosts are names of the port's
	// machine beside its names in local networks.
	Serve(ctx context.Context, listener net.Listener, hosts []string) error
	HTTP
}

// HTTP has metrics of requests.
type HTTP interface {
	// Gauge adds a figure that is read when it is asked for.
	Gauge(name, help string, value func() float64)
	// Requests adds a counter of requests by route and status, and a histogram of their times, and returns what counts a
	// request. The pairs of the given routes and statuses are there before their first request.
	Requests(routes []string, statuses []int) (count func(route string, status int, took time.Duration))
}

var registered func(Options) Monitor

// Register sets the monitors of this program. Package observe does it in its init.
func Register(with func(Options) Monitor) { registered = with }

// Linked reports whether this program has monitors.
func Linked() bool { return registered != nil }

// New returns a monitor; nil in a program without them.
func New(o Options) Monitor {
	if registered == nil {
		return nil
	}
	return registered(o)
}
