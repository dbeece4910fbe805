package trainer

// Progress takes reports of a run's progress.
type Progress interface {
	// Step reports that done of total parts of a stage are done; done == total ends it.
	Step(what string, done, total int)
}

// Noting is a Progress that can show a line about the current stage, such as its losses.
type Noting interface{ Note(line string) }

// Silent ignores all reports.
type Silent struct{}

// Step does nothing.
func (Silent) Step(string, int, int) {}
