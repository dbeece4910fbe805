// Package watch reports the progress of a training run: its stages, and the epochs of the fit under way.
package watch

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

// Begins names the work under way, in one part, which ends when the next stage Begins.
func Begins(progress Progress, what string) { progress.Step(what, 0, 1) }

// Watch shows the epochs or iterations of some fits of a model, one fit after the other.
type Watch struct {
	to    StageProgress // nil: nobody watches
	model string
	after int     // fits after the one under way
	best  float64 // validation accuracy of the fits so far; not a number before the first
}

// New returns a watch of so many fits of a model.
func New(progress Progress, model string, fits int) *Watch {
	to, _ := progress.(StageProgress)
	return &Watch{to, model, fits, math.NaN()}
}

// next begins a fit and returns what shows a line on it: where it stands, and the time that is left if no fit ends
// before its last round; nil if nobody watches. done is how many of most rounds are made.
func (w *Watch) next() func(line string, done, most int) {
	if w.to == nil {
		return nil
	}
	w.after--
	start := time.Now()
	return func(line string, done, most int) {
		left := time.Since(start) / time.Duration(done) * time.Duration(most-done+w.after*most)
		w.to.Now(w.model + ", weight decay " + line + fmt.Sprintf(", at most %.0f s left", math.Ceil(left.Seconds())))
	}
}

// Fit begins the next fit and returns a function for the reports of its epochs; nil if nobody watches.
func (w *Watch) Fit(o fit.GNNOptions) func(fit.Checkpoint) {
	show := w.next()
	if show == nil {
		return nil
	}
	return func(at fit.Checkpoint) {
		line := fmt.Sprintf("%.3g, epoch %d of %d, loss %.3f", o.WeightDecay, at.Epoch, o.Epochs, at.Loss)
		if !math.IsNaN(at.Accuracy) {
			line += fmt.Sprintf(", validation %.1f", at.Accuracy)
		}
		show(line, at.Epoch, o.Epochs)
	}
}

// Linear is the same for a linear model, which is fitted in iterations and validated after each fit.
func (w *Watch) Linear(decay float64) func(fit.Iteration) {
	show := w.next()
	if show == nil {
		return nil
	}
	return func(at fit.Iteration) {
		line := fmt.Sprintf("%.3g, iteration %d of at most %d, loss %.3f", decay, at.Number, at.Most, at.Loss)
		if !math.IsNaN(w.best) {
			line += fmt.Sprintf(", best validation %.1f", w.best)
		}
		show(line, at.Number, at.Most)
	}
}

// Validated notes the accuracy of a fit.
func (w *Watch) Validated(accuracy float64) {
	if !(w.best >= accuracy) {
		w.best = accuracy
	}
}
