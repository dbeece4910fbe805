// Package cli holds the shared parts of all programs' commands: running a command until it ends or a signal stops it
// ([Main]), progress lines ([Lines]), and the peak of the process's memory ([PeakBytes]).
//
// The flags that name a data set are in a package of their own, dataflag: the consumer's program must not carry the
// readers of data sets.
package cli
