package run

import (
	"context"

	"rivulet/config"
	"rivulet/consumer"
	"rivulet/run/connect"
)

// forgetter removes what a consumer stores of ids, and their features where these are looked up.
type forgetter struct {
	rows     source
	features connect.FeatureStore // nil: arrivals bring their features
}

// newForgetter returns the forgetter that the settings want; nil where input.forget is off.
func newForgetter(cfg config.Consumer, w wire) consumer.Forgetter {
	if cfg.Input.Forget != config.On {
		return nil
	}
	return forgetter{w.versions.source, w.features}
}

// Forget implements [consumer.Forgetter].
func (f forgetter) Forget(ctx context.Context, ids []string) (n int, err error) {
	known := make([]bool, len(ids))
	if err := f.rows.Forget(ctx, ids, known); err != nil {
		return 0, err
	}
	if f.features != nil {
		if err := f.features.Remove(ctx, ids, known); err != nil {
			return 0, err
		}
	}
	for _, is := range known {
		if is {
			n++
		}
	}
	return n, nil
}
