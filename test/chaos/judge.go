package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/stream"
)

// report judges the streams and prints.
func (r *run) report(ctx context.Context, o options) error {
	err := r.checkGroups(ctx)
	for _, s := range r.streams {
		for _, m := range s.Members {
			times, failed := m.PublishedAgain()
			r.publishedAgain, err = append(r.publishedAgain, times...), errors.Join(err, failed)
		}
	}
	var judged []map[ledger.Window]ledger.Tally
	var total ledger.Tally
	var edges []string
	letters, grown, committed, aborted := 0, 0, 0, 0
	for _, s := range r.streams {
		if err == nil && !s.Compressed() {
			err = fmt.Errorf("%s: no arrival came compressed", s.Name)
		}
		c, a := s.Transactions.Counts()
		committed, aborted = committed+c, aborted+a
		of := s.Ledger.Judge(ledger.Bounds{MayRepeat: r.mayRepeat, MayDegrade: r.mayDegrade,
			Slow: stream.InFlight + s.Sent()/50, Complete: r.world.Complete()})
		judged = append(judged, of.Tallies)
		for _, t := range of.Tallies {
			total.Add(t)
		}
		letters, grown = letters+s.Ledger.Letters(), grown+of.Grown
		if s.Growth && of.Grown == 0 {
			err = errors.Join(err, fmt.Errorf("%s: no prediction has an earlier arrival as a neighbour", s.Kind))
		}
		if s.Apart {
			edges = append(edges, fmt.Sprintf("%s: %v", s.Kind, of.Joined))
		}
		for i := range of.Violations {
			of.Violations[i] = fmt.Sprintf("%s: %s", s.Kind, of.Violations[i])
		}
		err = errors.Join(err, listed(of.Violations))
	}
	fmt.Printf("Seed %d, %v, %d arrivals a second to each of %d streams, commit %s: %d faults; %d arrivals, "+
		"%d of them in transactions, and %d in aborted ones, %d predictions that were marked as degraded, "+
		"%d dead letters.\n\n", o.Seed, o.length, o.rate, len(r.streams), o.commit,
		len(r.dealt)-1, total.Arrivals, committed, aborted, total.Degraded, letters)
	ledger.Print(os.Stdout, tableRows(r.dealt, stream.Kinds(r.world.Options), judged))
	fmt.Printf("\n%d predictions have an earlier arrival as a neighbour. %d ids were forgotten.\n", grown, r.forgotten)
	for _, line := range edges {
		fmt.Printf("%s.\n", line)
	}
	for _, a := range r.askers {
		summary, violations := a.judge()
		fmt.Printf("%s.\n", summary)
		err = errors.Join(err, listed(violations))
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

// groupsChecked is the number of graph batches that are predicted again at the end.
const groupsChecked = 100

// checkGroups predicts graph batches of exactly_once streams again, without any service: each arrival must get the
// same bits. A prediction depends on its connected component alone, so that a batch's arrivals without neighbours in
// it need not be there.
func (r *run) checkGroups(ctx context.Context) error {
	for _, s := range r.streams {
		if s.Mode != "graph" || s.Delivery != "exactly_once" {
			continue
		}
		groups, of := s.Ledger.Groups(groupsChecked)
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
		line, err := r.world.Line(g.ID)
		if err != nil {
			return err
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	says, err := r.world.Predict(ctx, group.Version, "graph", &lines)
	if err == nil {
		s.Ledger.Compare(group, says)
	}
	return err
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
