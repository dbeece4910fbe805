package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"rivulet/artifact"
	"rivulet/internal/replay"
)

// savedArrivals is how many arrivals [Save] writes.
const savedArrivals = 4_000

// Save writes the inputs of section core, for other programs: the artifact of the first named shape and models into
// dir/artifact, and arrivals of that shape, as JSON lines, into dir/arrivals.jsonl.
func Save(ctx context.Context, o Options, dir string) error {
	if err := o.Validate(); err != nil {
		return err
	}
	shapes, _ := o.shapes() // they were checked
	models, _ := o.architectures()
	bundle, err := shapes[0].Bundle(models)
	if err != nil {
		return err
	}
	if err := artifact.Write(filepath.Join(dir, "artifact"), bundle); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "arrivals.jsonl"))
	if err != nil {
		return err
	}
	return errors.Join((&replay.Lines{W: f}).Send(ctx, shapes[0].events(savedArrivals)), f.Close())
}
