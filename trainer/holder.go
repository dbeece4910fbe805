package trainer

import (
	"context"

	"rivulet/trainer/deploy"
	"rivulet/trainer/search"
)

// holder has T of a task, and does the steps that read all of its nodes. [inMemory] has T as a matrix, [lakeHolder] the
// rows of tables that SQL has made. A run does the rest itself, for both: see [task.run].
type holder interface {
	// fit returns W_O of a model.
	fit(ctx context.Context, name string, progress Progress) (*search.Result, error)
	// condense makes S and M for the fitted models of the options.
	condense(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error)
	// own returns labelled nodes of T with their own features.
	own(ctx context.Context) (ownData, error)
	// deploy returns a model on T itself, and the kinds of propagation whose tables of T are at hand.
	deploy(f *search.Result) (p *deploy.Deployment, kinds []string, err error)
	// Neighbours returns the ids of the neighbours of nodes of the data, all or those in T, and how many there are in all.
	Neighbours(ctx context.Context, nodes []int32) (ids [][]string, degrees []int, err error)
}

// inMemory is the holder of a T that is in memory.
type inMemory struct{ *task }

func (h inMemory) fit(ctx context.Context, name string, progress Progress) (*search.Result, error) {
	return h.whole.fit(ctx, h.task, name, progress)
}

func (h inMemory) condense(ctx context.Context, whole []*search.Result, progress Progress) (condensation, error) {
	return h.condenseInMemory(ctx, whole, progress)
}

func (h inMemory) deploy(f *search.Result) (*deploy.Deployment, []string, error) {
	if h.related() || h.links != nil {
		p, err := h.frozen(h.itself(), f.Model)
		return p, nil, err
	}
	return h.jointOnT(f.Model), nil, nil
}
