package event

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// predictionWriter writes a prediction field by field, in the order and with the bytes that the library gives a
// [predictionJSON] (TestPredictionsAreWrittenAsByTheLibrary). It refuses nothing itself: where something cannot
// be written it has failed, and the library says why.
type predictionWriter struct {
	buf    []byte
	failed bool
}

func (w *predictionWriter) prediction(p *Prediction) {
	w.failed = p.checkWritten() != nil
	w.text(`{"id":`, p.ID)
	w.integer(`,"class":`, int64(p.Class))
	w.textIfAny(`,"class_name":`, p.ClassName)
	w.number(`,"probability":`, p.Probability)
	w.ifTrue(`,"abstained":true`, p.Abstained)
	w.ifTrue(`,"degraded":true`, p.Degraded)
	w.top(p.Top)
	w.numbers(`,"probabilities":`, p.Probabilities)
	w.numbers(`,"logits":`, p.Logits)
	if len(p.Representation) > 0 {
		w.text(`,"representation":{"kind":`, p.RepresentationKind)
		w.numbers(`,"values":`, p.Representation)
		w.buf = append(w.buf, '}')
	}
	w.explanation(p.Explanation)
	w.text(`,"artifact":`, p.Artifact)
	w.textIfAny(`,"batch":`, p.Batch)
	w.integer(`,"known_neighbours":`, int64(p.Known))
	if p.Arrivals != 0 {
		w.integer(`,"arrival_neighbours":`, int64(p.Arrivals))
	}
	w.integer(`,"batch_neighbours":`, int64(p.InBatch))
	w.integer(`,"unknown_neighbours":`, int64(p.Unknown))
	w.text(`,"source":{"topic":`, p.Source.Topic)
	w.integer(`,"partition":`, int64(p.Source.Partition))
	w.integer(`,"offset":`, p.Source.Offset)
	w.buf = append(w.buf, '}')
	w.time(`,"arrival_time":"`, p.ArrivalTime)
	w.time(`,"ingest_time":"`, timestamp(p.IngestTime))
	w.time(`,"predicted_time":"`, p.PredictedTime)
	w.buf = append(w.buf, '}')
}

// top writes the classes, unless there are none.
func (w *predictionWriter) top(list []Score) {
	before := `,"top":[{"class":`
	for i := range list {
		w.integer(before, int64(list[i].Class))
		w.textIfAny(`,"name":`, list[i].Name)
		w.number(`,"probability":`, list[i].Probability)
		before = `},{"class":`
	}
	if len(list) > 0 {
		w.buf = append(w.buf, `}]`...)
	}
}

func (w *predictionWriter) text(before, s string) {
	var err error
	if w.buf, err = jsontext.AppendQuote(append(w.buf, before...), s); err != nil {
		w.failed = true
	}
}

func (w *predictionWriter) textIfAny(before, s string) {
	if s != "" {
		w.text(before, s)
	}
}

func (w *predictionWriter) ifTrue(member string, is bool) {
	if is {
		w.buf = append(w.buf, member...)
	}
}

func (w *predictionWriter) integer(before string, v int64) {
	w.buf = strconv.AppendInt(append(w.buf, before...), v, 10)
}

// number writes a finite float in the shortest form that reads back as the same float32: as ECMAScript writes
// its numbers, with an exponent below 10⁻⁶ and from 10²¹ on.
func (w *predictionWriter) number(before string, v float32) {
	w.failed = w.failed || v-v != 0
	w.buf = append(w.buf, before...)
	abs := math.Abs(float64(v))
	if abs == 0 || float32(abs) >= 1e-6 && float32(abs) < 1e21 {
		w.buf = strconv.AppendFloat(w.buf, float64(v), 'f', -1, 32)
		return
	}
	w.buf = strconv.AppendFloat(w.buf, float64(v), 'e', -1, 32)
	if n := len(w.buf); w.buf[n-4] == 'e' && w.buf[n-3] == '-' && w.buf[n-2] == '0' { // e-09 is e-9
		w.buf[n-2] = w.buf[n-1]
		w.buf = w.buf[:n-1]
	}
}

// numbers writes a list, unless it is empty.
func (w *predictionWriter) numbers(before string, values []float32) {
	if len(values) == 0 {
		return
	}
	w.buf = append(w.buf, before...)
	before = "["
	for _, v := range values {
		w.number(before, v)
		before = ","
	}
	w.buf = append(w.buf, ']')
}

// time writes a time, unless it is zero.
func (w *predictionWriter) time(before string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.buf = appendRFC3339(append(w.buf, before...), t)
	w.buf = append(w.buf, '"')
}
