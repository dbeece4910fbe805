package solved

import (
	"encoding/json"
	"errors"
	"fmt"

	"rivulet/infer/nnls"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// solve finds rows of M (output 0) and their size (output 1, key 0). Its inputs are messageStage's.
type solve struct {
	messageStage
	solver *nnls.Solver
}

func newSolve(o MessageOptions, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(o, sides)
	if err != nil {
		return nil, err
	}
	dictionary, err := wire.ReadDense(sides[SideDictionary])
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
	d, t, _, err := f.read(in, 0)
	if err != nil || d == nil {
		return err
	}
	m := f.solver.Rows(f.messages(t))
	size := MappingSize{Rows: int64(m.Rows), Entries: int64(m.NNZ())}
	for j := range m.Rows {
		size.Longest = max(size.Longest, m.RowLen(j))
	}
	for _, v := range m.Val {
		size.Largest = max(size.Largest, v)
	}
	text, err := json.Marshal(size)
	return errors.Join(err, out.Emit(0, stage.Record{Key: key, Payload: wire.AppendMapping(nil, m)}),
		out.Emit(1, stage.Record{Order: stage.OrderOf(key), Payload: text}))
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

// normal adds up the normal equations of M: MᵀwM (output 0) and Mᵀw[u_0, u_1, …, c] of each model (output 1), each a
// record a block at key 0. Its inputs are messageStage's, and the rows of M behind them.
type normal struct {
	messageStage
	matrix stage.Scale
	right  []stage.Scale
}

func newNormal(o MessageOptions, sides stage.Sides) (stage.Function, error) {
	m, err := newMessaging(o, sides)
	if err != nil {
		return nil, err
	}
	f := &normal{messageStage: m}
	f.matrix, f.right, err = m.normalScales()
	return f, err
}

func (m *messageStage) normalScales() (stage.Scale, []stage.Scale, error) {
	weight, entry := float64(m.Degree+1), float64(m.Entry)
	matrix, err := stage.NewScale(weight * entry * entry * 1.001)
	if err != nil {
		return matrix, nil, err
	}
	right, err := scalesOf(m.tableBounds(), weight*entry)
	return matrix, right, err
}

// Reduce implements [stage.Function].
func (f *normal) Reduce(key int64, in stage.Records, out stage.Output) error {
	d, t, rest, err := f.read(in, 1)
	if err != nil || d == nil {
		return err
	}
	m, err := wire.ReadMapping(rest[0])
	if err != nil {
		return err
	}
	if m.Rows != len(d.of) {
		return fmt.Errorf("block %d: %d rows of M for %d nodes", key, m.Rows, len(d.of))
	}
	matrix, right := map[[2]int32]*stage.Sum{}, newGroups(f.right)
	right.addColumns(d, m, sideBySide(t))
	for j := range m.Rows {
		cols, vals := m.Row(j)
		for at, c := range cols {
			weight := float64(d.weight(j) * float64(vals[at]))
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
		}
	}
	return errors.Join(emitMatrix(matrix, key, out), right.emit(1, key, out))
}

func emitMatrix(of map[[2]int32]*stage.Sum, key int64, out stage.Output) error {
	var payload []byte
	for _, p := range sortedPairs(of) {
		payload = of[p].Append(wire.AppendNumber(wire.AppendNumber(payload, int(p[0])), int(p[1])))
	}
	return out.Emit(0, stage.Record{Order: stage.OrderOf(key), Payload: payload})
}

// sideSums adds up the right sides of normal equations, N'×q row by row.
func sideSums(records []stage.Record, clusters int, columns []stage.Scale) ([]float64, error) {
	rows, err := sumGroups(records, clusters, columns)
	out := make([]float64, clusters*len(columns))
	for c, row := range rows {
		copy(out[c*len(columns):], row)
	}
	return out, err
}

// NormalEquations adds up the output of stage normal: the upper triangle of MᵀwM, N'×N' row by row, and the right
// sides, N'×q: the models' tables side by side, each u_0, u_1, …, c.
func NormalEquations(o MessageOptions, sides stage.Sides, matrix, right []stage.Record) (normal []float64,
	added []float64, err error) {
	m, err := newMessaging(o, sides)
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
		w := wire.NewReader(r.Payload)
		for w.More() {
			a, b, sum := w.Number(), w.Number(), w.Take(16)
			if sum == nil || a >= n || b >= n {
				return nil, nil, wire.ErrPayload
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
	added, err = sideSums(right, n, columns)
	return normal, added, err
}
