package consumer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// written returns the parts of a batch that the stages before growth have written, as text; the pointers in it stay the
// same.
func written(b *batch) (parts [4]string) {
	var arrivals []string
	for _, s := range b.decoded.arrivals {
		arrivals = append(arrivals, fmt.Sprintf("%+v", *s))
	}
	parts[0] = fmt.Sprintf("%v %+v %v", arrivals, b.decoded.deadLetters, b.decoded.bytes)
	n, a, p := &b.neighbours, &b.attachment, &b.predicted
	parts[1] = fmt.Sprintf("%+v %+v %v %v", n.rows, n.arrived, n.ids, n.unread)
	parts[2] = fmt.Sprintf("%+v %+v %v", a.batch, a.counts, a.degraded)
	parts[3] = fmt.Sprintf("%+v %v %+v", p.predictions, p.withdrawn, p.deadLetters)
	return parts
}

// No stage changes what an earlier one made, in a batch in which each has something to do.
func TestNoStageChangesWhatAnEarlierOneMade(t *testing.T) {
	v := newGrowingVersion()
	v.rows["gone"] = attach.Row{Unread: true}
	v.predictor.Model = overflowing{v.predictor.Model}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: &kept{}, Arrivals: true,
		Output: Output{TopK: 2, Logits: true}})
	first := records(t, arrival("p", "t0", "q"), arrival("q"))
	expect.OK(t, p.Process(t.Context(), Intake{Records: first}))
	far := arrival("far", "t1")
	far.Features.Values[0] = 1e15
	in := Intake{Name: "b", Records: records(t, arrival("a", "t0", "b", "p", "q"), far, arrival("b", "t2", "nobody"),
		arrival("c", "gone"))}
	in.Records = append(in.Records, first[0], kafka.Record{Value: []byte("no")})
	b := p.batch
	var then [4]string
	for k, stage := range []func(){
		func() {
			expect.OK(t, p.decode(t.Context(), &b.decoded, in, p.model(v.Info())))
		},
		func() {
			expect.OK(t, p.lookup(t.Context(), &b.neighbours, v, &b.decoded))
		},
		func() { p.attach(&b.attachment, v, &b.decoded, &b.neighbours) },
		func() { expect.OK(t, p.predict(t.Context(), &b.predicted, v, in.Name, &b.decoded, &b.attachment)) },
		func() { p.solve(&b.growth, v, b); b.growth.solving.Wait() },
		func() { b.output() },
		func() {
			expect.OK(t, p.keep(t.Context(), v, &b.growth))
		},
	} {
		stage()
		now := written(b)
		for part := range min(k, len(now)) {
			if now[part] != then[part] {
				t.Errorf("stage %d changed part %d:\n%s\nwas\n%s", k, part, now[part], then[part])
			}
		}
		then = now
	}
	if !slices.Equal(b.neighbours.arrived, []int{1, 0, 0, 0, 1}) ||
		!b.attachment.degraded[3] || b.attachment.degraded[2] ||
		b.attachment.counts[0] != (neighbourCounts{known: 1, arrivals: 1, inBatch: 2}) || !b.predicted.withdrawn[1] ||
		len(b.decoded.deadLetters) != 1 || len(b.output().DeadLetters) != 2 {
		t.Errorf("the batch has nothing for some stage to do: %q", then)
	}
	if got := slices.Sorted(maps.Keys(v.store)); strings.Join(got, " ") != "a b p q" {
		t.Errorf("rows of %v", got)
	}
}

// A prediction that was withdrawn leaves its memory to one prediction of the next batch, and not to two.
func TestMemoryOfAWithdrawnPrediction(t *testing.T) {
	v, out := newTestVersion("v1"), &kept{}
	v.predictor.Model = overflowing{v.predictor.Model}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: attach.Node, Output: Output{TopK: 3}})
	far := arrival("far", "t1")
	far.Features.Values[0] = 1e15
	batches := [][]event.Arrival{{far, arrival("z", "t0")}, {arrival("a", "t0"), arrival("b", "t2")}}
	for _, arrivals := range batches {
		expect.OK(t, p.Process(t.Context(), Intake{Records: records(t, arrivals...)}))
	}
	for _, pr := range out.batches[1].Predictions {
		if pr.Top[0] != (event.Score{Class: pr.Class, Name: pr.ClassName, Probability: pr.Probability}) {
			t.Errorf("%s is of class %d with probability %v and lists %+v", pr.ID, pr.Class, pr.Probability, pr.Top)
		}
	}
}
