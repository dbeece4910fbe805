package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/internal/tlsclient"
	"rivulet/test/expect"
)

var arrival = event.Arrival{ID: "n", Features: event.Features{Values: []float32{1, 2.5}}, Edges: []string{"a"}}

// fake is a registry in this process, and what asks it.
func numbered(id int) read.SchemaID { return read.SchemaID{Number: uint32(id)} }

func fake(t *testing.T, o Options) (*srfake.Registry, *Registry, *atomic.Int64) {
	t.Helper()
	server, asked := srfake.New(), new(atomic.Int64)
	t.Cleanup(server.Close)
	server.Intercept(func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false })
	o.URLs = []string{server.URL()}
	r, err := New(o)
	expect.OK(t, err)
	return server, r, asked
}

func learn(t *testing.T, r *Registry, id int) {
	t.Helper()
	expect.OK(t, r.LearnSchema(t.Context(), numbered(id)))
}

func register(t *testing.T, server *srfake.Registry, subject string, s sr.Schema) int {
	t.Helper()
	id, _, err := server.RegisterSchema(subject, s)
	expect.OK(t, err)
	return id
}

// readBy reads a payload by a schema, as a consumer does.
func readBy(t *testing.T, r *Registry, id int, payload []byte) (a event.Arrival, err error) {
	t.Helper()
	forms := read.Reader{Schemas: r}
	record := append(read.AppendConfluentHead(nil, uint32(id)), payload...)
	if named, names := forms.SchemaID(nil, record); !names || named != numbered(id) {
		t.Fatalf("the record names %d, %v", named, names)
	}
	learn(t, r, id)
	err = readtest.Arrival(&forms, nil, record, &a)
	return a, err
}

func same(t *testing.T, got event.Arrival, err error) {
	t.Helper()
	if err != nil || got.ID != arrival.ID || len(got.Features.Values) != 2 || got.Features.Values[1] != 2.5 ||
		len(got.Edges) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

const foreign = `syntax = "proto3"; package shop; import "common.proto"; import "google/protobuf/timestamp.proto";
message Other { string x = 1; message Click { string id = 7; repeated double features = 2;
  repeated string edges = 3; Unit unit = 4; google.protobuf.Timestamp time = 5; } }`

func TestSchemas(t *testing.T) {
	server, r, asked := fake(t, Options{})
	ours, err := avro.Codec{}.AppendArrival(nil, &arrival)
	expect.OK(t, err)
	id := register(t, server, "arrivals-value", sr.Schema{Schema: event.ArrivalAvro})
	got, err := readBy(t, r, id, ours)
	same(t, got, err)
	before := asked.Load()
	got, err = readBy(t, r, id, ours)
	if same(t, got, err); asked.Load() != before {
		t.Error("the same schema is asked for again")
	}

	inJSON, _ := json.Codec{}.AppendArrival(nil, &arrival)
	got, err = readBy(t, r, register(t, server, "json-value",
		sr.Schema{Schema: string(event.ArrivalSchema), Type: sr.TypeJSON}), inJSON)
	same(t, got, err)

	register(t, server, "common", sr.Schema{Schema: `syntax = "proto3"; package shop; message Unit { int32 u = 1; }`,
		Type: sr.TypeProtobuf})
	id = register(t, server, "clicks-value", sr.Schema{Schema: foreign, Type: sr.TypeProtobuf,
		References: []sr.SchemaReference{{Name: "common.proto", Subject: "common", Version: 1}}})
	// Message 0 of message 0: [0, 0]. id = 7; features 1 and 2.5; edges a.
	click := []byte{0x3a, 1, 'n', 0x12, 16, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0x40, 0x1a, 1, 'a'}
	got, err = readBy(t, r, id, append([]byte{4, 0, 0}, click...))
	same(t, got, err)
	if _, err := readBy(t, r, id, append([]byte{4, 0, 2}, click...)); err == nil {
		t.Error("message index 1 is not there, and was read")
	}
	if _, err := readBy(t, r, id, append([]byte{0}, click...)); err == nil {
		t.Error("a message without an id is an arrival")
	}

	node := `{"type":"record","name":"Node","namespace":"g","fields":[{"name":"n","type":"int"}]}`
	register(t, server, "node", sr.Schema{Schema: node})
	id = register(t, server, "named-value",
		sr.Schema{Schema: `{"type":"record","name":"C","fields":[{"name":"by","type":"g.Node"},{"name":"id","type":"string"},
		{"name":"features","type":{"type":"array","items":"double"}}]}`,
			References: []sr.SchemaReference{{Name: "g.Node", Subject: "node", Version: 1}}})
	if got, err = readBy(t, r, id, []byte{8, 2, 'n', 0}); err != nil || got.ID != "n" {
		t.Errorf("a schema with a reference: %+v, %v", got, err)
	}
}

// A schema that takes long to compile is no fault of its records, however early the compiler is cut off, and however
// short the requests' timeout is: they wait, and are read in the end.
func TestASchemaThatCompilesSlowly(t *testing.T) {
	text := new(strings.Builder)
	text.WriteString(`syntax = "proto3"; message M { string id = 1; repeated double features = 2; }`)
	for i := range 4000 {
		fmt.Fprintf(text, "\nmessage N%d { M m = 1; repeated string s = 2; }", i)
	}
	server, r, _ := fake(t, Options{Timeout: 200 * time.Millisecond})
	id := register(t, server, "slow-value", sr.Schema{Schema: text.String(), Type: sr.TypeProtobuf})
	for limit := time.Millisecond; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := r.LearnSchema(ctx, numbered(id))
		cancel()
		if err == nil {
			break
		}
		if r.known(numbered(id)) {
			t.Fatalf("after %v: %v, which is remembered", limit, err)
		}
	}
	a, err := readBy(t, r, id, []byte{0, 0x0a, 1, 'n', 0x12, 16, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x04, 0x40})
	if err != nil || a.ID != "n" {
		t.Errorf("%+v, %v", a, err)
	}
}

