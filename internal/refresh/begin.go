package refresh

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rivulet/kafka"
)

// begin returns the offsets from which new arrivals are read, nil for all of the topic. It fails if graph, group and
// topic do not belong together: some arrivals would be lost.
func (o *round) begin(ctx context.Context, t *kafka.Reader) (kafka.Offsets, error) {
	if o.Arrivals.Group == "" {
		return nil, nil
	}
	g, err := t.Group(ctx)
	if err != nil {
		return nil, err
	}
	have, err := o.belong(g)
	if err != nil {
		return nil, err
	}
	return have, o.checkRange(ctx, t, have)
}

// belong returns the graph's offsets, and an error if the group's do not belong to them.
func (r *Refresher) belong(g *kafka.ReaderGroup) (kafka.Offsets, error) {
	group := r.Arrivals.Group
	if err := own(group, g); err != nil {
		return nil, err
	}
	state := &r.Graph.State
	if state.Topic != "" && state.Topic != r.Arrivals.Topic {
		return nil, fmt.Errorf("%s has the arrivals of topic %s, and --from names %s: give that topic, or the data set "+
			"without arrivals and other directories", r.graphName(), state.Topic, r.Arrivals.Topic)
	}
	have := state.offsets()
	for _, at := range ascending(g.Offsets) {
		if g.Offsets[at] > have[at] {
			return nil, fmt.Errorf("group %s is ahead of the graph: it has committed offset %d of %s/%d, and %s has the "+
				"arrivals before %d. "+
				"Those between would be lost: give the newest directory of --data-out as --data, or another --group, which "+
				"reads the topic from its beginning",
				group, g.Offsets[at], at.Topic, at.Partition, r.graphName(), have[at])
		}
	}
	return have, nil
}

// graphName names the graph in errors.
func (r *Refresher) graphName() string {
	if r.Graph.Dir == "" {
		return "the graph"
	}
	return "the graph in " + r.Graph.Dir
}

// own fails unless the group is one of refreshes.
func own(group string, g *kafka.ReaderGroup) error {
	const advice = "give --group a name that nobody else uses"
	switch {
	case len(g.Members) > 0:
		return fmt.Errorf("group %s is one of consumers: %s is in it. A refresh that committed its offsets would have "+
			"them skip arrivals: %s",
			group, strings.Join(g.Members, ", "), advice)
	case g.Foreign:
		return fmt.Errorf("group %s is one of consumers: no refresh has committed its offsets. The arrivals before them "+
			"would never be merged: %s",
			group, advice)
	}
	return nil
}

// checkRange compares the graph's offsets with the records that the topic has now.
func (o *round) checkRange(ctx context.Context, t *kafka.Reader, have kafka.Offsets) error {
	first, end, err := t.Range(ctx)
	if err != nil {
		return err
	}
	for _, at := range ascending(have) {
		switch {
		case have[at] > end[at]:
			return fmt.Errorf("%s has the arrivals of %s/%d before offset %d, and the topic ends at %d: was it made anew? "+
				"Then give another --group and another --data-out, and this graph's data as --data",
				o.graphName(), at.Topic, at.Partition, have[at], end[at])
		case have[at] < first[at]:
			o.Report.Gone += first[at] - have[at]
			o.Log.Warn("records of the topic are gone before a refresh has read them; let it keep them for longer than --every",
				"topic", at.Topic, "partition", at.Partition, "from", have[at], "to", first[at]-1)
		}
	}
	return nil
}

// ascending returns the partitions of offsets in order.
func ascending(offsets kafka.Offsets) []kafka.TopicPartition {
	return slices.SortedFunc(maps.Keys(offsets), func(a, b kafka.TopicPartition) int { return a.Partition - b.Partition })
}
