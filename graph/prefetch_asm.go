//go:build (amd64 || arm64) && !purego

package graph

// prefetch asks for the bytes at the beginning of n units and 44 bytes behind it: these are in two cache lines or in
// one.
//
//go:noescape
func prefetch(words, units *uint32, n int)
