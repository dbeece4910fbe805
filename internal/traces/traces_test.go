package traces

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/test/expect"
)

// sampled and unsampled are values of the header traceparent.
const (
	sampled   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampled = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-00"
)

// Collectors are named in the forms of OTEL_EXPORTER_OTLP_ENDPOINT and of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT.
func TestAddressOfACollector(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://c:4318":                "http://c:4318/v1/traces",
		"http://c:4318/":               "http://c:4318/v1/traces",
		"http://c:4318/v1/traces":      "http://c:4318/v1/traces",
		"http://c:4318/v1/traces/":     "http://c:4318/v1/traces",
		"https://c/otlp":               "https://c/otlp/v1/traces",
		"https://c/otlp/v1/traces?a=b": "https://c/otlp/v1/traces?a=b",
		"https://c/otlp/?key=a%2Fb":    "https://c/otlp/v1/traces?key=a%2Fb",
		"https://c/tenant%2Fone/my":    "https://c/tenant%2Fone/my/v1/traces",
	} {
		got, err := addressOf(endpoint)
		expect.OK(t, err)
		expect.Same(t, want, got, "the address of %s", endpoint)
	}
}

// collect observes batches and returns the spans that a collector received.
func collect(t *testing.T, share float64, batches ...consumer.BatchStats) (all []*spans.Span) {
	t.Helper()
	received := make(chan []*spans.Span, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request spans.TracesData // of the bytes of an ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer a,b" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, of := range request.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				received <- scope.GetSpans()
			}
		}
	}))
	defer collector.Close()
	t.Setenv(headersVariable, "x=y, authorization=Bearer%20a%2Cb")
	tracer, err := New(t.Context(), Options{Endpoint: collector.URL, Share: share, Service: "test", Version: "1"})
	expect.OK(t, err)
	for _, b := range batches {
		tracer.Batch(b)
	}
	expect.OK(t, tracer.Close(t.Context(), time.Minute))
	close(received)
	for some := range received {
		all = append(all, some...)
	}
	return all
}

func batch(name string, parents ...string) consumer.BatchStats {
	s := consumer.BatchStats{Name: name, Version: "v1", Records: len(parents), Started: time.Unix(1_700_000_000, 0),
		Decode: 2 * time.Millisecond, Infer: 3 * time.Millisecond, Commit: time.Millisecond, Delivered: &event.Batch{}}
	for i, parent := range parents {
		s.Delivered.Predictions = append(s.Delivered.Predictions, event.Prediction{
			Trace: event.TraceContext{Parent: []byte(parent)}, Source: event.Source{Topic: "arrivals", Offset: int64(i)}})
	}
	return s
}

// A batch with a sampled arrival becomes a span that is linked to the traces of its arrivals, and its stages follow one
// another below it. What is no trace context is passed over.
func TestSpans(t *testing.T) {
	all := collect(t, 0, batch("a", sampled, "nonsense", unsampled, ""), batch("b", unsampled), batch("c"))
	var told []string
	ids := map[string]string{}
	for _, s := range all {
		ids[string(s.GetSpanId())] = s.GetName()
	}
	for _, s := range all {
		begin := time.Unix(1_700_000_000, 0).UnixNano()
		told = append(told, ids[string(s.GetParentSpanId())]+">"+s.GetName()+
			time.Duration(int64(s.GetStartTimeUnixNano())-begin).String()+
			time.Duration(int64(s.GetEndTimeUnixNano())-begin).String())
		if s.GetName() != "rivulet batch" {
			continue
		}
		if links := s.GetLinks(); len(links) != 2 || string(links[0].GetSpanId()) != "\xb7\xad\x6b\x71\x69\x20\x33\x31" {
			t.Errorf("links %v", links)
		}
	}
	const want = "rivulet batch>decode0s2ms rivulet batch>predict2ms5ms rivulet batch>commit5ms6ms >rivulet batch0s6ms"
	if got := strings.Join(told, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Of batches whose arrivals are not sampled, or have no trace, the share is traced that the settings ask for.
func TestShare(t *testing.T) {
	var batches []consumer.BatchStats
	for i := range 400 {
		batches = append(batches, batch(strings.Repeat("x", i)))
	}
	traced := 0
	for _, s := range collect(t, 0.25, batches...) {
		if s.GetName() == "rivulet batch" {
			traced++
		}
	}
	if traced < 60 || traced > 140 {
		t.Errorf("%d of 400 batches are traced, want about 100", traced)
	}
}

// A collector that refuses is an error that tells its answer, and so are headers that cannot be read.
func TestRefusedSpans(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no room", http.StatusServiceUnavailable)
	}))
	defer collector.Close()
	told := make(chan error, 10)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { told <- err }))
	tracer, err := New(t.Context(), Options{Endpoint: collector.URL, Share: 1})
	expect.OK(t, err)
	tracer.Batch(batch("a"))
	if err := tracer.Close(t.Context(), time.Minute); err != nil {
		told <- err
	}
	if err := <-told; !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
	t.Setenv(headersVariable, "authorization")
	expect.Error(t, expect.ErrorOf(New(t.Context(), Options{Endpoint: collector.URL})), headersVariable)
}
