package consumer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rivulet/consumer/window"
	"rivulet/event"
	"rivulet/event/form"
	"rivulet/infer/growth"
	"rivulet/kafka"
	"rivulet/test/expect"
)

// An arrival whose edges come late ends up as one that brings all of them: the last revision of its prediction has the
// same bits, its row is the same, and so is what later arrivals get that attach to it. With row nothing is published.
func TestRevisionsAreWholeArrivals(t *testing.T) {
	const nodes = 12
	same := cmpopts.IgnoreFields(event.Prediction{}, "ID", "Key", "Source", "IngestTime", "PredictedTime", "Batch",
		"Revision")
	for _, update := range []window.Update{window.UpdateRow, window.UpdatePredict} {
		eachDelivery(t, func(t *testing.T, partitions int, exactly bool) {
			s, v, seen := newStack(t, partitions), newGrowingVersion(map[string]growth.ArrivalRow{}), &recorder{}
			manyNeighbours(v)
			r := rand.New(rand.NewPCG(uint64(partitions), 9))
			begin := time.Now().Add(-5 * time.Hour).Truncate(time.Millisecond)
			var first, late, next []kafka.Record
			revisions := 0
			for i := range nodes {
				var edges []string
				for range 4 + r.IntN(9) {
					edges = append(edges, fmt.Sprint("k", r.IntN(50)))
				}
				id := fmt.Sprintf("late-n%d", i)
				whole := arrival(fmt.Sprintf("whole-n%d", i), edges...)
				whole.EdgeCount = len(edges)
				first = append(first, nodeRecord(t, whole, begin))
				half := arrival(id, edges[:1]...)
				half.EdgeCount = len(edges) / 2
				first = append(first, nodeRecord(t, half, begin))
				for k, to := range edges[1:] {
					if k+1 < half.EdgeCount {
						first = append(first, edgeRecord(t, id, to, begin))
					} else {
						late = append(late, edgeRecord(t, id, to, begin.Add(time.Duration(r.IntN(3600))*time.Second)))
						revisions++
					}
				}
				for _, of := range []string{"whole", "late"} {
					child := arrival(of+"-child-n"+fmt.Sprint(i), fmt.Sprintf("%s-n%d", of, i), "k0")
					child.EdgeCount = 2
					next = append(next, nodeRecord(t, child, begin.Add(2*time.Hour)))
				}
			}
			r.Shuffle(len(late), func(i, j int) { late[i], late[j] = late[j], late[i] })
			o := s.waiting(exactly, v, seen)
			o.Path.Update, o.Window.Age = update, 4*time.Hour
			stop := s.start(o)
			want := progress{}
			for _, part := range []struct {
				records             []kafka.Record
				arrivals, revisions int
			}{{first, 2 * nodes, 0}, {late, 0, revisions}, {next, 2 * nodes, 0}} {
				expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, part.records))
				want.arrivals, want.revisions = want.arrivals+part.arrivals, want.revisions+part.revisions
				s.wait(fmt.Sprintf("%+v are done", want), func() bool {
					seen.mu.Lock()
					defer seen.mu.Unlock()
					done := progress{}
					for _, b := range seen.batches {
						done.arrivals, done.revisions = done.arrivals+b.Records-b.Revisions, done.revisions+b.Revisions
					}
					return done == want
				})
			}
			expect.OK(t, stop())
			last, numbers := map[string]event.Prediction{}, map[string][]int{}
			for _, p := range s.predictions() {
				last[p.ID] = p
				numbers[p.ID] = append(numbers[p.ID], p.Revision)
			}
			for i := range nodes {
				for _, of := range []string{"n", "child-n"} {
					one, other := fmt.Sprintf("whole-%s%d", of, i), fmt.Sprintf("late-%s%d", of, i)
					if update == window.UpdatePredict || of != "n" {
						if diff := cmp.Diff(last[one], last[other], same); diff != "" || last[one].ID == "" {
							t.Errorf("%s and %s (-one +other):\n%s", one, other, diff)
						}
					}
					if diff := cmp.Diff(v.store[one].Row, v.store[other].Row); diff != "" || !v.store[one].Row.Known {
						t.Errorf("rows of %s and %s (-one +other):\n%s", one, other, diff)
					}
				}
				got, ascending := numbers[fmt.Sprintf("late-n%d", i)], []int{0}
				for k := 2; update == window.UpdatePredict && k <= len(got); k++ {
					ascending = append(ascending, k)
				}
				if !slices.Equal(got, ascending) {
					t.Errorf("revisions %v", got)
				}
			}
			if v.notes.size() != 0 {
				t.Errorf("%d notes are left", v.notes.size())
			}
		})
	}
}

