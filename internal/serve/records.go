package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/event/read"
	"rivulet/infer/target"
	"rivulet/internal/explanation"
	"rivulet/internal/httpd"
	"rivulet/kafka"
)

// allowInvalid writes U+FFFD for bytes that are no UTF-8.
var allowInvalid = jsontext.AllowInvalidUTF8(true)

func (s *Server) predict(w http.ResponseWriter, r *http.Request) *refusal {
	return s.answer(w, r, s.predicts)
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request) *refusal {
	if v := s.o.Path.Versions.Current(); v != nil {
		if err := v.Info().Task.Require(target.Explanation); err != nil {
			return refused(http.StatusNotFound, "not_found", "%v; POST records to %s", err, predictPath)
		}
	}
	return s.answer(w, r, s.explains)
}

// answer answers arrivals as JSON: one with its prediction, or several with an array of the same order. Its time is
// limited from the headers on.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, queue *batcher) *refusal {
	if err := s.readable(r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Limits.Timeout)
	defer cancel()
	body, err := s.body(ctx, w, r)
	defer s.release(body)
	if err != nil {
		return because(err)
	}
	parts, many, err := split(body.text.Bytes(), s.o.Limits.Arrivals)
	switch {
	case errors.Is(err, errTooMany):
		return refused(http.StatusRequestEntityTooLarge, reasonTooMany,
			"the request has more than %d arrivals, the limit of serve.max_arrivals", s.o.Limits.Arrivals)
	case err != nil:
		return &refusal{http.StatusBadRequest, reasonMalformed, err.Error()}
	}
	out := textsOf(len(parts))
	out.reserve = func(n int) error { return s.reserve(body, int64(n)) }
	if err := s.ask(ctx, queue, s.records(r, parts), out, body); err != nil {
		e := because(err)
		if e.status == http.StatusInternalServerError {
			s.o.Log.Error("a request could not be answered", "path", r.URL.Path, "error", err)
		}
		return e
	}
	defer out.release()
	if many {
		reply(w, http.StatusOK, out.array())
		return nil
	}
	text, status := out.one()
	reply(w, status, text)
	return nil
}

// readable checks the headers that describe the body.
func (s *Server) readable(r *http.Request) *refusal {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return refused(http.StatusUnsupportedMediaType, reasonMediaType, "content-encoding %.80q, want none", coding)
	}
	declared := r.Header.Get("Content-Type")
	if declared == "" { // a page of another site may send a body without a type, but none of JSON
		return refused(http.StatusUnsupportedMediaType, reasonMediaType,
			"content-type is missing, want application/json")
	}
	if codec, known := read.ForContentType(declared); !known || codec != (json.Codec{}) {
		return refused(http.StatusUnsupportedMediaType, reasonMediaType,
			"content-type %.80q, want application/json", declared)
	}
	return nil
}

// records makes a record of each arrival. The header rivulet-schema is handed on, as a producer's is.
func (s *Server) records(r *http.Request, parts [][]byte) []kafka.Record {
	headers := read.LineHeaders()
	if hash := r.Header.Get(event.HeaderSchema); hash != "" {
		headers = append(headers, kafka.Header{Key: event.HeaderSchema, Value: []byte(hash)})
	}
	records, now := make([]kafka.Record, len(parts)), time.Now()
	for i, part := range parts {
		records[i] = kafka.Record{Value: part, Headers: headers, Time: now}
	}
	return records
}

// body is a request's body, with the bytes reserved for it and its answer.
type body struct {
	text      *bytes.Buffer
	reserved  int64 // under the mutex of the budget
	released  bool  // under that, too
	abandoned bool  // a lane may still read it
}

// bodies are used again: they are most of a request's memory.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the largest memory, in bytes, that is kept for other requests.
const maxPooled = 1 << 20

// release gives back a body's memory and reservation.
func (s *Server) release(b *body) {
	s.bytes.end(b)
	if b.text != nil && !b.abandoned && b.text.Cap() <= maxPooled {
		b.text.Reset()
		bodies.Put(b.text)
	}
}

// body reads a request's body. The caller releases it, also after an error.
func (s *Server) body(ctx context.Context, w http.ResponseWriter, r *http.Request) (*body, error) {
	b, limit, length := &body{}, s.o.Limits.Body, r.ContentLength
	tooLarge := refused(http.StatusRequestEntityTooLarge, reasonTooLarge,
		"the body has more than %d bytes, the limit of serve.max_body", limit)
	if length > limit {
		return b, tooLarge
	}
	if length < 0 { // no length is given
		length = limit
	}
	if !s.bytes.take(b, length) {
		return b, overloaded()
	}
	b.text = bodies.Get().(*bytes.Buffer)
	until, _ := ctx.Deadline()
	_ = http.NewResponseController(w).SetReadDeadline(until) // where it cannot be set there is no connection
	if r.ContentLength > 0 {
		b.text.Grow(int(r.ContentLength) + bytes.MinRead) // it is within the limit
	}
	_, err := b.text.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var beyond *http.MaxBytesError
	switch {
	case err == nil:
		httpd.BodyRead(w)
		return b, nil
	case errors.As(err, &beyond):
		return b, tooLarge
	case ctx.Err() != nil && r.Context().Err() == nil, httpd.IsTimeout(err):
		return b, &refusal{http.StatusRequestTimeout, reasonTimeout,
			"the body did not come in the time that serve.timeout gives a request"}
	case errors.Is(err, io.ErrUnexpectedEOF), r.Context().Err() != nil:
		return b, context.Canceled
	}
	return b, &refusal{http.StatusBadRequest, reasonMalformed, "the body cannot be read: " + err.Error()}
}

