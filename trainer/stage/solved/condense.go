package solved

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"rivulet/graph"
	"rivulet/infer"
	"rivulet/infer/nnls"
	"rivulet/trainer/stage"
)

// Names of the stages that make S and M.
const (
	StageJoin   = "join"
	StageMeans  = "means"
	StageSolve  = "solve"
	StageNormal = "normal"
)

func sortedPairs(of map[[2]int32]int64) [][2]int32 {
	pairs := make([][2]int32, 0, len(of))
	for p := range of {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return pairs
}

// join finds the cluster of each node of T: the one that the run has given it (input 5), or else the nearest centre of its
// class; of an unlabelled node the class that is predicted. Output 0: clusters, a number a node; output 1, key 0: sizes.
// Inputs: 0 names, 1 features, 2 degrees, 3 and 4 the sums of the hops, 5 places and their clusters.
type join struct {
	prepared
	weights, basis, centres *graph.Dense
	bias                    []float32
	classes                 []int32 // of clusters, ascending
	names                   map[string]int32
}

// JoinOptions are those of stage join.
type JoinOptions struct {
	Preparing
	Classes []string `json:"classes"`
}

func newJoin(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	o, err := decode[JoinOptions](options)
	if err != nil {
		return nil, err
	}
	f := &join{bias: readVector(sides[SideBias]), classes: readInts(sides[SideClasses]), names: map[string]int32{}}
	for k, name := range o.Classes {
		f.names[name] = int32(k)
	}
	var errs [4]error
	f.prepared, errs[0] = newPrepared(o.Preparing, sides)
	f.weights, errs[1] = readMatrix(sides[SideWeights])
	f.centres, errs[2] = readMatrix(sides[SideCentres])
	if b, ok := sides[SideBasis]; ok {
		f.basis, errs[3] = readMatrix(b)
	}
	return f, errors.Join(errs[:]...)
}

// Reduce implements [stage.Function].
func (f *join) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 6)
	if err != nil || p[0] == nil {
		return err
	}
	names, err := ReadNames(p[0])
	if err != nil {
		return err
	}
	b, err := f.block(p[1], p[2], p[3], p[4])
	if err != nil {
		return err
	}
	of := slices.Repeat([]int32{-1}, b.x.Rows)
	w := &wire{b: p[5]}
	for w.more() {
		j, c := w.u32(), int32(w.u32())
		if int(j) >= len(of) {
			return errPayload
		}
		of[j] = c
	}
	z := b.two()
	logits, points := graph.MulDense(z, f.weights).AddRow(f.bias), z
	if f.basis != nil {
		points = graph.MulDense(z, f.basis)
	}
	sizes := make([]int32, f.centres.Rows)
	for j := range of {
		if of[j] < 0 {
			class, ok := f.names[names.Labels[j]]
			if names.Roles[j] == Unlabelled || !ok {
				class = f.probable(logits.Row(j))
			}
			of[j] = f.nearest(points.Row(j), class)
		}
		sizes[of[j]]++
	}
	return errors.Join(w.end(), out.Emit(0, stage.Record{Key: key, Payload: appendInts(nil, of)}),
		out.Emit(1, stage.Record{Order: order(key), Payload: appendInts(nil, sizes)}))
}

// probable is the most probable class among those that have clusters.
func (f *join) probable(logits []float32) int32 {
	best := f.classes[0]
	for _, c := range f.classes {
		if logits[c] > logits[best] {
			best = c
		}
	}
	return best
}

// nearest is the centre of a class that is nearest to a point, the first among equals; of a class without centres, of
// all.
func (f *join) nearest(point []float32, class int32) int32 {
	lo, _ := slices.BinarySearch(f.classes, class)
	hi, _ := slices.BinarySearch(f.classes, class+1)
	if lo == hi {
		lo, hi = 0, len(f.classes)
	}
	best, least := lo, math.Inf(1)
	for c := lo; c < hi; c++ {
		sum := 0.0
		for k, v := range f.centres.Row(c) {
			gap := float64(point[k]) - float64(v)
			sum += float64(gap * gap)
		}
		if sum < least {
			best, least = c, sum
		}
	}
	return int32(best)
}