// The schemas that one schema names are bounded together.
func TestASchemaOfTooMuchText(t *testing.T) {
	server, r, _ := fake(t, Options{})
	s := sr.Schema{Type: sr.TypeProtobuf,
		Schema: `syntax = "proto3"; import "a"; import "b"; message M { string id = 1; }`}
	for _, name := range []string{"a", "b"} {
		register(t, server, name, sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3"; //` + strings.Repeat(name,
			maxAnswer/2)})
		s.References = append(s.References, sr.SchemaReference{Name: name, Subject: name, Version: 1})
	}
	expect.Error(t, expect.ErrorOf(readBy(t, r, register(t, server, "large-value", s), []byte{0})), "more than")
}

// An id that no address has is asked for missingTimes times, a pause apart, while its records wait. Then it is bad for
// a minute, and of many bad ids not all are remembered.
func TestUnknownIDs(t *testing.T) {
	at := time.Unix(0, 0)
	_, r, asked := fake(t, Options{Now: func() time.Time { return at }})
	for try := range int64(missingTimes - 1) {
		for range 2 { // the second is too early
			if err := r.LearnSchema(t.Context(), numbered(99)); err == nil || asked.Load() != try+1 {
				t.Fatalf("%v, asked %d times, want an error and %d", err, asked.Load(), try+1)
			}
		}
		at = at.Add(missingPause)
	}
	for range 3 {
		expect.Error(t, expect.ErrorOf(readBy(t, r, 99, []byte{0})), "no schema 99")
	}
	if asked.Load() != missingTimes {
		t.Errorf("asked %d times, want %d", asked.Load(), missingTimes)
	}
	at = at.Add(forget)
	if _, err := readBy(t, r, 99, []byte{0}); err == nil || asked.Load() != missingTimes+1 {
		t.Errorf("%v, asked %d times after a minute, want once more", err, asked.Load())
	}
	for id := range uint32(3 * maxBad) {
		r.remember(read.SchemaID{Number: 1000 + id}, unknown(read.SchemaID{Number: id}))
	}
	if kept := len(r.late) + len(r.early); kept > 2*maxBad {
		t.Errorf("%d bad ids are remembered", kept)
	}
	var fault *event.FieldError
	if _, err := r.Schema(numbered(99)); !errors.As(err, &fault) || fault.Reason != event.ReasonUnparsable {
		t.Errorf("a forgotten id: %v", err)
	}
}

