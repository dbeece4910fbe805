package page

import (
	"fmt"
	"net/http"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/event"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// withMap is a version with S in the plane.
func withMap(t *testing.T, ids bool) *serving.Version {
	t.Helper()
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	m := &artifact.Map{XY: graph.NewDense(5, 2), Shares: graph.NewDense(5, 2)}
	for i := range 5 {
		copy(m.XY.Row(i), []float32{float32(i) / 5, -float32(i) / 5})
		copy(m.Shares.Row(i), []float32{0.25, 0.75})
		m.Mass = append(m.Mass, float32(i))
		m.Features = append(m.Features, []artifact.Strength{{Feature: 2, Weight: -0.5}})
		if ids {
			m.Heaviest = append(m.Heaviest, []artifact.Heavy{{ID: b.Mapping.IDs[0], Weight: 0.5}})
		}
	}
	b.Map = m
	expect.OK(t, b.Seal())
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
	expect.OK(t, err)
	return v
}

func TestTheMapIsTheArtifacts(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Versions = pinnedVersion{withMap(t, true)} })
	p := get[Plane](b, "/api/map")
	if !p.There || p.Nodes != 5 || len(p.XY) != 10 || len(p.Mass) != 5 || p.Class[3] != 1 || len(p.Classes) != 2 {
		t.Errorf("the map is %+v", p)
	}
	n := get[Node](b, "/api/map/node?node=4")
	if n.Mass != 4 || n.Shares[0].Class != 1 || n.Shares[0].Share != 0.75 ||
		n.Heaviest[0] != (Weight{ID: b.ids[0], Weight: 0.5}) || n.Features[0] != (Weight{Name: "2", Weight: -0.5}) {
		t.Errorf("node 4 is %+v", n)
	}
	for _, query := range []string{"?node=5", "?node=-1", "?node=x", ""} {
		if w := b.ask(http.MethodGet, "/api/map/node"+query, ""); w.Code != http.StatusNotFound {
			t.Errorf("%q: status %d", query, w.Code)
		}
	}
	without := newBench(t, func(o *Options) { o.Versions = pinnedVersion{withMap(t, false)} })
	if n := get[Node](without, "/api/map/node?node=0"); n.Heaviest != nil {
		t.Errorf("a map without ids names %+v", n.Heaviest)
	}
	none := newBench(t, nil)
	if p := get[Plane](none, "/api/map"); p.There || p.Version == "" {
		t.Errorf("without a map: %+v", p)
	}
}

func TestArrivalsLightUpWhereTheyAttach(t *testing.T) {
	v := withMap(t, false)
	b := newBench(t, func(o *Options) { o.Versions = pinnedVersion{v} })
	b.start()
	rows := make([]attach.Row, 1)
	expect.OK(t, v.Rows(t.Context(), b.ids[:1], rows))
	x, y, ok := middle(rows, v.Map().XY.Data)
	if !ok {
		t.Fatalf("%s has no row", b.ids[0])
	}
	get[LitArrivals](b, "/api/map/arrivals") // somebody looks
	b.send("arrivals", kafka.Record{Key: []byte("n"), Value: fmt.Appendf(nil, `{"id":"n","features":[1,2,3],"edges":[%q]}`,
		b.ids[0])},
		kafka.Record{Value: []byte(`{"id":"far","features":[1,2,3],"edges":["nobody"]}`)},
		kafka.Record{Value: []byte("no arrival")})
	for p := range 2 {
		b.predict(prediction("n", 1, v.ID(), event.Source{Topic: "arrivals", Partition: p}))
	}
	var lit []Lit
	b.await("the arrival lights up", func() bool {
		lit = get[LitArrivals](b, "/api/map/arrivals").Lit
		return len(lit) > 0
	})
	if len(lit) != 1 || lit[0].X != x || lit[0].Y != y {
		t.Errorf("lit are %+v, want one at %g, %g", lit, x, y)
	}
	if again := get[LitArrivals](b, fmt.Sprint("/api/map/arrivals?after=", lit[0].Seq)); len(again.Lit) != 0 {
		t.Errorf("it lights up again: %+v", again.Lit)
	}
}
