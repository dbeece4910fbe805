package page

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"rivulet/consumer"
	"rivulet/event/read"
	"rivulet/internal/httpd"
	"rivulet/kafka"
	"rivulet/serving"
)

// Source gives the version that serves now, nil before the first.
type Source interface{ Current() *serving.Version }

// Publications reads the versions in Redis. A [serving.Publisher] is one.
type Publications interface {
	Versions(ctx context.Context) ([]serving.VersionInfo, error)
}

// Activator points CURRENT at another version, if it names the expected one. A [serving.Publisher] is one.
type Activator interface {
	Activate(ctx context.Context, version, expected string) error
}

// Topics are the names of the topics.
type Topics struct {
	Arrivals    string `json:"arrivals"`
	Predictions string `json:"predictions"`
	DeadLetters string `json:"dead_letters"`
}

// Options are the parts of a page. Parts without a comment on nil are required.
type Options struct {
	Topics                             Topics
	Arrivals, Predictions, DeadLetters *kafka.Reader
	Labels                             *kafka.Reader // nil: no labels are read
	LabelForms                         *read.Reader  // nil without Labels
	Group                              string        // whose lag is shown
	History                            time.Duration // how far back the page begins
	Versions                           Source
	Publications                       Publications // nil: an artifact is pinned, and Redis not used
	Activator                          Activator    // nil: nobody may activate a version here
	// Records explains arrivals as they stand in their topic, Tried arrivals that were written on the page, in Rivulet's
	// own JSON. Both have the page's own memory. Decoder and LitDecoder decode arrivals by the rules of Records; the
	// second serves the arrivals that light up on the map.
	Records, Tried *consumer.Pipeline
	Decoder        *consumer.Decoder
	LitDecoder     *consumer.Decoder
	Guard          Guard
	TLS            *tls.Config // nil: HTTP
	Log            *slog.Logger
	Now            func() time.Time // nil: the machine's clock
}

// Page is the state behind the live page.
type Page struct {
	o     Options
	since time.Time // when it was made
	tally *tally

	mu       sync.Mutex
	troubles map[string]Trouble
	versions []serving.VersionInfo
	listed   bool
	lit      lit

	asking sync.Mutex // one question at a time uses the pipelines
}

// New returns a page that sees nothing yet.
func New(o Options) *Page {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Page{o: o, since: o.Now(), tally: newTally(o.Now), troubles: map[string]Trouble{}}
}

// Run follows the topics, and answers on a listener until ctx ends, which is no error. It closes the listener.
func (p *Page) Run(ctx context.Context, listener net.Listener) error {
	watching, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() { p.watch(watching) })
	if p.o.Publications != nil {
		wait.Go(func() { p.poll(watching, "redis: versions", listEvery, p.list) })
	}
	return httpd.Run(ctx, listener, httpd.Options{Name: "the page", Handler: p.Handler(), TLS: p.o.TLS,
		Header: readTimeout,
		Body:   unreadBody, Write: writeTimeout, Drain: shutdownTimeout, HeaderBytes: 32 << 10, Connections: connections,
		Health: func(*http.Request) bool { return false }, Log: p.o.Log})
}

// Times of the server.
const (
	readTimeout     = 10 * time.Second       // for a header, and for a body
	unreadBody      = 500 * time.Millisecond // for the body of a request that is refused by its header
	writeTimeout    = 30 * time.Second
	connections     = 256 // with a request at the same time
	shutdownTimeout = 3 * time.Second
	listEvery       = 2 * time.Second
)
