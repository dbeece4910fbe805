package serving

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/infer/attach"
	"rivulet/test/expect"
)

// slow blocks the reading of files, from the nth on, until it is released.
type slow struct {
	nth     int
	reached chan struct{}
	letGo   chan struct{}

	mu    sync.Mutex
	files int
}

func (s *slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if key, ok := cmd.Args()[len(cmd.Args())-1].(string); ok && cmd.Name() == "get" && strings.Contains(key, ":blob:") {
			s.mu.Lock()
			s.files++
			here := s.files == s.nth
			s.mu.Unlock()
			if here {
				close(s.reached)
				<-s.letGo
			}
		}
		return next(ctx, cmd)
	}
}

func (s *slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Two versions of the same M have it in memory once, while both are in use.
func TestAnMThatStaysIsInMemoryOnce(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		w, _ := newWatcherOf(t, s.client, s.prefix, "consumer", 1<<20)
		var tables []*attach.PackedRows
		for _, b := range []*artifact.Bundle{bundle(t, 1, "v1"), bundle(t, 1, "v2"), bundle(t, 2, "v3")} {
			s.publish(t, b)
			mustServe(t, w, b.Manifest.Version)
			tables = append(tables, w.Current().Numbers(b.Mapping.IDs[:1], make([]uint32, 1)))
		}
		if tables[0] == nil || tables[0] != tables[1] || tables[1] == tables[2] {
			t.Errorf("the tables of v1, v2 and v3 are %p, %p and %p: want the first two to be one", tables[0], tables[1],
				tables[2])
		}
	})
}

// However long a version takes to load, batches are answered by the previous one. A batch that is under way when the
// new version is swapped in ends on the old one, and the next begins on the new one; the same holds for going back.
func TestSwapStallsNobody(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		first, second := bundle(t, 1, "v1"), bundle(t, 2, "v2")
		s.publish(t, first)
		client := s.connect(t)
		w, _ := newWatcher(t, client, s.prefix, "consumer")
		mustServe(t, w, "v1")
		for _, to := range []string{"v2", "v1"} {
			from, next := first, second
			if to == "v1" {
				from, next = second, first
			}
			if to == "v2" {
				s.publish(t, second)
			} else if err := s.publisher(t).SetCurrent(t.Context(), "v1", false); err != nil {
				t.Fatal(err)
			}
			hook := &slow{nth: 2, reached: make(chan struct{}), letGo: make(chan struct{})}
			client.AddHook(hook)
			loaded := make(chan error)
			go func() { loaded <- w.poll(t.Context()) }()
			<-hook.reached
			inBatch := w.Current()
			for range 3 {
				mustAnswerLike(t, w.Current(), from)
			}
			close(hook.letGo)
			expect.OK(t, <-loaded)
			mustAnswerLike(t, inBatch, from)
			mustAnswerLike(t, w.Current(), next)
		}
	})
}
