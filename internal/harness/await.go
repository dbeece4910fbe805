package harness

import (
	"context"
	"fmt"
	"time"
)

// Await asks every 20 ms whether something is so. It is an error if it is not within a limit, or if ctx ends before.
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

// Sleep waits for a time, or returns the error of ctx if that ends before.
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
