package window

import "fmt"

// A timeline moves with so many records in a row that agree on it: ahead with a quarter of those that the time stands
// on, from turn to turnAhead, and back with as many as it stands on, from turn to turnMost.
const (
	turn      = 2
	turnAhead = 32
	turnMost  = 1000
)

// timeline follows the time that the records of a partition tell, so that one wrong timestamp moves it for nobody.
//
//   - A record up to reach beyond the newest time moves it; an older one does not.
//   - A record further ahead does not move it, and waits as if it were stamped with the newest time. Several in a row
//     do move it, to the least of their times: the stream has a gap there. A node with a wrong clock sends its arrival
//     and edges in a row, so 32 are wanted where the stream has gone on for long, and 2 where it has just begun.
//   - A record more than reach older changes nothing. As many in a row as the newest time stands on move it back: it
//     was a burst of wrong timestamps.
//   - A timestamp of 0 or less is none: the newest time stands for it.
//
// It is a part of the progress that a commit stores: the window of the next owner sees the same times.
type timeline struct {
	newest int64 // in milliseconds; 0: no record has told one
	stands int   // number of records that agree with it
	run    int   // records in a row that are too far ahead; negative: too far behind
	edge   int64 // the least time of the run ahead, the greatest of the run behind
}

// take takes the timestamp of the next record. It returns the time from which that record waits, and whether it ends
// the waits that lie before this time. turned says that the newest time is another one now, and all waits with it.
func (t *timeline) take(stamp, reach int64) (from int64, ends, turned bool) {
	switch {
	case stamp <= 0:
		return t.newest, false, false
	case t.stands == 0:
		*t = timeline{newest: stamp, stands: 1}
		return stamp, true, true
	case stamp > t.newest+reach:
		if t.run = max(t.run, 0) + 1; t.run == 1 || stamp < t.edge {
			t.edge = stamp
		}
		if turned = t.run >= min(max(t.stands/4, turn), turnAhead); turned {
			*t = timeline{newest: t.edge, stands: t.run}
			if stamp > t.newest+reach {
				t.run, t.edge = 1, stamp
			}
		}
		return t.time(stamp, reach), turned, turned
	case stamp < t.newest-reach:
		if t.run = min(t.run, 0) - 1; t.run == -1 || stamp > t.edge {
			t.edge = stamp
		}
		if turned = -t.run >= max(t.stands, turn); turned {
			*t = timeline{newest: t.edge, stands: min(-t.run, turnMost)}
		}
		return stamp, true, turned
	}
	t.newest, t.stands, t.run = max(t.newest, stamp), min(t.stands+1, turnMost), 0
	return stamp, true, false
}

// time returns the time from which a record waits.
func (t *timeline) time(stamp, reach int64) int64 {
	if stamp <= 0 || stamp > t.newest+reach {
		return t.newest
	}
	return stamp
}

// String writes a timeline for [parseTimeline]; empty: it knows no time.
func (t timeline) String() string {
	if t.stands == 0 {
		return ""
	}
	return fmt.Sprintf("%d,%d,%d,%d", t.newest, t.stands, t.run, t.edge)
}

// parseTimeline reads a stored timeline. A text of another form is one that knows no time.
func parseTimeline(text string) (t timeline) {
	var rest string
	n, _ := fmt.Sscanf(text+" ", "%d,%d,%d,%d%s", &t.newest, &t.stands, &t.run, &t.edge, &rest)
	if n != 4 || t.newest <= 0 || t.stands < 1 || t.stands > turnMost {
		return timeline{}
	}
	return t
}

// reach is the most that a record's timestamp may lie beyond the newest one before it, in milliseconds.
func (o *Options) reach() int64 { return (o.Wait + o.Ahead).Milliseconds() }
