// Package candidate describes the trial of a version beside the one that serves. Package serving keeps all of it in
// Redis; nothing here asks for anything.
//
//	comparison.go  Comparison: what both versions answered to the same arrivals
//	rule.go        Rule: when a candidate is promoted or given up without a person
//	decision.go    Decision: what became of CURRENT and CANDIDATE, and why
package candidate
