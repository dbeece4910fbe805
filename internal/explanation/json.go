// Package explanation has the JSON form of an explanation (docs/serve.md). `rivulet explain --json` writes it,
// `rivulet serve` answers it, and the live page draws it. The few strongest reasons of a prediction's record are
// event.Explanation.
package explanation

import (
	"encoding/json"
	"strconv"

	"rivulet/consumer"
	"rivulet/infer/attach"
	"rivulet/infer/explain"
)

// Figure is a number of logits: of the class's logit, and of its lead over the runner-up.
type Figure struct {
	Class  float64 `json:"class"`
	Margin float64 `json:"margin"`
}

// Term is a part of a prediction: a feature, a neighbour, or another arrival of a graph batch.
type Term struct {
	Name      string    `json:"name,omitempty"`     // of a feature; its position in digits if features have no names
	Position  *int      `json:"position,omitempty"` // of a feature
	ID        string    `json:"id,omitempty"`       // of a neighbour or arrival
	State     string    `json:"state,omitempty"`    // of a neighbour: known, arrived, unknown or unread
	Share     *Figure   `json:"share,omitempty"`
	Without   *Figure   `json:"without,omitempty"`
	Synthetic []Through `json:"synthetic,omitempty"`
}

// Through is a synthetic node that carries some of a neighbour's share.
type Through struct {
	Node  int    `json:"node"`
	Share Figure `json:"share"`
}

// Explanation is a prediction with all its terms.
type Explanation struct {
	ID            string      `json:"id"`
	Artifact      string      `json:"artifact"`
	Class         int         `json:"class"`
	ClassName     string      `json:"class_name"`
	RunnerUp      *int        `json:"runner_up,omitempty"`
	Probability   float64     `json:"probability"`
	Logit         Figure      `json:"logit"`
	Bias          *Figure     `json:"bias,omitempty"`
	Centring      *Figure     `json:"centring,omitempty"`
	Own           *Figure     `json:"own,omitempty"` // what the small model of own features adds to the logit
	Features      []Term      `json:"features"`
	Neighbours    []Term      `json:"neighbours"`
	BatchArrivals []Term      `json:"batch"`
	NotRemoved    int         `json:"not_removed"`
	Norm          string      `json:"norm"` // always held: the divisor of the features stays when one is removed
	Propagation   Propagation `json:"propagation"`
}

// Propagation shows the effect of label or error propagation on the class.
type Propagation struct {
	Kind       string  `json:"kind"`
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
	ModelClass int     `json:"model_class"`
	Changed    bool    `json:"changed"`
}

// JSON returns an explanation as one object.
func JSON(e *consumer.ExplainedArrival) ([]byte, error) { return json.Marshal(Of(e)) }

// Of returns the form of an explanation. It refers to the explanation's figures.
func Of(e *consumer.ExplainedArrival) Explanation {
	out := Explanation{ID: e.Prediction.ID, Artifact: e.Prediction.Artifact, Class: e.Class, ClassName: e.Classes[e.Class],
		Probability: e.Published, Logit: Figure(e.Logit), NotRemoved: e.NotRemoved, Norm: "held",
		Features: []Term{}, Neighbours: []Term{}, BatchArrivals: []Term{},
		Propagation: Propagation{e.Propagation, e.Model, e.Published, e.ModelClass, e.ModelClass != e.Class}}
	if e.RunnerUp >= 0 {
		out.RunnerUp = &e.RunnerUp
	}
	if e.Shares {
		out.Bias, out.Centring = (*Figure)(&e.Bias), (*Figure)(&e.Centring)
	}
	out.Own = (*Figure)(e.Own)
	for k := range e.Features {
		term := termOf(e, &e.Features[k])
		term.Name, term.Position = FeatureName(e, e.Features[k].At), &e.Features[k].At
		out.Features = append(out.Features, term)
	}
	for k := range e.Neighbours {
		term := termOf(e, &e.Neighbours[k])
		term.ID, term.State = e.Edges[e.Neighbours[k].At], stateOf(&e.Rows[e.Neighbours[k].At])
		out.Neighbours = append(out.Neighbours, term)
	}
	for k := range e.Batch {
		term := termOf(e, &e.Batch[k])
		term.ID = e.Among[e.Batch[k].At]
		out.BatchArrivals = append(out.BatchArrivals, term)
	}
	return out
}

func termOf(e *consumer.ExplainedArrival, term *explain.Term) (out Term) {
	if e.Shares {
		out.Share = (*Figure)(&term.Share)
	}
	if term.Removed {
		out.Without = (*Figure)(&term.Without)
	}
	for _, through := range term.Through {
		out.Synthetic = append(out.Synthetic, Through{through.Node, Figure(through.Share)})
	}
	return out
}

func stateOf(row *attach.Row) string {
	switch {
	case row.Unread:
		return "unread"
	case !row.Known:
		return "unknown"
	case row.Arrived:
		return "arrived"
	}
	return "known"
}

// FeatureName returns the name of a feature: its position where features have no names.
func FeatureName(e *consumer.ExplainedArrival, at int) string {
	if e.Names != nil {
		return e.Names[at]
	}
	return strconv.Itoa(at)
}
