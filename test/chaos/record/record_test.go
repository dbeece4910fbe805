package record

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"rivulet/event"
	"rivulet/event/json"
	wire "rivulet/event/read"
	"rivulet/event/read/readtest"
	"rivulet/test/chaos/ledger"
	"rivulet/test/expect"
)

// Each form of an arrival is read as the same arrival, by the settings of the streams that use it.
func TestForms(t *testing.T) {
	all, err := Make([]byte(`{"id":"1","features":[0,2.5],"edges":["7","2"]}
{"id":"2","features":{"indices":[1],"values":[3]},"edges":["1"]}`), 60)
	if err != nil || len(all) != 60 {
		t.Fatalf("%d arrivals, %v", len(all), err)
	}
	mapping, err := wire.NewMapping(wire.MappingOptions{Edges: "/" + MappedEdges})
	expect.OK(t, err)
	rng := rand.New(rand.NewPCG(1, 0))
	for _, a := range all {
		for form, forms := range map[Form]wire.Reader{JSON: {}, Mapped: {Mapping: mapping},
			Absent:   {Mapping: mapping, LookUp: true},
			Protobuf: {}} {
			v := a.In([]Form{form}, rng, nil)
			var headers []event.Header
			if v.ContentType != "" {
				headers = []event.Header{{Key: event.HeaderContentType, Value: []byte(v.ContentType)}}
			}
			var got event.Arrival
			if err := readtest.Arrival(&forms, headers, v.Bytes, &got); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if got.ID != a.ID || !slices.Equal(got.Edges, a.Decoded.Edges) || got.Features.Absent != (form == Absent) ||
				form != Absent && !slices.Equal(got.Features.Values, a.Decoded.Features.Values) {
				t.Errorf("%s: %+v, want %+v", form, got, a.Decoded)
			}
		}
	}
	if got := all[1].Stored(2); !slices.Equal(got, []byte{0, 0, 0, 0, 0, 0, 64, 64}) {
		t.Errorf("stored features % x", got)
	}
}

// A registry that is away refuses, and has new schemas under new numbers.
func TestRegistry(t *testing.T) {
	r, err := NewRegistry("../../..")
	expect.OK(t, err)
	defer r.Close()
	first := r.ID(ByAvro)
	if err := r.Renew(); err != nil || r.ID(ByAvro) == first || r.ID(ByProto) == r.ID(ByJSON) {
		t.Errorf("%v: %d and %d", err, first, r.ID(ByAvro))
	}
	status := func() int {
		answer, err := http.Get(r.URL() + fmt.Sprint("/schemas/ids/", r.ID(ByProto)))
		expect.OK(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if got := status(); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	before := r.SetAway(true)
	if got := status(); got != http.StatusServiceUnavailable || r.SetAway(false) != before+1 {
		t.Errorf("status %d while it is away", got)
	}
}

// A poison is set aside for its reason whatever is drawn, by the checks of the consumer that need no model, also where
// records are read through a mapping.
func TestPoisons(t *testing.T) {
	const features = 8
	rng := rand.New(rand.NewPCG(1, 0))
	mapping, err := wire.NewMapping(wire.MappingOptions{Edges: "/" + MappedEdges})
	expect.OK(t, err)
	for i, draw := range Poisons {
		for range 50 {
			p := draw(rng, features)
			var a event.Arrival
			codec, known := event.Codec(json.Codec{}), true
			if p.ContentType != "" {
				codec, known = wire.ForContentType(p.ContentType)
			}
			var headers []event.Header
			if p.ContentType != "" {
				headers = []event.Header{{Key: event.HeaderContentType, Value: []byte(p.ContentType)}}
			}
			var through *event.FieldError
			read := wire.Reader{Mapping: mapping}
			if errors.As(readtest.Arrival(&read, headers, p.Bytes, &a), &through) && p.Bytes != nil && len(p.Bytes) <= MaxBytes-100 &&
				through.Reason != p.Reason {
				t.Fatalf("poison %d, %.80q, through a mapping: %q, want %q", i, p.Bytes, through.Reason, p.Reason)
			}
			reason := ""
			var fault *event.FieldError
			switch {
			case p.Bytes == nil:
				reason = ledger.PassedOver
			case len(p.Bytes) > MaxBytes-100: // with a key, as much as may be
				reason = event.ReasonTooLarge
			case !known:
				reason = event.ReasonContentType
			case errors.As(codec.DecodeArrival(p.Bytes, &a), &fault), errors.As(a.Check(features, MaxEdges), &fault):
				reason = fault.Reason
			case slices.ContainsFunc(a.Features.Values, func(v float32) bool { return math.Abs(float64(v)) > 1e30 }):
				reason = event.ReasonNotFinite // the consumer refuses what would overflow
			}
			if reason != p.Reason {
				t.Fatalf("poison %d, %.80q: %q, want %q", i, p.Bytes, reason, p.Reason)
			}
		}
	}
}
