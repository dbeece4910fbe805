package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/consumer/limits"
	"rivulet/event"
	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/kafka"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// noting is a consumer of a version, as one of several that share rows and notes.
type noting struct {
	t       *testing.T
	version *growingVersion
	out     *kept
	path    *Pipeline
}

func newNoting(t *testing.T, store map[string]growth.ArrivalRow, notes *notebook) *noting {
	t.Helper()
	n := &noting{t: t, version: newGrowingVersion(store), out: &kept{}}
	n.version.notes = notes
	n.path = pipeline(t, PipelineOptions{Versions: serve(n.version), Deliverer: n.out, Mode: Node, Arrivals: true,
		Notes: true})
	return n
}

// process takes records of one partition down the path, and commits what comes after the last of them.
func (n *noting) process(records ...kafka.Record) ([]event.Prediction, error) {
	last := records[len(records)-1].Position
	err := n.path.Process(n.t.Context(), Intake{Name: "b", Records: records, Generation: nobody,
		Offsets: kafka.Offsets{{Topic: last.Topic, Partition: last.Partition}: last.Offset + 1}})
	if len(n.out.batches) == 0 {
		return nil, err
	}
	return n.out.batches[len(n.out.batches)-1].Predictions, err
}

func (n *noting) must(records ...kafka.Record) []event.Prediction {
	n.t.Helper()
	predictions, err := n.process(records...)
	if err != nil {
		n.t.Fatal(err)
	}
	return predictions
}

// in puts records into a partition, from an offset on.
func in(partition int, offset int64, records ...kafka.Record) []kafka.Record {
	for i := range records {
		records[i].Position.Partition, records[i].Position.Offset = partition, offset+int64(i)
	}
	return records
}

// Whoever repeats a record that was published and not committed gives the same bits, whatever has come and gone in
// between: neighbours with rows, rows that expired; and whatever became of the arrival's own row.
func TestRepeatsHaveTheSameBits(t *testing.T) {
	died := errors.New("killed")
	for name, c := range map[string]struct {
		rows, commit error  // what the first consumer does not survive
		id           string // of the arrival
		before       []event.Arrival
		between      []event.Arrival
		expire       string // an id whose row is gone before the repeat
	}{
		"killed between publication and rows": {rows: died, id: "x", between: []event.Arrival{arrival("y", "t1")}},
		"killed between rows and commit":      {commit: died, id: "x", between: []event.Arrival{arrival("y", "t1")}},
		"the second record of an id": {commit: died, id: "x", before: []event.Arrival{arrival("x", "t0")},
			between: []event.Arrival{arrival("y", "t1")}},
		"an id of T": {commit: died, id: "t2", between: []event.Arrival{arrival("y", "t1")}},
		"a neighbour that expires": {rows: died, id: "x", before: []event.Arrival{arrival("y", "t1")},
			expire: "y"},
		"a neighbour that comes anew": {rows: died, id: "x", before: []event.Arrival{arrival("y", "t1")}, expire: "y",
			between: []event.Arrival{arrival("y", "t2")}},
	} {
		t.Run(name, func(t *testing.T) {
			store, notes := map[string]growth.ArrivalRow{}, newNotebook()
			first, other, next := newNoting(t, store, notes), newNoting(t, store, notes), newNoting(t, store, notes)
			for i, a := range c.before {
				other.must(in(1, int64(i), records(t, a)...)...)
			}
			x := in(0, 7, records(t, arrival(c.id, "t0", "y", "z"))...)
			first.version.full, first.out.refused = c.rows, c.commit
			published, err := first.process(x...)
			if !errors.Is(err, died) || len(published) != 1 {
				t.Fatalf("%d predictions, %v", len(published), err)
			}
			delete(store, c.expire)
			for i, a := range c.between {
				other.must(in(1, int64(10+i), records(t, a)...)...)
			}
			if notes.size() != 1 {
				t.Errorf("%d notes while the record is in flight, want 1", notes.size())
			}
			again := next.must(x...)
			if diff := cmp.Diff(published, again, sameAgain); diff != "" {
				t.Errorf("predicted again (-first +again):\n%s", diff)
			}
			if notes.size() != 0 {
				t.Errorf("%d notes after the commit", notes.size())
			}
			if later := next.must(in(0, 8, records(t, arrival("w", "t0", "y", "z"))...)...)[0]; len(c.between) > 0 &&
				later.Arrivals != 1 {
				t.Errorf("a later record is attached to %d arrivals, want 1", later.Arrivals)
			}
		})
	}
}

// A fenced consumer and its successor predict the same: the second one to predict a record takes the first one's note.
func TestWhoLosesTheRaceTakesTheNote(t *testing.T) {
	store, notes := map[string]growth.ArrivalRow{}, newNotebook()
	slow, other, quick := newNoting(t, store, notes), newNoting(t, store, notes), newNoting(t, store, notes)
	x := in(0, 0, records(t, arrival("x", "t0", "y"))...)
	slow.version.notes = &notebook{closed: errors.New("connection refused")}
	if _, err := slow.process(x...); !errors.Is(err, ErrNotes) || len(slow.out.batches) > 0 {
		t.Fatalf("without a note %d batches were published: %v", len(slow.out.batches), err)
	}
	slow.version.notes = notes
	quick.out.refused = errors.New("killed")
	was, _ := quick.process(x...)
	other.must(in(1, 0, records(t, arrival("y", "t1"))...)...)
	if diff := cmp.Diff(was, slow.must(x...), sameAgain); diff != "" || was[0].Arrivals != 0 {
		t.Errorf("who comes second (-first +second):\n%s", diff)
	}
}

