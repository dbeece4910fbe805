package consumer

import (
	"strconv"

	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/explain"
)

// reasons is the memory of a batch's strongest reasons.
type reasons struct {
	explanations []event.Explanation // per arrival
	wire         []event.Reason      // memory for the reasons in explanations
	found        []explain.Reason    // the same in infer's form, Output.Explain places per arrival
	labels       map[int]string      // names for features without names
}

// reasons returns the strongest reasons for the class of each arrival; nil where none are asked for.
func (p *Pipeline) reasons(out *reasons, version Version, in *decodedBatch, a *attachment,
	logits, probabilities *graph.Dense) []event.Explanation {
	most, n := p.Output.Explain, len(in.arrivals)
	if most == 0 {
		return nil
	}
	explainer := version.Explainer()
	out.found = sized(out.found, n*most)
	out.explanations, out.wire = zeroed(out.explanations, n), zeroed(out.wire, n*most)
	graph.ParallelRows(n, n*explainWork, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			found, other := explainer.Strongest(out.found[i*most:i*most:(i+1)*most], most, &a.batch, a.rows, i,
				graph.ArgMax(probabilities.Row(i)), logits.Row(i))
			out.explanations[i] = event.Explanation{RunnerUp: other, Reasons: out.wire[i*most : i*most+len(found)]}
		}
	})
	names := version.Info().Names
	for i := range out.explanations {
		list := out.explanations[i].Reasons
		for k := range list {
			list[k] = p.reason(out, names, in, i, &out.found[i*most+k])
		}
	}
	return out.explanations
}

// explainWork is roughly the cost of an arrival's reasons, in multiply-adds of a product.
const explainWork = 1 << 14

// reason translates a reason that infer found for arrival i into its wire form.
func (p *Pipeline) reason(out *reasons, names []string, in *decodedBatch, i int, r *explain.Reason) event.Reason {
	wire := event.Reason{Kind: r.Kind, Share: float32(r.Figure.Class), Margin: float32(r.Figure.Margin)}
	switch {
	case r.Kind == explain.ReasonFeature && names != nil:
		wire.Name = names[r.At]
	case r.Kind == explain.ReasonFeature:
		wire.Name = out.label(r.At)
	case !p.Output.ExplainIDs:
	case r.Kind == explain.ReasonNeighbour:
		wire.ID = in.arrivals[i].arrival.Edges[r.At]
	default:
		wire.ID = in.arrivals[r.At].arrival.ID
	}
	return wire
}

// label names a feature without a name by its position.
func (r *reasons) label(at int) string {
	text, ok := r.labels[at]
	if !ok {
		if r.labels == nil {
			r.labels = make(map[int]string)
		}
		text = strconv.Itoa(at)
		r.labels[at] = text
	}
	return text
}
