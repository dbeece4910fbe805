package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/infer"
	"rivulet/kafka"
)

// Bounds of what an answer lists; the rest is summed up.
const (
	scoresShown = 12
	termsShown  = 40
)

// Answer is an arrival with the answer of the version that serves now, taken apart.
type Answer struct {
	Place       *Place          `json:"place,omitempty"`     // in the topic; null: it was tried
	Published   *Sample         `json:"published,omitempty"` // the prediction on its topic, where the page still has it
	Arrival     json.RawMessage `json:"arrival,omitempty"`   // in Rivulet's own JSON
	ID          string          `json:"id"`
	Artifact    string          `json:"artifact"`
	Class       int             `json:"class"`
	ClassName   string          `json:"class_name"`
	Probability float32         `json:"probability"`
	Abstained   bool            `json:"abstained"`
	Degraded    bool            `json:"degraded"`
	Known       int             `json:"known"`
	Arrived     int             `json:"arrived"`
	Unknown     int             `json:"unknown"`
	Scores      []Score         `json:"scores"` // the most probable classes, best first
	OtherScores float64         `json:"other_scores"`
	Others      int             `json:"others"`
	RunnerUp    string          `json:"runner_up"` // "" if there is only one class
	Logit       Figure          `json:"logit"`
	Shares      bool            `json:"shares"` // without them only without is known
	Bias        Figure          `json:"bias"`
	Centring    Figure          `json:"centring"`
	Features    []Term          `json:"features"`
	RestOf      Rest            `json:"other_features"`
	Neighbours  []Term          `json:"neighbours"`
	RestNear    Rest            `json:"other_neighbours"`
	NotRemoved  int             `json:"not_removed"`
	Propagation string          `json:"propagation"` // label or error propagation in words, "" for none
}

// Score is the probability of one class.
type Score struct {
	Class       int     `json:"class"`
	Name        string  `json:"name"`
	Probability float32 `json:"probability"`
}

// Figure is a number of logits: of the class, and of its lead over the runner-up.
type Figure struct {
	Class  float64 `json:"class"`
	Margin float64 `json:"margin"`
}

// Term is a feature or a neighbour.
type Term struct {
	Name    string    `json:"name"`            // of a feature, or a neighbour's id
	State   string    `json:"state,omitempty"` // of a neighbour: known, arrived, unknown, unread
	Share   *Figure   `json:"share"`
	Without *Figure   `json:"without"`
	Through []Through `json:"through,omitempty"` // the synthetic nodes that carry a neighbour's share
}

// Through is one synthetic node.
type Through struct {
	Node   int     `json:"node"`
	Margin float64 `json:"margin"`
}

// Rest sums up the terms that are not listed.
type Rest struct {
	Terms  int     `json:"terms"`
	Margin float64 `json:"margin"`
}

// errDead is a record that cannot be predicted.
type errDead struct{ letter event.DeadLetter }

func (e errDead) Error() string { return e.letter.Detail }

// ask explains a record.
func (p *Page) ask(ctx context.Context, of *consumer.Pipeline, name string, rec kafka.Record) (*Answer, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	all, dead, err := of.Explain(ctx, consumer.Intake{Name: name, Records: []kafka.Record{rec}})
	switch {
	case err != nil:
		return nil, err
	case len(dead) > 0:
		return nil, errDead{dead[0]}
	case len(all) == 0:
		return nil, errDead{event.DeadLetter{Reason: "skipped", Detail: "the record is a delete or a tombstone, not an arrival"}}
	}
	return answerOf(&all[0]), nil
}

// answerOf copies an explanation, whose memory is the pipeline's.
func answerOf(e *consumer.Explained) *Answer {
	p := e.Prediction
	a := &Answer{ID: p.ID, Artifact: p.Artifact, Class: p.Class, ClassName: p.ClassName, Probability: p.Probability,
		Abstained: p.Abstained, Degraded: p.Degraded, Known: p.Known, Arrived: p.Arrivals, Unknown: p.Unknown,
		Logit: Figure(e.Logit), Shares: e.Shares, Bias: Figure(e.Bias), Centring: Figure(e.Centring), NotRemoved: e.NotRemoved,
		Propagation: e.String(), Features: []Term{}, Neighbours: []Term{}}
	if e.RunnerUp >= 0 {
		a.RunnerUp = e.Classes[e.RunnerUp]
	}
	a.Scores = make([]Score, len(p.Probabilities))
	for c, x := range p.Probabilities {
		a.Scores[c] = Score{c, e.Classes[c], x}
	}
	slices.SortStableFunc(a.Scores, func(x, y Score) int {
		switch {
		case x.Probability > y.Probability:
			return -1
		case x.Probability < y.Probability:
			return 1
		}
		return 0
	})
	if len(a.Scores) > scoresShown {
		for _, s := range a.Scores[scoresShown:] {
			a.OtherScores += float64(s.Probability)
			a.Others++
		}
		a.Scores = a.Scores[:scoresShown]
	}
	for k := range e.Features {
		t := &e.Features[k]
		if k >= termsShown {
			a.RestOf.add(t)
			continue
		}
		name := strconv.Itoa(t.At)
		if e.Names != nil {
			name = e.Names[t.At]
		}
		a.Features = append(a.Features, termOf(e, t, name, ""))
	}
	for k := range e.Neighbours {
		t := &e.Neighbours[k]
		if k >= termsShown {
			a.RestNear.add(t)
			continue
		}
		a.Neighbours = append(a.Neighbours, termOf(e, t, e.Edges[t.At], stateOf(&e.Rows[t.At])))
	}
	return a
}

