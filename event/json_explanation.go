package event

import "strconv"

// explanationJSON is the wire form of an [Explanation].
type explanationJSON struct {
	RunnerUp *int         `json:"runner_up,omitzero"` // missing: there is no other class
	Reasons  []reasonJSON `json:"reasons"`
}

type reasonJSON struct {
	Kind   string  `json:"kind"`
	Name   string  `json:"name,omitzero"`
	ID     string  `json:"id,omitzero"`
	Share  float32 `json:"share"`
	Margin float32 `json:"margin"`
}

func (e *Explanation) json() *explanationJSON {
	if e == nil {
		return nil
	}
	out := &explanationJSON{Reasons: make([]reasonJSON, len(e.Reasons))}
	if e.RunnerUp >= 0 {
		out.RunnerUp = &e.RunnerUp
	}
	for k, r := range e.Reasons {
		out.Reasons[k] = reasonJSON(r)
	}
	return out
}

func (w *explanationJSON) event() *Explanation {
	if w == nil {
		return nil
	}
	out := &Explanation{RunnerUp: -1}
	if w.RunnerUp != nil {
		out.RunnerUp = *w.RunnerUp
	}
	for _, r := range w.Reasons {
		out.Reasons = append(out.Reasons, Reason(r))
	}
	return out
}

// check refuses what no explanation says.
func (w *explanationJSON) check() error {
	if w == nil {
		return nil
	}
	if w.RunnerUp != nil && *w.RunnerUp < 0 {
		return fieldErrorf(ReasonUnparsable, "explanation.runner_up", "%d is below 0", *w.RunnerUp)
	}
	if w.Reasons == nil {
		return fieldErrorf(ReasonUnparsable, "explanation.reasons", "is missing")
	}
	return w.event().check()
}

// check refuses an explanation that a reader would refuse.
func (e *Explanation) check() error {
	if e == nil {
		return nil
	}
	for k := range e.Reasons {
		switch e.Reasons[k].Kind {
		case KindFeature, KindNeighbour, KindArrival:
		default:
			return fieldErrorf(ReasonUnparsable, element("explanation.reasons", k)+".kind", "%s, want %q, %q or %q",
				cut(strconv.Quote(e.Reasons[k].Kind)), KindFeature, KindNeighbour, KindArrival)
		}
	}
	return nil
}

// explanation writes the reasons, unless there is no explanation.
func (w *predictionWriter) explanation(e *Explanation) {
	if e == nil {
		return
	}
	before := `,"explanation":{"reasons":[`
	if e.RunnerUp >= 0 {
		w.integer(`,"explanation":{"runner_up":`, int64(e.RunnerUp))
		before = `,"reasons":[`
	}
	w.buf = append(w.buf, before...)
	before = `{"kind":"`
	for k := range e.Reasons {
		r := &e.Reasons[k]
		w.buf = append(append(append(w.buf, before...), r.Kind...), '"') // one of three words, as checkWritten has seen
		w.textIfAny(`,"name":`, r.Name)
		w.textIfAny(`,"id":`, r.ID)
		w.number(`,"share":`, r.Share)
		w.number(`,"margin":`, r.Margin)
		w.buf = append(w.buf, '}')
		before = `,{"kind":"`
	}
	w.buf = append(w.buf, "]}"...)
}
