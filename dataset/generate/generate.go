package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"rivulet/dataset"
	"rivulet/graph"
)

// Kinds of generated features.
const (
	BagOfWords = "bag-of-words" // sparse flags: which words a node has
	Dense      = "dense"        // Gaussian around the topics' means
)

// Generator describes a random graph with communities, skewed degrees and noisy features; the model is written out
// in the package documentation. Every field is used; [Generator.Validate] names the ones that do not fit together.
type Generator struct {
	Name  string // of the data set
	Nodes int    // n
	Edges int    // exact number of undirected edges

	Classes     int     // C
	Communities int     // in all classes together, at least one a class
	ClassSkew   float64 // class c has a share of nodes ∝ (c+1)^-ClassSkew; 0: equal shares

	CommunityShare float64 // share of edges drawn within a community, 0…1
	ClassShare     float64 // share of edges drawn within a class, whatever the community, 0…1
	RivalShare     float64 // share of edges drawn to the community's rival, a community of another class, 0…1
	// rivals drawn at random, so that the pattern of classes that meet tells nothing about a class as a whole
	ScatterRivals  bool
	DegreeExponent float64 // > 2: expected degrees have a density ∝ θ^-DegreeExponent; lower is more skewed

	Kind     string  // BagOfWords or Dense
	Features int     // d
	Words    float64 // mean number of words drawn for a node, repetitions included; bag-of-words only
	// bag-of-words: share of a node's words from its community's topic; dense: amplitude of its mean
	CommunityTopic float64
	ClassTopic     float64 // the share of its class's topic; the rest are words of the language at large, or unit noise

	// Lifetime is the share of the whole time during which the nodes of a community come, 0…1: the communities of each
	// class begin one after another, so that the class looks otherwise later on. 0: nodes have no times.
	Lifetime float64

	// Nodes of each role, drawn at random; the rest has no role. Unlabelled nodes belong to the original graph, and
	// their class is dropped.
	Train, Validation, Test, Unlabelled int
	// BalancedTrain draws equal numbers of training nodes from all classes, as Planetoid's public splits do, instead
	// of drawing from all nodes.
	BalancedTrain bool
}

// Validate names the first field that does not fit with the others.
func (g Generator) Validate() error {
	pairs := float64(g.Nodes) * float64(g.Nodes-1) / 2
	switch {
	case g.Nodes < 2 || g.Nodes > math.MaxInt32:
		return fmt.Errorf("nodes is %d, want 2…%d", g.Nodes, math.MaxInt32)
	case g.Edges < 0 || float64(g.Edges) > pairs/2:
		return fmt.Errorf("edges is %d, want 0…%.0f: half of all pairs", g.Edges, pairs/2)
	case g.Classes < 1:
		return fmt.Errorf("classes is %d, want ≥ 1", g.Classes)
	case g.Communities < g.Classes || g.Communities > g.Nodes:
		return fmt.Errorf("communities is %d, want between classes %d and nodes %d", g.Communities, g.Classes, g.Nodes)
	case !(g.ClassSkew >= 0 && g.ClassSkew <= 10):
		return fmt.Errorf("class skew is %v, want 0…10", g.ClassSkew)
	case !(g.CommunityShare >= 0 && g.ClassShare >= 0 && g.RivalShare >= 0 &&
		g.CommunityShare+g.ClassShare+g.RivalShare <= 1):
		return fmt.Errorf("community share %v, class share %v and rival share %v, want each ≥ 0 and at most 1 together",
			g.CommunityShare, g.ClassShare, g.RivalShare)
	case !(g.DegreeExponent > 2):
		return fmt.Errorf("degree exponent is %v, want > 2", g.DegreeExponent)
	case !(g.Lifetime >= 0 && g.Lifetime <= 1):
		return fmt.Errorf("lifetime is %v, want 0…1", g.Lifetime)
	case g.Train < 1 || g.Validation < 1 || g.Test < 1 || g.Train+g.Validation+g.Test > g.Nodes:
		return fmt.Errorf("train %d, validation %d and test %d nodes, want each ≥ 1 and together at most %d",
			g.Train, g.Validation, g.Test, g.Nodes)
	case g.Unlabelled < 0 || g.Unlabelled > g.Nodes-g.Train-g.Validation-g.Test:
		return fmt.Errorf("unlabelled is %d nodes, want 0…%d: the rest after the other roles", g.Unlabelled,
			g.Nodes-g.Train-g.Validation-g.Test)
	case g.BalancedTrain && g.Train%g.Classes != 0:
		return fmt.Errorf("train is %d nodes, which %d classes cannot share in equal numbers", g.Train, g.Classes)
	}
	return g.validateFeatures()
}