// Random ids hold up a stream for maxPatient of them a minute: the next ones are bad at once.
func TestManyUnknownIDs(t *testing.T) {
	at := time.Unix(0, 0)
	_, r, _ := fake(t, Options{Now: func() time.Time { return at }})
	waits := func(id int) bool { return r.LearnSchema(t.Context(), numbered(id)) != nil }
	for id := range maxPatient {
		if !waits(id) {
			t.Errorf("id %d is bad at once", id)
		}
	}
	if waits(100) {
		t.Errorf("the id after %d others is waited for", maxPatient)
	}
	at = at.Add(forget)
	if !waits(101) || len(r.missing) > maxPatient {
		t.Errorf("a minute later an id is bad at once; %d are remembered as missing", len(r.missing))
	}
}

// A follower that has not read a new schema yet answers 404: the other address has it. If none has it, it may have it a
// moment later.
func TestARegistryThatLags(t *testing.T) {
	late, ahead := srfake.New(), srfake.New()
	t.Cleanup(late.Close)
	t.Cleanup(ahead.Close)
	at := time.Unix(0, 0)
	r, err := New(Options{URLs: []string{late.URL(), ahead.URL()}, Now: func() time.Time { return at }})
	expect.OK(t, err)
	both := register(t, late, "old-value", sr.Schema{Schema: event.ArrivalAvro})
	register(t, ahead, "old-value", sr.Schema{Schema: event.ArrivalAvro})
	id := register(t, ahead, "arrivals-value", sr.Schema{Schema: string(event.ArrivalSchema), Type: sr.TypeJSON})
	inJSON, _ := json.Codec{}.AppendArrival(nil, &arrival)
	got, err := readBy(t, r, id, inJSON)
	same(t, got, err)
	if id == both {
		t.Fatal("the first address has the id, too")
	}

	next := id + 1
	if err := r.LearnSchema(t.Context(), numbered(next)); err == nil {
		t.Fatal("an id that no address has is bad at once")
	}
	at = at.Add(missingPause)
	if later := register(t, ahead, "later-value", sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON}); later != next {
		t.Fatalf("the id is %d, want %d", later, next)
	}
	got, err = readBy(t, r, next, inJSON)
	same(t, got, err)
	if len(r.missing) > 0 {
		t.Errorf("%d ids are missing after they were found", len(r.missing))
	}

	late.Close() // an address that is away is no reason to wait for an id that the other one lacks
	for range missingTimes - 1 {
		if err := r.LearnSchema(t.Context(), numbered(500)); err == nil {
			t.Fatal("an id is bad before it was asked for often enough")
		}
		at = at.Add(missingPause)
	}
	expect.Error(t, expect.ErrorOf(readBy(t, r, 500, []byte{0})), "no schema 500")
}

// A schema may import a file that has the name under which the compiler would look for the schema itself.
func TestAReferenceNamedAsTheSchema(t *testing.T) {
	for _, name := range []string{"money.proto", "schema.proto", "main/schema.proto"} {
		text := `syntax = "proto3"; import "` + name + `"; message Row { string id = 1; repeated float features = 2; }`
		written, err := parseProtobuf(t.Context(), text, []reference{{name, `syntax = "proto3"; message Money {}`}})
		expect.OK(t, err)
		var a event.Arrival
		expect.OK(t, written.DecodeArrival([]byte{0, 0x0a, 2, 'n', '1', 0x12, 4, 0, 0, 0x80, 0x3f}, &a))
		expect.Same(t, "n1", a.ID, "the id beside %s", name)
	}
}

func TestASchemaThatCannotBeRead(t *testing.T) {
	server, r, _ := fake(t, Options{})
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(`{"schema":"{"}`))
		return true
	})
	expect.Error(t, expect.ErrorOf(readBy(t, r, 7, []byte{0})), "schema 7 cannot be read")
}