func (r *Rest) add(t *infer.Term) {
	r.Terms++
	r.Margin += t.Share.Margin
}

func termOf(e *consumer.Explained, t *infer.Term, name, state string) Term {
	out := Term{Name: name, State: state}
	if e.Shares {
		out.Share = (*Figure)(&t.Share)
	}
	if t.Removed {
		out.Without = (*Figure)(&t.Without)
	}
	for _, through := range t.Through {
		out.Through = append(out.Through, Through{through.Node, through.Share.Margin})
	}
	return out
}

// stateOf says what is known of a neighbour.
func stateOf(row *infer.Row) string {
	switch {
	case row.Unread:
		return "unread"
	case !row.Known:
		return "unknown"
	case row.Arrived:
		return "arrived"
	case len(row.Cols) == 0:
		return "empty"
	}
	return "known"
}

// arrival answers for an arrival of the topic, by its place or its id.
func (p *Page) arrival(w http.ResponseWriter, r *http.Request) {
	at := Place{-1, -1}
	switch id := r.FormValue("id"); {
	case id != "":
		var ok bool
		p.tally.mu.Lock()
		at, ok = p.tally.places.find(id)
		p.tally.mu.Unlock()
		if !ok {
			refuse(w, http.StatusNotFound, "id",
				"no prediction of this id is among the last "+strconv.Itoa(placesKept)+" that the page has seen")
			return
		}
	default:
		at.Partition, at.Offset = int(decimal([]byte(r.FormValue("partition")))), decimal([]byte(r.FormValue("offset")))
		if at.Partition < 0 || at.Offset < 0 {
			refuse(w, http.StatusBadRequest, "query", "want id, or partition and offset, of an arrival")
			return
		}
	}
	rec, err := p.o.Arrivals.At(r.Context(), at.Partition, at.Offset)
	if errors.Is(err, kafka.ErrGone) {
		refuse(w, http.StatusNotFound, "gone", "the arrival is not in its topic, or not any more")
		return
	}
	if err != nil {
		refuse(w, http.StatusBadGateway, "kafka", err.Error())
		return
	}
	a, err := p.ask(r.Context(), p.o.Records, "page", rec)
	if err != nil {
		refuseAnswer(w, err)
		return
	}
	a.Place, a.Published = &at, p.published(at)
	a.Arrival = p.written(r.Context(), &rec)
	writeJSON(w, http.StatusOK, a)
}

// published returns the sample of an arrival, nil where there is none any more.
func (p *Page) published(at Place) (found *Sample) {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.tally.feed.each(func(s *Sample) bool {
		if s.Partition == at.Partition && s.Offset == at.Offset {
			copied := *s
			found = &copied
		}
		return found == nil
	})
	return found
}

// written returns an arrival in Rivulet's own JSON, nil where that is not possible.
func (p *Page) written(ctx context.Context, rec *kafka.Record) json.RawMessage {
	v := p.o.Versions.Current()
	if v == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience) // of features by id
	defer cancel()
	p.asking.Lock()
	defer p.asking.Unlock()
	p.o.Decoder.ByName(v.Schema())
	a, _, err := p.o.Decoder.Arrival(ctx, rec, v.Features())
	if err != nil {
		return nil
	}
	text, err := (event.JSON{}).AppendArrival(nil, a)
	if err != nil {
		return nil
	}
	return text
}

// try answers an arrival that was written on the page.
func (p *Page) try(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	a, err := p.ask(r.Context(), p.o.Tried, "try", kafka.Record{Value: body})
	if err != nil {
		refuseAnswer(w, err)
		return
	}
	writeJSON(w, http.StatusOK, a)
}

// refuseAnswer answers where there is no prediction.
func refuseAnswer(w http.ResponseWriter, err error) {
	var dead errDead
	switch {
	case errors.As(err, &dead):
		refuse(w, http.StatusUnprocessableEntity, dead.letter.Reason, dead.letter.Detail)
	case errors.Is(err, consumer.ErrNoVersion):
		refuse(w, http.StatusServiceUnavailable, "version", "no version of the artifact is loaded yet")
	default:
		refuse(w, http.StatusBadGateway, "lookup", err.Error())
	}
}
