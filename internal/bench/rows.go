package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/infer/attach"
	"rivulet/mapping"
)

// lookedUp is the number of distinct ids that are looked up at once: as many as a batch of 256 has in the shape of
// flickr.
const lookedUp = 2_560

// rows measures lookups of rows of M: from memory, from a file that is mapped into memory, and from Redis behind a
// cache that has a share of them.
func (b *run) rows(ctx context.Context) error {
	shape, err := b.streamShape()
	if err != nil {
		return err
	}
	m := shape.mapping()
	dir, err := os.MkdirTemp("", "rivulet-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file, err := mapping.FromFile(ctx, dir, shape.Name, func() (*artifact.Bundle, error) {
		return &artifact.Bundle{Mapping: m}, nil
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	services, err := b.Services(ctx)
	if err != nil {
		return err
	}
	defer services.Close()
	return services.withKeys(ctx, func(server config.RedisServer, client mapping.Client) error {
		b.Progress.Live("rows: writing M to Redis")
		table, err := stored(ctx, client, server.Prefix, m)
		if err != nil {
			return err
		}
		b.Progress.Live("rows")
		l := &lookups{ctx: ctx, ids: shape.idBatches(m)}
		sides := []side{l.of("memory", mapping.FromArtifact(m)), l.of("file", file)}
		for _, percent := range []int{0, 50, 90} {
			sides = append(sides, l.behindCache(fmt.Sprintf("redis/hits=%d%%", percent),
				mapping.NewRedis(client, table), percent))
		}
		for s, t := range inTurn(b.Time, sides) {
			b.report.add(Rows, shape.Name+"/"+sides[s].name, t.runs, map[string]float64{"rows/s": lookedUp / t.median(),
				"µs/row": t.median() / lookedUp * 1e6, "B/row": t.allocated() / lookedUp})
		}
		return l.failed
	})
}

// stored writes M as a publication does.
func stored(ctx context.Context, client mapping.Client, prefix string, m *artifact.Mapping) (mapping.Table, error) {
	table := mapping.Table{Keys: prefix + ":rows:", Layout: mapping.LayoutOf(m), Synthetic: m.Rows.Cols,
		Marker: prefix + ":complete", MarkerID: "1:bench"}
	if err := mapping.WriteRows(ctx, client, table, m, 0, func(int, int) error { return ctx.Err() }); err != nil {
		return table, err
	}
	return table, client.HSet(ctx, table.Marker, mapping.MarkerField, table.MarkerID).Err()
}

// idBatches draws the ids of several batches, distinct within each.
func (s *Shape) idBatches(m *artifact.Mapping) [][]string {
	rng, out := s.rng("ids"), make([][]string, 32)
	for k := range out {
		for _, node := range distinct(rng, nil, lookedUp, s.Original) {
			out[k] = append(out[k], m.IDs[node])
		}
		rng.Shuffle(lookedUp, func(i, j int) { out[k][i], out[k][j] = out[k][j], out[k][i] })
	}
	return out
}

// lookups are of the same ids in several stores. The first error is kept.
type lookups struct {
	ctx    context.Context //nolint:containedctx // of one measurement
	ids    [][]string
	failed error
}

func (l *lookups) look(in mapping.Lookup, ids []string, rows []attach.Row) {
	if err := in.Rows(l.ctx, ids, rows); err != nil && l.failed == nil {
		l.failed = err
	}
	for i := range ids {
		if !rows[i].Known && l.failed == nil {
			l.failed = fmt.Errorf("the row of %s was not found", ids[i])
		}
	}
}

func (l *lookups) of(name string, in mapping.Lookup) side {
	rows := make([]attach.Row, lookedUp)
	return side{name: name, run: func(k int) { l.look(in, l.ids[k%len(l.ids)], rows) }}
}

// behindCache looks up through a cache that has a share of the ids, and is made anew for each batch.
func (l *lookups) behindCache(name string, inner mapping.Lookup, percent int) side {
	rows := make([]attach.Row, lookedUp)
	var cache *mapping.Cached
	return side{name: name, prepare: func(k int) {
		cache = mapping.NewCached(inner, 64<<20)
		known := l.ids[k%len(l.ids)][:lookedUp*percent/100]
		l.look(cache, known, rows[:len(known)])
	}, run: func(k int) { l.look(cache, l.ids[k%len(l.ids)], rows) }}
}