// reserve reserves bytes for a part of a request's answer: an explanation may be thousands of times as large as its
// arrival.
func (s *Server) reserve(b *body, n int64) error {
	switch {
	case s.bytes.take(b, n):
		return nil
	case s.bytes.of(b)+n > s.bytes.most:
		return refused(http.StatusRequestEntityTooLarge, reasonTooLarge,
			"the explanations have more than %d bytes, the limit of serve.queue.bytes: ask for fewer arrivals at once",
			s.bytes.most)
	}
	return overloaded()
}

func overloaded() *refusal {
	return &refusal{http.StatusTooManyRequests, reasonOverloaded, "too much is waiting here already"}
}

// ask has arrivals answered. After an error out, and a body that is abandoned, belong to the lane that works on
// them.
func (s *Server) ask(ctx context.Context, queue *batcher, records []kafka.Record, out *texts, from *body) error {
	if len(records) == 0 {
		return nil
	}
	a := &asked{ctx: ctx, records: records, answers: out, done: make(chan error, 1)}
	if !queue.put(a) {
		return overloaded()
	}
	s.working.Add(1)
	defer s.working.Add(-1)
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		from.abandoned = true
		return ctx.Err()
	}
}

// texts are the answers to the arrivals of a request as JSON. A lane puts them in by the arrival's place in the
// request; a refusal has one of event's reasons, or skipped.
type texts struct {
	all     []byte   // the answers, in the order in which they came
	parts   [][2]int // place of each arrival in all; empty: it has none
	refused []bool
	reserve func(n int) error // is asked for memory for an explanation
	out     []byte
}

var freeTexts = sync.Pool{New: func() any { return new(texts) }}

// textsOf returns memory for n answers.
func textsOf(n int) *texts {
	t := freeTexts.Get().(*texts)
	t.all, t.out = t.all[:0], t.out[:0]
	t.parts, t.refused = slices.Grow(t.parts[:0], n)[:n], slices.Grow(t.refused[:0], n)[:n]
	clear(t.parts)
	clear(t.refused)
	return t
}

// release has the memory used again. No lane may have it.
func (t *texts) release() {
	t.reserve = nil
	if cap(t.all)+cap(t.out) <= maxPooled {
		freeTexts.Put(t)
	}
}

func (t *texts) prediction(at int, p *event.Prediction) (err error) {
	begin := len(t.all)
	t.all, err = (json.Codec{}).AppendPrediction(t.all, p)
	t.parts[at] = [2]int{begin, len(t.all)}
	return err
}

func (t *texts) explanation(at int, e *consumer.ExplainedArrival) error {
	text, err := explanation.JSON(e)
	if err == nil {
		err = t.reserve(2 * len(text)) // it is copied into the answer
	}
	if err == nil {
		t.put(at, text)
	}
	return err
}

func (t *texts) refusal(at int, reason, detail string) {
	t.put(at, errorText(reason, detail))
	t.refused[at] = true
}

func (t *texts) put(at int, text []byte) {
	begin := len(t.all)
	t.all = append(t.all, text...)
	t.parts[at] = [2]int{begin, len(t.all)}
}

// passedOver says why an arrival has no answer at all: input.mapping read it and found none.
const passedOver = "the record is no arrival: a delete, a tombstone or a message"

// part returns the answer of an arrival.
func (t *texts) part(i int) []byte {
	if t.parts[i][1] == 0 {
		t.refusal(i, reasonSkipped, passedOver)
	}
	return t.all[t.parts[i][0]:t.parts[i][1]]
}

// one returns the answer to a request of one arrival that stands for itself.
func (t *texts) one() (text []byte, status int) {
	if text = t.part(0); t.refused[0] {
		return text, http.StatusUnprocessableEntity
	}
	return text, http.StatusOK
}

// array returns all answers.
func (t *texts) array() []byte {
	t.out = append(t.out, '[')
	for i := range t.parts {
		if i > 0 {
			t.out = append(t.out, ',')
		}
		t.out = append(t.out, t.part(i)...)
	}
	t.out = append(t.out, ']')
	return t.out
}
