package mcond

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/attach"
	"rivulet/infer/preprocess"
	"rivulet/trainer/features"
)

// Input is the input of condensation.
type Input struct {
	Adj     *graph.CSR             // A of T, N×N symmetric 0/1, columns ascending
	X       graph.Features         // N×d raw features of T
	Pre     *preprocess.Parameters // pre: applied to T and the support nodes
	Labels  []int32                // N: class, −1 if unknown
	Classes int                    // C
	Budget  []int                  // C: synthetic nodes of each class, N' in all; at most its labelled nodes
	Support *attach.Batch          // the support nodes attached to T, all at once, with ã; nil: no L_ind
	// Validate returns the accuracy by which the best state is chosen, on any scale: for M the sum of O→S, S→S and
	// S→O on the support nodes, for GCond only S→O. It must not keep the snapshot's memory past its return, nor
	// depend on anything else. nil: the last round is the best, and the first Mu and Delta are used.
	Validate func(s *Snapshot) (float64, error)
}

// Snapshot is a synthetic graph as for deployment. Snapshots that differ only in δ share Adj and X.
type Snapshot struct {
	Round     int          // outer rounds done
	Mu, Delta float64      // the thresholds that were applied, in units of 1/N'
	Adj       *graph.CSR   // A', N'×N'
	X         *graph.Dense // X', N'×d, preprocessed
	Labels    []int32      // Y', N', ascending
	M         *graph.CSR   // M, N×N'; nil for GCond
}

func (in *Input) check() error {
	n := in.Adj.Rows
	switch {
	case in.Adj.Cols != n || in.X.Rows() != n || len(in.Labels) != n:
		return fmt.Errorf("original graph of %d×%d with %d rows of features and %d labels", n, in.Adj.Cols,
			in.X.Rows(), len(in.Labels))
	case len(in.Budget) != in.Classes:
		return fmt.Errorf("budget for %d classes, want %d", len(in.Budget), in.Classes)
	case in.Support != nil && (in.Support.R.Cols != n || in.Support.X.Cols() != in.X.Cols()):
		return fmt.Errorf("support nodes on %d nodes with %d features, the original graph has %d with %d",
			in.Support.R.Cols, in.Support.X.Cols(), n, in.X.Cols())
	}
	labelled := make([]int, in.Classes)
	for i, y := range in.Labels {
		if int(y) >= in.Classes {
			return fmt.Errorf("labels[%d] is %d, want below %d", i, y, in.Classes)
		}
		if y >= 0 {
			labelled[y]++
		}
	}
	total := 0
	for c, k := range in.Budget {
		if k < 0 || k > labelled[c] {
			return fmt.Errorf("budget[%d] is %d, want 0 to %d (the labelled nodes of the class)", c, k, labelled[c])
		}
		total += k
	}
	if total == 0 {
		return errors.New("budget is zero for every class")
	}
	return in.Pre.Validate(in.X.Cols())
}

// Purposes of random streams: each has its own, so that one more draw in one place moves nothing elsewhere. A
// round's stream begins from its number.
const (
	purposeBasis = iota + 1
	purposeNodes
	purposeAffinity
	purposeMapping
	purposeRounds // and onwards, one a round
)

