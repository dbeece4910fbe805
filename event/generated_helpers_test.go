package event_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rivulet/event"
	"rivulet/schema"
	"rivulet/test/eventpb"
)

// The generated types are an oracle for the codec: each reads the other's records.

func generatedArrival(a *event.Arrival) *eventpb.Arrival {
	g := &eventpb.Arrival{Id: a.ID, Edges: a.Edges, Time: generatedTime(a.Time)}
	if a.Features.Named != nil {
		g.Features = &eventpb.Arrival_Named{Named: generatedNamed(a.Features.Named)}
		return g
	}
	if !a.Features.Sparse {
		g.Features = &eventpb.Arrival_Dense{Dense: &eventpb.DenseFeatures{Values: a.Features.Values}}
		return g
	}
	s := &eventpb.SparseFeatures{Values: a.Features.Values}
	for _, i := range a.Features.Indices {
		s.Indices = append(s.Indices, uint32(i))
	}
	g.Features = &eventpb.Arrival_Sparse{Sparse: s}
	return g
}

// arrivalOf returns the arrival that the codec makes of a message, in the order of the message's indices; a message
// without features becomes a dense row.
func arrivalOf(g *eventpb.Arrival) event.Arrival {
	a := event.Arrival{ID: g.GetId(), Edges: g.GetEdges(), Weights: g.GetWeights(), Incoming: g.GetIncoming(),
		Features: event.Features{Values: g.GetDense().GetValues()}}
	if g.GetTime() != nil {
		a.Time = g.GetTime().AsTime()
	}
	if n := g.GetNamed(); n != nil {
		a.Features = event.Features{Named: namedOf(n)}
	}
	if s := g.GetSparse(); s != nil {
		a.Features = event.Features{Sparse: true, Values: s.GetValues()}
		for _, i := range s.GetIndices() {
			a.Features.Indices = append(a.Features.Indices, int32(i))
			if len(s.GetValues()) == 0 {
				a.Features.Values = append(a.Features.Values, 1)
			}
		}
	}
	return a
}

func generatedPrediction(p *event.Prediction) *eventpb.Prediction {
	g := &eventpb.Prediction{
		Id: p.ID, Class: uint32(p.Class), ClassName: p.ClassName, Probability: p.Probability, Abstained: p.Abstained,
		Degraded:      p.Degraded,
		Probabilities: p.Probabilities, Logits: p.Logits, Artifact: p.Artifact, Batch: p.Batch,
		KnownNeighbours: uint32(p.Known), BatchNeighbours: uint32(p.InBatch), ArrivalNeighbours: uint32(p.Arrivals),
		UnknownNeighbours: uint32(p.Unknown),
		Source: &eventpb.Source{Topic: p.Source.Topic, Partition: int32(p.Source.Partition),
			Offset: p.Source.Offset},
		ArrivalTime: generatedTime(p.ArrivalTime), IngestTime: generatedTime(p.IngestTime),
		PredictedTime: generatedTime(p.PredictedTime),
	}
	for _, s := range p.Top {
		g.Top = append(g.Top, &eventpb.Score{Class: uint32(s.Class), Name: s.Name, Probability: s.Probability})
	}
	if len(p.Representation) > 0 {
		kind := map[string]eventpb.Representation_Kind{event.RepresentationLogits: eventpb.Representation_KIND_LOGITS,
			event.RepresentationEmbedding: eventpb.Representation_KIND_EMBEDDING}[p.RepresentationKind]
		g.Representation = &eventpb.Representation{Kind: kind, Values: p.Representation}
	}
	for _, n := range p.Numbers {
		g.Numbers = append(g.Numbers, &eventpb.Number{Name: n.Name, Value: n.Value, Lower: n.Lower, Upper: n.Upper})
	}
	for _, l := range p.Labels {
		g.Labels = append(g.Labels, &eventpb.Score{Class: uint32(l.Class), Name: l.Name, Probability: l.Probability})
	}
	for _, l := range p.Links {
		g.Links = append(g.Links, &eventpb.Link{Id: l.ID, Score: l.Score})
	}
	if e := p.Explanation; e != nil {
		g.Explanation = &eventpb.Explanation{}
		if e.RunnerUp >= 0 {
			g.Explanation.RunnerUp = proto.Uint32(uint32(e.RunnerUp))
		}
		for _, r := range e.Reasons {
			g.Explanation.Reasons = append(g.Explanation.Reasons,
				&eventpb.Reason{Kind: eventpb.Reason_Kind(eventpb.Reason_Kind_value["KIND_"+strings.ToUpper(r.Kind)]),
					Name: r.Name, Id: r.ID, Share: r.Share, Margin: r.Margin})
		}
	}
	return g
}

func generatedTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Numbers of the .proto files, as the tests know them.
const (
	featuresDense                                                                   = 1 // values of DenseFeatures
	featuresIndices                                                                 = 1 // of SparseFeatures
	featuresValues                                                                  = 2
	arrivalID, arrivalDense, arrivalSparse, arrivalEdges, arrivalTime, arrivalNamed = 1, 2, 3, 4, 5, 6
	labelID, labelClassNumber, labelClassNameNumber, labelTime                      = 1, 2, 3, 4

	predictionID, predictionClass, predictionClassName, predictionProbability             = 1, 2, 3, 4
	predictionTop, predictionProbabilities, predictionLogits                              = 6, 7, 8
	predictionRepresentation, predictionKnown, predictionSource                           = 9, 12, 15
	predictionIngestTime, predictionExplanation                                           = 17, 21
	scoreClass, scoreProbability, sourceTopic, sourcePartition                            = 1, 3, 1, 2
	representationKind, representationValues, explanationReasons, reasonKind, reasonShare = 1, 2, 2, 1, 4
)

// Records by hand: fields one after the other.

func record(fields ...[]byte) (all []byte) {
	for _, field := range fields {
		all = append(all, field...)
	}
	return all
}

func textField(num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), s)
}

func messageField(num protowire.Number, fields ...[]byte) []byte {
	return textField(num, string(record(fields...)))
}

func intField(num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), uint64(v))
}

func unpackedFloat(num protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), math.Float32bits(v))
}

func packedFloats(num protowire.Number, values ...float32) []byte {
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendFixed32(packed, math.Float32bits(v))
	}
	return textField(num, string(packed))
}

func packedInts(num protowire.Number, values ...uint64) []byte {
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendVarint(packed, v)
	}
	return textField(num, string(packed))
}

// later returns fields that no version of ours has, one of each wire type.
func later() []byte {
	group := protowire.AppendTag(nil, 103, protowire.StartGroupType)
	group = append(group, textField(1, "\xff is no text here")...)
	return record(intField(100, -1), textField(101, "later"),
		protowire.AppendFixed64(protowire.AppendTag(nil, 102, protowire.Fixed64Type), 7),
		protowire.AppendTag(group, 103, protowire.EndGroupType), unpackedFloat(104, 1))
}

func generatedNamed(fields []schema.Field) *eventpb.NamedFeatures {
	out := &eventpb.NamedFeatures{Values: map[string]*eventpb.FeatureValue{}}
	for _, f := range fields {
		v := &eventpb.FeatureValue{}
		switch f.Value.Type {
		case schema.Number:
			v.Value = &eventpb.FeatureValue_Number{Number: f.Value.Number}
		case schema.Bool:
			v.Value = &eventpb.FeatureValue_Bool{Bool: f.Value.Number != 0}
		case schema.Text:
			v.Value = &eventpb.FeatureValue_Text{Text: f.Value.Text}
		case schema.Vector:
			v.Value = &eventpb.FeatureValue_Vector{Vector: &eventpb.FeatureVector{Values: f.Value.Vector}}
		case schema.Time:
			v.Value = &eventpb.FeatureValue_Time{Time: generatedTime(f.Value.Time)}
		}
		out.Values[f.Name] = v
	}
	return out
}

// namedOf returns the fields of a message by name.
func namedOf(g *eventpb.NamedFeatures) []schema.Field {
	out := []schema.Field{}
	for _, name := range slices.Sorted(maps.Keys(g.GetValues())) {
		f := schema.Field{Name: name}
		switch v := g.GetValues()[name].GetValue().(type) {
		case *eventpb.FeatureValue_Number:
			f.Value = schema.Value{Type: schema.Number, Number: v.Number}
		case *eventpb.FeatureValue_Bool:
			f.Value = schema.Value{Type: schema.Bool}
			if v.Bool {
				f.Value.Number = 1
			}
		case *eventpb.FeatureValue_Text:
			f.Value = schema.Value{Type: schema.Text, Text: v.Text}
		case *eventpb.FeatureValue_Vector:
			f.Value = schema.Value{Type: schema.Vector, Vector: v.Vector.GetValues()}
		case *eventpb.FeatureValue_Time:
			f.Value = schema.Value{Type: schema.Time, Time: v.Time.AsTime()}
		}
		out = append(out, f)
	}
	return out
}
