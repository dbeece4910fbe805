//go:build !chaos

package kafka

import "time"

// now returns the machine's time.
func now() time.Time { return time.Now() }
