//go:build race

package trainer

const raceEnabled = true // it makes training ten times slower
