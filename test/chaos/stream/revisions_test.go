package stream

import (
	"strings"
	"testing"
	"time"

	"rivulet/test/chaos/edges"
	"rivulet/test/chaos/ledger"
)

// Of an arrival with one late edge, revision 2 must be read, exactly once in a stream exactly once, and no other.
func TestRevisionsAreJudged(t *testing.T) {
	begin := time.UnixMilli(1_700_000_000_000)
	for name, c := range map[string]struct {
		delivery string
		read     map[int]int // how often each revision was read
		short    int         // neighbours that its last prediction lacks
		lag      time.Duration
		want     string // a part of the only violation; empty: none
	}{
		"as it should be":          {delivery: "exactly_once", read: map[int]int{2: 1}},
		"lost":                     {delivery: "exactly_once", want: "revision 2 of"},
		"doubled":                  {delivery: "exactly_once", read: map[int]int{2: 2}, want: "was read 2 times"},
		"doubled, at least once":   {delivery: "at_least_once", read: map[int]int{2: 2}},
		"doubled more than may be": {delivery: "at_least_once", read: map[int]int{2: 2, 3: 2}, want: "2 violations"},
		"none by the log":          {delivery: "exactly_once", read: map[int]int{2: 1, 3: 1}, want: "the log, which has 1"},
		"near a cut":               {delivery: "exactly_once", read: map[int]int{2: 1, 3: 1}, lag: 3 * time.Second},
		"an edge lost near a cut": {delivery: "exactly_once", lag: 3 * time.Second, short: 1,
			want: "has all of its 2 neighbours, at most 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Stream{Kind: Kind{Delivery: c.delivery, Update: "predict"}, revised: map[answerKey]int{},
				most:  map[ledger.Place]int{{}: 2 - c.short},
				lives: []time.Time{begin},
				log:   edges.NewLog(edges.Options{Wait: EdgeWait, Settle: settle, Age: updateAge})}
			for k := range 12 { // one record a second
				at := begin.Add(time.Duration(k) * time.Second)
				r := edges.Record{Time: at, Seen: at.Add(c.lag), ID: "other"}
				switch k {
				case 0:
					r.ID, r.Count, r.Neighbours = "a", 1, []string{"t"}
				case 3:
					r.ID, r.Kind, r.Neighbours = "a", edges.Edge, []string{"u"}
				}
				s.log.Add(ledger.Place{Offset: int64(k)}, r)
			}
			for number, n := range c.read {
				s.revised[answerKey{ledger.Place{}, number}] = n
			}
			_, violations := s.judgeRevisions(func(time.Time) bool { return false }, 1)
			violated := strings.Join(violations, "; ")
			if len(violations) > 1 {
				violated = "2 violations: " + violated
			}
			if (violated == "") != (c.want == "") || !strings.Contains(violated, c.want) {
				t.Errorf("%q, want %q", violated, c.want)
			}
		})
	}
}
