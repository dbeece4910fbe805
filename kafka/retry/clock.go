//go:build !chaos

package retry

import "time"

// now returns the machine's time.
func now() time.Time { return time.Now() }
