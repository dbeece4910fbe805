// Package growth gives arrivals rows of M (the mapping from original to synthetic nodes), so that later arrivals can
// attach to them.
//
//	grow.go      Grower, which solves the rows by package nnls; ArrivalRow and Note, which stores keep of them
//	messages.go  Messages, the vectors that a row of M is solved for, made of a model's tables
package growth
