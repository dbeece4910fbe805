package page

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"rivulet/consumer"
	"rivulet/event"
	eventjson "rivulet/event/json"
	"rivulet/infer/explain"
	"rivulet/internal/explanation"
	"rivulet/kafka"
)

// Bounds of the lists in an answer; the rest is summed up.
const (
	scoresShown = 12
	termsShown  = 40
)

// Answer is an arrival with the answer of the version that serves now, taken apart. The lists of an explanation have
// at most termsShown terms here.
type Answer struct {
	explanation.Explanation
	Place         *Place          `json:"place,omitempty"`     // in the topic; null: the arrival was written on the page
	Published     *Sample         `json:"published,omitempty"` // the prediction on its topic, where the page still has it
	Arrival       json.RawMessage `json:"arrival,omitempty"`   // in Rivulet's own JSON
	Probability   float32         `json:"probability"`         // as published
	Abstained     bool            `json:"abstained"`
	Degraded      bool            `json:"degraded"`
	Known         int             `json:"known"`
	Arrived       int             `json:"arrived"`
	Unknown       int             `json:"unknown"`
	Scores        []Score         `json:"scores"` // the most probable classes, best first
	OtherScores   float64         `json:"other_scores"`
	Others        int             `json:"others"`
	RunnerUpName  string          `json:"runner_up_name"` // "" if there is only one class
	Shares        bool            `json:"shares"`         // false if the model is not linear: only without is known
	RestOf        Rest            `json:"other_features"`
	RestNear      Rest            `json:"other_neighbours"`
	PropagationIs string          `json:"propagation_text"` // label or error propagation in words, "" for none
}

// Score is the probability of one class.
type Score struct {
	Class       int     `json:"class"`
	Name        string  `json:"name"`
	Probability float32 `json:"probability"`
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
	if err := ctx.Err(); err != nil { // the client left while it waited for its turn
		return nil, err
	}
	all, dead, err := of.Explain(ctx, consumer.Intake{Name: name, Records: []kafka.Record{rec}})
	switch {
	case err != nil:
		return nil, err
	case len(dead) > 0:
		return nil, errDead{dead[0]}
	case len(all) == 0:
		return nil, errDead{event.DeadLetter{Reason: "skipped",
			Detail: "the record is a delete or a tombstone, not an arrival"}}
	}
	return answerOf(&all[0]), nil
}

// answerOf copies an explanation, whose memory is the pipeline's.
func answerOf(e *consumer.ExplainedArrival) *Answer {
	p := e.Prediction
	a := &Answer{Explanation: explanation.Of(e), Probability: p.Probability, Abstained: p.Abstained, Degraded: p.Degraded,
		Known: p.Known, Arrived: p.Arrivals, Unknown: p.Unknown, Shares: e.Shares, PropagationIs: e.String()}
	if e.RunnerUp >= 0 {
		a.RunnerUpName = e.Classes[e.RunnerUp]
	}
	a.Scores = make([]Score, len(p.Probabilities))
	for c, x := range p.Probabilities {
		a.Scores[c] = Score{c, e.Classes[c], x}
	}
	slices.SortStableFunc(a.Scores, func(x, y Score) int { return cmp.Compare(y.Probability, x.Probability) })
	if len(a.Scores) > scoresShown {
		for _, s := range a.Scores[scoresShown:] {
			a.OtherScores += float64(s.Probability)
			a.Others++
		}
		a.Scores = a.Scores[:scoresShown]
	}
	for k := range a.Neighbours {
		if row := &e.Rows[e.Neighbours[k].At]; a.Neighbours[k].State == "known" && len(row.Cols) == 0 {
			a.Neighbours[k].State = "empty" // it counts in the arrival's degree and has no share
		}
	}
	a.Features, a.RestOf = shorten(a.Features, e.Features)
	a.Neighbours, a.RestNear = shorten(a.Neighbours, e.Neighbours)
	return a
}

// shorten returns the first terms of a list, and the sum of the others.
func shorten(terms []explanation.Term, of []explain.Term) ([]explanation.Term, Rest) {
	shown := min(len(terms), termsShown)
	rest := explain.Explanation{Features: of[shown:]}
	return terms[:shown], Rest{len(of) - shown, rest.Sum().Margin}
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
	ctx, cancel := context.WithTimeout(ctx, patience) // for features by id
	defer cancel()
	p.asking.Lock()
	defer p.asking.Unlock()
	p.o.Decoder.Reads(v.Info().Schema, v.Info().Slots)
	a, _, err := p.o.Decoder.Arrival(ctx, rec, v.Info().Features)
	if err != nil {
		return nil
	}
	text, err := (eventjson.Codec{}).AppendArrival(nil, a)
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