func TestAnOutageIsNoAnswer(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"503":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"429":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"401":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"a proxy's 404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"a proxy's 400": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) },
		"null":          func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("null")) },
		"no schema":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"up"}`)) },
		"a gateway's JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			_, _ = w.Write([]byte(`{"message":"no route"}`))
		},
		"a time-out": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"a longer answer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte(" "), maxAnswer+1))
		},
		"a broken off body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("{"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			r, err := New(Options{URLs: []string{server.URL}, Timeout: 100 * time.Millisecond})
			expect.OK(t, err)
			if err := r.LearnSchema(t.Context(), numbered(1)); err == nil || r.known(numbered(1)) {
				t.Errorf("%v, known %v, want an error and nothing learnt", err, r.known(numbered(1)))
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, r, _ := fake(t, Options{})
	if err := r.LearnSchema(ctx, numbered(1)); err == nil {
		t.Error("learnt after the end of the context")
	}
}

// login is a name and a password.
type login struct{}

func (login) Credentials() (string, string, error) { return "me", "geheim", nil }

// A redirect is not followed: the login would go to another address.
func TestNoLoginLeavesTheRegistry(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var seen atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if name, password, ok := req.BasicAuth(); ok && name == "me" && password == "geheim" {
			seen.Add(1)
		}
		http.Redirect(w, req, other.URL+req.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	if r, err := New(Options{URLs: []string{server.URL}, Login: login{}}); err != nil ||
		r.LearnSchema(t.Context(), numbered(1)) == nil ||
		seen.Load() > 0 {
		t.Fatalf("a certificate that nobody signed is taken: %v", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	r, err := New(Options{URLs: []string{server.URL}, Login: login{}, TLS: tlsclient.Fixed{TLS: &tls.Config{RootCAs: pool}}})
	expect.OK(t, err)
	err = r.LearnSchema(t.Context(), numbered(1))
	if err == nil || strings.Contains(err.Error(), "geheim") || seen.Load() != 1 || elsewhere.Load() != 0 {
		t.Errorf("%v; %d requests with the login, %d elsewhere", err, seen.Load(), elsewhere.Load())
	}
}

func TestOutput(t *testing.T) {
	for _, name := range []string{"avro", "protobuf", "json"} {
		server, r, _ := fake(t, Options{})
		looked, err := r.Output(name, "predictions", false)
		expect.OK(t, err)
		var permanent Permanent
		if err := looked.Resolve(t.Context()); !errors.As(err, &permanent) {
			t.Errorf("%s: a schema that nobody registered: %v, want a permanent error", name, err)
		}
		made, err := r.Output(name, "predictions", true)
		if err == nil {
			err = made.Resolve(t.Context())
		}
		if err == nil {
			err = looked.Resolve(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !server.SubjectExists("predictions-value") {
			t.Errorf("%s: the subject is not predictions-value", name)
		}
		want := event.Prediction{ID: "n", Class: 3, Probability: 0.5, Artifact: "v1", Source: event.Source{Topic: "a"}}
		data, err := looked.AppendPrediction(nil, &want)
		expect.OK(t, err)
		if again, _ := made.AppendPrediction(nil, &want); !bytes.Equal(again, data) || data[0] != 0 {
			t.Errorf("%s: % x and % x", name, data, again)
		}
		payload := data[len(read.AppendConfluentHead(nil, 0))+len(looked.index):]
		var got event.Prediction
		if err := looked.DecodePrediction(payload, &got); err != nil || got.Class != 3 || got.ID != "n" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if want := "application/vnd.confluent." + name; looked.ContentType() != want {
			t.Errorf("content-type %q, want %q", looked.ContentType(), want)
		}
	}
}

func FuzzProtobufOfOthers(f *testing.F) {
	written, err := parseProtobuf(context.Background(),
		strings.Replace(strings.Replace(foreign, `import "common.proto";`, "", 1), "Unit unit = 4;", "Click in = 4;", 1), nil)
	expect.OK(f, err)
	f.Add([]byte{4, 0, 0, 0x3a, 1, 'n'})
	f.Add([]byte{0, 10, 1, 'x'})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a event.Arrival
		var l event.Label
		_, jsonErr := written.AppendJSON(nil, data)
		for _, err := range []error{written.DecodeArrival(data, &a), written.DecodeLabel(data, &l), jsonErr} {
			var fault *event.FieldError
			if err != nil && (!errors.As(err, &fault) || fault.Reason == "") {
				t.Fatalf("%v is no FieldError", err)
			}
		}
	})
}
