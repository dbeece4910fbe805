// Package candidate describes the trial of a version beside the one that serves. Package serving keeps all of it in
// Redis; nothing here asks for anything.
//
//	comparison.go  Comparison: what both versions answered to the same arrivals
//	decision.go    Decision: what became of CURRENT and CANDIDATE, and why
package candidate
