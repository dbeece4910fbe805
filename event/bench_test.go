package event

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/avro"
	"google.golang.org/protobuf/proto"

	"rivulet/test/eventpb"
)

// benchArrival returns a typical record of a stream: a bag of 35 words with weights, or 500 dense values, and 20 edges.
func benchArrival(codec Codec, sparse bool) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	a := Arrival{ID: "paper-1234567", Time: fullPrediction().IngestTime}
	if a.Features.Sparse = sparse; sparse {
		var index int32
		for range 35 {
			index += 1 + r.Int32N(70)
			a.Features.Indices = append(a.Features.Indices, index)
			a.Features.Values = append(a.Features.Values, r.Float32())
		}
	} else {
		for range 500 {
			a.Features.Values = append(a.Features.Values, float32(r.NormFloat64()))
		}
	}
	for range 20 {
		a.Edges = append(a.Edges, fmt.Sprintf("paper-%d", r.IntN(3_000_000)))
	}
	data, err := codec.AppendArrival(nil, &a)
	if err != nil {
		panic(err)
	}
	return data
}

// generatedCodec reads arrivals by the generated code, for comparison.
type generatedCodec struct{ Protobuf }

func (generatedCodec) DecodeArrival(data []byte, a *Arrival) error {
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
	codec Codec
}{{"json", JSON{}}, {"protobuf", Protobuf{}}, {"avro", Avro{}}, {"generated", generatedCodec{}}}

func BenchmarkDecodeArrival(b *testing.B) {
	for name, sparse := range map[string]bool{"sparse35": true, "dense500": false} {
		for _, form := range benchCodecs {
			b.Run(name+"/"+form.name, func(b *testing.B) {
				data := benchArrival(form.codec, sparse)
				var a Arrival
				b.ReportAllocs()
				for b.Loop() {
					if err := form.codec.DecodeArrival(data, &a); err != nil {
						b.Fatal(err)
					}
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
				var a Arrival
				if err := form.codec.DecodeArrival(benchArrival(form.codec, sparse), &a); err != nil {
					b.Fatal(err)
				}
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
	full := fullPrediction()
	plain := full
	plain.Top, plain.Probabilities, plain.Logits, plain.Representation = nil, nil, nil, nil
	for name, p := range map[string]*Prediction{"full": &full, "plain": &plain} {
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
	full := fullPrediction()
	for _, form := range benchCodecs[:3] {
		b.Run(form.name, func(b *testing.B) {
			data, err := form.codec.AppendPrediction(nil, &full)
			if err != nil {
				b.Fatal(err)
			}
			var p Prediction
			b.ReportAllocs()
			for b.Loop() {
				if err := form.codec.DecodePrediction(data, &p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "predictions/s")
		})
	}
}

// BenchmarkAvroReaders compares our reader of arrivals with the library's decoder, which has no Go type for the union
// of features and makes maps of them: it takes 5 to 27 times as long. Typed is the best that the library can do, with a
// schema whose features are an array: 1.8 times.
func BenchmarkAvroReaders(b *testing.B) {
	type libraryArrival struct {
		ID       string     `avro:"id"`
		Features any        `avro:"features"`
		Edges    []string   `avro:"edges"`
		Time     *time.Time `avro:"time"`
	}
	type typedArrival struct {
		ID       string     `avro:"id"`
		Features []float32  `avro:"features"`
		Edges    []string   `avro:"edges"`
		Time     *time.Time `avro:"time"`
	}
	own := avro.MustParse(ArrivalAvro)
	typed := avro.MustParse(`{"type":"record","name":"A","fields":[{"name":"id","type":"string"},
		{"name":"features","type":[{"type":"array","items":"float"}]}, {"name":"edges","type":{"type":"array","items":"string"}},
		{"name":"time","type":["null",{"type":"long","logicalType":"timestamp-micros"}]}]}`)
	records := map[string][]byte{"sparse35": benchArrival(Avro{}, true), "dense500": benchArrival(Avro{}, false)}
	for _, row := range benchRows() {
		for _, form := range row.forms(b) {
			if form.name == "avro-named" {
				records[row.name] = form.record
			}
		}
	}
	var ours Arrival
	var library libraryArrival
	var plain typedArrival
	for name, data := range records {
		readers := map[string]func() error{
			"ours":    func() error { return Avro{}.DecodeArrival(data, &ours) },
			"library": func() error { _, err := own.Decode(data, &library); return err },
		}
		if name == "dense500" {
			readers["typed"] = func() error { _, err := typed.Decode(data, &plain); return err }
		}
		for reader, read := range readers {
			b.Run(name+"/"+reader, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNormaliseEdges(b *testing.B) {
	for _, n := range []int{8, 20, 32, 33, 64, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			edges := make([]string, n)
			for i := range edges {
				edges[i] = fmt.Sprintf("paper-%d", 1_000_000+i)
			}
			a := Arrival{ID: "paper-1"}
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
