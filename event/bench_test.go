package event_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"

	"rivulet/event"
	eventavro "rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/test/eventpb"
	"rivulet/test/expect"
)

// generatedCodec reads arrivals by the generated code, for comparison.
type generatedCodec struct{ protobuf.Codec }

func (generatedCodec) DecodeArrival(data []byte, a *event.Arrival) error {
	var g eventpb.Arrival
	if err := proto.Unmarshal(data, &g); err != nil {
		return err
	}
	*a = arrivalOf(&g)
	return nil
}

// benchCodecs are measured side by side.
var benchCodecs = []struct {
	name  string
	codec event.Codec
}{{"json", json.Codec{}}, {"protobuf", protobuf.Codec{}}, {"avro", eventavro.Codec{}}, {"generated", generatedCodec{}}}

func BenchmarkDecodeArrival(b *testing.B) {
	for name, sparse := range map[string]bool{"sparse35": true, "dense500": false} {
		for _, form := range benchCodecs {
			b.Run(name+"/"+form.name, func(b *testing.B) {
				data := eventtest.BenchArrival(form.codec, sparse)
				var a event.Arrival
				b.ReportAllocs()
				for b.Loop() {
					expect.OK(b, form.codec.DecodeArrival(data, &a))
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
				b.ReportMetric(float64(len(data)), "B/arrival")
			})
		}
	}
}

func BenchmarkAppendArrival(b *testing.B) {
	for name, sparse := range map[string]bool{"sparse35": true, "dense500": false} {
		for _, form := range benchCodecs[:3] {
			b.Run(name+"/"+form.name, func(b *testing.B) {
				var a event.Arrival
				expect.OK(b, form.codec.DecodeArrival(eventtest.BenchArrival(form.codec, sparse), &a))
				var out []byte
				var err error
				b.ReportAllocs()
				for b.Loop() {
					if out, err = form.codec.AppendArrival(out[:0], &a); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
			})
		}
	}
}

func BenchmarkAppendPrediction(b *testing.B) {
	full := eventtest.FullPrediction()
	plain := full
	plain.Top, plain.Probabilities, plain.Logits, plain.Representation = nil, nil, nil, nil
	for name, p := range map[string]*event.Prediction{"full": &full, "plain": &plain} {
		for _, form := range benchCodecs[:3] {
			b.Run(name+"/"+form.name, func(b *testing.B) {
				var out []byte
				var err error
				b.ReportAllocs()
				for b.Loop() {
					if out, err = form.codec.AppendPrediction(out[:0], p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "predictions/s")
				b.ReportMetric(float64(len(out)), "B/prediction")
			})
		}
	}
}

func BenchmarkDecodePrediction(b *testing.B) {
	full := eventtest.FullPrediction()
	for _, form := range benchCodecs[:3] {
		b.Run(form.name, func(b *testing.B) {
			data, err := form.codec.AppendPrediction(nil, &full)
			expect.OK(b, err)
			var p event.Prediction
			b.ReportAllocs()
			for b.Loop() {
				expect.OK(b, form.codec.DecodePrediction(data, &p))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "predictions/s")
		})
	}
}

// BenchmarkAvroReaders compares our reader of arrivals with the library's decoder, which has no Go type for the union
// of features and makes maps of them: it takes 4 to 27 times as long. Typed is the best that the library can do, with a
// schema whose features are an array: about twice.
func BenchmarkAvroReaders(b *testing.B) {
	type libraryArrival struct {
		ID        string     `avro:"id"`
		Features  any        `avro:"features"`
		Edges     []string   `avro:"edges"`
		Weights   []float32  `avro:"weights"`
		Incoming  []string   `avro:"incoming"`
		Types     []string   `avro:"types"`
		EdgeCount int64      `avro:"edge_count"`
		Time      *time.Time `avro:"time"`
	}
	type typedArrival struct {
		ID       string     `avro:"id"`
		Features []float32  `avro:"features"`
		Edges    []string   `avro:"edges"`
		Time     *time.Time `avro:"time"`
	}
	own := avro.MustParse(event.ArrivalAvro)
	typed := avro.MustParse(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},
		{"name":"features","type":[{"type":"array","items":"float"}]}, ` +
		`{"name":"edges","type":{"type":"array","items":"string"}},
		{"name":"time","type":["null",{"type":"long","logicalType":"timestamp-micros"}]}]}`)
	dense := eventtest.BenchArrival(eventavro.Codec{}, false)
	records := map[string][]byte{"sparse35": eventtest.BenchArrival(eventavro.Codec{}, true), "dense500": dense}
	for name, sparse := range map[string]bool{"photo, dense": false, "photo, sparse": true} {
		data, err := eventavro.Codec{}.AppendArrival(nil, photoArrival(sparse))
		expect.OK(b, err)
		records[name] = data
	}
	for _, row := range benchRows() {
		for _, form := range row.forms(b) {
			if form.name == "avro-named" {
				records[row.name] = form.record
			}
		}
	}
	var ours event.Arrival
	var library libraryArrival
	var plain typedArrival
	for name, data := range records {
		readers := map[string]func() error{
			"ours":    func() error { return eventavro.Codec{}.DecodeArrival(data, &ours) },
			"library": func() error { _, err := own.Decode(data, &library); return err },
		}
		if strings.HasPrefix(name, "photo, d") || name == "dense500" { // the same records by a schema with a list alone
			var a event.Arrival
			expect.OK(b, (eventavro.Codec{}).DecodeArrival(data, &a))
			data, err := typed.Encode(&typedArrival{ID: a.ID, Features: a.Features.Values, Edges: a.Edges, Time: &a.Time})
			expect.OK(b, err)
			readers["typed"] = func() error { _, err := typed.Decode(data, &plain); return err }
		}
		for reader, read := range readers {
			b.Run(name+"/"+reader, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					expect.OK(b, read())
				}
			})
		}
	}
}

// photoArrival is an arrival of Amazon Photo's shape: 745 words, of which a third are there, and 31 edges.
func photoArrival(sparse bool) *event.Arrival {
	a := &event.Arrival{ID: "item-17", Features: event.Features{Sparse: sparse}}
	for i := range int32(745) {
		switch is := i%3 == 0; {
		case !sparse && is:
			a.Features.Values = append(a.Features.Values, 1)
		case !sparse:
			a.Features.Values = append(a.Features.Values, 0)
		case is:
			a.Features.Indices, a.Features.Values = append(a.Features.Indices, i), append(a.Features.Values, 1)
		}
	}
	for i := range 31 {
		a.Edges = append(a.Edges, fmt.Sprint("item-", 1000+i))
	}
	return a
}

func BenchmarkNormaliseEdges(b *testing.B) {
	for _, n := range []int{8, 20, 32, 33, 64, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			edges := make([]string, n)
			for i := range edges {
				edges[i] = fmt.Sprintf("paper-%d", 1_000_000+i)
			}
			a := event.Arrival{ID: "paper-1"}
			b.ReportAllocs()
			for b.Loop() {
				a.Edges = append(a.Edges[:0], edges...)
				if a.NormaliseEdges() != 0 {
					b.Fatal("dropped a distinct edge")
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "arrivals/s")
		})
	}
}
