package lake

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/growth"
	"rivulet/infer/preprocess"
)

// Draft is the directory of an artifact that is made: each of its files is what a step leaves to the later ones. Only
// the build that has written them reads them.
type Draft string

// Files of a draft.
const (
	preparedFile  = "prepared"
	weightsFile   = "weights"
	condensedFile = "condensed"
)

// Preparation is the outcome of the step prepare: what the steps behind it read.
type Preparation struct {
	Facts      Facts
	Settings   Settings
	Preprocess preprocess.Parameters
	Nodes      int          // N'
	Basis      *graph.Dense // on which preprocessed features are projected for clusters; nil: all are kept
}

// Settings are the options of a run that its steps share.
type Settings struct {
	Models               []string
	Hidden, Layers, Hops int
	WeightDecays         []float64
	Nodes                int
	Ratio                float64
	Entries              int
	Preprocess, Own      string
	Seed                 uint64
	Propagate            bool
	Coverage             float64
}

// Weights are models that were fitted.
type Weights struct {
	Models []ModelFit
	Own    map[string]Perceptron // of own features, by their kind
}

// ModelFit is a fitted model, with how it was fitted.
type ModelFit struct {
	Name                string
	Params              []infer.Param
	WeightDecay         float64
	Validation, Seconds float64
	Read                int // nodes that the fit read; 0: all
}

// Perceptron is a perceptron of own features.
type Perceptron struct {
	Layers                  []architecture.Layer
	WeightDecay, Validation float64
}

// Model makes the model.
func (f *ModelFit) Model() (infer.Model, error) { return infer.Build(f.Name, f.Params) }

// Condensation is S with its tables, and the dictionary of M.
type Condensation struct {
	Synthetic artifact.Synthetic
	Tables    []*infer.Tables // of S, by model
	Labels    *infer.Tables   // of label propagation; nil: there is no propagation
	Errors    []*infer.Tables // of error propagation, by model
	Clusters  *graph.Dense    // N'×p, messages
	Messages  []growth.Messages
	Entries   int
	Seconds   float64
}

// SavePrepared begins the draft.
func (d Draft) SavePrepared(p *Preparation) error {
	if err := os.MkdirAll(string(d), 0o777); err != nil {
		return err
	}
	return d.save(preparedFile, p)
}

// Check returns an error if the draft was begun before.
func (d Draft) Check() error {
	switch _, err := os.Stat(d.path(preparedFile)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s: it is there already", d)
}

// Prepared returns what was prepared.
func (d Draft) Prepared() (*Preparation, error) { return load[Preparation](d, preparedFile, "prepare") }

// SaveWeights keeps the models.
func (d Draft) SaveWeights(w *Weights) error { return d.save(weightsFile, w) }

// Weights returns the models.
func (d Draft) Weights() (*Weights, error) { return load[Weights](d, weightsFile, "weights") }

// SaveCondensed keeps S.
func (d Draft) SaveCondensed(c *Condensation) error { return d.save(condensedFile, c) }

// Condensed returns S.
func (d Draft) Condensed() (*Condensation, error) {
	return load[Condensation](d, condensedFile, "condense")
}

func (d Draft) path(name string) string { return filepath.Join(string(d), name+".gob") }

func (d Draft) save(name string, value any) error {
	return writeFile(d.path(name), func(w io.Writer) error { return gob.NewEncoder(w).Encode(value) })
}

// load reads a file of the draft, which a step has written.
func load[T any](d Draft, name, step string) (*T, error) {
	f, err := os.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: trainer %s comes before", d, filepath.Base(d.path(name)), step)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	out := new(T)
	if err := gob.NewDecoder(f).Decode(out); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(name), err)
	}
	return out, nil
}

// Names of what nodes are taken through layers for, beside those of models.
const (
	Points      = "points"      // rows of Â²·pre(X), for clusters
	Propagation = "propagation" // labels, and errors of each model
)

// Walk describes the layers through which nodes are taken, and the messages between them.
type Walk struct {
	Name   string `json:"model"`
	Layers int    `json:"layers"` // hops to the logits
	Sent   []int  `json:"sent"`   // columns of messages, by hop
}

// NewWalk describes the layers of a recurrence.
func NewWalk(name string, r *infer.Recurrence) Walk {
	w := Walk{Name: name, Layers: r.Len()}
	for hop := range w.Layers {
		w.Sent = append(w.Sent, r.Sent(hop))
	}
	return w
}

// Points is the model whose logits are the points of clusters.
func (p *Preparation) Points() (infer.Model, error) {
	w := p.Basis
	if w == nil {
		w = graph.Identity(p.Facts.Features)
	}
	return infer.NewSGC(w, make([]float32, w.Cols))
}

// Recurrence returns the recurrence of points, propagation or a model. w may be nil for points.
func (p *Preparation) Recurrence(name string, w *Weights) (*infer.Recurrence, error) {
	switch name {
	case Points:
		m, err := p.Points()
		if err != nil {
			return nil, err
		}
		return m.Recurrence(), nil
	case Propagation:
		return infer.PropagationRecurrence((1 + len(w.Models)) * len(p.Facts.Classes)), nil
	}
	for k := range w.Models {
		if w.Models[k].Name == name {
			m, err := w.Models[k].Model()
			if err != nil {
				return nil, err
			}
			return m.Recurrence(), nil
		}
	}
	return nil, fmt.Errorf("%q is no model of the run: want %s, %s or one of %v", name, Points, Propagation,
		p.Settings.Models)
}
