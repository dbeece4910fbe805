package config

import (
	"slices"
	"strings"
)

// Repartition names topics whose records the consumers bring to the topic of arrivals, exactly once.
type Repartition struct {
	Nodes    []string    `key:"nodes" default:"" check:"topics" usage:"topics whose records are arrivals in the form that input says; the consumers write each to kafka.topics.arrivals under its id, exactly once" zero:"none: producers write arrivals there themselves"`
	Edges    []string    `key:"edges" default:"" check:"topics" usage:"topics whose records are edges; the consumers write each to kafka.topics.arrivals under the ids of its ends, exactly once. Needs attach.wait" zero:"none"`
	Ends     string      `key:"ends" default:"both" oneof:"both|source|target" usage:"which ends of an edge get it, as an edge of theirs; an end that is no arrival leaves it unmatched (attach.unmatched)"`
	Directed bool        `key:"directed" default:"false" usage:"edges have directions: under its target's id an edge is one that leads to it; otherwise it is an edge of the target as of the source"`
	Mapping  EdgeMapping `key:"mapping"`
}

// EdgeMapping says where an edge is in a record of another shape, as [Mapping] does for an arrival.
type EdgeMapping struct {
	Preset string `key:"preset" default:"none" oneof:"none|debezium|connect|cloudevents" usage:"what records of repartition.edges are wrapped in, as input.mapping.preset"`
	Source string `key:"source" default:"" check:"pointer" usage:"where the id of an edge's source is" zero:"/source"`
	Target string `key:"target" default:"" check:"pointer" usage:"where the id of its target is" zero:"/target"`
	Weight string `key:"weight" default:"" check:"pointer" usage:"where its weight is" zero:"/weight"`
	Type   string `key:"type" default:"" check:"pointer" usage:"where its type is" zero:"/type"`
}

// repartitionProblems returns topics that are named twice, and edges that nobody waits for.
func (c Consumer) repartitionProblems() (found problems) {
	seen := []string{c.Kafka.Topics.Arrivals, c.Kafka.Topics.Predictions, c.Kafka.Topics.DeadLetters, c.Labels.Topic}
	for _, list := range []struct {
		key    string
		topics []string
	}{{"repartition.nodes", c.Repartition.Nodes}, {"repartition.edges", c.Repartition.Edges}} {
		for _, topic := range list.topics {
			found.when(slices.Contains(seen, topic), list.key, topic, "the settings name this topic twice")
			seen = append(seen, topic)
		}
	}
	found.when(len(c.Repartition.Edges) > 0 && c.Attach.Wait == 0, "repartition.edges",
		strings.Join(c.Repartition.Edges, ","), "attach.wait is 0s, so that consumers would pass these edges over")
	return found
}
