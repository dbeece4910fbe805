package page

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/infer/target"
	"rivulet/internal/quantile"
	"rivulet/kafka"
)

// topic is one of the topics whose rates are shown.
type topic int

const (
	arrivals topic = iota
	predictions
	deadLetterTopic
	topics
)

// swapAfter is for how long a version must not have predicted for its next prediction to be a mark.
const swapAfter = 10 * time.Second

const marksKept = 64

// tally holds the stream's figures. Its memory is bounded, whatever the stream brings.
type tally struct {
	now func() time.Time

	mu     sync.Mutex
	series series
	ends   [topics]kafka.Offsets
	totals [topics]int64     // the sum of ends: how many offsets have been given so far
	from   [topics]int64     // the same where the second began whose rate is being measured
	ended  [topics]time.Time // when that was
	chance chance
	seq    uint64
	feed   ring[Sample]
	// places are of the last predictions, by the keys of their records, which are the arrivals' ids where producers
	// follow the contract
	places  idCache[Place]
	window  window           // of the version that began last
	swapped int64            // when that was, ms since 1970
	served  map[string]int64 // by version: when it last predicted, ms since 1970
	marks   []Mark
	dead    deadLetters
	labels  accuracies
	lag     []Lag
	lagged  bool // lag is known
	skipped int64
	// forgotten counts tombstones among the predictions
	forgotten int64
	unread    int64 // predictions that could not be read
	lastBad   string
}

// Mark is an event in time.
type Mark struct {
	Time int64  `json:"time"` // seconds since 1970
	Text string `json:"text"`
}

// Lag is the most that the consumers are behind in a partition.
type Lag struct {
	Partition int    `json:"partition"`
	End       int64  `json:"end"`
	Committed *int64 `json:"committed"` // null: nothing was committed
	Lag       int64  `json:"lag"`
}

func newTally(now func() time.Time) *tally {
	return &tally{now: now, served: map[string]int64{}}
}

// mark notes an event. The caller holds mu.
func (t *tally) mark(at time.Time, text string) {
	t.marks = append(t.marks, Mark{at.Unix(), text})
	slices.SortStableFunc(t.marks, func(a, b Mark) int { return int(a.Time - b.Time) })
	if extra := len(t.marks) - marksKept; extra > 0 {
		t.marks = append(t.marks[:0], t.marks[extra:]...)
	}
}

// looked takes the ends of a topic's partitions at a time; the rates are exact, by these offsets.
func (t *tally) looked(of topic, name string, s kafka.Sight, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := int64(0)
	for _, end := range s.Ends {
		total += end
	}
	before, since := t.from[of], t.ended[of]
	t.ends[of], t.totals[of] = s.Ends, total
	if s.Anew {
		t.mark(at, "topic "+name+" was made anew")
		before = 0
	}
	if since.IsZero() || at.Sub(since) > 3*time.Second { // after an outage nobody knows how they were spread over it
		t.from[of], t.ended[of] = total, at
		return
	}
	if at.Unix() == since.Unix() {
		t.from[of] = before
		return
	}
	rate := float64(max(0, total-before)) / at.Sub(since).Seconds()
	for unix := since.Unix(); unix < at.Unix(); unix++ {
		if b := t.series.at(time.Unix(unix, 0), at); b != nil {
			b.rates[of] = float32(rate)
		}
	}
	t.from[of], t.ended[of] = total, at
	if of == predictions {
		t.chance = chanceFor(rate)
	}
}

// history fills the rate of the seconds of a span that began at a time.
func (t *tally) history(of topic, from, to time.Time, records int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rate := float32(float64(max(0, records)) / to.Sub(from).Seconds())
	for at := from; at.Before(to); at = at.Add(time.Second) {
		if b := t.series.at(at, t.now()); b != nil {
			b.rates[of] = rate
		}
	}
}

// predicted takes a record of the topic of predictions.
func (t *tally) predicted(rec *kafka.Record, labelled bool) {
	place, ok := sourceOf(rec.Headers)
	t.mu.Lock()
	take := !ok || t.chance.takes(place.Partition, place.Offset)
	if ok && len(rec.Key) > 0 {
		t.places.put(string(rec.Key), place, placesKept)
	}
	t.mu.Unlock()
	if rec.Damage == nil && rec.Value == nil {
		t.forgetID(string(rec.Key))
		return
	}
	if !take || rec.Damage != nil {
		return
	}
	var p event.Prediction
	if err := decodePrediction(rec, &p); err != nil {
		t.mu.Lock()
		t.unread++
		t.lastBad = shown("partition " + strconv.Itoa(rec.Position.Partition) + ", offset " +
			strconv.FormatInt(rec.Position.Offset, 10) + ": " + err.Error())
		t.mu.Unlock()
		return
	}
	s := sampleOf(&p, rec.Time)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || len(rec.Key) == 0 {
		t.places.put(p.ID, Place{p.Source.Partition, p.Source.Offset}, placesKept)
	}
	t.sample(&s)
	if labelled {
		t.labels.predicted(p.ID, &s)
	}
}

