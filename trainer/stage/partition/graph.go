package partition

import (
	"context"
	"fmt"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// Graph is a data set as tables.
type Graph struct {
	Blocks                               int
	Names, Features, HeldFeatures        stage.Table
	Counts, Tiles, Degrees, Held         stage.Table
	Summary                              Summary
	Entries, HighestDegree, Loops, Nodes int64 // entries of A; nodes of T
	Unknown                              int64 // edges that were dropped
}

// Read makes the tables of a graph.
func Read(ctx context.Context, e stage.Engine, nodes, edges stage.Source, options BlockOptions) (*Graph, error) {
	g := &Graph{Blocks: options.Blocks}
	o := BlockOptions{Blocks: options.Blocks}
	rows, err := e.Scan(ctx, mapping(stage.NewSpec(StageNodes, o, formSide(nodes), 1)), nodes)
	if err != nil {
		return nil, err
	}
	made, err := e.Run(ctx, stage.NewSpec(StageBlocks, o, nil, blocksOutputs), rows[0])
	if err != nil {
		return nil, err
	}
	g.Names, g.Counts = made[OutNames], made[OutCounts]
	g.Features, g.HeldFeatures = made[OutFeatures], made[OutHeldFeatures]
	for r, err := range e.Read(ctx, made[OutSummary]) {
		if err == nil {
			err = g.Summary.Add(r.Payload)
		}
		if err != nil {
			return nil, err
		}
	}
	g.Nodes = g.Summary.Roles[Train] + g.Summary.Roles[Unlabelled]
	if g.Nodes == 0 {
		return nil, fmt.Errorf("the table of nodes has no node to learn from")
	}
	if err := e.Drop(ctx, rows[0]); err != nil {
		return nil, err
	}
	return g, g.edges(ctx, e, edges, options)
}

func mapping(s stage.Spec) stage.Spec {
	s.Map = true
	return s
}

func (g *Graph) edges(ctx context.Context, e stage.Engine, edges stage.Source, o BlockOptions) error {
	rows, err := e.Scan(ctx, mapping(stage.NewSpec(StageEdges, BlockOptions{Blocks: o.Blocks}, formSide(edges), 1)), edges)
	if err != nil {
		return err
	}
	halves, err := e.Run(ctx, stage.NewSpec(StageSources, o, nil, sourcesOutputs), g.Names, rows[0])
	if err != nil {
		return err
	}
	pairs, err := e.Run(ctx, stage.NewSpec(StageTargets, o, nil, targetsOutputs), g.Names, halves[OutHalves])
	if err != nil {
		return err
	}
	made, err := e.Run(ctx, stage.NewSpec(StageTiles, o, nil, tilesOutputs), g.Counts, pairs[OutPairs])
	if err != nil {
		return err
	}
	g.Held, g.Tiles, g.Degrees = pairs[OutHeld], made[OutTiles], made[OutDegrees]
	for r, err := range e.Read(ctx, made[OutEntries]) {
		if err != nil {
			return err
		}
		w := wire.NewReader(r.Payload)
		g.Entries += int64(w.Number())
		g.HighestDegree = max(g.HighestDegree, int64(w.Number()))
		if err := w.End(); err != nil {
			return err
		}
	}
	for t, count := range map[stage.Table]*int64{pairs[OutLoops]: &g.Loops, halves[OutNoSource]: &g.Unknown,
		pairs[OutNoTarget]: &g.Unknown} {
		for r, err := range e.Read(ctx, t) {
			if err != nil {
				return err
			}
			w := wire.NewReader(r.Payload)
			*count += int64(w.Number())
			if err := w.End(); err != nil {
				return err
			}
		}
	}
	for _, t := range []stage.Table{rows[0], halves[OutHalves], pairs[OutPairs]} {
		if err := e.Drop(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Functions are the stages of this package.
var Functions = stage.Registry{
	StageNodes:   stage.With(newNodes),
	StageBlocks:  stage.Fixed(blocks{}),
	StageEdges:   stage.With(newEdges),
	StageSources: stage.With(newSources),
	StageTargets: stage.With(newTargets),
	StageTiles:   stage.Fixed(tiles{}),
	StagePrint:   stage.Fixed(fingerprints{}),
}
