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
	StagePrint:   newPrint,
	StageMoments: newMoments,
	StageSend:    newSend,
	StageReceive: newReceive,
	StageMeet:    newMeet,
	StageCount:   newCount,
	StageHeld:    newHeld,
	StageRows:    newRows,
	StageFetch:   newFetch,
	StageJoin:    newJoin,
	StageMeans:   newMeans,
	StageSolve:   newSolve,
	StageNormal:  newNormal,
	StageSeeds:   newSeeds,
	StageSpread:  newSpread,
	StageGather:  newSpreadGather,
}
