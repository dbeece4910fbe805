package featurestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/event"
	"rivulet/event/read"
	"rivulet/mapping"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// servers are an embedded Redis and, where tests may have one, a real one.
func servers(t *testing.T) map[string]*redis.Client {
	t.Helper()
	all := map[string]string{"embedded": miniredis.RunT(t).Addr()}
	if harness.HasRedis() {
		all["real"] = harness.StartRedis(t).Addr
	}
	clients := map[string]*redis.Client{}
	for name, addr := range all {
		clients[name] = redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, MaxRetries: -1})
		t.Cleanup(func() { _ = clients[name].Close() })
	}
	return clients
}

func store(t testing.TB, client redis.UniversalClient, form read.FeatureForm, maxBytes int) *Store {
	t.Helper()
	s, err := New(Options{Client: client, Prefix: "features:", Form: form, MaxBytes: maxBytes, Timeout: 5 * time.Second})
	expect.OK(t, err)
	return s
}

// lookUp returns the features and reasons of faults of ids.
func lookUp(t testing.TB, s *Store, ids ...string) ([]*event.Features, []string, error) {
	t.Helper()
	into, faults := make([]*event.Features, len(ids)), make([]*event.FieldError, len(ids))
	for i := range into {
		into[i] = &event.Features{Absent: true}
	}
	err := s.Read(t.Context(), ids, into, faults)
	reasons := make([]string, len(ids))
	for i, f := range faults {
		if f != nil {
			reasons[i] = f.Reason
			if !strings.Contains(f.Error(), "features:"+ids[i]) {
				t.Errorf("%s: %q names no key", ids[i], f.Error())
			}
		}
	}
	return into, reasons, err
}

// Read gives the features that Put has written; a value that is missing, damaged or of another type is the fault of its
// id alone.
func TestRead(t *testing.T) {
	for name, client := range servers(t) {
		s := store(t, client, read.FeaturesJSON, 100)
		put := map[string]string{"list": "[1,2.5]", "sparse": `{"indices":[1],"values":[3]}`, "cut": "[1,", "empty": "",
			"long": "[" + strings.Repeat("1,", 60) + "1]", "Grüße \n": "[7]"}
		for id, text := range put {
			expect.OK(t, s.Put(t.Context(), []Entry{{id, []byte(text)}}, 0))
		}
		expect.OK(t, client.HSet(t.Context(), "features:hash", "a", "b").Err())
		got, reasons, err := lookUp(t, s, "list", "nobody", "sparse", "cut", "hash", "empty", "long", "Grüße \n", "list")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []string{"", event.ReasonFeaturesAbsent, "", event.ReasonFeaturesStored, event.ReasonFeaturesStored,
			event.ReasonFeaturesAbsent,
			event.ReasonFeaturesStored, "", ""}
		expect.Same(t, want, reasons, "%s: reasons", name)
		if fmt.Sprint(got[0].Values, got[2].Indices, got[2].Values, got[7].Values, got[8].Values,
			got[0].Absent) != "[1 2.5] [1] [3] [7] [1 2.5] false" {
			t.Errorf("%s: read %+v", name, got)
		}
	}
}

// Values that are longer than their share of one answer are read whole by further requests, of a bounded answer each.
func TestReadLongValues(t *testing.T) {
	client := servers(t)["embedded"]
	s := store(t, client, read.FeaturesFloat32, 1<<20)
	counted := &answers{}
	client.AddHook(counted)
	ids, long := make([]string, 400), make([]float32, (answerBytes/400+4)/4+1000) // longer than a share
	for i := range ids {
		ids[i] = fmt.Sprint(i)
		row := event.Features{Values: []float32{float32(i), 1}}
		if i%10 == 0 {
			long[0] = float32(i)
			row.Values = long
		}
		value, err := read.FeaturesFloat32.Append(nil, &row)
		expect.OK(t, err)
		expect.OK(t, s.Put(t.Context(), []Entry{{ids[i], value}}, time.Hour))
	}
	counted.sizes = nil
	got, reasons, err := lookUp(t, s, ids...)
	expect.OK(t, err)
	for i, f := range got {
		if want := 2 + (len(long)-2)*max(0, 1-i%10); reasons[i] != "" || len(f.Values) != want || f.Values[0] != float32(i) {
			t.Fatalf("%d: %d values, %q, want %d", i, len(f.Values), reasons[i], want)
		}
	}
	if len(counted.sizes) != 4 { // all of them, and 40 long ones in groups of 16
		t.Errorf("%d requests, of %d bytes", len(counted.sizes), counted.sizes)
	}
	for _, size := range counted.sizes {
		if size > answerBytes+len(ids) {
			t.Errorf("an answer has %d bytes, want at most %d", size, answerBytes+len(ids))
		}
	}
	if ttl := client.TTL(t.Context(), "features:7").Val(); ttl != time.Hour {
		t.Errorf("expires in %s", ttl)
	}
}

