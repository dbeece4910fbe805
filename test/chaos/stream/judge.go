package stream

import (
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
	"rivulet/test/chaos/edges"
	"rivulet/test/chaos/forget"
	"rivulet/test/chaos/labels"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/oracle"
)

// unmatchedPolicy returns attach.unmatched. Exactly once, each edge that no arrival takes has one dead letter.
func (s *Stream) unmatchedPolicy() string {
	if s.Delivery == "exactly_once" {
		return "dead_letter"
	}
	return "drop"
}

// origin is where a prediction of a stream whose arrivals wait for edges comes from.
type origin struct {
	answerKey
	says uint64 // a hash of the prediction
}

// counts tells what became of the arrivals of a stream, and of their edges.
type counts struct {
	outcomes        [edges.Outcomes]int // predictions that have the edges by the log, by the outcome of their waits
	whole           int                 // predictions that were compared with `rivulet predict` of the whole arrival
	undecided       int                 // predictions near a cut or a stepped clock, with edges that nothing explains
	unmatched, took int                 // edges without an arrival, and with one
}

func (c *counts) String() string {
	text := fmt.Sprintf("%d predictions have the bits of their whole arrivals", c.whole)
	for o, n := range c.outcomes {
		text += fmt.Sprintf(", %d are %v", n, edges.Outcome(o))
	}
	return fmt.Sprintf("%s, %d undecided; %d edges joined, %d unmatched", text, c.undecided, c.took, c.unmatched)
}

// resolve gives each prediction of a stream the edges that its arrival may have, and drops predictions that nobody can
// decide. A prediction with all edges of its arrival is compared with `rivulet predict` of the whole arrival.
func (s *Stream) resolve(stepped func(time.Time) bool) (said []oracle.Said, c counts, violations []string) {
	violated := func(p *oracle.Said, format string, args ...any) {
		violations = append(violations, fmt.Sprintf("%s: %s: arrival %s: %s", p.Stream, p.Place, p.ID,
			fmt.Sprintf(format, args...)))
	}
	for i, p := range s.said {
		w := s.origins[i]
		sets := s.setsOf(w.answerKey)
		if sets == nil {
			continue // the ledger tells that there is no such arrival
		}
		if sets.Ready.After(p.Sent) && !stepped(p.Seen) {
			p.Sent = sets.Ready // its neighbours were not looked up before
		}
		whole := s.world.ByID[base(p.ID)].Decoded
		for k, set := range sets.All {
			if set == nil || len(set) != p.Known+p.Arrivals+p.Unknown {
				continue
			}
			a := *whole
			a.ID, a.Edges = p.ID, set
			p.Choices, p.ByLog = append(p.Choices, &a), p.ByLog || k == 0
		}
		switch {
		case p.Choices == nil && (sets.Disturbed || stepped(p.Seen)):
			c.undecided++
			continue
		case p.Choices == nil:
			violated(&p, "it counts %d neighbours, and is %v with %v", p.Known+p.Arrivals+p.Unknown, sets.Outcome, sets.All[0])
			continue
		case p.ByLog:
			c.outcomes[sets.Outcome]++
		}
		if p.ByLog && p.Arrivals == 0 && !p.Degraded && slices.Equal(sets.All[0], whole.Edges) {
			want, known := s.world.Expected(p.Version, base(p.ID)) // the ledger tells of versions that nobody published
			if known {
				c.whole++
			}
			if known && xxhash.Sum64String(want) != w.says {
				violated(&p, "version %s says of the whole arrival: %s", p.Version, want)
			}
		}
		said = append(said, p)
	}
	if most := 20 + len(s.said)/100; c.undecided > most {
		violations = append(violations, fmt.Sprintf("%s: the edges of %d predictions are undecided, at most %d "+
			"may be", s.Kind, c.undecided, most))
	}
	letters := func(at ledger.Place) int { return s.letters[at] }
	if s.unmatchedPolicy() == "drop" {
		letters = nil
	}
	var wrong []ledger.Place
	c.unmatched, c.took, wrong = s.log.Unmatched(letters, s.Life(), stepped)
	for _, at := range wrong {
		violations = append(violations, fmt.Sprintf("%s: the edge at %v has %d dead letters", s.Kind, at, s.letters[at]))
	}
	return said, c, violations
}

// Repeatable returns the arrival of a prediction of a graph batch; false if the log does not tell its edges.
func (s *Stream) Repeatable(g ledger.Grouped) (*event.Arrival, bool) {
	a := *s.world.ByID[base(g.ID)].Decoded
	if s.log == nil {
		return &a, true
	}
	sets := s.log.Sets(g.At)
	if sets == nil || len(sets.All) != 1 {
		return nil, false
	}
	a.ID, a.Edges = g.ID, sets.All[0]
	return &a, true
}

// base returns the id of the arrival that an arrival with an id of its own repeats.
func base(id string) string {
	id, _ = labels.Base(forget.Base(id))
	return id
}

// judgeForgotten returns what became of the ids that were forgotten, and what breaks a promise.
func (s *Stream) judgeForgotten(stored map[string]bool) (string, []string) {
	c, violations := s.Forgotten.Judge(s.Delivery == "exactly_once", InFlight, stored)
	for i := range violations {
		violations[i] = fmt.Sprintf("%s: %s", s.Kind, violations[i])
	}
	if s.Growth && c.Forgotten > 0 && c.Stored == 0 {
		violations = append(violations, fmt.Sprintf("%s: none of %d ids had a row before it was forgotten", s.Kind,
			c.Forgotten))
	}
	return fmt.Sprintf("%d ids forgotten, of which Redis had %d before; %d with a prediction behind their tombstone",
		c.Forgotten, c.Stored, c.Behind), violations
}

// Judge returns the predictions for the oracle, what breaks a promise, and what became of edges and forgotten ids, in
// words. stored are the ids that Redis had. mayRepeat bounds the revisions that are read more than once. stepped
// reports whether a clock was stepped at a time or just before: to such a clock any partition may seem idle.
func (s *Stream) Judge(stored map[string]bool, mayRepeat int, stepped func(time.Time) bool) (said []oracle.Said,
	violations, summary []string) {
	said = s.said
	if s.log != nil {
		var c counts
		said, c, violations = s.resolve(stepped)
		if s.Update == "row" {
			said = append(said, s.silent(said)...)
		}
		revisions, broken := s.judgeRevisions(stepped, mayRepeat)
		rows, lost := s.tables.judge()
		for i := range lost {
			lost[i] = fmt.Sprintf("%s: %s", s.Kind, lost[i])
		}
		violations = slices.Concat(violations, broken, s.sayTheSame(), lost)
		summary = append(summary, fmt.Sprintf("%s: %v; attach.update %s: %v; %s", s.Kind, &c, s.Update, &revisions, rows))
	}
	if s.Forgotten != nil {
		text, broken := s.judgeForgotten(stored)
		violations, summary = append(violations, broken...), append(summary, fmt.Sprintf("%s: %s", s.Kind, text))
	}
	return said, violations, summary
}
