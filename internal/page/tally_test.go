package page

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/artifact/baseline"
	"rivulet/event"
	_ "rivulet/event/avro" // it registers itself
	eventjson "rivulet/event/json"
	"rivulet/event/read"
	"rivulet/kafka"
	"rivulet/test/expect"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// clock is a clock that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func ends(n ...int64) kafka.Sight {
	s := kafka.Sight{Ends: kafka.Offsets{}}
	for p, end := range n {
		s.Ends[kafka.TopicPartition{Topic: "t", Partition: p}] = end
	}
	return s
}

func TestRatesAreExactByOffsets(t *testing.T) {
	c := &clock{noon}
	y := newTally(c.now)
	for _, look := range []struct {
		at   time.Duration
		ends kafka.Sight
	}{
		{0, ends(100, 50)}, {500 * time.Millisecond, ends(105, 50)}, {time.Second, ends(110, 60)},
		{1500 * time.Millisecond, ends(110, 60)},
		{2 * time.Second, ends(113, 60)},
		{10 * time.Second, ends(900, 60)}, // nobody looked for a while
		{11 * time.Second, ends(901, 60)},
		{12 * time.Second, kafka.Sight{Ends: ends(4).Ends, Anew: true}},
	} {
		c.at = noon.Add(look.at)
		y.looked(arrivals, "t", look.ends, c.at)
	}
	c.at = noon.Add(13 * time.Second)
	got := y.stream(noon.Unix()-1, 0, nil, "").Columns
	want := []float64{20, 3, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(),
		math.NaN(), 1, 4, math.NaN()}
	if len(got.In) != len(want) {
		t.Fatalf("%d seconds, want %d", len(got.In), len(want))
	}
	for k, w := range want {
		if g := got.In[k]; (g == nil) != math.IsNaN(w) || g != nil && float64(*g) != w {
			t.Errorf("second %d: %v, want %g", k, known(w), w)
		}
	}
	if y.stream(0, 0, nil, "").Totals != [topics]int64{4, 0, 0} {
		t.Errorf("totals are %v", y.totals)
	}
}

// Samples depend on the place alone, those of a smaller chance are among those of a larger one, and there are enough.
func TestSamplesAreChosenByPlace(t *testing.T) {
	for _, rate := range []float64{0, 10, 300, 599, 5000, 60_000, 1e6} {
		c := chanceFor(rate)
		taken := 0
		const n = 200_000
		for i := range n {
			takes := c.takes(i%7, int64(i))
			if takes {
				taken++
			}
			if c > 0 && takes && !(c-1).takes(i%7, int64(i)) {
				t.Fatalf("chance %d takes %d and the one before does not", c, i)
			}
		}
		a := rate * float64(taken) / n
		if least := min(rate, 150); a < 0.9*least || a > 660 {
			t.Errorf("of %g a second %g are samples", rate, a)
		}
	}
}

func record(p event.Prediction, at time.Time) *kafka.Record {
	value, err := (eventjson.Codec{}).AppendPrediction(nil, &p)
	if err != nil {
		panic(err)
	}
	headers, _ := event.AppendPredictionHeaders(nil, nil, &p, "application/json")
	return &kafka.Record{Key: []byte(p.ID), Value: value, Headers: headers, Time: at}
}

func TestASwapIsAMarkInTime(t *testing.T) {
	c := &clock{noon}
	y := newTally(c.now)
	say := func(version string, after time.Duration, offset int64) {
		y.predicted(record(prediction("x", 0, version, event.Source{Offset: offset}), noon.Add(after)), false)
	}
	c.at = noon.Add(time.Minute)
	// A partition that is read after another one brings the older version's predictions later.
	say("v2", 20*time.Second, 0)
	say("v1", time.Second, 1)
	say("v1", 5*time.Second, 2)
	say("v2", 21*time.Second, 3)
	var texts []string
	for _, m := range y.marks {
		texts = append(texts, fmt.Sprint(m.Time-noon.Unix(), " ", m.Text))
	}
	if want := []string{"1 version v1 predicts", "20 version v2 predicts"}; !slices.Equal(texts, want) {
		t.Errorf("marks are %q, want %q", texts, want)
	}
	if d := y.stream(0, 0, nil, "").Drift; d.Version != "v2" || d.Samples != 2 {
		t.Errorf("compared are %d samples of %s, want both of v2", d.Samples, d.Version)
	}
	say("v1", 40*time.Second, 4) // back again
	if d := y.stream(0, 0, nil, "").Drift; d.Version != "v1" || len(y.marks) != 3 {
		t.Errorf("compared is %s with %d marks, want v1 with 3", d.Version, len(y.marks))
	}
}

