package main

import (
	"bytes"
	"cmp"
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
	"rivulet/test/chaos/stream"
)

// report judges the streams and prints.
func (r *run) report(ctx context.Context, o options) error {
	err := r.checkGroups(ctx)
	var judged []map[ledger.Window]ledger.Tally
	var total ledger.Tally
	degraded, letters, committed, aborted := 0, 0, 0, 0
	for _, s := range r.streams {
		for _, m := range s.Members {
			times, failed := oracle.PublishedAgain(m.Log)
			r.publishedAgain, err = append(r.publishedAgain, times...), errors.Join(err, failed)
		}
	}
	for _, s := range r.streams {
		if err == nil && !s.Compressed() {
			err = fmt.Errorf("%s: no arrival came compressed", s.Name)
		}
		c, a := s.Transactions.Counts()
		committed, aborted = committed+c, aborted+a
		tallies, violations := s.Ledger.Judge(r.mayRepeat, r.world.Complete())
		judged = append(judged, tallies)
		for _, t := range tallies {
			total.Add(t)
		}
		degraded, letters = degraded+s.Ledger.Degraded(), letters+s.Ledger.Letters()
		for i := range violations {
			violations[i] = fmt.Sprintf("%s: %s", s.Kind, violations[i])
		}
		err = errors.Join(err, listed(violations))
	}
	explained, violations, unread := r.explain(total.Arrivals)
	err = errors.Join(err, unread, listed(violations))
	fmt.Printf("Seed %d, %v, %d arrivals a second to each of %d streams, commit %s: %d faults; %d arrivals, "+
		"%d of them in transactions, and %d in aborted ones, %d predictions that were marked as degraded, "+
		"%d dead letters.\n\n", o.Seed, o.length, o.rate, len(r.streams),
		commit(),
		len(r.dealt)-1, total.Arrivals, committed, aborted, degraded, letters)
	ledger.Print(os.Stdout, tableRows(r.dealt, stream.Kinds(r.world.Options), judged))
	fmt.Println()
	for m, n := range r.repeats() {
		fmt.Printf("Killed at %v, with growth, at least once: %d repetitions were compared, bit for bit.\n",
			ledger.Moment(m), n)
	}
	fmt.Printf("\n%s.\n", explained)
	for _, line := range r.summary {
		fmt.Printf("%s.\n", line)
	}
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
		if s.Mode != "graph" || s.Delivery != "exactly_once" {
			continue
		}
		groups, of := s.Ledger.Groups(groupsChecked, func(g ledger.Grouped) bool {
			_, can := s.Repeatable(g)
			return can
		})
		for _, g := range groups {
			if err := r.checkGroup(ctx, s, g); err != nil {
				return err
			}
		}
		if of > 0 {
			r.world.Say("%s: %d graph batches were predicted again", s.Name, len(groups))
		}
	}
	return nil
}

// checkGroup predicts one batch again with its version.
func (r *run) checkGroup(ctx context.Context, s *stream.Stream, group ledger.Group) error {
	var lines bytes.Buffer
	for _, g := range group.All {
		a, _ := s.Repeatable(g)
		v, err := record.Of(a, record.JSON)
		if err != nil {
			return err
		}
		lines.Write(v.Bytes)
		lines.WriteByte('\n')
	}
	says, err := r.world.Predict(ctx, group.Version, "graph", &lines)
	if err == nil {
		s.Ledger.Compare(group, says)
	}
	return err
}

// retryTime is how long after an outage the streams may go on without rows: twice the time for which their breakers are
// open and a lookup's time-out.
const retryTime = 2 * (time.Second + 500*time.Millisecond)

// stepped reports whether the clock of a consumer was stepped at a time, or just before.
func (r *run) stepped(at time.Time) bool {
	return slices.ContainsFunc(r.dealt, func(d dealt) bool {
		return (d.fault.name == named("clock stepped").name || d.fault.name == several.name) && !at.Before(d.from) &&
			at.Before(d.to.Add(oracle.Settling))
	})
}

// explain has the oracle judge the predictions whose neighbours were arrivals or could not be read. Of all arrivals one
// in fifty may be degraded by a time-out of a busy machine.
func (r *run) explain(arrivals int) (oracle.Report, []string, error) {
	w := r.world
	o := oracle.Oracle{TTL: w.Options.RowsLive, Retry: retryTime, InHand: stream.InFlight,
		MostSlow: stream.InFlight + arrivals/50,
		Stored:   r.stored.Of, OfStream: map[string][]oracle.Outage{},
		Model: func(version string) (oracle.Model, error) {
			if dir := w.DirOf(version); dir != "" {
				return oracle.ReadVersion(dir)
			}
			return nil, nil // the ledger tells of versions that nobody published
		},
		Arrival: func(id string) *event.Arrival { return w.ByID[id].Decoded },
		Forgotten: func(id string) (asked time.Time) {
			for _, s := range r.streams {
				if s.Forgotten != nil {
					asked = cmp.Or(asked, s.Forgotten.Asked(id))
				}
			}
			return asked
		}}
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
		some, broken, summary := s.Judge(r.stored.IDs(), r.mayRepeatInAll(), r.stepped)
		said, wrong, r.summary = append(said, some...), append(wrong, broken...), append(r.summary, summary...)
		for _, m := range s.Members {
			outages, err := oracle.OutagesOf(m.Log)
			if err != nil {
				return oracle.Report{}, nil, err
			}
			o.OfStream[s.Kind.String()] = slices.Concat(o.OfStream[s.Kind.String()], outages)
		}
	}
	report, violations := o.Judge(said)
	return report, append(wrong, violations...), nil
}

// tableRows sums up the windows of each fault. judged has the tallies of each stream.
func tableRows(dealt []dealt, kinds []stream.Kind, judged []map[ledger.Window]ledger.Tally) []ledger.Row {
	var windows []ledger.Fault
	for _, d := range dealt {
		windows = append(windows, ledger.Fault{Name: d.fault.name, Redis: d.fault.redis, Lost: d.lost})
	}
	var streams []ledger.Stream
	for i, k := range kinds {
		streams = append(streams, ledger.Stream{Delivery: k.Delivery, Outage: k.Outage, By: judged[i]})
	}
	order := []string{dealt[0].fault.name}
	for _, f := range append(faults, several) {
		order = append(order, f.name)
	}
	return ledger.Rows(windows, streams, order)
}
