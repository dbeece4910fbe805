// Package rivulet runs Rivulet's consumer inside another Go program: what the program `consumer` runs, with the same
// settings, metrics and promises (docs/operate.md).
//
// Settings are values of package config. [config.Default] has the defaults, [config.Load] reads a file, variables and
// flags:
//
//	cfg, err := config.Load[config.Consumer](config.Sources{Environ: os.Environ()})
//	if err != nil {
//		return err
//	}
//	return rivulet.RunConsumer(ctx, cfg, slog.Default())
//
// The module is not published under an address yet. Another module takes it from a checkout:
//
//	go mod edit -require rivulet@v0.0.0 -replace rivulet=../rivulet
package rivulet

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"rivulet/config"
	"rivulet/internal/build"
	"rivulet/internal/traces"
	"rivulet/run"
	_ "rivulet/run/parts" // they register themselves
)

// RunConsumer predicts arrivals from Kafka until ctx ends, then drains: batches in hand are published and committed. It
// returns nil after a drain, and otherwise an error that names the setting or the service. With traces.endpoint it sets
// the process's error handler of OpenTelemetry.
func RunConsumer(ctx context.Context, cfg config.Consumer, log *slog.Logger) error {
	if cfg.Traces.Endpoint == "" {
		return run.Consumer(ctx, cfg, log, nil)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { warnOfSpans(log, err) }))
	tracer, err := traces.New(ctx, traces.Options{Endpoint: strings.TrimSuffix(cfg.Traces.Endpoint, "/"),
		Share: cfg.Traces.Share, Service: "rivulet-consumer", Version: build.Read().Version})
	if err != nil {
		return err
	}
	ends := make(chan time.Time, 1)
	defer context.AfterFunc(ctx, func() { ends <- time.Now().Add(cfg.Shutdown.DrainTimeout) })()
	err = run.Consumer(ctx, cfg, log, tracer)
	limit := cfg.Shutdown.DrainTimeout
	if ctx.Err() != nil { // the spans have what is left of it
		limit = time.Until(<-ends)
	}
	if failed := tracer.Close(ctx, limit); failed != nil {
		warnOfSpans(log, failed)
	}
	return err
}

// warnOfSpans logs that a collector has not taken spans.
func warnOfSpans(log *slog.Logger, err error) {
	log.Warn("spans were not sent and are dropped, while predictions go on", "error", err, "advice",
		"see that a collector takes OTLP over HTTP at traces.endpoint")
}
