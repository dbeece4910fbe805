package main

import (
	"encoding/json"

	"rivulet/consumer"
	"rivulet/infer"
)

// jsonExplanations writes an object a line.
type jsonExplanations struct{ encoder *json.Encoder }

// figureJSON is a figure: of the class's logit, and of its lead over the runner-up.
type figureJSON struct {
	Class  float64 `json:"class"`
	Margin float64 `json:"margin"`
}

type termJSON struct {
	Name      string        `json:"name,omitempty"`
	Position  *int          `json:"position,omitempty"` // of a feature
	ID        string        `json:"id,omitempty"`
	State     string        `json:"state,omitempty"` // of a neighbour: known, arrived, unknown or unread
	Share     *figureJSON   `json:"share,omitempty"`
	Without   *figureJSON   `json:"without,omitempty"`
	Synthetic []throughJSON `json:"synthetic,omitempty"`
}

type throughJSON struct {
	Node  int        `json:"node"`
	Share figureJSON `json:"share"`
}

type explainedJSON struct {
	ID            string          `json:"id"`
	Artifact      string          `json:"artifact"`
	Class         int             `json:"class"`
	ClassName     string          `json:"class_name"`
	RunnerUp      *int            `json:"runner_up,omitempty"`
	Probability   float64         `json:"probability"`
	Logit         figureJSON      `json:"logit"`
	Bias          *figureJSON     `json:"bias,omitempty"`
	Centring      *figureJSON     `json:"centring,omitempty"`
	Features      []termJSON      `json:"features"`
	Neighbours    []termJSON      `json:"neighbours"`
	BatchArrivals []termJSON      `json:"batch"`
	NotRemoved    int             `json:"not_removed"`
	Norm          string          `json:"norm"` // always held: the divisor of the features stays when one is removed
	Propagation   propagationJSON `json:"propagation"`
}

type propagationJSON struct {
	Kind       string  `json:"kind"`
	Before     float64 `json:"before"`
	After      float64 `json:"after"`
	ModelClass int     `json:"model_class"`
	Changed    bool    `json:"changed"`
}

// Explanation writes one of them.
func (j jsonExplanations) Explanation(e *consumer.Explained) error {
	out := explainedJSON{ID: e.Prediction.ID, Artifact: e.Prediction.Artifact, Class: e.Class, ClassName: e.Classes[e.Class],
		Probability: e.Published, Logit: figureJSON(e.Logit), NotRemoved: e.NotRemoved, Norm: "held",
		Features: []termJSON{}, Neighbours: []termJSON{}, BatchArrivals: []termJSON{},
		Propagation: propagationJSON{e.Propagation, e.Model, e.Published, e.ModelClass, e.ModelClass != e.Class}}
	if e.RunnerUp >= 0 {
		out.RunnerUp = &e.RunnerUp
	}
	if e.Shares {
		out.Bias, out.Centring = (*figureJSON)(&e.Bias), (*figureJSON)(&e.Centring)
	}
	for k := range e.Features {
		term := termOf(e, &e.Features[k])
		term.Name, term.Position = featureName(e, e.Features[k].At), &e.Features[k].At
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
	return j.encoder.Encode(out)
}

func termOf(e *consumer.Explained, term *infer.Term) (out termJSON) {
	if e.Shares {
		out.Share = (*figureJSON)(&term.Share)
	}
	if term.Removed {
		out.Without = (*figureJSON)(&term.Without)
	}
	for _, through := range term.Through {
		out.Synthetic = append(out.Synthetic, throughJSON{through.Node, figureJSON(through.Share)})
	}
	return out
}

func stateOf(row *infer.Row) string {
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
