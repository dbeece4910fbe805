package mapping

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"rivulet/artifact"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Tests{M: m}.Run()) }

// onRedis runs a test on the embedded server, a real one and a cluster.
func onRedis(t *testing.T, test func(t *testing.T, client redis.UniversalClient, prefix string)) {
	harness.EachRedis(t, func(t *testing.T, at harness.RedisPlace) {
		client, prefix := connectAt(t, at)
		test(t, client, prefix)
	})
}

// connectAt makes a client of a place, and removes the test's keys afterwards.
func connectAt(t testing.TB, at harness.RedisPlace) (client redis.UniversalClient, prefix string) {
	t.Helper()
	client = connectTo(t, RedisOptions{URL: at.URL, Hosts: at.Hosts, Cluster: at.Cluster, MaxRetries: -1})
	t.Cleanup(func() { _ = harness.Erase(context.Background(), client, harness.Below(at.Prefix)...) })
	return client, at.Prefix + ":"
}

func realRedis(t testing.TB) (client redis.UniversalClient, prefix string) {
	t.Helper()
	return connectAt(t, harness.RealRedis(t))
}

func connect(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	return connectTo(t, RedisOptions{URL: url, MaxRetries: -1})
}

func connectTo(t testing.TB, o RedisOptions) redis.UniversalClient {
	t.Helper()
	client, err := Connect(o)
	expect.OK(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client.(redis.UniversalClient)
}

func oneServer(client redis.UniversalClient) bool {
	_, one := client.(*redis.Client)
	return one
}

// stored writes m with its marker.
func stored(t testing.TB, client redis.UniversalClient, prefix string, m *artifact.Mapping) Table {
	t.Helper()
	table := Table{
		Keys: prefix + "rows:", Layout: LayoutOf(m), Synthetic: m.Rows.Cols, Marker: prefix + "complete", MarkerID: "1:abc",
	}
	g := Group(m)
	expect.OK(t, g.Write(t.Context(), client, table, 0, func(int, int) error { return nil }))
	err := client.HSet(t.Context(), table.Marker, MarkerField, table.MarkerID, MarkerSeal, g.Seal()).Err()
	expect.OK(t, err)
	return table
}

func TestRedisEqualsMemory(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(9000, 4)
		table := stored(t, client, prefix, m)
		memory := FromArtifact(m)
		for _, ordered := range []bool{oneServer(client), false} { // false for a cluster's client
			lookup := NewRedis(client, table)
			if lookup.ordered != oneServer(client) {
				t.Fatalf("a %T counts as a client of one server: %t", client, lookup.ordered)
			}
			lookup.ordered = ordered
			if diff := cmp.Diff(mustRows(t, memory, m.IDs...), mustRows(t, lookup, m.IDs...)); diff != "" {
				t.Fatalf("rows differ (-memory +redis):\n%s", diff)
			}
			rapid.Check(t, func(rt *rapid.T) {
				var ids []string
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 12_000), 0, 200).Draw(rt, "ids") { // unknown, repeated
					ids = append(ids, strconv.Itoa(i))
				}
				want, got := make([]attach.Row, len(ids)), make([]attach.Row, len(ids))
				for i := range got {
					got[i] = attach.Row{Known: true, Cols: []int32{99}} // left over from an earlier call
				}
				if err := errors.Join(memory.Rows(t.Context(), ids, want), lookup.Rows(t.Context(), ids, got)); err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("rows differ (-memory +redis):\n%s", diff)
				}
			})
		}
	})
}

func TestRedisOddIDs(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(5, 3)
		m.IDs = []string{" ", "a\x00b\r\n", "ключ", "007", strings.Repeat("long", 5000)}
		lookup := NewRedis(client, stored(t, client, prefix, m))
		ids := append([]string{"", "7", "a"}, m.IDs...)
		if diff := cmp.Diff(mustRows(t, FromArtifact(m), ids...), mustRows(t, lookup, ids...)); diff != "" {
			t.Errorf("rows differ (-memory +redis):\n%s", diff)
		}
	})
}

// TestRedisVanished: once the table has another marker, a lookup fails and does not say "unknown".
func TestRedisVanished(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(100, 3)
		table := stored(t, client, prefix, m)
		for _, change := range []struct {
			name  string
			apply func() error
			want  string
		}{
			{"replaced", func() error {
				return client.HSet(t.Context(), table.Marker, MarkerField, "2:def").Err()
			}, `has id "2:def", want "1:abc"`},
			{"removed", func() error {
				return errors.Join(client.Del(t.Context(), table.Marker).Err(), DeleteRows(t.Context(), client, table))
			}, "is missing"},
		} {
			expect.OK(t, change.apply())
			for _, ordered := range []bool{oneServer(client), false} {
				lookup := NewRedis(client, table)
				lookup.ordered = ordered
				err := lookup.Rows(t.Context(), []string{"7", "nobody"}, make([]attach.Row, 2))
				if !errors.Is(err, ErrVanished) || !strings.Contains(err.Error(), change.want) ||
					!strings.Contains(err.Error(), "reading 2 mapping rows") {
					t.Errorf("%s, ordered %t: error = %v", change.name, ordered, err)
				}
			}
		}
		if n, err := CountRows(t.Context(), client, table); n != 0 || err != nil {
			t.Errorf("%d rows (%v) after all were removed", n, err)
		}
	})
}

