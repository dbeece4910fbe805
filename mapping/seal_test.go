package mapping

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"rivulet/test/expect"
)

// Whichever bit of a bucket is changed, 500 of them one after the other, each id has its row or is unread: never
// another row, no row of its own, and never a row if it is not in T. A load of all rows is refused.
func TestAFlippedBitIsSeen(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(300, 3)
		table := stored(t, client, prefix, m)
		ids := append(slices.Clone(m.IDs), "nobody", "300", "stranger")
		want := mustRows(t, FromArtifact(m), ids...)
		rng, flips := rand.New(rand.NewPCG(7, 7)), 500
		if testing.Short() {
			flips = 50
		}
		for range flips {
			key := table.Key(rng.IntN(table.Buckets))
			good := client.Get(t.Context(), key).Val()
			bad := []byte(good)
			at, bit := rng.IntN(len(bad)), rng.IntN(8)
			bad[at] ^= 1 << bit
			client.Set(t.Context(), key, bad, 0)
			g := NewGuard(GuardOptions{})
			got := mustRows(t, NewCached(g.Lookup(NewRedis(client, table)), 1<<20), ids...)
			unread := 0
			for i := range ids {
				if got[i].Unread {
					unread++
				} else if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("%s, bit %d of byte %d: %q has %+v, want %+v", key, bit, at, ids[i], got[i], want[i])
				}
			}
			if n := g.Losses().DamagedRows; unread == 0 || n != uint64(unread) {
				t.Fatalf("%s, bit %d of byte %d: %d rows are unread, %d are counted", key, bit, at, unread, n)
			}
			if _, err := NewRedis(client, table).Load(t.Context(), 1<<20, alive); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s, bit %d of byte %d: loading all rows: %v", key, bit, at, err)
			}
			client.Set(t.Context(), key, good, 0)
		}
	})
}

// Buckets that were exchanged, and a bucket of another publication of the same rows, are seen although each of them is
// without a fault.
func TestABucketBelongsToItsNumberAndPublication(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(300, 3)
		table := stored(t, client, prefix, m)
		other := table
		other.Keys, other.MarkerID = prefix+"other:", "2:abc"
		expect.OK(t, group(m, other.Layout).Write(t.Context(), client, other, 0, func(int, int) error { return nil }))
		zero, one := client.Get(t.Context(), table.Key(0)).Val(), client.Get(t.Context(), table.Key(1)).Val()
		for name, swap := range map[string][2]string{"exchanged": {one, zero},
			"of another publication": {client.Get(t.Context(), other.Key(0)).Val(), one}} {
			client.MSet(t.Context(), table.Key(0), swap[0])
			client.MSet(t.Context(), table.Key(1), swap[1])
			opened := NewRedis(client, table) // it has page tables from before
			client.MSet(t.Context(), table.Key(0), zero)
			if _, err := opened.Count(t.Context()); err != nil {
				t.Fatal(err)
			}
			client.MSet(t.Context(), table.Key(0), swap[0])
			for _, lookup := range []*Redis{NewRedis(client, table), opened} {
				got := mustRows(t, NewGuard(GuardOptions{Degrade: true}).Lookup(lookup), m.IDs...)
				for i, id := range m.IDs {
					if table.bucket(id) == 0 && !got[i].Unread || !got[i].Unread && !got[i].Known {
						t.Fatalf("%s: id %s of bucket %d has %+v", name, id, table.bucket(id), got[i])
					}
				}
			}
			if _, err := NewRedis(client, table).Load(t.Context(), 1<<20, alive); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: loading all rows: %v", name, err)
			}
		}
	})
}

// All rows are compared with the seal of the marker, also if a publication was interrupted.
func TestTheMarkerSealsAllRows(t *testing.T) {
	onRedis(t, func(t *testing.T, client redis.UniversalClient, prefix string) {
		m := numbered(300, 3)
		table := stored(t, client, prefix, m)
		seal := client.HGet(t.Context(), table.Marker, MarkerSeal).Val()
		again := Group(m)
		if err := again.Write(t.Context(), client, table, 3, func(int, int) error { return nil }); err != nil ||
			again.Seal() != seal {
			t.Errorf("the seal is %s if writing goes on at bucket 3 (%v), want %s", again.Seal(), err, seal)
		}
		client.HSet(t.Context(), table.Marker, MarkerSeal, "0")
		_, err := NewRedis(client, table).Load(t.Context(), 1<<20, alive)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the checksum of all buckets is "+seal) {
			t.Errorf("error = %v", err)
		}
		mustHold(t, client, table, m)
	})
}
