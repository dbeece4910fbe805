package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"rivulet/config"
	"rivulet/internal/httpd"
)

// startDebug has the services serve profiles and effective settings, if the settings ask for it.
func (s *services) startDebug(ctx context.Context, d config.Debug, settings []config.Setting, log *slog.Logger) error {
	if d.Listen == "" {
		return nil
	}
	listener, err := httpd.Listen(ctx, "debug.listen", d.Listen)
	if err != nil {
		return err
	}
	log.Info("listening for profiles and settings", "address", listener.Addr().String())
	// A profile is written when its time is over, which its query sets.
	const header, unread, write, drain, connections = 5 * time.Second, time.Second, 10 * time.Minute, time.Second, 16
	s.start(ctx, func(ctx context.Context) error {
		return httpd.Run(ctx, listener, httpd.Options{Name: "profiles and settings", Handler: debugHandler(settings),
			Header: header, Body: unread, Write: write, Drain: drain, Connections: connections,
			Health: func(*http.Request) bool { return false }, Log: log})
	})
	return nil
}

// debugHandler serves net/http/pprof and the settings as JSON, not to pages of other sites.
func debugHandler(settings []config.Setting) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/settings", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(settings) // a client that has left needs no answer
	})
	return httpd.Origin{}.Guard(mux, "debug.listen")
}
