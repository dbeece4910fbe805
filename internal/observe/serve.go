package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the HTTP server; a scrape takes milliseconds.
const (
	readTimeout     = 5 * time.Second
	writeTimeout    = 15 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 3 * time.Second
)

// Handler serves /metrics, /healthz and /readyz.
func (o *Observer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.metrics.registry,
		promhttp.HandlerOpts{Registry: o.metrics.registry}))
	mux.HandleFunc("GET /healthz", probe(o.health.alive))
	mux.HandleFunc("GET /readyz", probe(o.health.ready))
	return mux
}

// probe answers 200, or 503 with the reason.
func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// Listen listens on an address (host:port), for [Observer.Serve].
func Listen(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving metrics and health: %w", err)
	}
	return listener, nil
}

// Serve answers until ctx ends, which is no error, and closes the listener.
func (o *Observer) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           o.Handler(),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving metrics and health: %w", err)
	case <-ctx.Done():
	}
	// Running requests may finish; a client that hangs is cut off, so that it cannot hold up the service's end.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		if err := server.Close(); err != nil {
			return fmt.Errorf("closing the metrics server: %w", err)
		}
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics and health: %w", err)
	}
	return nil
}
