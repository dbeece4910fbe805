package event_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/schema"
	"rivulet/test/expect"
)

// What holds for records of all forms.

var codecs = []event.Codec{json.Codec{}, protobuf.Codec{}, avro.Codec{}}

// requireRefused fails unless an encoder's error says why, and it returned what was there before.
func requireRefused(t *testing.T, form string, got []byte, err error, why string) {
	t.Helper()
	expect.Error(t, err, why, "%s", form)
	if string(got) != "before" {
		t.Errorf("%s: an error leaves %q, want what was there before", form, got)
	}
}

func TestArrivalsThatAreNotWritten(t *testing.T) {
	nan, good := float32(math.NaN()), event.Features{Values: []float32{1}}
	for why, a := range map[string]event.Arrival{
		`id: is `:                         {Features: good, Edges: []string{""}}, // the first fault counts
		`id: "a\xff" is not UTF-8`:        {ID: "a\xff"},
		`edges[1]: is `:                   {ID: "x", Edges: []string{"a", ""}},
		`edges[1]: "\xff" is not UTF-8`:   {ID: "x", Edges: []string{"a", "\xff"}},
		`features[1]: NaN`:                {ID: "x", Features: event.Features{Values: []float32{1, nan}}},
		`time: 10000-01-01`:               {ID: "x", Features: good, Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		`is outside the years 1…9999`:     {ID: "x", Features: good, Time: time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)},
		`features.values: 0 values for 1`: {ID: "x", Features: event.Features{Indices: []int32{1}, Sparse: true}},
		`features.named.a: `: {ID: "x",
			Features: event.Features{Named: []schema.Field{{Name: "a"}, {Name: "a"}}}},
		`features.indices[0]: -1 is outside`: {ID: "x", Features: event.Features{Sparse: true, Indices: []int32{-1},
			Values: []float32{1}}},
		`features.indices[1]: 1 after 1, indices must ascend`: {ID: "x", Features: event.Features{Indices: []int32{1, 1},
			Values: []float32{1, 1}, Sparse: true}},
	} {
		for _, codec := range codecs {
			got, err := codec.AppendArrival([]byte("before"), &a)
			requireRefused(t, codec.ContentType(), got, err, why)
		}
	}
}

func TestPredictionsThatAreNotWritten(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for why, change := range map[string]func(*event.Prediction){
		`id: is `:                                   func(p *event.Prediction) { p.ID = "" },
		`encoding prediction of "a\xff": `:          func(p *event.Prediction) { p.ID = "a\xff" },
		`class: -1 is outside 0…`:                   func(p *event.Prediction) { p.Class = -1 },
		`class: 4294967296 is outside`:              func(p *event.Prediction) { p.Class = 1 << 32 },
		`class_name: "\xff" is not UTF-8`:           func(p *event.Prediction) { p.ClassName = "\xff" },
		`probability: NaN, want a finite number`:    func(p *event.Prediction) { p.Probability = nan },
		`logits[1]: +Inf, want a finite number`:     func(p *event.Prediction) { p.Logits[1] = inf },
		`probabilities[2]: NaN`:                     func(p *event.Prediction) { p.Probabilities[2] = nan },
		`top[0].probability: NaN`:                   func(p *event.Prediction) { p.Top[0].Probability = nan },
		`top[1].class: -2 is`:                       func(p *event.Prediction) { p.Top[1].Class = -2 },
		`top[1].name: "\xff" is`:                    func(p *event.Prediction) { p.Top[1].Name = "\xff" },
		`representation.values[1]: NaN`:             func(p *event.Prediction) { p.Representation[1] = nan },
		`representation.kind: "", want "logits" or`: func(p *event.Prediction) { p.RepresentationKind = "" },
		`explanation.reasons[1].kind: "x", want "feature"`: func(p *event.Prediction) {
			p.Explanation.Reasons[1].Kind = "x"
		},
		`explanation.reasons[0].share: NaN`:  func(p *event.Prediction) { p.Explanation.Reasons[0].Share = nan },
		`explanation.reasons[0].margin: NaN`: func(p *event.Prediction) { p.Explanation.Reasons[0].Margin = nan },
		`known_neighbours: -1`:               func(p *event.Prediction) { p.Known = -1 },
		`source.topic: "\xff" is`:            func(p *event.Prediction) { p.Source.Topic = "\xff" },
		`predicted_time: 11026-03-01`: func(p *event.Prediction) {
			p.PredictedTime = p.PredictedTime.AddDate(9000, 0, 0)
		},
		`arrival_time: 0000-03-01`: func(p *event.Prediction) {
			p.ArrivalTime = p.ArrivalTime.AddDate(-2026, 0, 0)
		},
	} {
		for _, codec := range codecs {
			p := eventtest.FullPrediction()
			change(&p)
			got, err := codec.AppendPrediction([]byte("before"), &p)
			requireRefused(t, codec.ContentType(), got, err, why)
		}
	}
	for _, codec := range codecs[1:] { // JSON has no largest integer
		p := eventtest.FullPrediction()
		p.Source.Partition = 1 << 31
		got, err := codec.AppendPrediction([]byte("before"), &p)
		requireRefused(t, codec.ContentType(), got, err, `source.partition: 2147483648 is`)
	}
}

// Ids of earlier records must survive that their Arrival and their bytes are used again.
func TestIDsOfEarlierRecordsAreKept(t *testing.T) {
	for _, codec := range codecs {
		record := func(id string, edges ...string) []byte {
			data, err := codec.AppendArrival(nil, &event.Arrival{ID: id, Features: event.Features{Values: []float32{1}},
				Edges: edges})
			expect.OK(t, err)
			return data
		}
		var a event.Arrival
		first := record("first", "e1", "e2")
		expect.OK(t, codec.DecodeArrival(first, &a))
		id, edges := a.ID, slices.Clone(a.Edges)
		copy(first, strings.Repeat("#", len(first)))
		expect.OK(t, codec.DecodeArrival(record("other", "zz", "yy"), &a))
		if id != "first" || !slices.Equal(edges, []string{"e1", "e2"}) {
			t.Errorf("%s: ids of the first record became %q, %q", codec.ContentType(), id, edges)
		}
	}
}

