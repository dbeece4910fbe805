package artifact

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"rivulet/infer/propagation"
	"rivulet/infer/target"
)

// Parts of format 2. A part is a file that a reader must know, because it would misread the other files without it.
// Manifest.Requires lists the parts of an artifact. A reader refuses the artifact if it does not know one of them.
// Other files that a reader does not know stand in Manifest.Files only, and it ignores them.

// knownParts are the parts that this build reads.
var knownParts = []string{schemaFile, ownFile, edgesFile, candidatesFile, firstPart}

// taskPrefix begins the name of a task in Manifest.Requires, which is no file: "task:number".
const taskPrefix = "task:"

// validateTask checks that intervals or temperatures are of the task's outputs, and that there is no propagation, no
// expert and no threshold that the task does not have.
func (m *Manifest) validateTask() error {
	for i := range m.Models {
		of := &m.Models[i]
		if !m.Task.Can(target.Propagation) && (of.Calibration.Kind != propagation.None || len(of.Propagation) > 0) ||
			!m.Task.Can(target.OwnExpert) && of.Own.Answers() ||
			!m.Task.Can(target.Coverage) && len(of.Calibration.Confidence.Curve) > 0 {
			return fmt.Errorf("models[%d] has a propagation, an expert or a threshold, which are of classes, and "+
				"the task is %s", i, m.Task)
		}
		for _, list := range []struct {
			name string
			of   target.Fit
			has  int
		}{{"radius", target.IntervalEach, len(of.Radius)}, {"temperatures", target.TemperatureEach, len(of.Temperatures)}} {
			if want := m.Task.Fitted().List(list.of, len(m.Data.Classes)); list.has != want {
				return fmt.Errorf("models[%d].%s has %d values, want %d of task %s", i, list.name, list.has, want, m.Task)
			}
		}
		for k, v := range of.Temperatures {
			if !(v > 0) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("models[%d].temperatures[%d] is %v, want a positive number", i, k, v)
			}
		}
		for k, v := range of.Radius {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("models[%d].radius[%d] is %v, want a finite number of at least 0", i, k, v)
			}
		}
	}
	return nil
}

// format returns the oldest format whose readers read the bundle rightly, and the parts that they must know.
func (b *Bundle) format() (version int, requires []string) {
	if b.Schema != nil {
		requires = append(requires, schemaFile)
	}
	if b.Own != nil {
		requires = append(requires, ownFile)
	}
	if !b.Slots.Plain() {
		requires = append(requires, edgesFile)
	}
	if b.Candidates != nil {
		requires = append(requires, candidatesFile)
	}
	if b.hasParts() {
		requires = append(requires, firstPart)
	}
	if b.Manifest.Task != target.Classes {
		requires = append(requires, taskPrefix+b.Manifest.Task.String())
	}
	if len(requires) > 0 {
		return FormatVersion, requires
	}
	return 1, nil
}

// validateParts checks that the build knows the parts that the artifact requires, and that exactly these are there.
func (m *Manifest) validateParts() error {
	for k, name := range m.Requires {
		if task, ok := strings.CutPrefix(name, taskPrefix); ok && task == m.Task.String() &&
			k == slices.Index(m.Requires, name) {
			continue
		}
		_, there := m.Files[name]
		switch {
		case slices.Contains(formerParts, name):
			return fmt.Errorf("requires[%d] is %q, which builds before this one wrote: train the artifact anew", k, name)
		case !slices.Contains(knownParts, name):
			return fmt.Errorf("requires[%d] is %q, which this build does not know: %w", k, name, errNewer)
		case slices.Contains(m.Requires[:k], name):
			return fmt.Errorf("requires[%d] is %q, which is there twice", k, name)
		case !there:
			return fmt.Errorf("requires[%d] is %q, which files does not list", k, name)
		case m.FormatVersion < 2:
			return fmt.Errorf("requires[%d] is %q in format_version %d, want 2", k, name, m.FormatVersion)
		}
	}
	for _, name := range knownParts {
		if _, there := m.Files[name]; there && !slices.Contains(m.Requires, name) {
			return fmt.Errorf("files lists %q, which requires does not name", name)
		}
	}
	if named := slices.Contains(m.Requires, taskPrefix+m.Task.String()); m.Task != target.Classes && !named {
		return fmt.Errorf("task is %q, which requires does not name", m.Task)
	}
	if m.FormatVersion >= 2 && len(m.Requires) == 0 {
		return errors.New("requires is missing, which format_version 2 has")
	}
	return nil
}