func stream(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// preparedInput is the input in the form that the steps read; it never changes.
type preparedInput struct {
	in      *Input
	hat     *graph.CSR       // Â of T
	basis   *graph.Dense     // V, d×p; nil: p = d
	x       *matrix[float32] // N×p: pre(X)V
	support *matrix[float32] // n×p
	labels  []int32          // m: Y', ascending
	chosen  []int32          // m: the nodes of T that X' starts from
	zt      *matrix[float32] // labelled rows of Â²·pre(X)V, sorted by class
	ztClass []int32
}

func prepare(in *Input, o *Options) *preparedInput {
	p := &preparedInput{in: in, hat: graph.Normalised(in.Adj)}
	p.basis = principalBasis(features.Factor(in.X, in.Pre), o.Components, stream(o.Seed, purposeBasis))
	p.x = p.reduced(in.X)
	if in.Support != nil {
		p.support = p.reduced(in.Support.X)
	}
	byClass := make([][]int32, in.Classes)
	for i, y := range in.Labels {
		if y >= 0 {
			byClass[y] = append(byClass[y], int32(i))
		}
	}
	p.propagateLabelled(slices.Concat(byClass...))
	rng := stream(o.Seed, purposeNodes)
	for c, nodes := range byClass {
		for _, k := range rng.Perm(len(nodes))[:in.Budget[c]] {
			p.chosen = append(p.chosen, nodes[k])
			p.labels = append(p.labels, int32(c))
		}
	}
	return p
}

// reduced returns pre(x)V.
func (p *preparedInput) reduced(x graph.Features) *matrix[float32] {
	basis := p.basis
	if basis == nil {
		basis = graph.Identity(x.Cols())
	}
	return over(p.in.Pre.Fold(basis).Apply(x))
}

func (p *preparedInput) propagateLabelled(nodes []int32) {
	x := &graph.Dense{Rows: p.x.rows, Cols: p.x.cols, Data: p.x.data}
	p.zt = over(graph.Mul(p.hat.Take(nodes), graph.Mul(p.hat, x)))
	for _, i := range nodes {
		p.ztClass = append(p.ztClass, p.in.Labels[i])
	}
}

// nodes returns m = N'.
func (p *preparedInput) nodes() int { return len(p.labels) }

// over lays a matrix over the memory of a float32 one.
func over(m *graph.Dense) *matrix[float32] { return &matrix[float32]{m.Rows, m.Cols, m.Data} }

// startX returns X' before training: the features of the chosen nodes, m×p.
func (p *preparedInput) startX() *matrix[float32] {
	out := newMatrix[float32](p.nodes(), p.x.cols)
	for k, i := range p.chosen {
		copy(out.row(k), p.x.row(int(i)))
	}
	return out
}

// expanded returns X' with all d features.
func (p *preparedInput) expanded(x *matrix[float32]) *graph.Dense {
	if p.basis == nil {
		return x.dense()
	}
	out := graph.NewDense(x.rows, p.basis.Rows)
	gemm(plain, transposed, 1, x, over(p.basis), 0, over(out))
	return out
}

// targets computes a relay's logits on T: H on T's nodes (N×C) into want, and of the support nodes joined to T
// (n×C); zs and zb are their projected features before propagation.
func (p *preparedInput) targets(r *relay[float32], want *matrix[float32], ind *inductive[float32]) {
	z := newMatrix[float32](p.x.rows, r.w.rows)
	gemm(plain, transposed, 1, p.x, r.w, 0, z)
	first := graph.Mul(p.hat, &graph.Dense{Rows: z.rows, Cols: z.cols, Data: z.data})
	graph.MulTo(&graph.Dense{Rows: want.rows, Cols: want.cols, Data: want.data}, p.hat, first)
	addBias(want, r.b)
	if ind == nil {
		return
	}
	gemm(plain, transposed, 1, p.support, r.w, 0, ind.zb)
	// SGC is linear: deployed with the identity for W, it only propagates features that are projected already.
	model, err := infer.NewSGC(graph.Identity(z.cols), r.b)
	if err != nil {
		panic(err) // the relay is of C columns and C biases
	}
	batch := *p.in.Support
	batch.X = graph.Features{Dense: ind.zb.dense()}
	joint := model.Joint(p.in.Adj, preprocess.Ready(z.dense()),
		&preprocess.Parameters{Kind: preprocess.None, Scale: 1}).Logits(&batch)
	copy(ind.want.data, joint.Data)
}

const (
	// extraDirections are computed besides the wanted ones, so that the last of these converge (see
	// [features.Principal]).
	extraDirections = 10
	// basisPasses over XᵀX: each sharpens the basis by the square of the ratio of singular values.
	basisPasses = 3
)

// principalBasis returns V (d×p'), the p' ≤ p leading right singular vectors of pre(X), orthonormal: subspace
// iteration from a random start. nil if pre(X) has no more than p columns: the features are not reduced.
func principalBasis(x *features.FactoredFeatures, p int, rng *rand.Rand) *graph.Dense {
	d := x.Raw.Cols()
	if p <= 0 || d <= p {
		return nil
	}
	v := graph.NewDense(d, min(d, p+extraDirections))
	for k := range v.Data {
		v.Data[k] = float32(rng.NormFloat64())
	}
	f := x.Design()
	v, _ = features.Principal(f.Forward, f.Adjoint, v, basisPasses, p)
	return v
}
