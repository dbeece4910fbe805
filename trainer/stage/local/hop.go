package local

import (
	"context"
	"fmt"
	"sync"

	"rivulet/trainer/stage"
)

// Hop implements [stage.Hopper]: the sums of as many blocks of destinations as there is memory for are held, and
// the vectors of all sources go past them. It is repeated until all destinations are done.
func (e *Engine) Hop(ctx context.Context, scatter, gather stage.Spec, tiles stage.Table, vectors,
	gathering []stage.Table) ([]stage.Table, error) {
	// The names are those of the two stages, so that results do not show how the hop was done.
	messages := scatter.Table(0, tableNames(append([]stage.Table{tiles}, vectors...))...)
	names := names(gather, append([]string{messages}, tableNames(gathering)...)...)
	return e.once(ctx, gather.Name, names, func(ctx context.Context, out *outputs) error {
		if err := e.there(ctx, append(append([]stage.Table{tiles}, vectors...), gathering...)...); err != nil {
			return err
		}
		h := &hop{Engine: e, scatter: scatter, gather: gather, tiles: tiles, vectors: vectors, gathering: gathering}
		return h.run(ctx, out)
	})
}

type hop struct {
	*Engine
	scatter, gather    stage.Spec
	tiles              stage.Table
	vectors, gathering []stage.Table
}

// window are the sums of some blocks.
type window map[int64]*sums

type sums struct {
	mu sync.Mutex
	of stage.BlockSums
}

func (h *hop) run(ctx context.Context, out *outputs) error {
	sources, err := h.Engine.keys([]stage.Table{h.tiles})
	if err != nil {
		return err
	}
	left, err := h.Engine.keys(h.gathering)
	if err != nil {
		return err
	}
	f, err := h.registry.New(h.gather)
	if err != nil {
		return err
	}
	gatherer, ok := f.(stage.Gatherer)
	if !ok {
		return fmt.Errorf("stage %s gathers nothing", h.gather.Name)
	}
	c := h.counter(h.gather.Name, len(left))
	for len(left) > 0 {
		w, n, err := h.begin(gatherer, left)
		if err != nil {
			return err
		}
		if err := h.pass(ctx, sources, w); err != nil {
			return err
		}
		for _, key := range left[:n] {
			if err := w[key].of.End(out); err != nil {
				return err
			}
			c.one()
		}
		left = left[n:]
	}
	return nil
}

// begin begins the sums of the next blocks: one at least, and as many as half of the memory holds.
func (h *hop) begin(g stage.Gatherer, left []int64) (window, int, error) {
	w, held := window{}, int64(0)
	for n, key := range left {
		if n > 0 && h.memory > 0 && held > h.memory/2 {
			return w, n, nil
		}
		records, err := h.group(h.gathering, key, 1)
		if err != nil {
			return nil, 0, err
		}
		of, err := g.Gather(key, stage.NewList(records))
		if err != nil {
			return nil, 0, err
		}
		held += of.Bytes()
		w[key] = &sums{of: of}
	}
	return w, len(left), nil
}

// pass adds the vectors of all sources to the sums of a window. Sums do not depend on the order in which
// goroutines come to them.
func (h *hop) pass(ctx context.Context, sources []int64, w window) error {
	work := make(chan int64)
	return h.parallel(ctx, func(ctx context.Context) error { return feed(ctx, sources, work) }, func() error {
		f, err := h.registry.New(h.scatter)
		if err != nil {
			return err
		}
		scatterer, ok := f.(stage.Scatterer)
		if !ok {
			return fmt.Errorf("stage %s scatters nothing", h.scatter.Name)
		}
		for key := range work {
			if err := h.source(scatterer, key, w); err != nil {
				return err
			}
		}
		return nil
	})
}

// source adds the vectors of one block.
func (h *hop) source(s stage.Scatterer, key int64, w window) error {
	tiles, err := h.store.load(h.tiles.Name, key)
	if err != nil {
		return err
	}
	var v *stage.Vectors
	for _, tile := range tiles {
		to := w[stage.FromOrder(tile.Order)]
		if to == nil {
			continue
		}
		if v == nil {
			records, err := h.group(h.vectors, key, 1)
			if err != nil {
				return err
			}
			if v, err = s.Vectors(key, stage.NewList(records)); err != nil {
				return err
			}
		}
		to.mu.Lock()
		err := to.of.Add(tile.Payload, v)
		to.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
