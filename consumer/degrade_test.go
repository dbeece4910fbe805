package consumer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/test/expect"
	"rivulet/test/reference"
)

// partial is a version that cannot read the rows of some ids.
type partial struct {
	*testVersion
	unread map[string]bool
}

func (v partial) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	if err := v.testVersion.Rows(ctx, ids, rows); err != nil {
		return err
	}
	for i, id := range ids {
		if v.unread[id] {
			rows[i] = attach.Row{Unread: true}
		}
	}
	return nil
}

// predict takes one batch down the path of a version.
func predict(t testing.TB, v Version, mode *attach.Mode, arrivals ...event.Arrival) []event.Prediction {
	t.Helper()
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(v), Deliverer: out, Mode: mode,
		Output: Output{Probabilities: true, Logits: true}})
	expect.OK(t, p.Process(t.Context(), Intake{Name: "b", Records: records(t, arrivals...)}))
	return out.predictions()
}

var asPredicted = cmpopts.IgnoreFields(event.Prediction{}, "Degraded", "PredictedTime")

func marked(predictions []event.Prediction) (ids []string) {
	for _, p := range predictions {
		if p.Degraded {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func TestDegradedMarksWhatDependsOnUnreadRows(t *testing.T) {
	arrivals := []event.Arrival{arrival("a", "t0", "t1"), arrival("b", "a"), arrival("c", "b", "t2"), arrival("d", "t2"),
		arrival("e", "x")}
	for _, c := range []struct {
		mode   *attach.Mode
		joint  bool
		unread string
		want   []string
	}{
		{attach.Node, false, "t1", []string{"a"}},
		{attach.Node, false, "t2", []string{"c", "d"}},
		{attach.Node, false, "x", []string{"e"}}, // it would be unknown, but who knows
		{attach.Node, false, "nobody lists it", nil},
		{attach.Node, true, "t1", []string{"a", "b", "c", "d", "e"}},
		{attach.Graph, false, "t1", []string{"a", "b", "c"}}, // connected through ã
		{attach.Graph, false, "x", []string{"e"}},
		{attach.Graph, false, "a", []string{"a", "b", "c"}}, // the edge a–b is there only if a is not in T
	} {
		v := newTestVersion("v1")
		v.info.Joint = c.joint
		got := predict(t, partial{v, map[string]bool{c.unread: true}}, c.mode, arrivals...)
		expect.Same(t, c.want, marked(got), "%s, joint %t, %s unread: marked", c.mode, c.joint, c.unread)
	}
}

// Unmarked predictions have the same bits as with all rows; marked ones are as if the unread ids were not in T.
func TestDegradedIsAnArrivalWithoutTheseNodes(t *testing.T) {
	names := []string{"t0", "t1", "t2", "empty", "x", "a0", "a1", "a2", "a3"}
	rapid.Check(t, func(rt *rapid.T) {
		var arrivals []event.Arrival
		for i := range rapid.IntRange(1, 4).Draw(rt, "arrivals") {
			arrivals = append(arrivals, arrival(fmt.Sprint("a", i),
				rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(rt, "edges")...))
		}
		unread := map[string]bool{}
		for _, id := range rapid.SliceOf(rapid.SampledFrom(names)).Draw(rt, "unread") {
			unread[id] = true
		}
		mode := rapid.SampledFrom([]*attach.Mode{attach.Node, attach.Graph}).Draw(rt, "mode")
		smaller := newTestVersion("v1")
		maps.DeleteFunc(smaller.rows, func(id string, _ attach.Row) bool { return unread[id] })
		whole, without := predict(t, newTestVersion("v1"), mode, arrivals...), predict(t, smaller, mode, arrivals...)
		got := predict(t, partial{newTestVersion("v1"), unread}, mode, arrivals...)
		if diff := cmp.Diff(without, got, asPredicted); diff != "" {
			rt.Fatalf("predictions (-without these nodes of T +degraded):\n%s", diff)
		}
		for i := range got {
			if got[i].Degraded {
				continue
			}
			if diff := cmp.Diff(whole[i], got[i], asPredicted); diff != "" {
				rt.Fatalf("a prediction without the mark (-all rows +degraded):\n%s", diff)
			}
		}
		if len(marked(whole))+len(marked(without)) > 0 {
			rt.Fatal("marked although all rows were read")
		}
	})
}

// Sections 1 and 2 in degraded mode: of T's nodes t0, t1, t2 and empty, the arrival is attached to the nodes whose rows
// are in memory. D_i = 1 + those, the one with the empty row among them, + the degree in ã.
func TestDegradedAgainstTheEquations(t *testing.T) {
	mapping := reference.Matrix{{1, 0, 0}, {0.5, 0, 0.25}, {0, 2, 0}, {0, 0, 0}} // t0, t1, t2, empty
	arrivals := []event.Arrival{arrival("a", "t0", "t1", "empty", "b"), arrival("b", "t2", "t1")}
	inT := []int{3, 2} // of the edges they list
	for _, c := range []struct {
		name   string
		unread map[string]bool
		a      reference.Matrix // the rows that are read
	}{
		{"all are read", nil, reference.Matrix{{1, 1, 0, 1}, {0, 1, 1, 0}}},
		{"t1 is unread", map[string]bool{"t1": true}, reference.Matrix{{1, 0, 0, 1}, {0, 0, 1, 0}}},
		{"the empty row is unread", map[string]bool{"empty": true}, reference.Matrix{{1, 1, 0, 0}, {0, 1, 1, 0}}},
		{"none is read", map[string]bool{"t0": true, "t1": true, "t2": true, "empty": true}, reference.New(2, 4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := predict(t, partial{newTestVersion("v1"), c.unread}, attach.Graph, arrivals...)
			x := reference.New(2, 4)
			for i := range arrivals {
				for k, v := range arrivals[i].Features.Values {
					x[i][k] = float64(v)
				}
			}
			model, tables := testSGC()
			want := model.Frozen(tables, reference.OnS(c.a, mapping, reference.Matrix{{0, 1}, {1, 0}}, x))
			for i, p := range got {
				for k, v := range p.Logits {
					if math.Abs(float64(v)-want[i][k]) > 1e-5 {
						t.Errorf("arrival %s: logits %v, want %v", p.ID, p.Logits, want[i])
						break
					}
				}
				known := 0
				for _, v := range c.a[i] {
					known += int(v)
				}
				if p.Known != known || p.InBatch != 1 || p.Known+p.Unknown != inT[i] {
					t.Errorf("arrival %s: %d known, %d in the batch, %d unknown; %d rows are read", p.ID, p.Known, p.InBatch,
						p.Unknown, known)
				}
			}
			if (len(marked(got)) == 2) != (c.unread != nil) {
				t.Errorf("marked are %q", marked(got))
			}
		})
	}
}

// testSGC is the model of [newTestVersion] in float64, with section 2's tables of its graph.
func testSGC() (reference.SGC, reference.Tables) {
	adj := reference.Matrix{{0, 0.5, 0}, {0.5, 0, 1}, {0, 1, 0}}
	x := reference.Matrix{{1, 0, 0, 1}, {0, 2, 0, 0}, {0, 0, 3, 1}}
	model := reference.SGC{W: reference.Matrix{{1, -1, 0}, {0.5, 2, -1}, {-2, 0, 1}, {0.25, 0.5, 0.75}},
		B: []float64{0.1, 0, -0.1}}
	return model, model.Tables(adj, x)
}
