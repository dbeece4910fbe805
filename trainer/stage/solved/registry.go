package solved

import (
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/partition"
)

// Functions are all stages of the method: those that make the tables of a graph (package partition), and this
// package's.
var Functions = stage.Join(partition.Functions, stage.Registry{
	StageMeet:     stage.Fixed(scatter{numberSender{}}),
	StageHeld:     stage.With(newHeld),
	StageSolve:    stage.With(newSolve),
	StageSeeds:    stage.With(newSeeds),
	StageSpread:   stage.With(newSpread),
	StageGather:   stage.With(newSpreadGather),
	StageEnter:    stage.With(newEnter),
	StageStep:     stage.With(newStep),
	StageTake:     stage.With(newTake),
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
