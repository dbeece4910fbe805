package kafka

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// Brokers of before topic ids are read by name, and a warning says so once.
func TestOlderBrokersAreReadByName(t *testing.T) {
	for name, c := range map[string]struct {
		versions *kversion.Versions
		fetch    int16
		ids      bool
	}{"2.5": {kversion.V2_5_0(), 11, false}, "2.8": {kversion.V2_8_0(), 12, true}, "3.1": {kversion.V3_1_0(), 13, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "predictions"),
				kfake.MaxVersions(c.versions))
			expect.OK(t, err)
			defer cluster.Close()
			var versions []int16
			cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				versions = append(versions, r.GetVersion())
				return nil, nil, false
			})
			client, err := Connect(Options{Brokers: cluster.ListenAddrs(), MetadataTTL: 100 * time.Millisecond})
			expect.OK(t, err)
			defer client.Close()
			sink, err := NewSink(client, "", retry.Patience{})
			expect.OK(t, err)
			expect.OK(t, sink.Send(t.Context(), "predictions", []Record{{Value: []byte("a")}, {Value: []byte("b")}}))
			var log bytes.Buffer
			s, err := NewSource(client, SourceOptions{Group: "g", Topics: []string{"predictions"},
				FetchWait: 10 * time.Millisecond},
				retry.Patience{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			expect.OK(t, err)
			expect.OK(t, s.Await(t.Context()))
			g, err := s.Join(t.Context())
			expect.OK(t, err)
			defer s.Leave()
			for range 2 {
				cursors, err := g.Cursors(t.Context())
				expect.OK(t, err)
				if got := values(t, cursors[0], 2); !slices.Equal(got, []string{"a", "b"}) {
					t.Errorf("read %v", got)
				}
				expect.OK(t, g.Commit(t.Context(), Offsets{{Topic: "predictions"}: 0}))
			}
			if want := 1; (strings.Count(log.String(), "do not know topics by ids") == want) == c.ids {
				t.Errorf("the log says\n%s", log.String())
			}
			if len(versions) == 0 || slices.ContainsFunc(versions, func(v int16) bool { return v != c.fetch }) {
				t.Errorf("fetches of versions %v, want %d", versions, c.fetch)
			}
		})
	}
}

// A follower goes on in a topic that was made anew, another reader says that it was.
func TestReadersNoticeATopicThatWasMadeAnew(t *testing.T) {
	b := newBench(t, 1)
	b.send("predictions", "old", "older")
	values, end := b.follower(ReaderOptions{Topic: "predictions"})
	b.send("predictions", "before")
	b.await("it is read", func() bool { return len(values()) == 1 })
	stale := b.cursor(0)
	if _, _, err := stale.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect.OK(t, b.kafka.Cluster.DeleteTopic("predictions"))
	expect.OK(t, b.kafka.Cluster.CreateTopic("predictions", 1, nil))
	b.send("predictions", "new")
	b.await("the new topic is read", func() bool { return slices.Contains(values(), "new") })
	if err := end(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, _, err := stale.fetch(ctx)
		if errors.Is(err, errRemade) {
			break
		}
		if err == nil || ctx.Err() != nil {
			t.Fatalf("another reader read on: %v", err)
		}
	}
}
