package event_test

import (
	"fmt"
	"testing"

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