func TestDriftIsAgainstTraining(t *testing.T) {
	c := &clock{noon}
	y := newTally(c.now)
	for i := range int64(8) {
		y.predicted(record(prediction("x", int(i%2), "v", event.Source{Offset: i}), noon), false)
	}
	m := &artifact.Manifest{Version: "v", Data: artifact.Data{Classes: []string{"cats", "dogs", "cows"}},
		Reference: baseline.Reference{Nodes: 10, UnknownNeighbours: 0.25,
			Models: map[string]baseline.ModelReference{"sgc": {Confidence: 0.9, Classes: []float64{0.5, 0.25, 0.25}}}}}
	d := y.stream(0, 0, m, "sgc").Drift
	if d.Distance == nil || math.Abs(float64(*d.Distance)-0.25) > 1e-6 || *d.TrainedConfidence != 0.9 ||
		*d.TrainedUnknown != 0.25 {
		t.Errorf("drift is %+v", d)
	}
	if len(d.Classes) != 3 || d.Classes[0].Name != "cats" {
		t.Errorf("classes are %+v", d.Classes)
	}
	if d := y.stream(0, 0, &artifact.Manifest{Version: "other"}, "sgc").Drift; d.Distance != nil ||
		d.TrainedConfidence != nil {
		t.Errorf("compared with another version: %+v", d)
	}
}

// Whatever the stream brings, memory is bounded: many classes, versions, reasons and ids.
func TestMemoryIsBounded(t *testing.T) {
	c := &clock{noon}
	y := newTally(c.now)
	for i := range 5000 {
		c.at = noon.Add(time.Duration(i) * 200 * time.Millisecond)
		p := prediction(fmt.Sprint("id-", i), i*20, fmt.Sprint("v", i/50), event.Source{Partition: i % 3, Offset: int64(i)})
		if i%20 == 0 {
			p.ID = strings.Repeat("x", 3000)
		}
		y.chance = 0
		y.predicted(record(p, c.at), i%5 == 0)
		if i%5 == 0 {
			y.died(&kafka.Record{Time: c.at, Value: make([]byte, 10_000),
				Headers: []kafka.Header{{Key: event.HeaderReason, Value: fmt.Appendf(nil, "r%d", i)}}})
		}
	}
	for i := range 2 * placesKept {
		y.places.put(fmt.Sprint("id-", i), Place{0, int64(i)}, placesKept)
	}
	if n := len(y.places.by); n > placesKept || len(y.places.order) != placesKept {
		t.Errorf("%d places", n)
	}
	if len(y.served) > versionsKept || len(y.marks) > marksKept || len(y.labels.waiting.by) > labelsWait ||
		len(y.dead.reasons) > mostReasons ||
		len(y.feed.values) > feedLength || len(y.dead.newest.values) > deadKept || len(y.window.names) > mostClasses {
		t.Errorf("%d versions, %d marks, %d labels, %d reasons, %d samples, %d dead letters, %d classes", len(y.served),
			len(y.marks), len(y.labels.waiting.by),
			len(y.dead.reasons), len(y.feed.values), len(y.dead.newest.values), len(y.window.names))
	}
	for _, s := range y.feed.values {
		if len(s.ID) > idShown+8 {
			t.Fatalf("an id of %d bytes", len(s.ID))
		}
	}
	answer, err := json.Marshal(y.stream(c.at.Unix()-10, 0, nil, ""))
	if err != nil || len(answer) > 200_000 {
		t.Errorf("an answer of %d bytes (%v)", len(answer), err)
	}
	if _, ok := y.places.find(fmt.Sprint("id-", 2*placesKept-1)); !ok {
		t.Error("the last prediction is not found by its id")
	}
	if _, ok := y.places.find("id-1"); ok {
		t.Error("the first prediction is still found")
	}
}

