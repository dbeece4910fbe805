package wire

import "slices"

// Epochs says in which leader's epoch the records of one partition were written.
type Epochs []EpochStart

// mostEpochs is the number of changes of leaders that are remembered for records that are not committed yet.
const mostEpochs = 64

// Add notes that the records from an offset on are of an epoch.
func (e Epochs) Add(first int64, epoch int32) Epochs {
	e = slices.DeleteFunc(e, func(s EpochStart) bool { return s.First >= first }) // after a truncation
	if len(e) > 0 && e[len(e)-1].Epoch == epoch {
		return e
	}
	if len(e) == mostEpochs {
		e = slices.Delete(e, 0, 1)
	}
	return append(e, EpochStart{First: first, Epoch: epoch})
}

// Of returns the epoch of the record before an offset; -1: not known.
func (e Epochs) Of(next int64) int32 {
	for _, s := range slices.Backward(e) {
		if s.First < next {
			return s.Epoch
		}
	}
	return -1
}