// progress counts what has been processed.
type progress struct{ arrivals, revisions int }

// An id that was to be forgotten is not predicted again, whether the record that asks for it comes before the late
// edge, behind it, or with it in one batch; and it has no row.
func TestForgottenIDsAreNotRevised(t *testing.T) {
	for _, update := range []window.Update{window.UpdateRow, window.UpdatePredict} {
		eachDelivery(t, func(t *testing.T, partitions int, exactly bool) {
			s, v, seen := newStack(t, partitions), newGrowingVersion(map[string]growth.ArrivalRow{}), &recorder{}
			manyNeighbours(v)
			begin := time.Now().Add(-5 * time.Hour).Truncate(time.Millisecond)
			o := s.waiting(exactly, v, seen)
			o.Path.Update, o.Window.Age, o.Window.Settle = update, 4*time.Hour, time.Minute
			o.Path.Forget, o.Path.Forms = &forgets{version: v}, form.Reader{Forget: true}
			ids := []string{"before", "behind", "settling", "stays"}
			var records []kafka.Record
			edge := func(id string, k int, at time.Duration) {
				records = append(records, edgeRecord(t, id, fmt.Sprint("k", k), begin.Add(at)))
			}
			forget := func(id string, at time.Duration) {
				records = append(records, kafka.Record{Key: []byte(id), Time: begin.Add(at)})
			}
			for _, id := range ids {
				a := arrival(id, "k1")
				a.EdgeCount = 1
				records = append(records, nodeRecord(t, a, begin))
			}
			forget("before", time.Minute)
			for k, id := range ids {
				edge(id, k+2, 2*time.Minute)
			}
			forget("settling", 2*time.Minute)
			for _, id := range ids { // with these the others have settled
				edge(id, 9, 4*time.Minute)
			}
			forget("behind", 4*time.Minute)
			for k := range 40 { // ends all waits, in each partition
				records = append(records, nodeRecord(t, arrival(fmt.Sprint("last", k)), begin.Add(5*time.Hour)),
					nodeRecord(t, arrival(fmt.Sprint("last", k)), begin.Add(10*time.Hour)))
			}
			expect.OK(t, s.sender.Send(t.Context(), arrivalsTopic, records))
			stop := s.start(o)
			s.wait("the second of the last records waits in each partition, and nothing before it", func() bool {
				return s.committed() == int64(len(records)-80+partitions)
			})
			expect.OK(t, stop())
			var got []string
			for _, p := range s.predictions() {
				if !strings.HasPrefix(p.ID, "last") {
					got = append(got, fmt.Sprint(p.ID, " ", p.Revision))
				}
			}
			slices.Sort(got)
			want := []string{"before 0", "behind 0", "settling 0", "stays 0"}
			if update == window.UpdatePredict {
				want = []string{"before 0", "behind 0", "behind 2", "settling 0", "stays 0", "stays 2", "stays 3"}
			}
			expect.Same(t, want, got, "revisions")
			for _, id := range ids {
				if _, there := v.store[id]; there != (id == "stays") {
					t.Errorf("%s has a row: %t", id, there)
				}
			}
		})
	}
}
