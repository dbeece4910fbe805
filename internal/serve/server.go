package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"rivulet/consumer"
	"rivulet/internal/httpd"
)

// Metrics are where the server adds metrics of requests.
type Metrics interface {
	Gauge(name, help string, value func() float64)
	Requests(routes []string, statuses []int) (count func(route string, status int, took time.Duration))
}

// Options are the parts and limits of a server.
type Options struct {
	// Path is the path of a record; the server sets the parts of a stream, Deliverer and ReadOnly. Mode must be
	// repeatable.
	Path     consumer.PipelineOptions
	Limits   Limits
	Batching Batching
	// Tokens are the bearer tokens of requests; nil: they need none.
	Tokens httpd.Tokens
	// TLS is nil for HTTP. Origin says from where browsers may ask, where no token keeps others out.
	TLS    *tls.Config
	Origin httpd.Origin
	// Health answers /metrics, /healthz and /readyz.
	Health http.Handler
	// Metrics are where the server's own are added.
	Metrics Metrics
	Log     *slog.Logger
}

// Limits bound requests.
type Limits struct {
	Timeout       time.Duration // of a request, from its headers to its answer
	Body          int64         // bytes of a request
	Arrivals      int           // per request
	QueueArrivals int           // that wait
	QueueBytes    int64         // of the bodies of all requests under way
	Connections   int           // with a request at the same time
}

// Batching describes how requests are gathered into micro-batches.
type Batching struct {
	Size   int           // most arrivals of several requests
	Linger time.Duration // how long the first one waits for others; 0: not at all
}

// Server answers arrivals over HTTP.
type Server struct {
	o        Options
	handler  http.Handler
	predicts *batcher
	explains *batcher
	lanes    []*lane
	bytes    budget
	counted  func(route string, status int, took time.Duration) // a request
	draining atomic.Bool
	working  atomic.Int64 // requests whose arrivals wait for a lane or are in one
}

// New returns a server that does not listen yet.
func New(o Options) (*Server, error) {
	if o.Path.Mode == nil || !o.Path.Mode.Repeatable() {
		return nil, fmt.Errorf("serve: batch mode is %v: each arrival is answered on its own", o.Path.Mode)
	}
	clock := o.Path.Clock
	if clock == nil {
		clock = consumer.SystemClock{}
	}
	s := &Server{o: o, bytes: budget{most: o.Limits.QueueBytes},
		predicts: newBatcher(o.Batching, o.Limits.QueueArrivals, clock),
		explains: newBatcher(o.Batching, o.Limits.QueueArrivals, clock)}
	count := new(atomic.Uint64)
	// An explanation costs a hundred predictions, so these have one lane and do not stand in the way of the others.
	for k := range runtime.GOMAXPROCS(0) + 1 {
		l := &lane{queue: s.predicts, versions: o.Path.Versions, timeout: o.Limits.Timeout, count: count}
		if k == 0 {
			l.queue, l.explain = s.explains, true
		}
		path := o.Path
		path.Deliverer, path.ReadOnly = l, true
		var err error
		if l.pipeline, err = consumer.NewPipeline(path); err != nil {
			return nil, err
		}
		s.lanes = append(s.lanes, l)
	}
	o.Metrics.Gauge("waiting_arrivals", "Arrivals of requests that wait to be predicted or explained.",
		func() float64 { return float64(s.predicts.depth() + s.explains.depth()) })
	o.Metrics.Gauge("body_bytes", "Bytes of the bodies of all requests under way.",
		func() float64 { return float64(s.bytes.inUse()) })
	s.counted = o.Metrics.Requests([]string{predictPath, explainPath}, []int{200, 429, 503, 504})
	s.handler = s.mux()
	return s, nil
}

// Draining reports whether a stop has begun.
func (s *Server) Draining() bool { return s.draining.Load() }

// Limits of the bytes and time that clients may hold.
const (
	headerBytes = 64 << 10
	unreadBody  = 500 * time.Millisecond // for the body of a request that is refused by its header
	writeMargin = 5 * time.Second        // beside twice the limit of a request
)

// Serve answers until ctx ends, then finishes the requests that it has begun, for at most drain, and closes the
// listener. A prediction that is not finished by then is cut off, which is an error.
func (s *Server) Serve(ctx context.Context, listener net.Listener, drain time.Duration) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var lanes sync.WaitGroup
	for _, l := range s.lanes {
		lanes.Go(func() { l.run(working) })
	}
	defer lanes.Wait()
	defer stop()
	defer context.AfterFunc(ctx, func() { s.draining.Store(true) })()
	return httpd.Run(ctx, listener, httpd.Options{Name: "the API", Handler: s.handler, TLS: s.o.TLS,
		Header: s.o.Limits.Timeout,
		Body:   min(unreadBody, s.o.Limits.Timeout), Write: 2*s.o.Limits.Timeout + writeMargin, Drain: drain,
		HeaderBytes: headerBytes, Connections: s.o.Limits.Connections, Health: s.asksForHealth,
		Working: func() int { return int(s.working.Load()) }, Log: s.o.Log})
}

// budget counts bytes that are in use by requests.
type budget struct {
	mu   sync.Mutex
	most int64
	used int64
}

// take reserves n bytes for a request. The body of a request that is alone may have more than there are.
func (b *budget) take(of *body, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of.released || b.used > 0 && b.used+n > b.most {
		return false
	}
	b.used += n
	of.reserved += n
	return true
}

// of returns how many bytes a request has.
func (b *budget) of(r *body) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return r.reserved
}

// end takes back the bytes of a request, which gets no more.
func (b *budget) end(of *body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= of.reserved
	of.reserved, of.released = 0, true
}

// inUse returns how many bytes are reserved.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
