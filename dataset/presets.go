package dataset

import "slices"

// presets hold the generators that have a name. Accuracy in percent on the test nodes, each joined to the training nodes
// as in a node batch, seed 1 (TestNeitherFeaturesNorEdgesSuffice measures it again):
//
//	        features alone   edges alone   SGC
//	small   67.9             71.4          80.6
//	flickr  62.7             71.4          79.6
//
// Nearly half of the edges lead out of a node's class, so that counting the neighbours' labels misleads; which communities
// they lead to, told by the neighbours' words together, does not.
var presets = []Generator{{
	Name:  "small",
	Nodes: 6000, Edges: 60_000,
	Classes: 6, Communities: 30, ClassSkew: 0.5,
	CommunityShare: 0.5, RivalShare: 0.4, DegreeExponent: 2.6,
	Kind: BagOfWords, Features: 300, Words: 32, CommunityTopic: 0.15, ClassTopic: 0.03,
	Train: 3000, Validation: 1500, Test: 1500,
}, {
	// The shape of the Flickr set of the paper: nodes, edges, features, classes and split.
	Name:  "flickr",
	Nodes: 89_250, Edges: 899_756,
	Classes: 7, Communities: 70, ClassSkew: 0.7,
	CommunityShare: 0.5, RivalShare: 0.4, DegreeExponent: 2.5,
	Kind: BagOfWords, Features: 500, Words: 32, CommunityTopic: 0.15, ClassTopic: 0.03,
	Train: 44_625, Validation: 22_312, Test: 22_313,
}}

// Presets are the names that [Preset] knows.
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
