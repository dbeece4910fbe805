package arrivals

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// Whichever bit of a stored row or note is changed, it is never read as another one; and a row is not taken for that
// of another id.
func TestAFlippedBitOfAnArrivalIsSeen(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		a := w.open(t, time.Hour, 1000)
		a.cache = nil
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprint("p", i))
			mustKeep(t, a, arrivedAs(ids[i], uint64(i), float32(i)/8, 0, 3))
		}
		note := growth.Note{Place: "g:t:0", Offset: 5, Record: 9, Attached: []int32{1},
			Rows: []attach.Row{{Known: true, Cols: []int32{2}, Vals: []float32{0.5}}}}
		expect.OK(t, a.Note(t.Context(), []growth.Note{note}))
		want, _ := find(t, a, ids, nil)
		field := func(i int) (key, field string) {
			if i == len(ids) {
				return w.table.notes("g:t:0"), "5"
			}
			return w.table.bucket(bucketOf(ids[i], a.buckets), a.epoch.Load()), ids[i]
		}
		rng := rand.New(rand.NewPCG(3, 3))
		for range 500 {
			i := rng.IntN(len(ids) + 1)
			key, name := field(i)
			good := client.HGet(t.Context(), key, name).Val()
			bad := []byte(good)
			at := rng.IntN(len(bad))
			bad[at] ^= 1 << rng.IntN(8)
			client.HSet(t.Context(), key, name, bad)
			if i == len(ids) {
				again := []growth.Note{{Place: "g:t:0", Offset: 5, Record: 9}}
				err := a.Note(t.Context(), again)
				if err != nil || !again[0].Lost || client.HGet(t.Context(), key, name).Val() != string(bad) {
					t.Fatalf("byte %d of a note: %+v (%v)", at, again[0], err)
				}
			} else {
				got, seen := find(t, a, ids, ids[i:i+1])
				if !got[i].Unread || !seen[0].Row.Unread {
					t.Fatalf("byte %d of %s: %+v", at, ids[i], got[i])
				}
				got[i] = want[i]
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("other rows:\n%s", diff)
				}
			}
			client.HSet(t.Context(), key, name, good)
		}
		one, _ := field(1)
		two, _ := field(2)
		client.HSet(t.Context(), one, ids[1], client.HGet(t.Context(), two, ids[2]).Val())
		if got, _ := find(t, a, ids, nil); !got[1].Unread {
			t.Errorf("the row of another id is taken: %+v", got[1])
		}
	})
}

// Whichever bit of the settings of a version's rows is changed, no consumer works by others. One whose own settings are
// those that were agreed on writes them again. The settings of an older release have no seal, and get one.
func TestAFlippedBitOfTheSettingsIsSeen(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		w := newWorldOfArrivals(t, client, prefix)
		first := Options{TTL: time.Hour, MaxRows: 1000}
		agreed := w.openWith(t, first).settings
		good := client.HGetAll(t.Context(), w.table.Keys).Val()
		if len(good) != 3 {
			t.Fatalf("settings are %v", good)
		}
		for name, value := range good {
			for bit := range 8 * len(value) {
				bad := []byte(value)
				bad[bit/8] ^= 1 << (bit % 8)
				for what, o := range map[string]Options{"the first": first, "another": {TTL: time.Minute, MaxRows: 5000}} {
					client.HSet(t.Context(), w.table.Keys, name, bad)
					o.Log = slog.New(slog.DiscardHandler)
					a, err := Open(t.Context(), client, w.table, o)
					mends := what == "the first" && name != fieldSeal
					if mends && (err != nil || a.settings != agreed || a.Stats().Damaged != 1 ||
						client.HGet(t.Context(), w.table.Keys, name).Val() != value) || !mends && !errors.Is(err, mapping.ErrDamaged) {
						t.Fatalf("%s is %q: %s has %+v (%v)", name, bad, what, a, err)
					}
				}
				client.HSet(t.Context(), w.table.Keys, good)
			}
			client.HDel(t.Context(), w.table.Keys, name) // its name was changed
			a, err := Open(t.Context(), client, w.table, Options{TTL: time.Minute, MaxRows: 5000})
			if name == fieldSeal && (err != nil || a.settings != agreed ||
				client.HGet(t.Context(), w.table.Keys, name).Val() != value) ||
				name != fieldSeal && !errors.Is(err, mapping.ErrDamaged) {
				t.Errorf("without %s: %+v (%v)", name, a, err)
			}
			client.HSet(t.Context(), w.table.Keys, good)
		}
	})
}
