package serving

import (
	"errors"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
)

// Redis loses parts of a complete version. A consumer that starts refuses the version, one that serves it finds out;
// the same artifact published again brings the parts back, and both go on by themselves.
func TestPublishingAgainBringsBackWhatIsLost(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for name, lose := range map[string]func(data string) error{
			"bucket":      func(data string) error { return s.client.Del(t.Context(), data+":rows:3").Err() },
			"damaged row": func(data string) error { return s.damage(t, data+":rows:3") },
			"page table": func(data string) error {
				return s.client.SetRange(t.Context(), data+":rows:3", 12, "\x01\x01").Err()
			},
			"file": func(data string) error {
				return s.client.Del(t.Context(), data+":blob:synthetic.safetensors:0").Err()
			},
			"changed file": func(data string) error {
				return s.client.SetRange(t.Context(), data+":blob:synthetic.safetensors:0", 99, "!").Err()
			},
			"seal of all rows": func(string) error {
				return s.client.HSet(t.Context(), keysOf(s.prefix).Complete("v1"), mapping.MarkerSeal, "1").Err()
			},
			"foreign row": func(data string) error {
				return s.client.Append(t.Context(), data+":rows:3", "\x06nobody\x01\x00").Err()
			},
		} {
			t.Run(name, func(t *testing.T) {
				s.clear(t)
				b := bundle(t, 1, "v1")
				s.publish(t, b)
				serves, _ := newWatcherOf(t, s.client, s.prefix, "serves", 0)
				mustServe(t, serves, "v1")
				files := len(s.data(t, "v1"))
				expect.OK(t, lose(s.dataOf(t, "v1")))
				starts, log := newWatcherOf(t, s.client, s.prefix, "starts", 1<<20)
				for range 2 {
					if err := tick(t, starts); !errors.As(err, new(refusal)) || starts.Ready() {
						t.Fatalf("a consumer that starts: error %v, want a refusal", err)
					}
				}
				s.publish(t, b)
				if got := len(s.data(t, "v1")); got != files {
					t.Errorf("%d keys after it was published again, want %d", got, files)
				}
				log.take()
				mustServe(t, starts, "v1")
				if got := log.take(); len(got) != 2 || !strings.Contains(got[0], "serving version") {
					t.Errorf("logged %q", got)
				}
				for _, w := range []*Watcher{starts, serves} {
					mustAnswerLike(t, w.Current(), b)
				}
			})
		}
	})
}

// damage makes the first row of a bucket one that no codec reads.
func (s *server) damage(t *testing.T, bucket string) error {
	text, err := s.client.Get(t.Context(), bucket).Result()
	if err != nil {
		return err
	}
	return s.client.Set(t.Context(), bucket, mappingtest.Damaged(text, pagesOf(bundle(t, 1, "v1")), ""), 0).Err()
}

// pagesOf is the number of pages that the buckets of a bundle's rows have.
func pagesOf(b *artifact.Bundle) int { return mapping.LayoutOf(b.Mapping).Pages }

// Eviction takes a bucket of a version that serves: its nodes are not "unknown", on one server as on a cluster. Where
// Redis is waited for lookups fail, where it degrades these rows are unread, and a publication brings them back.
func TestLostBucket(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for _, degrade := range []bool{false, true} {
			s.clear(t)
			b := bundle(t, 1, "v1")
			s.publish(t, b)
			w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 0)
			w.loader.guard = mapping.NewGuard(mapping.GuardOptions{Degrade: degrade})
			mustServe(t, w, "v1")
			bucket := s.dataOf(t, "v1") + ":rows:3"
			lost := map[string]bool{}
			for _, id := range mappingtest.IDs(s.client.Get(t.Context(), bucket).Val(), pagesOf(b)) {
				lost[id] = true
			}
			if err := s.client.Del(t.Context(), bucket).Err(); err != nil || len(lost) == 0 {
				t.Fatalf("%d rows in the bucket, %v", len(lost), err)
			}
			read := func() []attach.Row {
				rows := make([]attach.Row, len(b.Mapping.IDs))
				if err := w.Current().Rows(t.Context(), b.Mapping.IDs, rows); err != nil {
					if !degrade && errors.Is(err, mapping.ErrVanished) {
						return nil
					}
					t.Fatal(err)
				}
				return rows
			}
			got := read()
			if (got != nil) != degrade {
				t.Errorf("degrade %t: %d rows", degrade, len(got))
			}
			for i, row := range got {
				if row.Unread != lost[b.Mapping.IDs[i]] || row.Known == row.Unread {
					t.Fatalf("row %d, which is lost: %t, is %+v", i, lost[b.Mapping.IDs[i]], row)
				}
			}
			if n := w.loader.guard.Losses().EvictedBuckets; n != 1 {
				t.Errorf("degrade %t: %d buckets counted", degrade, n)
			}
			s.publish(t, b)
			want := make([]attach.Row, len(b.Mapping.IDs))
			expect.OK(t, mapping.FromArtifact(b.Mapping).Rows(t.Context(), b.Mapping.IDs, want))
			expect.Same(t, want, read(), "degrade %t: rows after a publication", degrade)
		}
	})
}
