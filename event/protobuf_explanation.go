package event

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of schema/prediction.proto.
const (
	explanationRunnerUp = 1
	explanationReasons  = 2

	reasonKind   = 1
	reasonName   = 2
	reasonID     = 3
	reasonShare  = 4
	reasonMargin = 5
)

var (
	explanationFields = []wireField{
		explanationRunnerUp: {"runner_up", varintField}, explanationReasons: {"reasons", bytesList},
	}
	reasonFields = []wireField{
		reasonKind: {"kind", varintField}, reasonName: {"name", bytesField}, reasonID: {"id", bytesField},
		reasonShare: {"share", floatField}, reasonMargin: {"margin", floatField},
	}
)

// reasonKinds are the kinds by their number.
var reasonKinds = []string{1: KindFeature, 2: KindNeighbour, 3: KindArrival}

// explanation writes the reasons, unless there is no explanation.
func (w *wireWriter) explanation(e *Explanation) {
	if e == nil {
		return
	}
	w.fail(e.check())
	start := w.begin(predictionExplanation)
	if e.RunnerUp >= 0 { // 0 is written, too: it is a class
		w.tag(explanationRunnerUp, protowire.VarintType)
		w.varint(uint64(e.RunnerUp))
	}
	for k := range e.Reasons {
		r, reason := &e.Reasons[k], wireWriter{buf: w.buf}
		start := reason.begin(explanationReasons)
		reason.index(reasonKind, "kind", slices.Index(reasonKinds, r.Kind))
		reason.text(reasonName, "name", r.Name)
		reason.text(reasonID, "id", r.ID)
		reason.float(reasonShare, "share", r.Share)
		reason.float(reasonMargin, "margin", r.Margin)
		reason.end(start)
		w.take(&reason, "explanation.reasons", k)
	}
	w.end(start)
}

func readExplanation(v wireValue) (*Explanation, error) {
	e := &Explanation{RunnerUp: -1}
	err := walk(v.bytes, v.at, explanationFields, func(v wireValue) (err error) {
		if v.num == explanationRunnerUp {
			e.RunnerUp, err = v.index("runner_up")
			return err
		}
		e.Reasons, err = appendReason(e.Reasons, v)
		return err
	})
	if err != nil {
		return nil, inside("explanation", err)
	}
	return e, nil
}

func appendReason(list []Reason, v wireValue) ([]Reason, error) {
	var r Reason
	err := walk(v.bytes, v.at, reasonFields, func(v wireValue) (err error) {
		switch v.num {
		case reasonKind:
			var kind int64
			kind, err = v.integer("kind", 1, int64(len(reasonKinds))-1)
			if err == nil {
				r.Kind = reasonKinds[kind]
			}
		case reasonName:
			r.Name, err = v.string("name")
		case reasonID:
			r.ID, err = v.string("id")
		case reasonShare:
			r.Share, err = v.number("share")
		case reasonMargin:
			r.Margin, err = v.number("margin")
		}
		return err
	})
	if err == nil && r.Kind == "" {
		err = fieldErrorf(ReasonUnparsable, "kind", "is missing")
	}
	if err != nil {
		return list, inside(element("reasons", len(list)), err)
	}
	return append(list, r), nil
}
