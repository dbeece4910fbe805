package bench

import (
	"context"
	"fmt"
	"slices"

	"rivulet/artifact"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/architecture"
	"rivulet/infer/propagation"
)

// Rivals of S, which all answer the same arrivals.
const (
	onCondensed = "S"             // frozen on S, as it is served
	cached      = "cached"        // frozen on T: T's own tables, the method cached
	near        = "neighbourhood" // joined to T, and computed for the neighbourhood that the answers depend on
	whole       = "Whole"         // joined to the whole of T
)

// rivals measures S and its rivals in turn. Whole and neighbourhood have their first weights
// multiplied beforehand.
func (b *run) rivals(ctx context.Context) error {
	models := b.models
	if len(b.Models) == 0 {
		models = slices.DeleteFunc(slices.Clone(models),
			func(a *architecture.Architecture) bool { return a.Name != "sgc" && a.Name != "gcn" })
	}
	for k := range b.shapes {
		shape := &b.shapes[k]
		b.Progress.Live("rivals " + shape.Name + ": drawing the original graph")
		bundle, err := shape.Bundle(models)
		if err != nil {
			return err
		}
		adj := shape.original()
		for _, a := range models {
			r, err := newRivalry(shape, bundle, adj, a)
			if err != nil {
				return err
			}
			for _, size := range []int{batchSizes[0], batchSizes[len(batchSizes)-1]} {
				name := fmt.Sprintf("%s/%s/batch=%d", shape.Name, a.Name, size)
				b.Progress.Live("rivals " + name)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				sides, err := r.sides(size)
				if err != nil {
					return err
				}
				b.compared(name, size, sides)
			}
		}
	}
	return nil
}

// compared measures sides in turn; the others are compared with the first.
func (b *run) compared(name string, size int, sides []side) {
	t := inTurn(b.Time, sides)
	for s := range sides {
		figures := perBatch(&t[s], size)
		figures["times S"], figures["CPU times S"] = ratios(&t[s], &t[0])
		b.report.add(Rivals, name+"/"+sides[s].name, t[s].runs, figures)
	}
}

// rivalry is a model on S and on T in each of the ways that there are.
type rivalry struct {
	shape  *Shape
	bundle *artifact.Bundle
	model  string
	on     []rival // on T
}

// rival answers batches on T.
type rival struct {
	name string
	by   infer.Predictor
}

func newRivalry(shape *Shape, bundle *artifact.Bundle, adj *graph.CSR, a *architecture.Architecture) (*rivalry, error) {
	m, err := shape.model(a)
	if err != nil {
		return nil, err
	}
	pre, inputs := shape.preprocess(), drawnInputs{shape}
	r := &rivalry{shape: shape, bundle: bundle, model: a.Name}
	calibration := infer.Calibration{Kind: propagation.None, Temperature: 1}
	for _, on := range []rival{{cached, infer.Predictor{Model: m.Frozen(m.Tables(adj, inputs), &pre)}},
		{near, infer.Predictor{Model: m.Neighbourhood(adj, inputs, &pre)}},
		{whole, infer.Predictor{Model: m.Joint(adj, inputs, &pre)}}} {
		on.by.Calibration = calibration
		r.on = append(r.on, on)
	}
	return r, nil
}

// sides are S and its rivals, each with the same arrivals.
func (r *rivalry) sides(size int) ([]side, error) {
	version, err := served(r.bundle, r.model, artifact.AttachFrozen)
	if err != nil {
		return nil, err
	}
	out := []side{onS(onCondensed, r.shape, version, size)}
	batches := r.shape.batches(r.shape.rng("arrivals"), size)
	for _, on := range r.on {
		out = append(out, side{name: on.name, run: func(k int) {
			on.by.Predict(batches[k%len(batches)].onOriginal(r.shape.Original))
		}})
	}
	return out, nil
}
