package main

import "rivulet/test/chaos/ledger"

// tableRows sums up the windows of each fault. judged are the tallies of each stream.
func tableRows(dealt []dealt, kinds []kind, judged []map[ledger.Window]ledger.Tally) []ledger.Row {
	var windows []ledger.Fault
	for _, d := range dealt {
		windows = append(windows, ledger.Fault{Name: d.fault.name, Redis: d.fault.redis, Lost: d.lost})
	}
	var streams []ledger.Stream
	for i, k := range kinds {
		streams = append(streams, ledger.Stream{Delivery: k.delivery, Outage: k.outage, By: judged[i]})
	}
	order := []string{dealt[0].fault.name}
	for _, f := range append(faults, several) {
		order = append(order, f.name)
	}
	return ledger.Rows(windows, streams, order)
}
