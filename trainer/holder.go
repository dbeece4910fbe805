package trainer

import (
	"context"

	"rivulet/dataset"
	"rivulet/trainer/deploy"
	"rivulet/trainer/search"
)

// holder has T of a run, and does the steps that read all of its nodes. [inMemory] has T as a matrix, [lakeHolder] the
// rows of tables that SQL has made. A run does the rest itself, for both: see [train].
type holder interface {
	// fit returns W_O of a model.
	fit(ctx context.Context, name string) (*search.Result, error)
	// condense makes S and M for the fitted models of the options.
	condense(ctx context.Context, whole []*search.Result) (*Result, error)
	// own returns labelled nodes of T with their own features.
	own(ctx context.Context) (ownData, error)
	// deploy returns a model on T itself, and the kinds of propagation whose tables of T are at hand.
	deploy(f *search.Result) (p *deploy.Deployment, kinds []string, err error)
	// Neighbours returns the edges of nodes of the data, all or those to T, and how many neighbours there are in all.
	Neighbours(ctx context.Context, nodes []int32) (edges []dataset.Edges, degrees []int, err error)
}

// inMemory is the holder of a T that is in memory.
type inMemory struct {
	t *T
	h *Held
	r *Run
}

func (h inMemory) fit(ctx context.Context, name string) (*search.Result, error) {
	return h.r.known.fit(ctx, h.t, h.h, h.r, name)
}

func (h inMemory) condense(ctx context.Context, whole []*search.Result) (*Result, error) {
	c, err := h.r.method.Condense(ctx, h.t, h.h, h.r, models(whole))
	if err != nil {
		return nil, err
	}
	return c.complete(h.t, h.h)
}

func (h inMemory) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	if h.t.slots.Relational() || h.t.links != nil {
		p, err := frozen(h.t, h.t.itself(), f.Model)
		return p, nil, err
	}
	return h.t.joint(f.Model), nil, nil
}
