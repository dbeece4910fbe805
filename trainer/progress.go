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

// StageProgress is a Progress that can show where the part of a stage under way stands.
type StageProgress interface {
	// Now shows a line about it, such as the losses so far, in place of the last one.
	Now(line string)
}

// Silent ignores all reports.
type Silent struct{}

// Step does nothing.
func (Silent) Step(string, int, int) {}

// begins names the work under way, in one part, which ends when the next stage begins.
func begins(progress Progress, what string) { progress.Step(what, 0, 1) }

// watch shows the epochs or iterations of some fits of a model, one fit after the other.
type watch struct {
	to    StageProgress // nil: nobody watches
	model string
	after int     // fits after the one under way
	best  float64 // validation accuracy of the fits so far; not a number before the first
}

func newWatch(progress Progress, model string, fits int) *watch {
	to, _ := progress.(StageProgress)
	return &watch{to, model, fits, math.NaN()}
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
	text := fmt.Sprintf("%s, weight decay %.3g, epoch %d of %d, loss %.3f", model, o.WeightDecay, at.Epoch, o.Epochs,
		at.Loss)
	if !math.IsNaN(at.Accuracy) {
		text += fmt.Sprintf(", validation %.1f", at.Accuracy)
	}
	return text + fmt.Sprintf(", at most %.0f s left", math.Ceil(left.Seconds()))
}

// linear is the same for a linear model, which is fitted in iterations and validated after each fit.
func (w *watch) linear(decay float64) func(fit.Iteration) {
	if w.to == nil {
		return nil
	}
	w.after--
	start := time.Now()
	return func(at fit.Iteration) {
		left := time.Since(start) / time.Duration(at.Number) * time.Duration(at.Most-at.Number+w.after*at.Most)
		text := fmt.Sprintf("%s, weight decay %.3g, iteration %d of at most %d, loss %.3f", w.model, decay, at.Number,
			at.Most,
			at.Loss)
		if !math.IsNaN(w.best) {
			text += fmt.Sprintf(", best validation %.1f", w.best)
		}
		w.to.Now(text + fmt.Sprintf(", at most %.0f s left", math.Ceil(left.Seconds())))
	}
}

// validated notes the accuracy of a fit.
func (w *watch) validated(accuracy float64) {
	if !(w.best >= accuracy) {
		w.best = accuracy
	}
}