// answers counts the bytes of the answers to each pipelined request.
type answers struct{ sizes []int }

func (*answers) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*answers) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (a *answers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err, size := next(ctx, cmds), 0
		for _, c := range cmds {
			if text, ok := c.(*redis.StringCmd); ok {
				size += len(text.Val())
			}
		}
		a.sizes = append(a.sizes, size)
		return err
	}
}

// Many ids, and long ones, are several requests.
func TestPortion(t *testing.T) {
	ids := make([]string, 3000)
	if n := portion(ids); n != idsPerRequest {
		t.Errorf("%d ids in one request", n)
	}
	for i := range ids {
		ids[i] = strings.Repeat("x", 10_000)
	}
	if n := portion(ids); n != idBytes/10_000 {
		t.Errorf("%d ids of 10,000 bytes in one request", n)
	}
	if n := portion([]string{strings.Repeat("x", 2*idBytes), "y"}); n != 1 {
		t.Errorf("%d ids with one of 2 MiB in one request", n)
	}
}

// A Redis that is away is to be tried again; one that refuses this client is not.
func TestReadErrors(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	s := store(t, client, read.FeaturesJSON, 0)
	var final interface{ Permanent() bool }
	for answer, permanent := range map[string]bool{"LOADING Redis is loading the dataset in memory": false,
		"NOPERM this user has no permissions to run the 'getrange' command": true,
		"WRONGPASS invalid username-password pair":                          true,
		"NOAUTH Authentication required.":                                   true, "MOVED 1 127.0.0.1:1": true} {
		server.SetError(answer)
		_, _, err := lookUp(t, s, "a", "b")
		if err == nil || errors.As(err, &final) != permanent || mapping.Refused(err) != permanent {
			t.Errorf("%s: error %v, want that it is permanent: %v", answer, err, permanent)
		}
	}
	server.SetError("")
	server.RequireUserAuth("me", "word")
	stranger := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, Username: "me",
		Password: "other"})
	defer func() { _ = stranger.Close() }()
	if _, reasons, err := lookUp(t, store(t, stranger, read.FeaturesJSON, 0), "a"); !errors.As(err, &final) {
		t.Errorf("a wrong password: error %v and faults %q", err, reasons)
	}
	server.Close()
	if _, _, err := lookUp(t, s, "a"); err == nil || errors.As(err, &final) {
		t.Errorf("error %v of a server that is gone", err)
	}
	for _, o := range []Options{{}, {Client: client, Form: "text", Timeout: 1},
		{Client: client, Form: read.FeaturesJSON}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, form := range []read.FeatureForm{read.FeaturesFloat32, read.FeaturesJSON} {
		b.Run(string(form), func(b *testing.B) {
			server := harness.StartRedis(b)
			client := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: 2})
			defer func() { _ = client.Close() }()
			s := store(b, client, form, 1<<20)
			const batch, width = 256, 500
			ids, into, faults := make([]string, batch), make([]*event.Features, batch), make([]*event.FieldError, batch)
			row := event.Features{Values: make([]float32, width)}
			for k := range row.Values {
				row.Values[k] = float32(k%17) / 7
			}
			value, err := form.Append(nil, &row)
			expect.OK(b, err)
			for i := range ids {
				ids[i], into[i] = fmt.Sprintf("node-%d", i), &event.Features{}
				expect.OK(b, s.Put(b.Context(), []Entry{{ids[i], value}}, 0))
			}
			b.ResetTimer()
			for b.Loop() {
				if err := s.Read(b.Context(), ids, into, faults); err != nil || faults[0] != nil {
					b.Fatal(err, faults[0])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/batch, "µs/arrival")
		})
	}
}