func TestFormsOfPredictions(t *testing.T) {
	p := prediction("x", 1, "v", event.Source{Offset: 3})
	for _, name := range []string{"json", "avro", "protobuf"} {
		codec, _ := read.Payload(name)
		value, err := codec.AppendPrediction(nil, &p)
		expect.OK(t, err)
		framed := read.AppendConfluentHead(nil, 7)
		if name == "protobuf" {
			framed = append(framed, 0)
		}
		for name, v := range map[string][]byte{codec.ContentType(): value,
			read.ConfluentContentType(name): append(framed, value...)} {
			var got event.Prediction
			rec := &kafka.Record{Value: v, Headers: []kafka.Header{{Key: event.HeaderContentType, Value: []byte(name)}}}
			if err := decodePrediction(rec, &got); err != nil || got.ID != "x" || got.Class != 1 {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	}
	y := newTally((&clock{noon}).now)
	y.predicted(&kafka.Record{Value: []byte("no prediction"), Time: noon}, false)
	if s := y.stream(0, 0, nil, ""); s.Unread != 1 || s.LastBad == "" {
		t.Errorf("%d could not be read, %q", s.Unread, s.LastBad)
	}
}

func TestDeadLettersAreByReason(t *testing.T) {
	now := noon.Add(25 * time.Second)
	var l deadLetters
	header := func(name, value string) kafka.Header { return kafka.Header{Key: name, Value: []byte(value)} }
	for k, reason := range []string{"not_finite", "unparsable", "not_finite"} {
		l.take(&kafka.Record{Key: []byte("k"), Value: []byte(`{"id":"k","features":[1,NaN]}`),
			Time: noon.Add(time.Duration(k) * 10 * time.Second),
			Headers: []kafka.Header{header(event.HeaderReason, reason),
				header(event.HeaderDetail, "features[1]: NaN is no number"),
				header(event.HeaderSourceTopic, "arrivals"), header(event.HeaderSourcePartition, "2"),
				header(event.HeaderSourceOffset, "41")}})
	}
	v := l.view(now)
	if len(v.Reasons) != 2 || v.Reasons[0].Total != 2 || v.Reasons[1].Total != 1 {
		t.Fatalf("reasons are %+v", v.Reasons)
	}
	if r := v.Reasons[0]; r.Sentence == "" || r.Whose != "version" || v.Reasons[1].Whose != "record" {
		t.Errorf("reasons are not explained: %+v", v.Reasons)
	}
	last := v.Reasons[0].Counts[len(v.Time)-3:]
	if !slices.Equal(last, []uint32{1, 0, 1}) {
		t.Errorf("counts are %v, want 1, 0, 1", last)
	}
	d := v.Newest[0]
	if d.Field != "features" || d.Partition != 2 || d.Offset != 41 || d.Topic != "arrivals" || d.Value == "" || d.Binary {
		t.Errorf("the newest is %+v", d)
	}
	for i := range event.Reasons {
		if r := reasonOf(event.Reasons[i].Name); r.Sentence != event.Reasons[i].Sentence || r.Whose == "" {
			t.Errorf("the page explains %+v", r)
		}
	}
	l.take(&kafka.Record{Value: []byte{0xff, 0xfe, 0}, Time: now})
	if d := l.view(now).Newest[0]; !d.Binary || d.Value != "" || d.Reason != otherReason || d.Partition != -1 {
		t.Errorf("what is no text is %+v", d)
	}
	l.take(&kafka.Record{Value: []byte(strings.Repeat("ü", valueShown)), Time: now})
	if d := l.view(now).Newest[0]; d.Binary || len(d.Value) != valueShown || d.Bytes != 2*valueShown {
		t.Errorf("a long text: %d of %d bytes, binary %v", len(d.Value), d.Bytes, d.Binary)
	}
	for detail, want := range map[string]string{"edges: 20001 edges": "edges", "features.named.age: is text": "features",
		"no field": "", "It broke: now": "", "features[3]: x": "features"} {
		if got := fieldOf(detail); got != want {
			t.Errorf("the field of %q is %q, want %q", detail, got, want)
		}
	}
}
