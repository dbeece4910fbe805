// Package traces sends a span of each traced batch, with its stages and links to the traces of its arrivals, to a
// collector of OpenTelemetry (OTLP over HTTP).
//
// The spans are made when a batch has been delivered, of the times that its statistics have, so that the stream does
// not wait for them. What the collector does not take in time is dropped. Arrivals bring their trace in the header
// traceparent; their predictions have the same one, so that a reader's spans belong to the arrival's trace.
package traces

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"rivulet/consumer"
	"rivulet/event"
)

// Options say which batches are traced, and for whom.
type Options struct {
	Endpoint string  // of the collector, such as http://localhost:4318
	Share    float64 // of the batches that are traced though none of their arrivals is
	Service  string  // service.name, where OTEL_SERVICE_NAME is not set
	Version  string  // service.version
}

// Tracer observes a consumer's batches.
type Tracer struct {
	consumer.NopObserver

	share    float64
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns a tracer. It does not reach out yet; the caller closes it.
func New(ctx context.Context, o Options) (*Tracer, error) {
	headers, err := readHeaders(os.Getenv(headersVariable))
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", o.Service),
		attribute.String("service.version", o.Version)), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	address, err := addressOf(o.Endpoint)
	if err != nil {
		return nil, err
	}
	t := &Tracer{share: o.Share, provider: sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&exporter{address: address, headers: headers}),
		sdktrace.WithResource(about), sdktrace.WithSampler(sdktrace.AlwaysSample()))}
	t.tracer = t.provider.Tracer("rivulet/consumer")
	return t, nil
}

// addressOf returns the address that spans are sent to: OTLP's path behind the endpoint, unless it ends with it
// already.
func addressOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("traces: %w", err)
	}
	if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}

// tracesPath is where a receiver of OTLP over HTTP takes spans.
const tracesPath = "/v1/traces"

// Close sends the spans that are left, for at most some time, also after ctx has ended.
func (t *Tracer) Close(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return t.provider.Shutdown(ctx)
}

// Batch makes the spans of a batch that is traced.
func (t *Tracer) Batch(s consumer.BatchStats) {
	links := linksTo(s.Delivered)
	if links == nil && !t.draws(s.Name) {
		return
	}
	degraded := 0
	for i := range s.Delivered.Predictions {
		if s.Delivered.Predictions[i].Degraded {
			degraded++
		}
	}
	ctx, batch := t.tracer.Start(context.Background(), "rivulet batch", trace.WithTimestamp(s.Started),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...), trace.WithAttributes(
			attribute.String("messaging.system", "kafka"), attribute.Int("messaging.batch.message_count", s.Records),
			attribute.String("rivulet.batch", s.Name), attribute.String("rivulet.artifact", s.Version),
			attribute.Int("rivulet.dead_letters", len(s.Delivered.DeadLetters)), attribute.Int("rivulet.degraded", degraded),
			attribute.Int("rivulet.lookups", s.Lookups)))
	at := s.Started
	for _, stage := range []struct {
		name string
		took time.Duration
	}{{"decode", s.Decode}, {"features", s.Features}, {"lookup", s.Lookup}, {"attach", s.Attach},
		{"predict", s.Infer}, {"encode", s.Encode}, {"wait", s.Wait}, {"publish", s.Publish}, {"rows", s.Keep},
		{"commit", s.Commit}} {
		if stage.took > 0 {
			_, span := t.tracer.Start(ctx, stage.name, trace.WithTimestamp(at))
			at = at.Add(stage.took)
			span.End(trace.WithTimestamp(at))
		}
	}
	batch.End(trace.WithTimestamp(at))
}

// linksTo returns links to the traces of a batch's arrivals; nil if none of them is sampled. The SDK keeps 128 of them.
func linksTo(b *event.Batch) []trace.Link {
	var links []trace.Link
	sampled := false
	for i := range b.Predictions {
		p := &b.Predictions[i]
		if len(p.Trace.Parent) == 0 {
			continue
		}
		of := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
			propagation.MapCarrier{event.HeaderTraceParent: string(p.Trace.Parent),
				event.HeaderTraceState: string(p.Trace.State)}))
		if of.IsValid() {
			sampled = sampled || of.IsSampled()
			links = append(links, trace.Link{SpanContext: of, Attributes: []attribute.KeyValue{
				attribute.String("messaging.source", p.Source.Topic), attribute.Int("messaging.partition", p.Source.Partition),
				attribute.Int64("messaging.offset", p.Source.Offset)}})
		}
	}
	if !sampled {
		return nil
	}
	return links
}

// draws reports whether a batch without traced arrivals is of the share that is traced. Its name decides.
func (t *Tracer) draws(name string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return float64(h.Sum64()) < t.share*math.MaxUint64
}