// The allocations of a record once the memory has grown: the id, the text of the edges, and nothing per feature or
// edge. Writing into memory allocates nothing. Avro's library makes a Go value
// of each field and of a union's branch.
func TestArrivalAllocations(t *testing.T) {
	for _, codec := range codecs {
		data := eventtest.BenchArrival(codec, true)
		var a event.Arrival
		decoding := testing.AllocsPerRun(100, func() {
			expect.OK(t, codec.DecodeArrival(data, &a))
		})
		out := make([]byte, 0, 2*len(data))
		encoding := testing.AllocsPerRun(100, func() {
			if _, err := codec.AppendArrival(out, &a); err != nil {
				t.Fatal(err)
			}
		})
		most := 4.
		if codec == (avro.Codec{}) {
			most = 24
		}
		if (decoding > most || encoding > 0) && !raceEnabled { // under the race detector sync.Pool drops items on purpose
			t.Errorf("%s: %v and %v allocations a record of %d edges, want at most %v and 0", codec.ContentType(), decoding,
				encoding, len(a.Edges), most)
		}
	}
}

// One codec serves all goroutines; the race detector watches the pooled memory.
func TestCodecsConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for _, codec := range codecs {
		sent := event.Arrival{ID: "x", Features: event.Features{Indices: []int32{1, 3}, Values: []float32{1, 2},
			Sparse: true},
			Edges: []string{"a", "b"}, Time: time.Unix(1, 0)}
		record, err := codec.AppendArrival(nil, &sent)
		expect.OK(t, err)
		for range 8 {
			wg.Go(func() {
				a, p, full := eventtest.UsedArrival(), eventtest.FullPrediction(), eventtest.FullPrediction()
				for i := range 200 {
					data := record
					if i%3 == 0 {
						data = data[:len(data)-1] // an error must not spoil the memory for the next
					}
					err := codec.DecodeArrival(data, &a)
					if (err != nil) != (i%3 == 0) || err == nil && (a.ID != "x" || a.Edges[1] != "b" || a.Features.Indices[0] != 1) {
						t.Errorf("decoding gave %+v, %v", a, err)
					}
					out, err := codec.AppendPrediction(nil, &full)
					if err == nil {
						err = codec.DecodePrediction(out, &p)
					}
					if err != nil || p.Logits[0] != -1 || p.Top[0].Name != "Theory" {
						t.Errorf("the prediction became %+v, %v", p, err)
					}
				}
			})
		}
	}
	wg.Wait()
}

// fuzzArrival decodes any bytes, which gives an arrival or a *event.FieldError. A decoded arrival can be encoded and
// reads back the same, in the memory of another, too; the bytes are not written to; memory is bounded by the record's
// size. more checks a decoded arrival.
func fuzzArrival(t *testing.T, codec event.Codec, record []byte, more func(a *event.Arrival)) {
	original := bytes.Clone(record)
	var a event.Arrival
	err := codec.DecodeArrival(record, &a)
	if !bytes.Equal(original, record) {
		t.Fatalf("decoding changed the record to %q", record)
	}
	requireBounded(t, len(record), cap(a.Features.Indices)*4+cap(a.Features.Values)*4+cap(a.Edges)*int(unsafe.Sizeof("")))
	if err != nil {
		requireFieldError(t, err)
		return
	}
	requireIDs(t, append([]string{a.ID}, a.Edges...))
	if err := a.Check(eventtest.MaxFeatures(&a), 0); err != nil {
		t.Fatalf("decoded, but %v", err)
	}
	requirePredictable(t, &a)
	more(&a)
	written, err := codec.AppendArrival(nil, &a)
	expect.OK(t, err)
	again := eventtest.UsedArrival()
	if err := codec.DecodeArrival(written, &again); err != nil {
		t.Fatalf("%q: %v", written, err)
	}
	eventtest.RequireSameArrival(t, &a, &again)
	rewritten, err := codec.AppendArrival(nil, &again)
	if err != nil || !bytes.Equal(written, rewritten) {
		t.Fatalf("written as %q and then as %q (%v)", written, rewritten, err)
	}
}

// fuzzPrediction does the same for predictions; more sees the decoded one as it is written.
func fuzzPrediction(t *testing.T, codec event.Codec, record []byte, more func(written []byte)) {
	original := bytes.Clone(record)
	var p event.Prediction
	err := codec.DecodePrediction(record, &p)
	if !bytes.Equal(original, record) {
		t.Fatalf("decoding changed the record to %q", record)
	}
	requireBounded(t, len(record), cap(p.Probabilities)*4+cap(p.Logits)*4+cap(p.Representation)*4+
		cap(p.Top)*int(unsafe.Sizeof(event.Score{})))
	if err != nil {
		requireFieldError(t, err)
		return
	}
	requireIDs(t, []string{p.ID})
	written, err := codec.AppendPrediction(nil, &p)
	expect.OK(t, err)
	more(written)
	again := eventtest.FullPrediction()
	again.Key = nil
	if err := codec.DecodePrediction(written, &again); err != nil {
		t.Fatalf("%q: %v", written, err)
	}
	if diff := cmp.Diff(p, again, eventtest.SameBits); diff != "" {
		t.Fatalf("%q: %s", written, diff)
	}
}
