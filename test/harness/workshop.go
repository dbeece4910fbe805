package harness

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Workshop is a directory in which programs work on a data set and artifacts.
type Workshop struct {
	Dir string
	Bin string // directory of the programs
}

// Path returns the path of a file or directory in the workshop.
func (w Workshop) Path(name string) string { return filepath.Join(w.Dir, name) }

// Write writes a file in the workshop.
func (w Workshop) Write(name, text string) error {
	return os.WriteFile(w.Path(name), []byte(text), 0o600)
}

// Output runs one of the programs to its end, as [Output] does.
func (w Workshop) Output(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error) {
	return Output(ctx, stdin, filepath.Join(w.Bin, program), args...)
}

// Start starts one of the programs, as [Start] does.
func (w Workshop) Start(output io.Writer, program string, args ...string) (*Process, error) {
	return Start(output, filepath.Join(w.Bin, program), args...)
}

// Train makes a small data set in data, and an artifact of it for each seed: artifact-1 for seed 1.
func (w Workshop) Train(ctx context.Context, seeds ...string) error {
	_, err := w.Output(ctx, nil, "rivulet", "generate", "--preset", "small", "--out", w.Path("data"))
	for _, seed := range seeds {
		if err == nil {
			_, err = w.Output(ctx, nil, "trainer", "train", "--costs=false", "--own", "never", "--weight-decays", "1e-4",
				"--data", w.Path("data"), "--out", w.Path("artifact-"+seed), "--seed", seed)
		}
	}
	return err
}
