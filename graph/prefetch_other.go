//go:build (!amd64 && !arm64) || purego

package graph

// prefetch does nothing here.
func prefetch(_, _ *uint32, _ int) {}
