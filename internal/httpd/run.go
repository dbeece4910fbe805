package httpd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Options are the handler and the bounds of a server.
type Options struct {
	Name        string // in errors, such as "the API"
	Handler     http.Handler
	TLS         *tls.Config // nil: HTTP
	Header      time.Duration
	Body        time.Duration // for a body that the handler does not read; a handler that reads may set another deadline
	Write       time.Duration // from the header to the end of the answer
	Drain       time.Duration // for a stop
	HeaderBytes int
	Connections int                      // with a request at the same time; a few more are for health
	Health      func(*http.Request) bool // reports whether a request asks for health
	Working     func() int               // requests whose answer is being computed; nil: none is worth an error
	Log         *slog.Logger
}

const (
	idleTimeout   = 2 * time.Minute
	silentAtStop  = time.Second // how long a stop lets connections without a request send one
	healthReserve = 16          // connections
)

// Run answers on a listener until ctx ends, then finishes the requests that are being worked on, for at most o.Drain.
// It closes the listener.
func Run(ctx context.Context, listener net.Listener, o Options) error {
	d := &door{Listener: listener, most: o.Connections, open: map[*connection]struct{}{}}
	server := &http.Server{Handler: d.handler(&o), ReadHeaderTimeout: o.Header, WriteTimeout: o.Write,
		IdleTimeout: idleTimeout, MaxHeaderBytes: o.HeaderBytes, ConnContext: withConnection,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	accepting := net.Listener(d)
	if o.TLS != nil {
		accepting = tls.NewListener(d, o.TLS)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(accepting) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving %s: %w", o.Name, err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Drain)
	defer cancel()
	silent := time.AfterFunc(min(silentAtStop, o.Drain/2), d.closeWaiting)
	defer silent.Stop()
	err := server.Shutdown(ending)
	if err != nil {
		working := 0
		if o.Working != nil {
			working = o.Working()
		}
		_ = server.Close() // only closes connections
		if err = nil; working > 0 {
			err = fmt.Errorf("%d requests were cut off after the drain's %s", working, o.Drain)
		} else {
			o.Log.Warn("connections were closed whose clients sent or read nothing", "drain", o.Drain)
		}
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serving %s: %w", o.Name, ended))
	}
	return err
}

// handler bounds the time of bodies that nobody reads, and the number of requests.
func (d *door) handler(o *Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connectionKey{}).(*connection)
		free := d.begin(c)
		defer d.end(c)
		if r.ContentLength != 0 {
			// net/http reads the rest of a body before it answers, by this deadline.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.Body))
		}
		if !free && !o.Health(r) {
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "2")
			http.Error(w, "too many requests are under way here", http.StatusServiceUnavailable)
			return
		}
		o.Handler.ServeHTTP(w, r)
	})
}

// BodyRead takes the deadline of a body away when it has been read. Later it would end the request as a client that
// leaves does.
func BodyRead(w http.ResponseWriter) { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }

// IsTimeout reports whether reading failed because of a deadline.
func IsTimeout(err error) bool {
	var slow interface{ Timeout() bool }
	return errors.As(err, &slow) && slow.Timeout()
}
