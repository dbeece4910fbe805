package main

import (
	"testing"

	"rivulet/config"
	"rivulet/dataset/generate"
)

// Consumers take the arrivals of every generated graph by default.
func TestGeneratedNodesAreWithinLimits(t *testing.T) {
	if limit := config.Default[config.Consumer]().Limits.Edges; limit != generate.MostEdges {
		t.Errorf("limits.edges is %d by default, and generated nodes have up to %d edges", limit, generate.MostEdges)
	}
}
