package solved

import (
	"encoding/json"

	"rivulet/trainer/stage"
)

// Functions are the stages of this package.
var Functions = stage.Registry{
	StageNodes:    with(newNodes),
	StageBlocks:   fixed(blocks{}),
	StageEdges:    with(newEdges),
	StageSources:  with(newSources),
	StageTargets:  with(newTargets),
	StageTiles:    fixed(tiles{}),
	StagePrint:    fixed(fingerprints{}),
	StageMoments:  with(newMoments),
	StageSend:     with(newSend),
	StageReceive:  with(newReceive),
	StageMeet:     fixed(scatter{clusterSender{}}),
	StageCount:    fixed(count{}),
	StageHeld:     with(newHeld),
	StageRows:     with(newRows),
	StageFetch:    with(newFetch),
	StageJoin:     with(newJoin),
	StageMeans:    with(newMeans),
	StageSolve:    with(newSolve),
	StageNormal:   with(newNormal),
	StageSeeds:    with(newSeeds),
	StageSpread:   with(newSpread),
	StageGather:   with(newSpreadGather),
	StageEnter:    with(newEnter),
	StageStep:     with(newStep),
	StageTake:     with(newTake),
	StageNorms:    with(newNorms),
	StagePick:     fixed(pick{}),
	StagePickRows: fixed(pickRows{}),
	StageMark:     with(newMark),
	StageReach:    with(newReach),
	StageNear:     with(newNear),
	StageThin:     with(newThin),
	StageBring:    fixed(subgraphReader{}),
	StageNumber:   with(newNumbered),
	StageLink:     fixed(link{}),
}

// with makes a constructor of a function that takes its options decoded.
func with[T any](construct func(o T, sides stage.Sides) (stage.Function, error)) stage.Constructor {
	return func(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
		var o T
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, err
		}
		return construct(o, sides)
	}
}

// fixed makes a constructor of a stage without options.
func fixed(f stage.Function) stage.Constructor {
	return func(json.RawMessage, stage.Sides) (stage.Function, error) { return f, nil }
}
