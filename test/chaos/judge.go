package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"rivulet/event"
	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/oracle"
	"rivulet/test/chaos/record"
)

// report judges the streams and prints.
func (r *run) report(ctx context.Context, o options) error {
	err := r.checkGroups(ctx)
	var judged []map[ledger.Window]ledger.Tally
	var total ledger.Tally
	degraded, letters, committed, aborted := 0, 0, 0, 0
	for _, s := range r.streams {
		if err == nil && len(s.codecs) == 0 {
			err = fmt.Errorf("%s: no arrival came compressed", s.name)
		}
		c, a := s.transactions.Counts()
		committed, aborted = committed+c, aborted+a
		tallies, violations := s.ledger.Judge(r.mayRepeat, r.world.complete)
		judged = append(judged, tallies)
		for _, t := range tallies {
			total.Add(t)
		}
		degraded, letters = degraded+s.ledger.Degraded(), letters+s.ledger.Letters()
		for i := range violations {
			violations[i] = fmt.Sprintf("%s: %s", s.kind, violations[i])
		}
		err = errors.Join(err, listed(violations))
	}
	explained, violations, unread := r.explain(total.Arrivals)
	err = errors.Join(err, unread, listed(violations))
	fmt.Printf("Seed %d, %v, %d arrivals a second to each of %d streams, commit %s: %d faults; %d arrivals, "+
		"%d of them in transactions, and %d in aborted ones, %d predictions that were marked as degraded, "+
		"%d dead letters.\n\n", o.seed, o.length, o.rate, len(r.streams),
		commit(),
		len(r.dealt)-1, total.Arrivals, committed, aborted, degraded, letters)
	ledger.Print(os.Stdout, tableRows(r.dealt, r.world.kinds(), judged))
	fmt.Println()
	for m, n := range r.repeats() {
		fmt.Printf("Killed at %v, with growth, at least once: %d repetitions were compared, bit for bit.\n",
			ledger.Moment(m), n)
	}
	fmt.Printf("\n%s.\n", explained)
	for _, a := range r.askers {
		fmt.Printf("%s.\n", a)
	}
	return err
}

// listed returns the first violations as one error.
func listed(violations []string) (err error) {
	const most = 20
	for i, v := range violations {
		if i == most {
			return errors.Join(err, fmt.Errorf("… and %d more", len(violations)-i))
		}
		err = errors.Join(err, errors.New(v))
	}
	return err
}

// groupsChecked is how many graph batches are predicted again at the end.
const groupsChecked = 100

// checkGroups predicts graph batches of exactly_once streams again, without any service: each arrival must get the
// same bits. A prediction depends on its connected component alone, so that a batch's arrivals without neighbours in
// it need not be there.
func (r *run) checkGroups(ctx context.Context) error {
	for _, s := range r.streams {
		if s.mode != "graph" || s.delivery != "exactly_once" {
			continue
		}
		groups, of := s.ledger.Groups(groupsChecked)
		for _, g := range groups {
			if err := s.checkGroup(ctx, g); err != nil {
				return err
			}
		}
		if of > 0 {
			r.world.say("%s: %d graph batches were predicted again", s.name, len(groups))
		}
	}
	return nil
}

// checkGroup predicts one batch again with its version.
func (s *stream) checkGroup(ctx context.Context, group ledger.Group) error {
	var lines bytes.Buffer
	for _, g := range group.All {
		lines.Write(s.world.byID[g.ID].Value[record.JSON])
		lines.WriteByte('\n')
	}
	s.world.mu.Lock()
	dir := s.world.dirs[group.Version]
	s.world.mu.Unlock()
	says, err := s.world.predict(ctx, dir, "graph", &lines)
	if err == nil {
		s.ledger.Compare(group, says)
	}
	return err
}

// retryTime is how long after an outage the streams may go on without rows: twice the time for which their breakers are
// open and a lookup's time-out.
const retryTime = 2 * (time.Second + 500*time.Millisecond)

// explain has the oracle judge the predictions whose neighbours were arrivals or could not be read. Of all arrivals one
// in fifty may be degraded by a time-out of a busy machine.
func (r *run) explain(arrivals int) (oracle.Report, []string, error) {
	w := r.world
	o := oracle.Oracle{TTL: w.rowsLive, Retry: retryTime, InHand: inFlight, MostSlow: inFlight + arrivals/50,
		Stored: r.stored.Of, OfStream: map[string][]oracle.Outage{},
		Model: func(version string) (oracle.Model, error) {
			if dir := w.dirs[version]; dir != "" {
				return oracle.ReadVersion(dir)
			}
			return nil, nil // the ledger tells of versions that nobody published
		},
		Arrival: func(id string) *event.Arrival { return w.byID[id].Decoded }}
	for _, d := range r.dealt {
		if d.fault.redis || d.fault.rows {
			o.Outages = append(o.Outages, oracle.Outage{From: d.from, To: d.to})
		}
	}
	said, wrong := r.asked()
	for _, a := range r.askers {
		outages, err := oracle.OutagesOf(a.Log())
		if err != nil {
			return oracle.Report{}, nil, err
		}
		o.OfStream[a.Name] = outages
	}
	for _, s := range r.streams {
		said = append(said, s.said...)
		for _, m := range s.members {
			outages, err := oracle.OutagesOf(m.Log)
			if err != nil {
				return oracle.Report{}, nil, err
			}
			o.OfStream[s.kind.String()] = slices.Concat(o.OfStream[s.kind.String()], outages)
		}
	}
	report, violations := o.Judge(said)
	return report, append(wrong, violations...), nil
}
