//go:build !race

package schema

const race = false
