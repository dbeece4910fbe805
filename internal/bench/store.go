package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/infer/attach"
	"rivulet/mapping"
)

// storeSkews are the exponents s of the power laws by which ids are asked for: the id of rank r with a probability in
// proportion to 1/r^s. 0: all alike.
var storeSkews = []float64{0, 0.8, 1, 1.2}

// storeCaches are the sizes of the cache, in percent of the rows of M.
var storeCaches = []int{1, 10}

const (
	storeSynthetic = 400 // N'
	storePiece     = 1 << 18
	// storeEntry is the memory of a cache for each row of mapEntries entries that it holds in the mean, with an id of some
	// seven bytes: 80 to 95 bytes, and the generation that is being filled.
	storeEntry = 115
)

// store measures an M of a given size in Redis: its publication, in parts, and lookups behind caches of two sizes, by
// the skew of the ids.
func (b *run) store(ctx context.Context) error {
	services, err := b.Services(ctx)
	if err != nil {
		return err
	}
	defer services.Close()
	for _, n := range b.StoreRows {
		err := services.withKeys(ctx, func(server config.RedisServer, client mapping.Client) error {
			table, err := b.storePublished(ctx, server, client, n)
			if err != nil {
				return err
			}
			for _, skew := range storeSkews {
				for _, percent := range storeCaches {
					if err := b.storeLookups(ctx, mapping.NewRedis(client, table), n, skew, percent); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// storePublished writes the rows of an M that is drawn a piece at a time.
func (b *run) storePublished(ctx context.Context, server config.RedisServer, client mapping.Client,
	n int) (mapping.Table, error) {
	name := fmt.Sprintf("rows=%d/publish", n)
	b.Progress.Live("store: " + name)
	held, err := redisMemory(ctx, client)
	if err != nil {
		return mapping.Table{}, err
	}
	bundle := &artifact.Bundle{Manifest: artifact.Manifest{SyntheticNodes: storeSynthetic,
		Mapping: artifact.MappingInfo{Rows: n}}, Parts: storePieces(n)}
	before := now()
	grouped, err := mapping.GroupOf(ctx, bundle, "")
	if err != nil {
		return mapping.Table{}, err
	}
	defer grouped.Close()
	table := mapping.Table{Keys: server.Prefix + ":rows:", Layout: grouped.Layout(), Synthetic: storeSynthetic,
		Marker: server.Prefix + ":complete", MarkerID: "1:bench"}
	err = grouped.Write(ctx, client, table, 0, func(_, rows int) error {
		b.Progress.Live(fmt.Sprintf("store: %s: %d", name, rows))
		return ctx.Err()
	})
	took := now().since(before)
	if err == nil {
		err = client.HSet(ctx, table.Marker, mapping.MarkerField, table.MarkerID).Err()
	}
	if err != nil {
		return table, err
	}
	holds, err := redisMemory(ctx, client)
	b.report.add(Store, name, 1, map[string]float64{"rows/s": float64(n) / took.wall.Seconds(),
		"CPU-s/Mrow": took.cpu.Seconds() / float64(n) * 1e6, "B/row": float64(holds-held) / float64(n)})
	return table, err
}

// storePieces draws rows of mapEntries weights each.
func storePieces(n int) iter.Seq2[*artifact.Mapping, error] {
	return func(yield func(*artifact.Mapping, error) bool) {
		rng := rand.New(rand.NewPCG(1, 0))
		for from := 0; from < n; from += storePiece {
			if !yield(drawMapping(rng, from, min(storePiece, n-from), storeSynthetic), nil) {
				return
			}
		}
	}
}

// redisMemory returns the bytes that all masters use.
func redisMemory(ctx context.Context, client mapping.Client) (int64, error) {
	var total atomic.Int64
	err := mapping.EachMaster(ctx, client, func(ctx context.Context, node mapping.Client) error {
		info, err := node.Info(ctx, "memory").Result()
		if err != nil {
			return err
		}
		for line := range strings.Lines(info) {
			if text, is := strings.CutPrefix(line, "used_memory:"); is {
				used, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
				total.Add(used)
				return err
			}
		}
		return errors.New("INFO memory of Redis has no used_memory")
	})
	return total.Load(), err
}

// countingLookup counts the ids that a lookup is asked for.
type countingLookup struct {
	mapping.Lookup
	asked int
}

func (c *countingLookup) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	c.asked += len(ids)
	return c.Lookup.Rows(ctx, ids, rows)
}

// storeLookups measures lookups behind a cache that has seen three times as many ids as it has room for.
func (b *run) storeLookups(ctx context.Context, inner mapping.Lookup, n int, skew float64, percent int) error {
	name := fmt.Sprintf("rows=%d/skew=%g/cache=%d%%", n, skew, percent)
	room := n / 100 * percent
	redis := &countingLookup{Lookup: inner}
	cache := mapping.NewCached(redis, int64(room)*storeEntry)
	rng := rand.New(rand.NewPCG(uint64(n), math.Float64bits(skew)))
	ids, rows := make([]string, lookedUp), make([]attach.Row, lookedUp)
	l := &lookups{ctx: ctx}
	batch := func() {
		for k := range ids {
			ids[k] = id(int(ranked(rng.Float64(), float64(n), skew)))
		}
	}
	for seen := 0; seen < 3*room && l.failed == nil; seen += lookedUp {
		b.Progress.Live(fmt.Sprintf("store: %s: filling the cache, %d", name, seen))
		batch()
		l.look(cache, ids, rows)
	}
	b.Progress.Live("store: " + name)
	redis.asked = 0
	timed := inTurn(b.Time, []side{{name: name, prepare: func(int) {
		batch()
	}, run: func(int) { l.look(cache, ids, rows) }}})
	runs := timed[0].runs + 1 // one more for the processor's caches
	b.report.add(Store, name, timed[0].runs, map[string]float64{"rows/s": lookedUp / timed[0].median(),
		"µs/row": timed[0].median() / lookedUp * 1e6, "hits": 1 - float64(redis.asked)/float64(runs*lookedUp)})
	return l.failed
}

// ranked returns the rank, from 0, below n, that belongs to a share u of a power law's probability: the inverse of its
// distribution, with the sum over ranks as an integral from 1 to n+1.
func ranked(u, n, skew float64) float64 {
	if skew == 1 {
		return math.Min(math.Floor(math.Pow(n+1, u))-1, n-1)
	}
	x := math.Pow((math.Pow(n+1, 1-skew)-1)*u+1, 1/(1-skew))
	return math.Min(math.Floor(x)-1, n-1)
}
