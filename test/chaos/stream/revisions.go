package stream

import (
	"fmt"
	"slices"
	"time"

	"rivulet/event"
	"rivulet/test/chaos/edges"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/oracle"
)

// answerKey names a prediction of the arrival at a place: its first one (0), or a revision (2 and on).
type answerKey struct {
	at     ledger.Place
	number int
}

// noteRevision keeps a revision. The first of each number must come behind the one before, as the last prediction that
// a compacted topic keeps is to be the one with the most edges.
func (s *Stream) noteRevision(at ledger.Place, a *ledger.Answer, p *event.Prediction) error {
	s.Ledger.Revised(a.Batch)
	if s.Forgotten != nil {
		s.Forgotten.Predicted(p.ID)
	}
	s.mu.Lock()
	s.revised[answerKey{at, p.Revision}]++
	behind := p.Revision == 2 || s.revised[answerKey{at, p.Revision - 1}] > 0
	s.mu.Unlock()
	s.remember(at, a, p)
	switch {
	case s.log == nil || s.Update != "predict":
		return fmt.Errorf("the prediction of %v is revision %d, and attach.update is %q", at, p.Revision, s.Update)
	case !behind:
		return fmt.Errorf("revision %d of %v comes before revision %d", p.Revision, at, p.Revision-1)
	}
	return nil
}

// setsOf returns the sets of neighbours that a prediction may have.
func (s *Stream) setsOf(of answerKey) *edges.Sets {
	if of.number == 0 {
		return s.log.Sets(of.at)
	}
	all := s.log.Revisions(of.at)
	sets := &edges.Sets{Outcome: edges.Revised, Disturbed: s.unsure(of.at, &all, nil)}
	for _, r := range all.All {
		if r.Number == of.number {
			sets.All = append(sets.All, r.Set)
			if !sets.Disturbed {
				sets.Ready = r.Ready
			}
		}
	}
	if sets.All == nil {
		sets.All = append(sets.All, nil) // none by the log
	}
	for _, set := range all.May {
		if !slices.Equal(set, sets.All[0]) {
			sets.All = append(sets.All, set)
		}
	}
	return sets
}

// unsure reports whether the log does not decide the revisions of an arrival: near a cut, while a clock was stepped, or
// as it goes on in another life of its topic.
func (s *Stream) unsure(at ledger.Place, r *edges.Revisions, stepped func(time.Time) bool) bool {
	return stepped != nil && (stepped(r.From) || stepped(r.To.Add(EdgeWait))) || r.Disturbed ||
		r.Open && at.Life < s.Life()
}

// revisions counts what became of revisions.
type revisions struct{ byLog, seen, again, unsure int }

func (c *revisions) String() string {
	return fmt.Sprintf("%d revisions by the log, %d predicted, %d of them more than once, %d near a cut", c.byLog, c.seen,
		c.again, c.unsure)
}

// judgeRevisions compares the revisions that were read with the revisions by the log. One prediction of an arrival has
// all of its edges, if its partition was idle. Each revision is read once. With delivery at least once two kinds may be
// read more often: at most so many revisions as most says, and revisions of a record that the consumer read again
// (edges.Revisions.Again).
func (s *Stream) judgeRevisions(stepped func(time.Time) bool, most int) (c revisions, violations []string) {
	violated := func(of answerKey, format string, args ...any) {
		violations = append(violations, fmt.Sprintf("%s: revision %d of %v %s", s.Kind, of.number, of.at,
			fmt.Sprintf(format, args...)))
	}
	expected := map[answerKey]bool{}
	visible := s.Update == "predict"
	s.log.EachRevised(func(at ledger.Place, r *edges.Revisions) {
		unsure := s.unsure(at, r, stepped)
		if had, predicted := s.most[at]; visible && predicted && had < r.Least {
			violations = append(violations, fmt.Sprintf("%s: no prediction of %v has all of its %d neighbours, at most "+
				"%d", s.Kind, at, r.Least, had))
		}
		for _, one := range r.All {
			c.byLog++
			of := answerKey{at, one.Number}
			if expected[of] = true; visible && s.revised[of] == 0 && !unsure {
				violated(of, "is lost; it settled with the record of %v", one.Ready)
			}
		}
	})
	for of, n := range s.revised {
		c.seen++
		r := s.log.Revisions(of.at)
		unsure := s.unsure(of.at, &r, stepped)
		if unsure {
			c.unsure++
		}
		if !expected[of] && !unsure && !(r.Open && of.number == len(r.All)+2) {
			violated(of, "is none by the log, which has %d", len(r.All))
		}
		switch {
		case n == 1 || r.Again:
		case s.Delivery == "exactly_once":
			violated(of, "was read %d times", n)
		default:
			c.again++
		}
	}
	if c.again > most {
		violations = append(violations, fmt.Sprintf("%s: %d revisions were read more than once, at most %d may be", s.Kind,
			c.again, most))
	}
	slices.Sort(violations)
	return c, violations
}

// sayTheSame returns which predictions say something else than an earlier one of the same version, with as many edges:
// a repetition has the bits of what it repeats.
func (s *Stream) sayTheSame() (violations []string) {
	type key struct {
		answerKey
		version string
		edges   int
	}
	first := map[key]uint64{}
	for i, p := range s.said {
		o := s.origins[i]
		k := key{o.answerKey, p.Version, p.Known + p.Arrivals + p.Unknown}
		if before, again := first[k]; o.number > 0 && !p.Degraded && again && before != o.says {
			violations = append(violations, fmt.Sprintf("%s: revision %d of %v says something else when it is made again",
				s.Kind, o.number, o.at))
		}
		if !p.Degraded {
			first[k] = o.says
		}
	}
	return violations
}

// silent returns the rows that are solved anew though no prediction tells: by the log, under the versions that their
// arrivals were predicted by.
func (s *Stream) silent(said []oracle.Said) (rows []oracle.Said) {
	first := map[string]*oracle.Said{}
	for i := range said {
		first[said[i].Place] = &said[i]
	}
	s.log.EachRevised(func(at ledger.Place, r *edges.Revisions) {
		p := first[fmt.Sprintf("%v", at)]
		for _, one := range r.All {
			if p != nil && !p.Degraded {
				a := *s.world.ByID[base(p.ID)].Decoded
				a.ID, a.Edges = p.ID, one.Set
				rows = append(rows, oracle.Silent(*p, &a, one.Ready))
			}
		}
	})
	return rows
}
