package solved

import (
	"encoding/json"
	"errors"
	"fmt"

	"rivulet/graph"
	"rivulet/infer/growth"
	"rivulet/infer/nnls"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// StageSolve is the name of the stage that makes M, and SideDictionary the side of the clusters' messages, N'×q.
const (
	StageSolve     = "solve"
	SideDictionary = "dictionary"
)

// SolveOptions are the options of stage solve.
type SolveOptions struct {
	Models []TableOptions `json:"models"`
	// Entries is k, the most entries of a row of M.
	Entries int `json:"entries"`
}

// solve finds rows of M (output 0) and their size (output 1, key 0), from the models' messages
// (docs/algorithm.md, section 5, step 3). Its inputs are the parts of the tables of one model after the other.
type solve struct {
	SolveOptions
	messages []growth.Messages // per model
	solver   *nnls.Solver
}

func newSolve(o SolveOptions, sides stage.Sides) (stage.Function, error) {
	f := &solve{SolveOptions: o}
	if o.Entries < 1 || len(o.Models) == 0 {
		return nil, fmt.Errorf("entries is %d and there are %d models, want at least 1", o.Entries, len(o.Models))
	}
	for k, t := range o.Models {
		of, err := readMessages(sides[SideMessages(k)])
		if err != nil || len(of.U) != len(t.U) {
			return nil, fmt.Errorf("side %s: model %d has %d tables and messages of %d: %w", SideMessages(k), k, len(t.U),
				len(of.U), errors.Join(err, wire.ErrPayload))
		}
		f.messages = append(f.messages, of)
	}
	dictionary, err := wire.ReadDense(sides[SideDictionary])
	if err != nil {
		return nil, err
	}
	f.solver = nnls.NewSolver(dictionary, o.Entries)
	return f, nil
}

// Reduce implements [stage.Function].
func (f *solve) Reduce(key int64, in stage.Records, out stage.Output) error {
	inputs := 0
	for k := range f.Models {
		inputs += len(f.Models[k].U)
	}
	p, err := stage.Payloads(in, inputs)
	if err != nil || p[0] == nil {
		return err
	}
	var all []*graph.Dense // the models side by side
	for k := range f.Models {
		o := &f.Models[k]
		parts := make([]*graph.Dense, len(o.U))
		for i := range parts {
			if parts[i], err = wire.ReadDense(p[i]); err != nil {
				return err
			}
		}
		p = p[len(parts):]
		t, err := o.tables(parts)
		if err != nil {
			return err
		}
		all = append(all, f.messages[k].Of(t))
	}
	m := f.solver.Rows(graph.Beside(all...))
	text, err := json.Marshal(MappingSize{Rows: int64(m.Rows), Entries: int64(m.NNZ()), Longest: m.LongestRow()})
	return errors.Join(err, out.Emit(0, stage.Record{Key: key, Payload: wire.AppendMapping(nil, m)}),
		out.Emit(1, stage.Record{Order: stage.OrderOf(key), Payload: text}))
}

// MappingSize is the size of M or of a part of it.
type MappingSize struct {
	Rows, Entries int64
	Longest       int
}

// Add adds a record of stage solve's second output.
func (s *MappingSize) Add(payload []byte) error {
	var other MappingSize
	err := json.Unmarshal(payload, &other)
	s.Rows, s.Entries, s.Longest = s.Rows+other.Rows, s.Entries+other.Entries, max(s.Longest, other.Longest)
	return err
}
