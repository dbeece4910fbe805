package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/serving"
)

// core measures node batches from the rows of M of their neighbours, in memory, to probabilities: frozen, and
// the smallest and the largest of them joint, in turn.
func (b *suite) core(ctx context.Context) error {
	for k := range b.shapes {
		shape := &b.shapes[k]
		bundle, err := shape.Bundle(b.models)
		if err != nil {
			return err
		}
		for _, a := range b.models {
			for _, size := range batchSizes {
				name := fmt.Sprintf("%s/%s/batch=%d", shape.Name, a.Name, size)
				b.Progress.Live("core " + name)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				attachments := []string{artifact.AttachFrozen, artifact.AttachJoint}
				if size != batchSizes[0] && size != batchSizes[len(batchSizes)-1] {
					attachments = attachments[:1]
				}
				var sides []side
				for _, attachment := range attachments {
					version, err := served(bundle, a.Name, attachment)
					if err != nil {
						return err
					}
					sides = append(sides, onS(attachment, shape, version, size))
				}
				for s, t := range inTurn(b.Time, sides) {
					b.report.add(Core, name+"/"+sides[s].name, t.runs, perBatch(&t, size))
				}
			}
		}
	}
	return nil
}

// served is an artifact ready to serve one of its models, with M in memory.
func served(bundle *artifact.Bundle, model, attachment string) (*serving.Version, error) {
	v, _, err := serving.New(bundle, mapping.FromArtifact(bundle.Mapping),
		serving.Options{Model: model, Attachment: attachment})
	return v, err
}

// onS is the work for a node batch on S: attach, forward pass, probabilities.
func onS(name string, shape *Shape, version *serving.Version, size int) side {
	batches := shape.batches(shape.rng("arrivals"), size)
	rows := make([]rowNumbers, len(batches))
	for k, a := range batches {
		rows[k] = a.numbers(version)
	}
	var steady attacher
	return side{name: name, run: func(k int) {
		k %= len(batches)
		version.Predict(steady.attached(batches[k], &rows[k], shape.Synthetic))
	}}
}

// batches draws as many batches of a size as a figure goes through.
func (s *Shape) batches(rng *rand.Rand, size int) []*arrivals {
	out := make([]*arrivals, inputs(size))
	for k := range out {
		out[k] = s.arrivals(rng, size)
	}
	return out
}

// perBatch are the figures of a side that predicts batches of a size.
func perBatch(t *timing, size int) map[string]float64 {
	return map[string]float64{"µs/batch": t.median() * 1e6, "nodes/s": float64(size) / t.median(),
		"B/node": t.allocated() / float64(size), "CPU-s/Mnode": t.cpuEach() / float64(size) * 1e6}
}
