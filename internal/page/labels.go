package page

import (
	"rivulet/event"
)

// Accuracy of one version, by labels that came after its predictions.
type Accuracy struct {
	Version string `json:"version"`
	Labels  int    `json:"labels"`
	Right   int    `json:"right"`
}

// Bounds of predictions that wait for labels, and of the versions whose accuracy is kept.
const (
	labelsWait   = 1 << 16
	versionsKept = 32
)

// accuracies compares the samples with labels. A label of an arrival that is no sample finds nothing, nor does one that
// comes before its prediction.
type accuracies struct {
	waiting  idCache[pendingLabel]
	versions []Accuracy
}

type pendingLabel struct {
	class   int32
	name    string
	version string
}

// predicted has a sample wait for its label.
func (a *accuracies) predicted(id string, s *Sample) {
	a.waiting.put(id, pendingLabel{int32(s.Class), s.ClassName, s.Artifact}, labelsWait)
}

// label counts a label, if its prediction waits for it.
func (a *accuracies) label(l *event.Label) {
	w, ok := a.waiting.take(l.ID)
	if !ok {
		return
	}
	right := l.Class == int(w.class)
	if l.ClassName != "" {
		right = shown(l.ClassName) == w.name
	}
	v := a.of(w.version)
	v.Labels++
	if right {
		v.Right++
	}
}

// of returns the counts of a version; if there are too many versions, it forgets the oldest.
func (a *accuracies) of(version string) *Accuracy {
	for k := range a.versions {
		if a.versions[k].Version == version {
			return &a.versions[k]
		}
	}
	if len(a.versions) == versionsKept {
		a.versions = append(a.versions[:0], a.versions[1:]...)
	}
	a.versions = append(a.versions, Accuracy{Version: version})
	return &a.versions[len(a.versions)-1]
}
