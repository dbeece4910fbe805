package infer_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/reference"
)

// hidden is a model of the oracle with a layer before the classifier that reads the graph.
type hidden interface {
	Hidden(graph, x reference.Matrix) reference.Matrix
}

type frozenHidden interface {
	FrozenHidden(t reference.Tables, b reference.Arrivals) reference.Matrix
}

func TestJointEmbeddingsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for _, side := range []string{"T", "S"} {
			adj, x, oracleAdj, oracleX, _ := w.graph(side)
			for _, c := range w.candidates {
				joint := c.own.Joint(adj, x, w.preprocess()).(infer.Embedder)
				for _, graphBatch := range []bool{false, true} {
					b := w.oracle(side, graphBatch)
					var want reference.Matrix
					switch m := c.oracle.(type) {
					case APPNP:
						want = m.Hidden(b.X)
					case hidden:
						want = m.Hidden(attached(oracleAdj, b), oracleX.Stack(b.X))[len(oracleAdj):]
					}
					got := joint.Embeddings(w.batch(side, graphBatch))
					near(t, c.name+" on "+side, got, want, w.tolerance(c, oracleX)+oracleTol*largest(oracleX))
				}
			}
		}
	})
}

func TestFrozenEmbeddingsAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		x := w.fit.Apply(w.x)
		for _, side := range []string{"T", "S"} {
			for _, c := range w.candidates {
				if c.own.Architecture.Linear() || infer.Freezable(c.own) != nil {
					continue
				}
				exact := w.oracleTables(side, c.oracle.Tables(w.adj, x))
				frozen := c.own.Frozen(tables(exact), w.preprocess()).(infer.Embedder)
				for _, graphBatch := range []bool{false, true} {
					b := w.oracle(side, graphBatch)
					var want reference.Matrix
					switch m := c.oracle.(type) {
					case APPNP:
						want = m.Hidden(b.X)
					case frozenHidden:
						want = m.FrozenHidden(exact, b)
					}
					tol := w.tolerance(c, x) + w.readTolerance(c, exact, b)
					near(t, c.name+" on "+side, frozen.Embeddings(w.batch(side, graphBatch)), want, tol)
				}
			}
		}
	})
}

// An SGC's frozen embedding is what its weights are applied to: times W plus b it is the logits.
func TestFrozenFeaturesTimesWeightsAreLogits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		adj, x, _, oracleX, _ := w.graph("T")
		identity := reference.At(w.features, w.features, func(i, k int) float64 {
			if i == k {
				return 1
			}
			return 0
		})
		exact := reference.SGCTables(w.adj, oracleX)
		for hop, u := range w.sgc().FeatureTables(adj, x).U {
			near(t, fmt.Sprintf("u%d", hop), u, exact.U[hop], oracleTol*w.magnitudeThrough(identity))
		}
		features := w.sgc().FrozenFeatures(tables(w.oracleTables("S", exact)), w.preprocess())
		onLogits := w.oracleTables("S", reference.SGCTables(w.adj, oracleX.Mul(w.model.W)))
		for _, graphBatch := range []bool{false, true} {
			got := features.Embeddings(w.batch("S", graphBatch))
			if got.Cols != w.features {
				t.Fatalf("embeddings of %d columns for %d features", got.Cols, w.features)
			}
			b := w.oracle("S", graphBatch)
			tol := 10 * (w.tolerance(w.candidates[0], oracleX) + w.readTolerance(w.candidates[0], onLogits, b)) * columnSum(
				w.model.W)
			near(t, "logits", graph.MulDense(got, dense(w.model.W)), w.model.Frozen(onLogits, b).AddRow(negated(w.model.B)), tol)
		}
	})
}

func negated(s []float64) []float64 {
	out := slices.Clone(s)
	for k := range out {
		out[k] = -out[k]
	}
	return out
}

// In a node batch a frozen embedding, too, depends on its own arrival alone, bit for bit.
func TestSection2NodeBatchBitsOfEmbeddings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		adj, x, _, _, _ := w.graph("T")
		rows := drawRows(t, len(w.a))
		whole := w.batch("T", false)
		embedders := []infer.Embedder{w.sgc().FrozenFeatures(w.sgc().FeatureTables(adj, x), w.preprocess())}
		for _, c := range w.candidates {
			if !c.own.Architecture.Linear() && infer.Freezable(c.own) == nil {
				embedders = append(embedders, c.own.Frozen(c.own.Tables(adj, x), w.preprocess()).(infer.Embedder))
			}
		}
		for _, e := range embedders {
			want, got := e.Embeddings(whole), e.Embeddings(take(whole, rows))
			for k, i := range rows {
				sameBits(t, fmt.Sprintf("%T: arrival %d", e, i), got.Row(k), want.Row(int(i)))
			}
		}
	})
}
