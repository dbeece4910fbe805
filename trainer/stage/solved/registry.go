package solved

import "rivulet/trainer/stage"

// Functions are the stages of this package.
var Functions = stage.Registry{
	StageNodes:   newNodes,
	StageBlocks:  newBlocks,
	StageEdges:   newEdges,
	StageSources: newSources,
	StageTargets: newTargets,
	StageTiles:   newTiles,
}
