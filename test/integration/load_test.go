package integration

import (
	"sync"
	"testing"
	"time"
)

// repeatedly sends twenty times a second until stop is called, which returns when everything is acknowledged, or
// until the test ends. An error of send fails the test.
func repeatedly(t *testing.T, send func() error) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := send(); err != nil {
				t.Errorf("sending arrivals: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
	t.Cleanup(stop)
	return stop
}
