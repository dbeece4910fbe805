package serving

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/infer"
)

// grows returns an artifact whose arrivals can get rows.
func grows(t *testing.T, version string) *artifact.Bundle {
	t.Helper()
	b := artifacttest.Several(4, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4})
	b.Growth = artifacttest.Growth(4, b)
	return sealed(t, b, version)
}

// withGrowth returns options under which arrivals get rows.
func withGrowth(model string) Options {
	return Options{Model: model, Growth: GrowthOptions{On: true, TTL: time.Hour, MaxRows: 1000, Now: time.Now}}
}

// following returns a watcher that serves CURRENT.
func (s *server) following(t *testing.T, name string, o Options) (*Watcher, *Version) {
	t.Helper()
	w, _ := s.watcher(t, name)
	w.loader.options = o
	if err := w.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w, w.Current()
}

// Two consumers that serve different models give an arrival the same row, and each finds the other's. A version begins
// without rows, and rows of an old one are removed with it.
func TestArrivalsThroughRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := grows(t, "v1")
		s.publish(t, b)
		_, one := s.following(t, "one", withGrowth("sgc"))
		w, other := s.following(t, "other", withGrowth("gcn"))
		batch := attached(b, 4)
		grown := one.Grow(batch)
		if diff := cmp.Diff(grown, other.Grow(batch)); diff != "" {
			t.Errorf("the row of an arrival hangs on the model that is served:\n%s", diff)
		}
		var arrived []infer.Arrived
		for i, id := range []string{"a", "b", "c", "d"} {
			arrived = append(arrived, infer.Arrived{ID: id, Record: uint64(i), Row: grown.Row(i)})
		}
		for k, v := range []*Version{one, other} {
			if err := v.KeepArrivals(t.Context(), arrived[2*k:2*k+2], nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range []*Version{one, other} {
			rows, seen := make([]infer.Row, 5), make([]*infer.Arrived, 1)
			if err := v.FindArrivals(t.Context(), []string{"d", "c", "b", "a", "z"}, rows, []string{"b"}, seen); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]infer.Row{grown.Row(3), grown.Row(2), grown.Row(1), grown.Row(0), {}}, rows); diff != "" || seen[0] == nil || seen[0].Record != 1 {
				t.Errorf("%s finds b as %+v and other rows (-want +got):\n%s", v.Model(), seen[0], diff)
			}
			if stats, ok := v.ArrivalStats(); !ok || stats.Rows != 4 || stats.Written != 2 {
				t.Errorf("stats %+v", stats)
			}
		}

		s.publish(t, grows(t, "v2"))
		if err := tick(t, w); err != nil {
			t.Fatal(err)
		}
		rows := make([]infer.Row, 1)
		if err := w.Current().FindArrivals(t.Context(), []string{"a"}, rows, nil, nil); err != nil || rows[0].Known || w.Current().ID() != "v2" {
			t.Errorf("version %s begins with a row of v1: %+v, %v", w.Current().ID(), rows[0], err)
		}
		s.lapse(t, "v1")
		if err := s.publisher(t).Remove(t.Context(), "v1"); err != nil {
			t.Fatal(err)
		}
		for _, key := range s.keys(t) {
			if strings.Contains(key, ":v1:") {
				t.Errorf("%s is left of v1", key)
			}
		}
	})
}

// A version that cannot give rows is refused if they are wanted, and the error says what helps.
func TestArrivalsRefused(t *testing.T) {
	plain := several(t, "v1")
	if _, _, err := New(plain, nil, withGrowth("")); err == nil || !strings.Contains(err.Error(), "trainer train") {
		t.Errorf("an artifact of before: %v", err)
	}
	o := withGrowth("sgc")
	o.Attachment = artifact.AttachJoint
	if _, _, err := New(grows(t, "v1"), nil, o); err == nil || !strings.Contains(err.Error(), "attachment is joint") {
		t.Errorf("joint attachment: %v", err)
	}
	v, _, err := New(plain, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := v.ArrivalStats(); ok {
		t.Error("a version whose arrivals get no rows counts them")
	}
}