// forgetID takes a tombstone: the samples of its id stay without the id.
func (t *tally) forgetID(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgotten++
	t.feed.each(func(s *Sample) bool {
		if s.ID == id {
			s.ID = ""
		}
		return true
	})
}

// sample counts a sample. The caller holds mu.
func (t *tally) sample(s *Sample) {
	t.seq++
	s.Seq = t.seq
	t.feed.put(*s, feedLength)
	if b := t.series.at(time.UnixMilli(s.Time), t.now()); b != nil {
		b.samples++
		b.confidence += float64(s.Probability)
		if s.Latency >= 0 {
			if b.latencies == nil {
				b.latencies = new(quantile.Histogram)
			}
			b.latencies.Add(time.Duration(s.Latency * float64(time.Millisecond)))
		}
	}
	last, before := t.served[s.Artifact]
	if !before || s.Time-last > swapAfter.Milliseconds() {
		t.mark(time.UnixMilli(s.Time), "version "+s.Artifact+" predicts")
		if len(t.served) == versionsKept {
			t.forget()
		}
		if s.Time >= t.swapped { // partitions are read one after the other
			t.swapped, t.window = s.Time, window{version: s.Artifact}
		}
	}
	if s.Artifact == t.window.version {
		t.window.take(s)
	}
	t.served[s.Artifact] = max(last, s.Time)
}

// forget forgets the version that has not predicted for the longest time.
func (t *tally) forget() {
	var oldest string
	for v, at := range t.served {
		if oldest == "" || at < t.served[oldest] {
			oldest = v
		}
	}
	delete(t.served, oldest)
}

// committed takes the group's committed offsets.
func (t *tally) committed(offsets kafka.Offsets) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lag, t.lagged = t.lag[:0:0], t.ends[arrivals] != nil
	for at, end := range t.ends[arrivals] {
		l := Lag{Partition: at.Partition, End: end, Lag: end}
		if offset, ok := offsets[at]; ok {
			l.End = max(end, offset) // it was read later
			l.Committed, l.Lag = &offset, l.End-offset
		}
		t.lag = append(t.lag, l)
	}
	slices.SortFunc(t.lag, func(a, b Lag) int { return a.Partition - b.Partition })
}

// Stream is the page's view of the stream.
type Stream struct {
	Now     int64          `json:"now"` // by this process's clock, ms since 1970
	Columns Columns        `json:"columns"`
	Totals  [topics]int64  `json:"totals"` // records so far, by their offsets
	Latency LatencyFigures `json:"latency"`
	Chance  int            `json:"chance"` // one of 2^chance predictions is a sample
	Lag     []Lag          `json:"lag"`
	Lagged  bool           `json:"lag_known"`
	Drift   Drift          `json:"drift"`
	Marks   []Mark         `json:"marks"`
	Feed    []Sample       `json:"feed"` // newest first
	Skipped int64          `json:"skipped"`
	// Forgotten is the number of tombstones that were read.
	Forgotten int64  `json:"forgotten"`
	Unread    int64  `json:"unread"`
	LastBad   string `json:"last_unread"`
	Status    Status `json:"status"`
}

// LatencyFigures are of the last minute.
type LatencyFigures struct {
	P50     *float32 `json:"p50"`
	P99     *float32 `json:"p99"`
	Samples int      `json:"samples"`
}

// feedSent is the most samples of one answer.
const feedSent = 200

// stream returns the view: the seconds and the samples after those that the page has.
func (t *tally) stream(afterSecond int64, afterSample uint64, m *artifact.Manifest, model string) Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	minute := t.series.recent(60, now)
	v := Stream{Now: now.UnixMilli(), Columns: t.series.columns(afterSecond, now), Totals: t.totals,
		Latency: LatencyFigures{known(minute.Quantile(0.5)), known(minute.Quantile(0.99)), minute.Total()},
		Chance:  int(t.chance), Lag: slices.Clone(t.lag), Lagged: t.lagged, Drift: t.window.drift(now.Unix(), m, model),
		Marks: slices.Clone(t.marks), Feed: []Sample{}, Skipped: t.skipped, Forgotten: t.forgotten, Unread: t.unread,
		LastBad: t.lastBad}
	t.feed.each(func(s *Sample) bool {
		if s.Seq <= afterSample || len(v.Feed) == feedSent {
			return false
		}
		v.Feed = append(v.Feed, *s)
		return true
	})
	return v
}

// decodePrediction reads a prediction in the form that its content-type names.
func decodePrediction(rec *kafka.Record, p *event.Prediction) error {
	err := read.Prediction(rec.Headers, rec.Value, p)
	for task, parts := range map[target.Task]int{
		target.Number: len(p.Numbers), target.Labels: len(p.Labels), target.Links: len(p.Links)} {
		if err == nil && parts > 0 {
			err = task.Require(target.Page)
		}
	}
	return err
}
