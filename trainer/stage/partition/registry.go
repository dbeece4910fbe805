package partition

import "rivulet/trainer/stage"

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
