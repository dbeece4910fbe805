// Package generate draws graphs of n nodes, with labels and features, from a degree-corrected block model.
//
// Community k holds a share of the nodes of its class, class c a share ∝ (c+1)^-ClassSkew of all. Node i has a weight
// θ_i from a Pareto law,
//
//	P(θ > t) = t^-(γ-1),  t ≥ 1,  γ = DegreeExponent,  cut at √n
//
// and each edge {i, j} is drawn by
//
//	i ∝ θ over all nodes
//	j ∝ θ over  i's community           with probability CommunityShare
//	            i's class                                ClassShare
//	            i's community's rival                    RivalShare
//	            all nodes                                the rest
//
// drawn again if i = j or the edge exists already, until there are exactly Edges of them. The rival of a community
// is a fixed community of another class: such edges lead label propagation astray, but not a model that sees from
// the features which community they lead to. With ScatterRivals rivals are drawn at random, so that not even the
// pattern of classes that a class meets gives it away. Features come in two kinds. Bag-of-words: node i has L_i
// words, log-normal with mean Words, each drawn from
//
//	the topic of i's community   with probability CommunityTopic     d/25 words, uniform
//	the topic of i's class                        ClassTopic         d/25 words, uniform
//	the language at large                         the rest           all d words, ∝ rank^-0.8
//
// and kept as a flag. Dense: x_i = CommunityTopic·μ_k + ClassTopic·ν_c + ε_i, all of independent N(0,1) entries.
//
// [Preset] has generators by name: "small" for demonstrations and tests; "drift", a stream whose
// classes change with time (Lifetime, from which [dataset.Dataset.Times]); "flickr", "reddit" and "pubmed" in the shape
// of the paper's sets. In every preset, features alone or edges alone come nowhere near a model with both; presets.go
// has the figures and a test checks them. [Scaled] returns a preset with another number of nodes.
package generate
