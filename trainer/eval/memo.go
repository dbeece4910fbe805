package eval

// Memo keeps the rows of O→O and Whole's predictions, which depend on T and the seed alone: runs of several methods and
// sizes measure them once.
type Memo struct {
	rows    map[Key]Result
	answers map[Key][]int32
}

// NewMemo returns an empty memo.
func NewMemo() *Memo { return &Memo{map[Key]Result{}, map[Key][]int32{}} }

// wholeKey identifies a row of O→O. Such a row depends on neither the method nor N', so the key has neither.
func wholeKey(r *Result) Key {
	k := r.Key()
	k.Method, k.SyntheticNodes = "", 0
	return k
}

// Row returns a row of O→O that was measured before, under the name of this method.
func (m *Memo) Row(r *Result) (Result, bool) {
	known, ok := m.rows[wholeKey(r)]
	if !ok || r.Setting != OtoO {
		return Result{}, false
	}
	known.Method, known.SyntheticNodes, known.Ratio = r.Method, r.SyntheticNodes, r.Ratio
	return known, true
}

// Costs gives a row of S→O the costs of the same row of O→O, and reports whether there is one that was measured: the
// two differ in the values of their weights, on which no time and no memory depends.
func (m *Memo) Costs(r *Result) bool {
	if r.Setting != StoO {
		return false
	}
	same := *r
	same.Setting = OtoO
	of, ok := m.rows[wholeKey(&same)]
	if !ok || of.MsPerBatch == 0 {
		return false
	}
	r.MsPerBatch, r.MsPerBatchKept, r.MsPerBatchNear, r.PropagationMs = of.MsPerBatch, of.MsPerBatchKept,
		of.MsPerBatchNear,
		of.PropagationMs
	r.InferenceBytes, r.HeldBytes, r.StoredBytes = of.InferenceBytes, of.HeldBytes, of.StoredBytes
	return true
}

// Keep notes a row of O→O.
func (m *Memo) Keep(r Result) {
	if r.Setting == OtoO {
		m.rows[wholeKey(&r)] = r
	}
}

// answerKey returns the key of Whole's answer: the model and the kind of batch.
func answerKey(r *Result) Key { return Key{Model: r.Model, Batch: r.Batch} }

// KeepClasses notes Whole's predictions for the test nodes.
func (m *Memo) KeepClasses(r *Result, classes []int32) { m.answers[answerKey(r)] = classes }

// Classes returns Whole's predictions for the test nodes; Whole was measured first.
func (m *Memo) Classes(r *Result) []int32 { return m.answers[answerKey(r)] }
