package solved

import (
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
)

// Functions are all stages of the method: those that make the tables of a graph (package partition), and this
// package's.
var Functions = stage.Join(partition.Functions, stage.Registry{
	StageMoments:  stage.With(newMoments),
	StageSend:     stage.With(newSend),
	StageReceive:  stage.With(newReceive),
	StageMeet:     stage.Fixed(scatter{clusterSender{}}),
	StageCount:    stage.Fixed(count{}),
	StageHeld:     stage.With(newHeld),
	StageRows:     stage.With(newRows),
	StageFetch:    stage.With(newFetch),
	StageJoin:     stage.With(newJoin),
	StageMeans:    stage.With(newMeans),
	StageSolve:    stage.With(newSolve),
	StageNormal:   stage.With(newNormal),
	StageSeeds:    stage.With(newSeeds),
	StageSpread:   stage.With(newSpread),
	StageGather:   stage.With(newSpreadGather),
	StageEnter:    stage.With(newEnter),
	StageStep:     stage.With(newStep),
	StageTake:     stage.With(newTake),
	StageNorms:    stage.With(newNorms),
	StagePick:     stage.Fixed(pick{}),
	StagePickRows: stage.Fixed(pickRows{}),
	StageMark:     stage.With(newMark),
	StageReach:    stage.With(newReach),
	StageNear:     stage.With(newNear),
	StageThin:     stage.With(newThin),
	StageBring:    stage.Fixed(subgraphReader{}),
	StageNumber:   stage.With(newNumbered),
	StageLink:     stage.Fixed(link{}),
})
