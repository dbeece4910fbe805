// Package preflight tries, before an artifact is written, whether consumers can serve it: a trainer must not accept in
// silence data that consumers refuse.
//
// The rules themselves are the consumer's (package consumer, limits.go). Nothing is repeated here.
package preflight
