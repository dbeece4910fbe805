package condense

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/test/expect"
	"rivulet/test/reference"
	"rivulet/test/reference/convert"
)

// world is a random graph with points, of which some nodes have a label and the others a prediction.
type world struct {
	adj       reference.Matrix
	points    *graph.Dense
	labels    []int32
	predicted []int32
	share     []int
	seed      uint64
}

func drawWorld(t *rapid.T) *world {
	w := &world{seed: rapid.Uint64().Draw(t, "seed")}
	rng := stream(w.seed)
	n, classes := rapid.IntRange(1, 25).Draw(t, "N"), rapid.IntRange(1, 4).Draw(t, "C")
	w.adj = convert.Graph(rng, n, 0.3)
	w.points = convert.Dense(convert.Normal(rng, n, 3, 1))
	for range n {
		w.labels = append(w.labels, int32(rng.IntN(classes+1))-1)
	}
	w.labels[0] = 0
	present := presentClasses(w.labels)
	for range n {
		w.predicted = append(w.predicted, present[rng.IntN(len(present))])
	}
	known := len(w.labels)
	for _, y := range w.labels {
		if y < 0 {
			known--
		}
	}
	var err error
	nodes := rapid.IntRange(len(present), known).Draw(t, "N'")
	if w.share, err = Budget(w.labels, classes, nodes); err != nil {
		t.Fatal(err)
	}
	return w
}

func presentClasses(labels []int32) []int32 {
	out := slices.DeleteFunc(slices.Clone(labels), func(y int32) bool { return y < 0 })
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *world) cluster() *Clusters {
	return Cluster(w.points, w.labels, w.share, rand.New(rand.NewPCG(w.seed, 1)))
}

// Section 5, step 2: labelled nodes are in clusters of their own class, others in none until they join the nearest
// centroid (of the labelled nodes) of their predicted class.
func TestSection5Clusters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		c := w.cluster()
		for class, n := range w.share {
			if got := countOf(c.Labels, int32(class)); got != n {
				t.Fatalf("class %d has %d clusters, want %d", class, got, n)
			}
		}
		for i, y := range w.labels {
			if (y < 0) != (c.Of[i] < 0) || (y >= 0 && c.Labels[c.Of[i]] != y) {
				t.Fatalf("node %d of class %d is in cluster %d", i, y, c.Of[i])
			}
		}
		before := slices.Clone(c.Of)
		joined := c.Join(w.points, w.predicted)
		if !slices.Equal(c.Of, before) {
			t.Fatal("joining changed the clusters that were joined")
		}
		centres := convert.FromCSR(c.Membership()).Mul(convert.Matrix(w.points))
		for i, k := range joined.Of {
			switch {
			case w.labels[i] >= 0 && k != c.Of[i]:
				t.Fatalf("labelled node %d moved from cluster %d to %d", i, c.Of[i], k)
			case w.labels[i] < 0 && joined.Labels[k] != w.predicted[i]:
				t.Fatalf("node %d, predicted %d, is in a cluster of class %d", i, w.predicted[i], joined.Labels[k])
			case w.labels[i] < 0:
				own := squaredDistance(w.points.Row(i), centres[k])
				for other, centre := range centres {
					if d := squaredDistance(w.points.Row(i), centre); joined.Labels[other] == w.predicted[i] && d < own-1e-4 {
						t.Fatalf("node %d is %g from its centroid %d, %g from %d", i, own, k, d, other)
					}
				}
			}
		}
		if !slices.Equal(joined.Size, sizes(joined.Of, len(joined.Labels))) || slices.Contains(c.Size, 0) {
			t.Fatalf("sizes %v and %v", c.Size, joined.Size)
		}
	})
}

func countOf(list []int32, v int32) (n int) {
	for _, w := range list {
		if w == v {
			n++
		}
	}
	return n
}

func squaredDistance(x []float32, y []float64) float64 {
	s := 0.0
	for k, v := range x {
		s += (float64(v) - y[k]) * (float64(v) - y[k])
	}
	return s
}

// Membership has a row of mean weights for each cluster; A' is edge counts between clusters over √(size·size),
// symmetric, zero diagonal. Before Join some nodes are in no cluster.
func TestSection5MembershipAndAdjacency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, c := range []*Clusters{w.cluster(), w.cluster().Join(w.points, w.predicted)} {
			n, syn := len(w.labels), len(c.Labels)
			in := reference.At(n, syn, func(i, k int) float64 {
				if c.Of[i] == int32(k) {
					return 1
				}
				return 0
			})
			count := in.T().RowSums()
			mean := reference.At(syn, n, func(k, i int) float64 { return in[i][k] / count[k] })
			if g := convert.Gap(convert.FromCSR(c.Membership()), mean); g > 1e-6 {
				t.Fatalf("membership is off by %g", g)
			}
			between := in.T().Mul(w.adj).Mul(in)
			want := reference.At(syn, syn, func(a, b int) float64 {
				if a == b {
					return 0
				}
				return between[a][b] / math.Sqrt(count[a]*count[b])
			})
			adj := c.Adjacency(convert.Pattern(w.adj))
			expect.OK(t, adj.Validate())
			got := convert.FromCSR(adj)
			if g := convert.Gap(got, want); g > 1e-6 {
				t.Fatalf("A' is off by %g", g)
			}
			if convert.Gap(got, got.T()) != 0 {
				t.Fatal("A' is not symmetric to the bit")
			}
			for a := range syn {
				if cols, _ := adj.Row(a); slices.Contains(cols, int32(a)) || !slices.IsSorted(cols) {
					t.Fatalf("row %d of A' has columns %v", a, cols)
				}
			}
		}
	})
}

func TestJoinRefusesAClassWithoutClusters(t *testing.T) {
	points := convert.Dense(reference.Matrix{{0}, {1}})
	c := Cluster(points, []int32{0, -1}, []int{1, 0}, stream(1))
	defer func() {
		if recover() == nil {
			t.Error("a node of class 1 joined, which has no clusters")
		}
	}()
	c.Join(points, []int32{0, 1})
}