func (g Generator) validateFeatures() error {
	if g.Features < 1 || g.Features > math.MaxInt32 {
		return fmt.Errorf("features is %d, want 1…%d", g.Features, math.MaxInt32)
	}
	switch g.Kind {
	case BagOfWords:
		if !(g.Words >= 1) {
			return fmt.Errorf("words is %v, want ≥ 1", g.Words)
		}
		if !(g.CommunityTopic >= 0 && g.ClassTopic >= 0 && g.CommunityTopic+g.ClassTopic <= 1) {
			return fmt.Errorf("community topic %v and class topic %v, want both ≥ 0 and at most 1 together",
				g.CommunityTopic, g.ClassTopic)
		}
	case Dense:
		if !(g.CommunityTopic >= 0 && g.ClassTopic >= 0) || math.IsInf(g.CommunityTopic+g.ClassTopic, 0) {
			return fmt.Errorf("community topic %v and class topic %v, want finite amplitudes ≥ 0", g.CommunityTopic,
				g.ClassTopic)
		}
		if g.Words != 0 {
			return fmt.Errorf("words is %v, but dense features have none: want 0", g.Words)
		}
	default:
		return fmt.Errorf("kind is %q, want %q or %q", g.Kind, BagOfWords, Dense)
	}
	return nil
}

// Graph draws a data set. The same generator and seed give the same data set on the same processor architecture; on
// another one the last bits of math.Pow, math.Exp and of fused multiplications may differ, which now and then changes a
// draw: compare fingerprints before comparing figures. Ids are the node indices in decimal, so that [dataset.Open] can
// read the output of [dataset.Dataset.Save].
func Graph(g Generator, seed uint64) (*dataset.Dataset, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("generating data set %q: %w", g.Name, err)
	}
	// Each part has a stream of its own: a change of the features' parameters leaves the graph as it is.
	stream := func(part uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, part)) }
	b := g.drawBlocks(stream(1))
	if g.ScatterRivals {
		b.scatterRivals(stream(5))
	}
	d := &dataset.Dataset{
		Name:       g.Name,
		IDs:        dataset.Decimals(g.Nodes),
		Classes:    dataset.Decimals(g.Classes),
		Labels:     b.labels(),
		BagOfWords: g.Kind == BagOfWords,
	}
	if g.Lifetime > 0 {
		d.Times = g.drawTimes(b, stream(6))
	}
	var features sync.WaitGroup
	features.Go(func() {
		if d.BagOfWords {
			d.X.Sparse = g.drawWords(b, stream(3))
		} else {
			d.X.Dense = g.drawDense(b, stream(3))
		}
	})
	d.Adj = g.drawEdges(b, stream(2), MostEdges)
	features.Wait()
	if err := g.drawRoles(d, stream(4)); err != nil {
		return nil, fmt.Errorf("generating data set %q: %w", g.Name, err)
	}
	return d, nil
}

// drawRoles deals the nodes in random order. Unlabelled nodes come last, so that their number leaves the other
// roles as they are.
func (g Generator) drawRoles(d *dataset.Dataset, r *rand.Rand) error {
	order := permutation(g.Nodes, r)
	if g.BalancedTrain {
		var err error
		if order, err = g.balance(order, d.Labels); err != nil {
			return err
		}
	}
	for _, role := range []struct {
		list *[]int32
		size int
	}{{&d.Train, g.Train}, {&d.Validation, g.Validation}, {&d.Test, g.Test}, {&d.Unlabelled, g.Unlabelled}} {
		if role.size == 0 {
			continue
		}
		*role.list, order = slices.Clone(order[:role.size]), order[role.size:]
		slices.Sort(*role.list)
	}
	for _, i := range d.Unlabelled {
		d.Labels[i] = -1
	}
	return dataset.CheckContiguous(d.Labels, g.Classes) // as Open requires
}

// balance moves the first nodes of each class to the front, Train nodes in all; the others keep their order.
func (g Generator) balance(order, labels []int32) ([]int32, error) {
	each := g.Train / g.Classes
	taken := make([]int, g.Classes)
	front, rest := make([]int32, 0, len(order)), make([]int32, 0, len(order)-g.Train)
	for _, i := range order {
		if c := labels[i]; taken[c] < each {
			taken[c]++
			front = append(front, i)
		} else {
			rest = append(rest, i)
		}
	}
	for c, n := range taken {
		if n < each {
			return nil, fmt.Errorf("class %d has %d nodes, fewer than its %d training nodes", c, n, each)
		}
	}
	return append(front, rest...), nil
}