func TestRedisWrongType(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		table := stored(t, client, prefix, numbered(100, 3))
		client.Del(t.Context(), table.Key(table.bucket("7")))
		client.HSet(t.Context(), table.Key(table.bucket("7")), "not", "a string")
		err := NewRedis(client, table).Rows(t.Context(), []string{"8", "7"}, make([]attach.Row, 2))
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || !errors.As(err, new(Refusal)) {
			t.Errorf("error = %v, want Redis' own, which waiting does not change", err)
		}
	})
}

// pipelines returns the buckets at which pipelines that write m end: each has so many that they are a MiB or just more.
func pipelines(t *testing.T, m *artifact.Mapping) (ends []int) {
	t.Helper()
	g, bytes := Group(m), 0
	table := &Table{Layout: g.Layout()}
	for b := range g.Layout().Buckets {
		_, text, err := g.bucket(nil, table, b)
		expect.OK(t, err)
		if bytes += len(text); bytes >= BytesPerPipeline || b == g.Layout().Buckets-1 {
			ends, bytes = append(ends, b+1), 0
		}
	}
	return ends
}

// TestWritingGoesOn: buckets from the given one on are written, and the callback gets the progress.
func TestWritingGoesOn(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		const n = 100_000
		m := numbered(n, 4)
		table := Table{Keys: prefix + "rows:", Layout: LayoutOf(m), Synthetic: m.Rows.Cols}
		stop := errors.New("stop")
		var reached []int
		err := group(m, table.Layout).Write(t.Context(), client, table, 0, func(buckets, rows int) error {
			if reached = append(reached, buckets); len(reached) == 2 {
				return stop
			}
			return nil
		})
		if want := pipelines(t, m); !errors.Is(err, stop) || len(want) < 3 || !slices.Equal(reached, want[:2]) {
			t.Fatalf("error = %v after buckets %v, want %v", err, reached, want)
		}
		next := reached[1]
		if n, _ := client.Exists(t.Context(), table.Key(next)).Result(); n != 0 {
			t.Errorf("bucket %d was written after the stop", next)
		}
		client.Del(t.Context(), table.Key(next-1)) // written before: continuing at the next one does not touch it
		rows := 0
		if err := group(m, table.Layout).Write(t.Context(), client, table, next, func(_, r int) error { rows = r; return nil }); err != nil ||
			rows != n {
			t.Fatalf("error = %v after %d rows", err, rows)
		}
		if n, _ := client.Exists(t.Context(), table.Key(next-1)).Result(); n != 0 {
			t.Errorf("bucket %d was written again", next-1)
		}
		lost, err := CountRows(t.Context(), client, table)
		if err != nil || lost < n-2*n/table.Buckets || lost >= n {
			t.Errorf("%d rows (%v) without one bucket of %d, want less than %d", lost, err, table.Buckets, n)
		}
		expect.OK(t, group(m, table.Layout).Write(t.Context(), client, table, next-1, func(int, int) error { return nil }))
		if got, err := CountRows(t.Context(), client, table); got != n || err != nil {
			t.Errorf("%d rows (%v), want %d", got, err, n)
		}
		client.Append(t.Context(), table.Key(next), "x")
		if got, err := CountRows(t.Context(), client, table); got >= n || err != nil {
			t.Errorf("%d rows (%v) of buckets of which one has another size than it says", got, err)
		}
	})
}

func TestRedisUnreachable(t *testing.T) {
	client := connect(t, "redis://127.0.0.1:1?max_retries=-1")
	table := Table{Keys: "rows:", Layout: Layout{1, 1}, Synthetic: 3, Marker: "complete"}
	m := numbered(3, 1)
	_, counted := CountRows(t.Context(), client, table)
	for want, err := range map[string]error{
		"reading 1 mapping rows: ": NewRedis(client, table).Rows(t.Context(), []string{"1"},
			make([]attach.Row, 1)),
		"writing mapping rows, buckets 0 to 0 of 1: ": group(m, table.Layout).Write(t.Context(), client, table, 0, func(int, int) error {
			return nil
		}),
		"removing mapping rows, buckets 0 to 0 of 1: ": DeleteRows(t.Context(), client, table),
		"counting mapping rows, buckets 0 to 0 of 1: ": counted,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want %q and the reason", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewRedis(client, table).Rows(ctx, []string{"1"}, make([]attach.Row, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that the context has ended", err)
	}
	if err := NewRedis(client, table).Rows(ctx, nil, nil); err != nil {
		t.Errorf("no ids: error = %v", err)
	}
}

func TestConnectOptions(t *testing.T) {
	client, err := Connect(RedisOptions{URL: "rediss://user:word@host:7000/3?read_timeout=7s&pool_size=5", PoolSize: 9,
		MaxRetries: -1})
	expect.OK(t, err)
	defer func() { _ = client.Close() }()
	o := client.(*redis.Client).Options()
	type settings struct {
		Addr, User, Password             string
		DB, Pool, Retries                int
		Dial, Read, Write, Pause, Longer time.Duration
	}
	got := settings{o.Addr, o.Username, o.Password, o.DB, o.PoolSize, o.MaxRetries, o.DialTimeout, o.ReadTimeout,
		o.WriteTimeout,
		o.MinRetryBackoff, o.MaxRetryBackoff}
	want := settings{"host:7000", "user", "word", 3, 9, 0, 5 * time.Second, 7 * time.Second, 3 * time.Second,
		20 * time.Millisecond, 500 * time.Millisecond}
	expect.Same(t, want, got, "options differ")
	for _, url := range []string{"", "redis://:secret@host:port", "http://secret@host", "redis://u:sec%ret@host",
		"secret"} {
		if _, err := Connect(RedisOptions{URL: url}); err == nil || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), "ret@") {
			t.Errorf("url %q: error = %v, want one without the password", url, err)
		}
	}
}