// over is a generation that the group has left behind.
type over struct{ named }

func (over) Current(context.Context) error { return retry.ErrGeneration }

// A member whose partitions others have taken over publishes nothing whose note they may have removed; where the
// coordinator knows of no later generation, its note counts.
func TestAnOvertakenMemberPublishesNothing(t *testing.T) {
	n := newNoting(t, map[string]growth.ArrivalRow{}, newNotebook())
	n.version.notes.newer = true
	x := Intake{Name: "b", Records: in(0, 0, records(t, arrival("x", "t0", "y"))...), Generation: over{nobody}}
	if err := n.path.Process(t.Context(), x); !errors.Is(err, retry.ErrGeneration) || len(n.out.batches) > 0 {
		t.Errorf("%d batches were published: %v", len(n.out.batches), err)
	}
	x.Generation = nobody
	if err := n.path.Process(t.Context(), x); err != nil || len(n.out.batches) != 1 || n.version.notes.taken != 1 {
		t.Errorf("%d batches were published, %d notes written: %v", len(n.out.batches), n.version.notes.taken, err)
	}
}

// Noted are arrivals that have a neighbour outside of T, in node batches; another record at an offset is no repeat.
func TestWhatIsNoted(t *testing.T) {
	notes := newNotebook()
	n := newNoting(t, map[string]growth.ArrivalRow{}, notes)
	n.version.rows["gone"] = attach.Row{Unread: true}
	all := records(t, arrival("a", "t0", "empty"), arrival("b"), arrival("c", "t0", "who"), arrival("d", "gone", "who"))
	n.out.refused = errors.New("killed")
	_, _ = n.process(all...)
	if of := notes.notes["g:arrivals:0"]; len(of) != 1 || of[2].Record == 0 || len(of[2].Attached) != 0 {
		t.Errorf("notes %+v, want one of c, at offset 2", notes.notes)
	}
	newNoting(t, n.version.store, notes).must(in(1, 0, records(t, arrival("who", "t1"))...)...)
	made := in(0, 2, records(t, arrival("e", "t0", "who"))...) // the topic was made anew
	if p, _ := n.process(made...); p[0].Arrivals != 1 {
		t.Errorf("another record at the offset of a note is attached to %d arrivals, want 1", p[0].Arrivals)
	}
	taken := notes.taken
	for what, p := range map[string]*Pipeline{
		"a graph batch": pipeline(t, PipelineOptions{Versions: serve(n.version), Deliverer: &kept{}, Mode: Graph,
			Arrivals: true, Notes: true}),
		"exactly once": pipeline(t, PipelineOptions{Versions: serve(n.version), Deliverer: &kept{}, Mode: Node,
			Arrivals: true}),
	} {
		if err := p.Process(t.Context(), Intake{Records: all, Generation: nobody}); err != nil || notes.taken != taken {
			t.Errorf("%s: %d notes, %v", what, notes.taken-taken, err)
		}
	}
}

// An arrival whose note is lost is marked as degraded and gets no row; others are not.
func TestPredictionsWithoutANoteAreDegraded(t *testing.T) {
	store, notes := map[string]growth.ArrivalRow{}, newNotebook()
	notes.lost = true
	got := newNoting(t, store, notes).must(records(t, arrival("a", "t0", "who"), arrival("b", "t0"))...)
	if !got[0].Degraded || got[1].Degraded || len(store) != 1 || !store["b"].Row.Known {
		t.Errorf("a is degraded: %t, b: %t; rows %v", got[0].Degraded, got[1].Degraded, store)
	}
}

// An id that may have a row, which could not be found out, gets none.
func TestNoRowWhereItsOwnIsUnread(t *testing.T) {
	store := map[string]growth.ArrivalRow{"a": {Row: attach.Row{Unread: true}}}
	n := newNoting(t, store, newNotebook())
	n.must(records(t, arrival("a", "t0"), arrival("b", "t0"))...)
	if n.version.written != 1 || store["a"].Row.Known {
		t.Errorf("%d rows are written, want that of b: %v", n.version.written, store)
	}
}

// Ids over limits.id_bytes are dead letters that name the field, its length and the limit; ids of just that are not.
func TestLongIDsAreDeadLetters(t *testing.T) {
	long := strings.Repeat("i", 9)
	out := &kept{}
	p := pipeline(t, PipelineOptions{Versions: serve(newTestVersion("v1")), Deliverer: out, Mode: Node,
		Limits: limits.Limits{IDBytes: 8}})
	all := records(t, arrival(long, "t0"), arrival("a", "t0", long), arrival(long[1:], long[1:]+"", "t1"))
	expect.OK(t, p.Process(t.Context(), Intake{Records: all}))
	var got []string
	for _, d := range out.batches[0].DeadLetters {
		got = append(got, fmt.Sprint(d.Source.Offset, " ", d.Reason, ": ", d.Detail))
	}
	want := []string{"0 too_large: id: the id has 9 bytes, limits.id_bytes is 8",
		"1 too_large: edges[1]: the id has 9 bytes, limits.id_bytes is 8"}
	if !slices.Equal(got, want) || len(out.batches[0].Predictions) != 1 {
		t.Errorf("%d predictions, dead letters %q, want %q", len(out.batches[0].Predictions), got, want)
	}
}