func permutation(n int, r *rand.Rand) []int32 {
	order := graph.Indices(n)
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// apportion splits total into parts in proportion to the weights, each at least 1, by largest remainders.
func apportion(total int, weights []float64) []int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	parts := make([]int, len(weights))
	rest := make([]float64, len(weights))
	spare := total - len(weights)
	left := spare
	for i, w := range weights {
		share := float64(spare) * w / sum
		parts[i] = 1 + int(share)
		rest[i] = share - math.Floor(share)
		left -= int(share)
	}
	for ; left > 0; left-- {
		best := 0
		for i := range rest {
			if rest[i] > rest[best] {
				best = i
			}
		}
		parts[best]++
		rest[best] = -1
	}
	return parts
}

// blocks places the nodes in communities and the communities in classes. Positions run through the communities one
// after another, so that a community and a class are intervals; node holds the index in the data set for each
// position.
type blocks struct {
	node       []int32 // n: node index by position
	community  []int32 // n: by position
	class      []int32 // by community
	start      []int   // communities+1: first position
	classStart []int   // classes+1: first position
	rivals     []int32 // by community; nil: three eighths of the circle away
}

func (g Generator) drawBlocks(r *rand.Rand) *blocks {
	weights := make([]float64, g.Classes)
	for c := range weights {
		weights[c] = math.Pow(float64(c+1), -g.ClassSkew)
	}
	b := &blocks{node: permutation(g.Nodes, r), start: []int{0}, classStart: []int{0}}
	communities := apportion(g.Communities, weights)
	// A class has at least as many nodes as communities.
	nodes := apportion(g.Nodes-g.Communities+g.Classes, weights)
	for c, size := range nodes {
		equal := make([]float64, communities[c])
		for k := range equal {
			equal[k] = 1
		}
		for _, n := range apportion(size+communities[c]-1, equal) {
			k := int32(len(b.class))
			b.class = append(b.class, int32(c))
			for range n {
				b.community = append(b.community, k)
			}
			b.start = append(b.start, len(b.community))
		}
		b.classStart = append(b.classStart, len(b.community))
	}
	return b
}

// drawTimes draws when each node comes, between 0 and 1: uniform in the lifetime of its community.
func (g Generator) drawTimes(b *blocks, r *rand.Rand) []float64 {
	times, of, first := make([]float64, g.Nodes), make([]int, g.Classes), make([]int32, g.Classes)
	for k, c := range b.class {
		if of[c] == 0 {
			first[c] = int32(k)
		}
		of[c]++
	}
	for p, i := range b.node {
		k := b.community[p]
		c := b.class[k]
		begin := float64(k-first[c]) / float64(max(1, of[c]-1)) * (1 - g.Lifetime)
		times[i] = begin + g.Lifetime*r.Float64()
	}
	return times
}

func (b *blocks) labels() []int32 {
	labels := make([]int32, len(b.node))
	for p, i := range b.node {
		labels[i] = b.class[b.community[p]]
	}
	return labels
}

// rival returns the community to which k's misleading edges lead: drawn by scatterRivals, or three eighths of the
// circle of communities away. The latter is of another class unless one class has more than that share of the
// communities, and with its inverse gives k two distinct neighbouring communities.
func (b *blocks) rival(k int32) int32 {
	if b.rivals != nil {
		return b.rivals[k]
	}
	n := int32(len(b.class))
	return (k + 3*n/8) % n
}

// scatterRivals puts the communities into a circle at random and makes each the rival of the one before it.
// Neighbours in the circle that share a class change places with others while that helps; it cannot help if a class
// has half of them or more.
func (b *blocks) scatterRivals(r *rand.Rand) {
	n := len(b.class)
	circle := permutation(n, r)
	class := func(i int) int32 { return b.class[circle[(i+n)%n]] }
	clashes := func(i int) int {
		c := 0
		for _, next := range []int{i - 1, i + 1} {
			if class(i) == class(next) {
				c++
			}
		}
		return c
	}
	for i := range n {
		for try := 0; try < 10*n && clashes(i) > 0; try++ {
			j := r.IntN(n)
			before := clashes(i) + clashes(j)
			circle[i], circle[j] = circle[j], circle[i]
			if clashes(i)+clashes(j) >= before {
				circle[i], circle[j] = circle[j], circle[i]
			}
		}
	}
	b.rivals = make([]int32, n)
	for i, k := range circle {
		b.rivals[k] = circle[(i+1)%n]
	}
}
