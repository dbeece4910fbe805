package harness

import (
	"context"
	"fmt"
	"time"
)

// Await checks a condition every 20 ms. It returns an error if the condition does not hold within a limit, or if ctx
// ends before.
func Await(ctx context.Context, limit time.Duration, what string, so func() bool) error {
	for begin := time.Now(); !so(); {
		if time.Since(begin) > limit {
			return fmt.Errorf("%v have passed, and not yet: %s", limit, what)
		}
		if err := Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Sleep waits for a time, or returns the error of ctx if it ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
