// Package study measures more than one run: it is the laboratory's bench.
//
//	study.go     methods, models and sizes over seeds, and the ablations of the method learned ([Run])
//	schedule.go  how long the runs that are left will take
//	grow.go      the gain from rows of M for arrivals, which a run's artifact gives them ([Grow])
package study
