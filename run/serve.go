package run

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/infer/attach"
	"rivulet/internal/build"
	"rivulet/internal/httpd"
	"rivulet/internal/monitor"
	"rivulet/internal/serve"
	"rivulet/run/connect"
)

// Serve answers arrivals over HTTP until ctx ends, then finishes the requests under way. docs/serve.md is for users.
func Serve(ctx context.Context, cfg config.Serve, log *slog.Logger) error {
	listener, err := httpd.Listen(ctx, "serve.listen", cfg.Server.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	return serveOn(ctx, listener, cfg, log)
}

// serveOn is Serve on a listener, which it closes.
func serveOn(ctx context.Context, listener net.Listener, cfg config.Serve, log *slog.Logger) error {
	return endsBy(ctx, cfg.Shutdown.DrainTimeout, func() error { return serveUntil(ctx, listener, cfg, log) })
}

// serveUntil is serveOn without a bound on the time that its end takes.
func serveUntil(ctx context.Context, listener net.Listener, cfg config.Serve, log *slog.Logger) error {
	b := build.Read()
	log.Info("the server starts", "version", b.Version, "commit", b.Commit, "go", b.Go)
	logSettings(log, cfg)
	secured, err := connect.ServerTLS("serve.tls", cfg.Server.TLS)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	background := &services{}
	from, end, err := servedVersions(ctx, serverAsConsumer(cfg), connect.ServeACL, log, background, cancel)
	if err != nil {
		return err
	}
	defer end()
	defer background.end() // first: the watcher still releases its versions
	if err := background.startDebug(ctx, cfg.Debug, config.Shown(cfg), log); err != nil {
		return err
	}
	store, closeStore, err := connect.Features(cfg.Features, cfg.Redis.RedisServer, cfg.Limits)
	if err != nil {
		return err
	}
	defer closeStore()
	server, err := newServer(cfg, from, store, secured, log)
	if err != nil {
		return err
	}
	log.Info("answering arrivals", "address", listener.Addr().String(), "tls", cfg.Server.TLS.CertFile != "",
		"token", cfg.Server.HasToken())
	drained := announceDrain(running, cfg.Shutdown.DrainTimeout, log)
	err = server.Serve(running, listener, cfg.Shutdown.DrainTimeout)
	drained()
	if ctx.Err() == nil && err == nil { // not a stop: the watcher gave up
		err = context.Cause(running)
	}
	return connect.Advised(err, connect.ServeACL)
}

// serverAsConsumer are the settings of a consumer that predicts as the server does.
func serverAsConsumer(cfg config.Serve) config.Consumer {
	c := config.Default[config.Consumer]()
	c.Redis, c.Choice, c.Attach.Attach, c.Cache, c.Limits = cfg.Redis, cfg.Choice, cfg.Attach, cfg.Cache, cfg.Limits
	c.Output.Answer, c.Input.Reading = cfg.Output.Answer, cfg.Input
	return c
}

// newServer wires the path of an arrival.
func newServer(cfg config.Serve, from versions, store consumer.FeatureStore, secured *tls.Config,
	log *slog.Logger) (*serve.Server, error) {
	forms, err := LineForms(cfg.Input)
	if err != nil {
		return nil, err
	}
	mode, err := attach.ModeOf(cfg.Batch.Mode)
	if err != nil {
		return nil, err
	}
	if !monitor.Linked() {
		return nil, errUnwatched
	}
	observer := monitor.New(monitor.Options{Version: from.name, Trouble: from.Trouble, Classes: from.classes,
		Cache: from.cache, Arrivals: from.arrivals, Losses: from.Losses, Reference: from.reference, NoGroup: true})
	limits := cfg.Server
	o := serve.Options{
		Path: consumer.PipelineOptions{Versions: from, Mode: mode,
			Arrivals: cfg.Attach.Arrivals == config.On,
			Limits:   Limits(cfg.Limits), Output: output(serverAsConsumer(cfg).Output), Forms: forms, Features: store,
			IgnoreUnknown: cfg.Input.UnknownFeatures == config.Ignore, Observer: observer},
		Limits: serve.Limits{Timeout: limits.Timeout, Body: int64(limits.MaxBody), Arrivals: limits.MaxArrivals,
			QueueArrivals: limits.Queue.Arrivals, QueueBytes: int64(limits.Queue.Bytes), Connections: limits.Connections},
		Batching: serve.Batching{Size: limits.Batch.Size, Linger: limits.Batch.Linger},
		TLS:      secured, Origin: httpd.Origin{TLS: secured != nil, Hosts: limits.Hosts},
		Health: observer.Handler(), Metrics: observer, Log: log,
	}
	if o.Tokens, err = connect.Tokens("serve.", limits.Access, log); err != nil {
		return nil, err
	}
	connect.MeasureTokens(o.Tokens, observer.Gauge)
	return serve.New(o)
}
