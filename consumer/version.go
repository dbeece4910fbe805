package consumer

import (
	"context"
	"errors"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
	"rivulet/infer/version"
)

// Version is an artifact that is served. It does not change, and may be used after a newer one has taken over.
type Version interface {
	// Info describes the version. It is shared and must not be changed.
	Info() *version.Info
	// Rows fills rows[i] with the row of M of the node ids[i]; an id that is not in T gives a row with Known false. The
	// slices in a row are shared and must not be changed. A damaged row is Unread; if the version may degrade, so is a row
	// that cannot be read.
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
	// Numbers sets numbers[i] to the number of the row of ids[i] in the M that it returns, 0 for an id that is not in T:
	// nothing else is copied for an edge. It returns nil, and sets nothing, if M is not in memory.
	Numbers(ids []string, numbers []uint32) *attach.PackedRows
	// Predict returns raw logits and published probabilities, both n×C.
	Predict(b *attach.Batch) (logits, probabilities *graph.Dense)
	// Embedder gives the layer before the classifier; nil: the version was not loaded for it.
	Embedder() infer.Embedder
	// Explainer gives reasons for predictions; nil: there are none.
	Explainer() *explain.Explainer
	// Growth gives arrivals rows of M; nil: they get none.
	Growth() version.Growth
}

// Versions gives the version to serve. It is asked once a batch: one version serves a batch.
type Versions interface {
	// Current is nil (the interface, not a nil pointer in it) until the first version has been loaded.
	Current() Version
	// Trouble is the reason why there is no version yet, and what to do; nil: there is one, or the reason is not known.
	Trouble() error
	// StartOver has a version that was refused tried once more.
	StartOver()
}

// Pin is a Versions that always gives the same version.
type Pin struct{ Version Version }

// Current returns the version.
func (p Pin) Current() Version { return p.Version }

// Trouble returns nil: nothing is waited for.
func (Pin) Trouble() error { return nil }

// StartOver does nothing: nothing was refused.
func (Pin) StartOver() {}

// Errors in the wiring of a consumer, whose settings ask for what its versions were not loaded with.
var (
	errNotGrowing    = errors.New("the version was loaded without the dictionary that rows of arrivals are solved with")
	errNotExplaining = errors.New("the version cannot say why it predicts what it does")
	errNotEmbedding  = errors.New("the version was loaded without embeddings")
)

// current returns the version to serve, which has all that the settings ask for.
func (p *Pipeline) current() (Version, error) {
	v := p.Versions.Current()
	switch {
	case v == nil:
		return nil, ErrNoVersion
	case p.Arrivals && v.Growth() == nil:
		return nil, errNotGrowing
	case p.Output.Explain > 0 && v.Explainer() == nil:
		return nil, errNotExplaining
	case p.Output.Representation == event.RepresentationEmbedding && v.Embedder() == nil:
		return nil, errNotEmbedding
	}
	return v, nil
}
