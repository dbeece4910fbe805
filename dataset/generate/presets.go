package generate

import (
	"fmt"
	"slices"
	"strings"
)

// presets lists the generators with a name. Accuracy in percent on the test nodes, each joined to the original
// graph as in a node batch, seed 1 (TestNeitherFeaturesNorEdgesSuffice measures it again):
//
//	        features alone   edges alone   SGC
//	small   67.9             71.4          80.6
//	flickr  62.7             71.4          79.6
//	pubmed  60.7             58.2          79.0
//	drift   67.5             71.0          79.2    (random test nodes, not the later ones)
//	reddit  79.6             74.5          94.2    (60,000 nodes of the same degree: Scaled)
//
// In small, flickr and reddit many edges lead out of a node's class, so that counting the neighbours' labels
// misleads. The neighbours' features together show to which communities the edges lead, and do not mislead. In
// pubmed few nodes have a label.
var presets = []Generator{{
	Name:  "small",
	Nodes: 6000, Edges: 60_000, Classes: 6, Communities: 30, ClassSkew: 0.5,
	CommunityShare: 0.5, RivalShare: 0.4, DegreeExponent: 2.6,
	Kind: BagOfWords, Features: 300, Words: 32, CommunityTopic: 0.15, ClassTopic: 0.03,
	Train: 3000, Validation: 1500, Test: 1500,
}, {
	// The shape of the Flickr set of the paper: nodes, edges, features, classes and split.
	Name:  "flickr",
	Nodes: 89_250, Edges: 899_756, Classes: 7, Communities: 70, ClassSkew: 0.7,
	CommunityShare: 0.5, RivalShare: 0.4, DegreeExponent: 2.5,
	Kind: BagOfWords, Features: 500, Words: 32, CommunityTopic: 0.15, ClassTopic: 0.03,
	Train: 44_625, Validation: 22_312, Test: 22_313,
}, {
	// The shape of Pubmed with Planetoid's public split: 20 labelled nodes a class, all others but the arrivals
	// unlabelled.
	Name:  "pubmed",
	Nodes: 19_717, Edges: 44_338, Classes: 3, Communities: 6, ClassSkew: 0.5,
	CommunityShare: 0.75, RivalShare: 0.15, DegreeExponent: 2.5,
	Kind: BagOfWords, Features: 500, Words: 50, CommunityTopic: 0.03, ClassTopic: 0.075,
	Train: 60, Validation: 500, Test: 1000, Unlabelled: 18_157, BalancedTrain: true,
}, {
	// A stream in which each class's communities follow each other, to be judged in its order.
	Name:  "drift",
	Nodes: 6000, Edges: 60_000, Classes: 6, Communities: 30, ClassSkew: 0.2,
	CommunityShare: 0.5, RivalShare: 0.4, DegreeExponent: 2.6,
	Kind: BagOfWords, Features: 300, Words: 32, CommunityTopic: 0.15, ClassTopic: 0.03, Lifetime: 0.5,
	Train: 3000, Validation: 1500, Test: 1500,
}, {
	// The shape of the Reddit set of the paper. Its features are 0.56 GB.
	Name:  "reddit",
	Nodes: 232_965, Edges: 11_606_919, Classes: 41, Communities: 205, ClassSkew: 0.7,
	CommunityShare: 0.15, RivalShare: 0.3, ScatterRivals: true, DegreeExponent: 2.5,
	Kind: Dense, Features: 602, CommunityTopic: 0.2, ClassTopic: 0.1, Train: 153_431, Validation: 23_831, Test: 55_703,
}}

// Presets returns the names that [Preset] knows.
func Presets() []string {
	names := make([]string, len(presets))
	for i, g := range presets {
		names[i] = g.Name
	}
	return names
}

// Preset returns a generator by name.
func Preset(name string) (Generator, bool) {
	i := slices.IndexFunc(presets, func(g Generator) bool { return g.Name == name })
	if i < 0 {
		return Generator{}, false
	}
	return presets[i], true
}

// Scaled returns a preset with another number of nodes, for measuring how time and memory grow. The numbers of
// edges and of nodes in each role keep their proportion to the nodes, so the mean degree stays; features, classes
// and communities stay, too.
func Scaled(name string, nodes int) (Generator, error) {
	g, ok := Preset(name)
	if !ok {
		return g, fmt.Errorf("preset is %q, want one of %s", name, strings.Join(Presets(), ", "))
	}
	share := float64(nodes) / float64(g.Nodes)
	scale := func(count int) int { return int(float64(count) * share) }
	if g.BalancedTrain {
		g.Train = max(1, scale(g.Train)/g.Classes) * g.Classes
	} else {
		g.Train = max(1, scale(g.Train))
	}
	g.Nodes, g.Edges, g.Unlabelled = nodes, scale(g.Edges), scale(g.Unlabelled)
	g.Validation, g.Test = max(1, scale(g.Validation)), max(1, scale(g.Test))
	if err := g.Validate(); err != nil {
		return g, fmt.Errorf("preset %s with %d nodes: %w", name, nodes, err)
	}
	return g, nil
}
