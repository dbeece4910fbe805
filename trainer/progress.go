package trainer

// Progress is told how far a run has come.
type Progress interface {
	// Step says that done of total parts of what is under way are done; done == total ends it.
	Step(what string, done, total int)
}

// Noting is a Progress that can show a line about what is under way, as losses are.
type Noting interface{ Note(line string) }

// Silent tells nobody.
type Silent struct{}

// Step does nothing.
func (Silent) Step(string, int, int) {}
