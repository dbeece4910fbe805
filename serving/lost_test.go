package serving

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/mapping/mappingtest"
	"rivulet/test/expect"
)

// Rows that Redis lost, or changed, between their marker and the loading are noticed, whether M is read whole or not;
// the previous version goes on serving.
func TestLostRowsAreRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		for name, cacheBytes := range map[string]int64{"whole": 1 << 20, "as needed": 8 << 10, "without cache": 0} {
			t.Run(name, func(t *testing.T) {
				s.clear(t)
				first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
				s.publish(t, first)
				w, log := newWatcherOf(t, s.client, s.prefix, "consumer", cacheBytes)
				mustServe(t, w, "v1")
				s.publish(t, second)
				bucket := s.dataOf(t, "v2") + ":rows:3"
				if n, err := s.client.Del(t.Context(), bucket).Result(); err != nil || n == 0 {
					t.Fatalf("%d buckets are gone: %v", n, err)
				}
				log.take()
				for range 3 {
					expect.Error(t, tick(t, w), "of 300 rows of M: the others were lost or evicted")
				}
				if got := log.take(); len(got) != 1 || !strings.Contains(got[0], "serving=v1") {
					t.Errorf("logged %q, want the refusal once", got)
				}
				mustAnswerLike(t, w.Current(), first)
			})
		}
	})
}

func TestDamagedRowsAreRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		s.publish(t, b)
		expect.OK(t, s.damage(t, s.dataOf(t, "v1")+":rows:3"))
		w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 1<<20)
		for range 2 {
			if err := tick(t, w); !errors.As(err, new(refusal)) || !errors.Is(err, mapping.ErrDamaged) || w.Ready() {
				t.Fatalf("error = %v, want a refusal of the row", err)
			}
		}
	})
}

// One node of a cluster comes back empty: a lookup of its rows fails, and does not say that ids are unknown.
func TestLostNode(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		client, ok := s.client.(*redis.ClusterClient)
		if !ok {
			t.Skip("one server: its marker goes with its rows, see TestVanishedVersion")
		}
		b := bundle(t, 1, "v1")
		s.publish(t, b)
		w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 0)
		mustServe(t, w, "v1")
		marker, err := client.MasterForKey(t.Context(), "{"+s.prefix+"}:current")
		expect.OK(t, err)
		var mu sync.Mutex
		var lost []string // ids of rows that are gone
		err = client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
			if node.Options().Addr == marker.Options().Addr {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			for _, key := range node.Keys(ctx, "*:rows:*").Val() {
				lost = append(lost, mappingtest.IDs(node.Get(ctx, key).Val(), pagesOf(b))...)
				if err := node.Del(ctx, key).Err(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(lost) == 0 || len(lost) == len(b.Mapping.IDs) {
			t.Fatalf("%d of %d rows were removed: %v", len(lost), len(b.Mapping.IDs), err)
		}
		gone := map[string]bool{}
		for _, id := range lost {
			gone[id] = true
		}
		for _, id := range b.Mapping.IDs {
			row := make([]attach.Row, 1)
			err := w.Current().Rows(t.Context(), []string{id}, row)
			if errors.Is(err, mapping.ErrVanished) != gone[id] || !gone[id] && !row[0].Known {
				t.Fatalf("row of %s, which is lost: %t, gives %+v, %v", id, gone[id], row[0], err)
			}
		}
	})
}
