package trainer

import (
	"fmt"
	"math"
	"time"

	"rivulet/trainer/fit"
)

// Progress takes reports of a run's progress.
type Progress interface {
	// Step reports that done of total parts of a stage are done; done == total ends it.
	Step(what string, done, total int)
}

// Watching is a Progress that can show where the part of a stage under way stands.
type Watching interface {
	// Now shows a line about it, such as the losses so far, in place of the last one.
	Now(line string)
}

// Silent ignores all reports.
type Silent struct{}

// Step does nothing.
func (Silent) Step(string, int, int) {}

// watch shows the epochs of some fits of a model, one fit after the other.
type watch struct {
	to    Watching // nil: nobody watches
	model string
	after int // fits after the one under way
}

func newWatch(progress Progress, model string, fits int) *watch {
	to, _ := progress.(Watching)
	return &watch{to, model, fits}
}

// fit begins the next fit and returns what takes the reports of its epochs; nil if nobody watches.
func (w *watch) fit(o fit.GNNOptions) func(fit.Checkpoint) {
	if w.to == nil {
		return nil
	}
	w.after--
	start := time.Now()
	return func(at fit.Checkpoint) {
		epochs := o.Epochs - at.Epoch + w.after*o.Epochs
		w.to.Now(epochLine(w.model, o, at, time.Since(start)/time.Duration(at.Epoch)*time.Duration(epochs)))
	}
}

// epochLine says where a fit stands. left is the time if no fit ends before its last epoch.
func epochLine(model string, o fit.GNNOptions, at fit.Checkpoint, left time.Duration) string {
	text := fmt.Sprintf("%s, weight decay %g, epoch %d of %d, loss %.3f", model, o.WeightDecay, at.Epoch, o.Epochs,
		at.Loss)
	if !math.IsNaN(at.Accuracy) {
		text += fmt.Sprintf(", validation %.1f", at.Accuracy)
	}
	return text + fmt.Sprintf(", at most %.0f s left", math.Ceil(left.Seconds()))
}
