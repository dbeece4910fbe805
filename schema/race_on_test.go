//go:build race

package schema

const race = true // sync.Pool drops values at random
