// Package growth gives arrivals rows of M (the mapping from original to synthetic nodes), so that later arrivals can
// attach to them.
//
//	grow.go      Grower, which solves the rows by package nnls; ArrivalRow and Note, their stored forms
//	messages.go  Messages, the vectors for which rows of M are solved, made of a model's tables
package growth
