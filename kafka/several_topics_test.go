package kafka

import (
	"context"
	"maps"
	"slices"
	"testing"

	"rivulet/test/expect"
)

// Of several topics that one group reads, one is made anew with fewer partitions: it is read from its beginning, also
// where the group starts at the latest, and the others go on at the group's offsets. One member reads them, or two.
func TestOneOfSeveralTopicsIsMadeAnewWithFewerPartitions(t *testing.T) {
	for _, members := range []int{1, 2} {
		b := newBench(t, 4)
		b.send("arrivals", "a", "b", "c")
		b.send("predictions", "old")
		both := func(o *SourceOptions) { o.Topics, o.Start = []string{"arrivals", "predictions"}, Latest }
		sources := make([]*Source, members)
		for i := range sources {
			sources[i] = b.source(both)
			t.Cleanup(sources[i].Leave)
		}
		var generations []*Generation
		if members == 1 {
			generations = []*Generation{b.joined(sources[0])}
		} else {
			one, two := b.together(sources[0], sources[1])
			generations = []*Generation{one, two}
		}
		ends := Offsets{}
		for _, p := range b.kafka.Cluster.PartitionInfos("arrivals") {
			ends[TopicPartition{Topic: "arrivals", Partition: int(p.Partition)}] = p.HighWatermark
		}
		for _, g := range generations { // the first has the first partition, and chooses the start
			_, err := g.Cursors(t.Context())
			expect.OK(t, err)
		}
		b.remake(b.way)
		b.send("predictions", "new", "newer")

		for _, g := range generations {
			if !g.Changed(t.Context()) {
				t.Fatalf("%d members: one does not see the change", members)
			}
			expect.OK(t, g.End(t.Context(), nil))
		}
		type places struct {
			next Offsets
			err  error
		}
		read := make(chan places, members)
		for _, s := range sources {
			go func() {
				for {
					g, err := s.Join(context.WithoutCancel(t.Context()))
					if err == nil && members > 1 && len(g.Assigned()) == 3 { // the other one has not joined yet
						<-g.Rebalance().Done()
						if err = g.End(context.WithoutCancel(t.Context()), nil); err == nil {
							continue
						}
					}
					var cursors []*Cursor
					if err == nil {
						cursors, err = g.Cursors(context.WithoutCancel(t.Context()))
					}
					from := Offsets{}
					for _, c := range cursors {
						from[c.Partition()] = c.Next()
					}
					read <- places{from, err}
					return
				}
			}()
		}
		at := Offsets{}
		for range sources {
			some := <-read
			expect.OK(t, some.err)
			maps.Copy(at, some.next)
		}
		want := Offsets{{Topic: "predictions", Partition: 0}: 0}
		for p, end := range ends {
			want[p] = end
		}
		expect.Same(t, want, at, "where %d members read on", members)
		var topics []string
		for p := range at {
			topics = append(topics, p.Topic)
		}
		slices.Sort(topics)
		expect.Same(t, []string{"arrivals", "arrivals", "predictions"}, topics, "partitions that %d members read", members)
	}
}