// AppendAssigned appends a place and its cluster to the payload of an input of stage join.
func AppendAssigned(dst []byte, place, cluster int32) []byte {
	return appendU32(appendU32(dst, uint32(place)), uint32(cluster))
}

// ReadInts reads a payload of numbers, such as sizes and clusters.
func ReadInts(payload []byte) []int32 { return readInts(payload) }

// Meetings adds the counts of stage count to edges between clusters.
func Meetings(payload []byte, add func(a, b int32, n int64)) error {
	w := &wire{b: payload}
	for w.more() {
		add(int32(w.number()), int32(w.number()), int64(w.number()))
	}
	return w.end()
}

// MessageOptions say what the messages of a model are, of its tables of T: each table less the mean of its row, times a
// scale (docs/algorithm.md, section 5, step 3, for hops).
type MessageOptions struct {
	Preparing
	Scales []float32 `json:"scales"` // of u_0, u_1
	Way    float32   `json:"way"`    // of c
	// Entries is k, the most entries of a row of M; of stage solve.
	Entries int `json:"entries,omitzero"`
	// Clusters is N'.
	Clusters int `json:"clusters"`
	// Degree is the highest of a node, and Entry the largest number in M; they bound the sums.
	Degree int64   `json:"degree"`
	Entry  float32 `json:"entry,omitzero"`
}

// messaging makes tables and messages of blocks.
type messaging struct {
	prepared
	MessageOptions
	weights *graph.Dense
	of      infer.Messages
	largest []float64 // of features
}

func newMessaging(options json.RawMessage, sides stage.Sides) (messaging, error) {
	o, err := decode[MessageOptions](options)
	if err != nil {
		return messaging{}, err
	}
	m := messaging{MessageOptions: o, largest: readDoubles(sides[SideLargest])}
	var errs [2]error
	m.prepared, errs[0] = newPrepared(o.Preparing, sides)
	m.weights, errs[1] = readMatrix(sides[SideWeights])
	for _, s := range o.Scales {
		m.of.U = append(m.of.U, infer.Part{Scale: s})
	}
	m.of.C.Scale = o.Way
	return m, errors.Join(errs[:]...)
}

// tables are those of T for a block, and its messages.
func (m *messaging) tables(b *block) (*infer.Tables, *graph.Dense) {
	u0, u1 := b.tables(m.weights)
	t := &infer.Tables{U: []*graph.Dense{u0, u1}, C: &graph.Dense{Rows: len(b.share), Cols: 1, Data: b.share}}
	return t, m.of.Of(t)
}

