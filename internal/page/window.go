package page

import (
	"cmp"
	"math"
	"slices"

	"rivulet/artifact"
)

// The window is of the last minutes, in blocks of some seconds.
const (
	windowBlocks = 30
	blockSeconds = 10
	mostClasses  = 1 << 12 // classes beyond are counted together
)

// window counts the samples of one version.
type window struct {
	version string
	names   []string // class names by index, as in predictions
	blocks  [windowBlocks]block
}

type block struct {
	at                  int64 // seconds since 1970 / blockSeconds
	classes             []uint32
	samples             int
	confidence          float64
	neighbours, unknown int
}

// take counts a sample of the window's version.
func (w *window) take(s *Sample) {
	at := s.Time / 1000 / blockSeconds
	b := &w.blocks[at%windowBlocks]
	switch {
	case at < b.at:
		return // it is older than the window
	case at > b.at:
		*b = block{at: at}
	}
	class := min(max(0, s.Class), mostClasses-1)
	if grow := class + 1 - len(b.classes); grow > 0 {
		b.classes = append(b.classes, make([]uint32, grow)...)
	}
	if grow := class + 1 - len(w.names); grow > 0 {
		w.names = append(w.names, make([]string, grow)...)
	}
	w.names[class] = s.ClassName
	b.classes[class]++
	b.samples++
	b.confidence += float64(s.Probability)
	all := s.Known + s.Arrived + s.InBatch + s.Unknown
	b.neighbours += all
	b.unknown += s.Unknown
}

// Drift compares the samples of the last minutes with training.
type Drift struct {
	Version    string   `json:"version"`
	Samples    int      `json:"samples"`
	Confidence *float32 `json:"confidence"`
	Unknown    *float32 `json:"unknown"` // share of the neighbours
	// Training's figures of its validation nodes; null if the artifact lacks them, or is not known.
	TrainedConfidence *float32 `json:"trained_confidence"`
	TrainedUnknown    *float32 `json:"trained_unknown"`
	// Distance is the total variation distance between the predicted classes and training's, 0 to 1.
	Distance *float32 `json:"distance"`
	Classes  []Share  `json:"classes"` // the largest ones
	Rest     Share    `json:"rest"`    // the others together
	Others   int      `json:"others"`  // how many others there are
}

// Share is one class of the mix.
type Share struct {
	Class   int      `json:"class"`
	Name    string   `json:"name"`
	Share   float64  `json:"share"`
	Trained *float32 `json:"trained"`
}

// sharesShown is the number of classes that the mix names.
const sharesShown = 12

// drift returns the figures of the window up to now. m is the manifest of the version, nil where it is not known.
func (w *window) drift(nowUnix int64, m *artifact.Manifest, model string) Drift {
	var all block
	for k := range w.blocks {
		b := &w.blocks[k]
		if b.samples == 0 || b.at <= nowUnix/blockSeconds-windowBlocks {
			continue
		}
		if grow := len(b.classes) - len(all.classes); grow > 0 {
			all.classes = append(all.classes, make([]uint32, grow)...)
		}
		for c, n := range b.classes {
			all.classes[c] += n
		}
		all.samples += b.samples
		all.confidence += b.confidence
		all.neighbours += b.neighbours
		all.unknown += b.unknown
	}
	d := Drift{Version: w.version, Samples: all.samples, Confidence: known(all.confidence / float64(all.samples)),
		Unknown: known(float64(all.unknown) / float64(all.neighbours)), Classes: []Share{}}
	var trained []float64
	names := w.names
	if m != nil && m.Version == w.version {
		names = m.Data.Classes
		if m.Reference.Nodes > 0 {
			d.TrainedUnknown = known(m.Reference.UnknownNeighbours)
			if of, ok := m.Reference.Models[model]; ok {
				trained, d.TrainedConfidence = of.Classes, known(of.Confidence)
			}
		}
	}
	d.mix(&all, trained, names)
	return d
}

// descending orders shares, the largest first.
func descending(a, b Share) int { return cmp.Compare(b.Share, a.Share) }

// mix fills the shares of the classes.
func (d *Drift) mix(all *block, trained []float64, names []string) {
	n := max(len(all.classes), len(trained))
	shares := make([]Share, n)
	distance := 0.0
	for c := range shares {
		s := Share{Class: c}
		if c < len(names) {
			s.Name = shown(names[c])
		}
		if c < len(all.classes) && all.samples > 0 {
			s.Share = float64(all.classes[c]) / float64(all.samples)
		}
		if c < len(trained) {
			s.Trained = known(trained[c])
			distance += math.Abs(s.Share - trained[c])
		}
		shares[c] = s
	}
	if trained != nil && all.samples > 0 {
		d.Distance = known(distance / 2)
	}
	slices.SortStableFunc(shares, descending)
	d.Classes = shares[:min(n, sharesShown)]
	rest := 0.0
	for _, s := range shares[len(d.Classes):] {
		d.Rest.Share += s.Share
		d.Others++
		if s.Trained != nil {
			rest += float64(*s.Trained)
			d.Rest.Trained = known(rest)
		}
	}
	d.Rest.Class = -1
}
