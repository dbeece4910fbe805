package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rivulet/internal/httpd"
)

// Limits of the HTTP server; a scrape takes milliseconds.
const (
	readTimeout     = 5 * time.Second
	writeTimeout    = 15 * time.Second
	unreadBody      = 500 * time.Millisecond
	connections     = 64 // with a request at the same time
	shutdownTimeout = 3 * time.Second
)

// Handler serves /metrics, /healthz and /readyz.
func (o *Observer) Handler() http.Handler {
	registry := o.metrics.registry
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(registry,
		promhttp.HandlerOpts{Registry: registry, EnableOpenMetrics: true})) // only that form has exemplars
	mux.HandleFunc("GET /healthz", probe(o.health.alive))
	mux.HandleFunc("GET /readyz", probe(o.health.ready))
	return mux
}

const metricsPath = "/metrics"

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

// Serve answers as [Handler] until ctx ends, which is no error, and closes the listener. hosts are names of the port's
// machine beside its names in local networks.
func (o *Observer) Serve(ctx context.Context, listener net.Listener, hosts []string) error {
	// The port has no token, so it refuses the pages of other sites.
	return httpd.Run(ctx, listener, httpd.Options{Name: "metrics and health",
		Handler: httpd.Origin{Hosts: hosts}.Guard(o.Handler(), "http.hosts"), Header: readTimeout,
		Body: unreadBody, Write: writeTimeout, Drain: shutdownTimeout, Connections: connections,
		Health: func(r *http.Request) bool { return r.URL.Path != metricsPath }, Log: slog.Default()})
}