// scales are those of the columns of tables: u_0, u_1 and c; of messages where centred is set; each times a factor.
func (m *messaging) scales(centred bool, factor float64) ([]stage.Scale, error) {
	classes := m.weights.Cols
	var bounds []float64
	table := make([]float64, classes)
	for k, l := range m.largest {
		for c, w := range m.weights.Row(k) {
			table[c] += l * math.Abs(float64(w))
		}
	}
	highest := slices.Max(table)
	order := []int{0, 1}
	if centred {
		order = []int{1, 0} // as messages stand
	}
	for _, u := range order {
		for c := range classes {
			if centred {
				bounds = append(bounds, 2*highest*math.Abs(float64(m.Scales[u])))
			} else {
				bounds = append(bounds, table[c])
			}
		}
	}
	way := 0.5
	if centred {
		way *= math.Abs(float64(m.Way))
	}
	out := make([]stage.Scale, 0, len(bounds)+1)
	for _, b := range append(bounds, way) {
		s, err := stage.NewScale(b * factor * (1 + 1e-3))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// means adds up, for each cluster, pre(X) and the messages, weighted by w, of its nodes: a record a block at key 0. Inputs:
// 0 features, 1 degrees, 2 the sums of hop 0, 3 clusters.
type means struct {
	messaging
	scale []stage.Scale
}

func newMeans(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(options, sides)
	if err != nil {
		return nil, err
	}
	f := &means{messaging: m}
	f.scale, err = m.meanScales()
	return f, err
}

// meanScales are those of pre(X), of w∘messages, and of w.
func (m *messaging) meanScales() ([]stage.Scale, error) {
	var out []stage.Scale
	for _, l := range m.largest {
		s, err := stage.NewScale(l * (1 + 1e-4))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	weight := float64(m.Degree + 1)
	messages, err := m.scales(true, weight)
	if err != nil {
		return nil, err
	}
	last, err := stage.NewScale(weight)
	return append(append(out, messages...), last), err
}

// Reduce implements [stage.Function].
func (f *means) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 4)
	if err != nil || p[0] == nil {
		return err
	}
	b, err := f.block(p[0], p[1], p[2], nil)
	if err != nil {
		return err
	}
	of := readInts(p[3])
	if len(of) != b.x.Rows {
		return fmt.Errorf("%d clusters for %d nodes", len(of), b.x.Rows)
	}
	_, t := f.tables(b)
	sums := newGroups(f.scale)
	for j, c := range of {
		row, weight := sums.row(c), b.weight(j)
		for k, v := range b.x.Row(j) {
			row.add(k, float64(v))
		}
		for k, v := range t.Row(j) {
			row.add(b.x.Cols+k, weight*float64(v))
		}
		row.add(len(f.scale)-1, weight)
	}
	return sums.emit(0, key, out)
}

// groups are sums of a few groups, such as clusters.
type groups struct {
	scale []stage.Scale
	of    map[int32]*group
	err   error
}

type group struct {
	all  *groups
	sums []stage.Sum
}

func newGroups(scale []stage.Scale) *groups { return &groups{scale: scale, of: map[int32]*group{}} }

func (g *groups) row(c int32) *group {
	r := g.of[c]
	if r == nil {
		r = &group{g, make([]stage.Sum, len(g.scale))}
		g.of[c] = r
	}
	return r
}

func (r *group) add(k int, v float64) {
	n, err := r.all.scale[k].Integer(v)
	if err != nil && r.all.err == nil {
		r.all.err = fmt.Errorf("column %d: %w", k, err)
	}
	r.sums[k].Add(n)
}

// emit writes the sums as a record at key 0.
func (g *groups) emit(output int, key int64, out stage.Output) error {
	if g.err != nil {
		return fmt.Errorf("block %d: %w", key, g.err)
	}
	var payload []byte
	for _, c := range sortedKeys(g.of) {
		payload = appendNumber(payload, int(c))
		for _, s := range g.of[c].sums {
			payload = s.Append(payload)
		}
	}
	return out.Emit(output, stage.Record{Order: order(key), Payload: payload})
}

func sortedKeys[V any](m map[int32]V) []int32 {
	keys := make([]int32, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// addGroups adds a record of groups to sums, len(scale) a group.
func addGroups(payload []byte, sums [][]stage.Sum, columns int) error {
	w := &wire{b: payload}
	for w.more() {
		c := w.number()
		if c >= len(sums) {
			return errPayload
		}
		if sums[c] == nil {
			sums[c] = make([]stage.Sum, columns)
		}
		for k := range columns {
			s := w.take(16)
			if s == nil {
				return errPayload
			}
			if err := sums[c][k].Plus(stage.ReadSum(s)); err != nil {
				return err
			}
		}
	}
	return w.end()
}

// ClusterMeans are what stage means gives in all: the means of pre(X), N'×d, without the global scale, and of the
// messages, weighted, N'×p.
func ClusterMeans(s stage.Spec, records []stage.Record, sizes []int64) (x, messages *graph.Dense, err error) {
	m, err := newMessaging(s.Options, s.Sides)
	if err != nil {
		return nil, nil, err
	}
	scale, err := m.meanScales()
	if err != nil {
		return nil, nil, err
	}
	sums := make([][]stage.Sum, m.Clusters)
	for _, r := range records {
		if err := addGroups(r.Payload, sums, len(scale)); err != nil {
			return nil, nil, err
		}
	}
	d := len(m.largest)
	x, messages = graph.NewDense(m.Clusters, d), graph.NewDense(m.Clusters, len(scale)-1-d)
	for c, row := range sums {
		if row == nil {
			return nil, nil, fmt.Errorf("cluster %d is empty", c)
		}
		weight := row[len(scale)-1].Value(scale[len(scale)-1])
		for k := range d {
			x.Row(c)[k] = float32(row[k].Value(scale[k]) / float64(sizes[c]))
		}
		for k := range messages.Cols {
			messages.Row(c)[k] = float32(row[d+k].Value(scale[d+k]) / weight)
		}
	}
	return x, messages, nil
}

// solve finds rows of M (output 0) and says how large they are (output 1, key 0). Inputs: 0 features, 1 degrees, 2 the
// sums of hop 0.
type solve struct {
	messaging
	solver *nnls.Solver
}

func newSolve(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(options, sides)
	if err != nil {
		return nil, err
	}
	dictionary, err := readMatrix(sides[SideDictionary])
	if err != nil {
		return nil, err
	}
	if m.Entries < 1 {
		return nil, fmt.Errorf("entries is %d, want at least 1", m.Entries)
	}
	return &solve{m, nnls.NewSolver(dictionary, m.Entries)}, nil
}

// Reduce implements [stage.Function].
func (f *solve) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 3)
	if err != nil || p[0] == nil {
		return err
	}
	b, err := f.block(p[0], p[1], p[2], nil)
	if err != nil {
		return err
	}
	_, t := f.tables(b)
	m := f.solver.Rows(t)
	size := MappingSize{Rows: int64(m.Rows), Entries: int64(m.NNZ())}
	for j := range m.Rows {
		size.Longest = max(size.Longest, m.RowLen(j))
	}
	for _, v := range m.Val {
		size.Largest = max(size.Largest, v)
	}
	text, err := json.Marshal(size)
	return errors.Join(err, out.Emit(0, stage.Record{Key: key, Payload: appendMapping(nil, m)}),
		out.Emit(1, stage.Record{Order: order(key), Payload: text}))
}

// MappingSize is the size of M or of a part of it.
type MappingSize struct {
	Rows, Entries int64
	Longest       int
	Largest       float32
}

// Add adds a record of stage solve's second output.
func (s *MappingSize) Add(payload []byte) error {
	var other MappingSize
	err := json.Unmarshal(payload, &other)
	s.Rows, s.Entries = s.Rows+other.Rows, s.Entries+other.Entries
	s.Longest, s.Largest = max(s.Longest, other.Longest), max(s.Largest, other.Largest)
	return err
}

func appendMapping(dst []byte, m *graph.CSR) []byte {
	dst = appendNumber(appendNumber(dst, m.Rows), m.Cols)
	for j := range m.Rows {
		cols, vals := m.Row(j)
		dst = appendFloats(appendInts(appendNumber(dst, len(cols)), cols), vals)
	}
	return dst
}

// ReadMapping reads rows of M of a block.
func ReadMapping(payload []byte) (*graph.CSR, error) {
	w := &wire{b: payload}
	m := w.mapping()
	return m, w.end()
}

func (w *wire) mapping() *graph.CSR {
	rows := w.count(0)
	m := &graph.CSR{Rows: rows, Cols: w.number()}
	if rows > len(w.b) {
		w.bad = true
		return m
	}
	m.RowPtr = make([]int, rows+1)
	for j := range rows {
		n := w.count(8)
		m.ColIdx = append(m.ColIdx, w.ints(n)...)
		m.Val = append(m.Val, w.floats(n)...)
		m.RowPtr[j+1] = len(m.ColIdx)
	}
	return m
}

// normal adds up the normal equations of M: MᵀwM (output 0) and Mᵀw[u_0, u_1, c] (output 1), each a record a block at key
// 0. Inputs: 0 features, 1 degrees, 2 the sums of hop 0, 3 rows of M.
type normal struct {
	messaging
	matrix stage.Scale
	right  []stage.Scale
}

func newNormal(options json.RawMessage, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(options, sides)
	if err != nil {
		return nil, err
	}
	f := &normal{messaging: m}
	f.matrix, f.right, err = m.normalScales()
	return f, err
}

func (m *messaging) normalScales() (stage.Scale, []stage.Scale, error) {
	weight, entry := float64(m.Degree+1), float64(m.Entry)
	matrix, err := stage.NewScale(weight * entry * entry * 1.001)
	if err != nil {
		return matrix, nil, err
	}
	right, err := m.scales(false, weight*entry)
	return matrix, right, err
}

// Reduce implements [stage.Function].
func (f *normal) Reduce(key int64, in stage.Records, out stage.Output) error {
	p, err := payloads(in, 4)
	if err != nil || p[0] == nil {
		return err
	}
	b, err := f.block(p[0], p[1], p[2], nil)
	if err != nil {
		return err
	}
	m, err := ReadMapping(p[3])
	if err != nil {
		return err
	}
	t, _ := f.tables(b)
	matrix, right := map[[2]int32]*stage.Sum{}, newGroups(f.right)
	for j := range m.Rows {
		cols, vals := m.Row(j)
		for at, c := range cols {
			weight := float64(b.weight(j) * float64(vals[at]))
			for other, e := range cols[at:] {
				n, err := f.matrix.Integer(weight * float64(vals[at+other]))
				if err != nil {
					return fmt.Errorf("block %d, place %d: %w", key, j, err)
				}
				pair := [2]int32{c, e}
				if matrix[pair] == nil {
					matrix[pair] = &stage.Sum{}
				}
				matrix[pair].Add(n)
			}
			row, k := right.row(c), 0
			for _, table := range [][]float32{t.U[0].Row(j), t.U[1].Row(j), t.C.Row(j)} {
				for _, v := range table {
					row.add(k, weight*float64(v))
					k++
				}
			}
		}
	}
	return errors.Join(emitMatrix(matrix, key, out), right.emit(1, key, out))
}

func emitMatrix(of map[[2]int32]*stage.Sum, key int64, out stage.Output) error {
	pairs := make([][2]int32, 0, len(of))
	for p := range of {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var payload []byte
	for _, p := range pairs {
		payload = of[p].Append(appendNumber(appendNumber(payload, int(p[0])), int(p[1])))
	}
	return out.Emit(0, stage.Record{Order: order(key), Payload: payload})
}

// NormalEquations adds up what stage normal gives: the upper triangle of MᵀwM, N'×N' row by row, and the right sides,
// N'×(2C+1).
func NormalEquations(s stage.Spec, matrix, right []stage.Record) (normal []float64, sides []float64, err error) {
	m, err := newMessaging(s.Options, s.Sides)
	if err != nil {
		return nil, nil, err
	}
	scale, columns, err := m.normalScales()
	if err != nil {
		return nil, nil, err
	}
	n := m.Clusters
	sums := make([]stage.Sum, n*n)
	for _, r := range matrix {
		w := &wire{b: r.Payload}
		for w.more() {
			a, b, sum := w.number(), w.number(), w.take(16)
			if sum == nil || a >= n || b >= n {
				return nil, nil, errPayload
			}
			if err := sums[a*n+b].Plus(stage.ReadSum(sum)); err != nil {
				return nil, nil, err
			}
		}
	}
	normal = make([]float64, n*n)
	for k, s := range sums {
		normal[k] = s.Value(scale)
	}
	rows := make([][]stage.Sum, n)
	for _, r := range right {
		if err := addGroups(r.Payload, rows, len(columns)); err != nil {
			return nil, nil, err
		}
	}
	sides = make([]float64, n*len(columns))
	for c, row := range rows {
		for k, s := range row {
			sides[c*len(columns)+k] = s.Value(columns[k])
		}
	}
	return normal, sides, nil
}
