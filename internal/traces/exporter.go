package traces

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	about "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exporter sends spans as OTLP over HTTP. OpenTelemetry's own exporter of this form is built with gRPC, which makes the
// consumer's program half as large again.
type exporter struct {
	address string
	headers http.Header
}

// headersVariable has headers that every request gets, such as "authorization=Bearer%20TOKEN", with commas between
// them.
const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS"

func readHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: want name=value, percent-encoded, with commas between them", headersVariable)
		}
		headers.Add(strings.TrimSpace(name), decoded)
	}
	return headers, nil
}

// sending is the limit of a request, and mostAnswer of the part of its answer that an error shows, in bytes.
const (
	sending    = 10 * time.Second
	mostAnswer = 512
)

// ExportSpans sends spans in one request.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := proto.Marshal(message(spans))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sending)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s: %q", e.address, answer.Status, text)
	}
	return err
}

// Shutdown does nothing: no connection is kept.
func (*exporter) Shutdown(context.Context) error { return nil }

// message returns spans of one resource and one scope, as they all are.
func message(spans []sdktrace.ReadOnlySpan) *otlp.TracesData {
	all := make([]*otlp.Span, len(spans))
	for i, s := range spans {
		of := s.SpanContext()
		all[i] = &otlp.Span{TraceId: traceID(of), SpanId: spanID(of), TraceState: of.TraceState().String(), Name: s.Name(),
			Kind:              otlp.Span_SpanKind(s.SpanKind()), // of the same numbers
			StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
			Attributes: attributes(s.Attributes()), DroppedLinksCount: uint32(s.DroppedLinks())}
		if s.Parent().IsValid() {
			all[i].ParentSpanId = spanID(s.Parent())
		}
		for _, l := range s.Links() {
			all[i].Links = append(all[i].Links, &otlp.Span_Link{TraceId: traceID(l.SpanContext), SpanId: spanID(l.SpanContext),
				TraceState: l.SpanContext.TraceState().String(), Attributes: attributes(l.Attributes)})
		}
	}
	scope := spans[0].InstrumentationScope()
	return &otlp.TracesData{ResourceSpans: []*otlp.ResourceSpans{{
		Resource:   &about.Resource{Attributes: attributes(spans[0].Resource().Attributes())},
		ScopeSpans: []*otlp.ScopeSpans{{Scope: &common.InstrumentationScope{Name: scope.Name}, Spans: all}},
	}}}
}

func traceID(of trace.SpanContext) []byte { id := of.TraceID(); return id[:] }
func spanID(of trace.SpanContext) []byte  { id := of.SpanID(); return id[:] }

// attributes returns numbers as numbers, and everything else as text.
func attributes(pairs []attribute.KeyValue) []*common.KeyValue {
	all := make([]*common.KeyValue, len(pairs))
	for i, p := range pairs {
		value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: p.Value.String()}}
		if p.Value.Type() == attribute.INT64 {
			value.Value = &common.AnyValue_IntValue{IntValue: p.Value.AsInt64()}
		}
		all[i] = &common.KeyValue{Key: string(p.Key), Value: value}
	}
	return all
}
