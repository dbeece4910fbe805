package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"rivulet/artifact"
	"rivulet/internal/cli"
)

// outDir is the directory that a command writes an artifact to.
type outDir struct {
	path  string
	force bool
}

func (o *outDir) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.path, "out", "", "directory to write the artifact to (required)")
	flags.BoolVar(&o.force, "force", false, "replace the artifact that --out has, once the new one is made")
}

// check returns an error if nothing can be written, before the work begins.
func (o *outDir) check() error {
	if err := cli.TryBeside("out", o.path); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	}
	_, noManifest := os.Stat(filepath.Join(o.path, "manifest.json"))
	switch {
	case noManifest != nil:
		return fmt.Errorf("--out %s is not empty (it has %s) and holds no artifact; nothing was trained: choose another "+
			"--out", o.path, entries[0].Name())
	case !o.force:
		return fmt.Errorf("--out %s is not empty: it holds an artifact; nothing was trained: choose another --out, or "+
			"replace it (--force)", o.path)
	}
	return nil
}

// write writes a bundle. An artifact that it replaces is put back if that fails.
func (o *outDir) write(b *artifact.Bundle) error {
	aside := filepath.Join(filepath.Dir(o.path), fmt.Sprintf(".%s.replaced-%d", filepath.Base(o.path), os.Getpid()))
	replaced := false
	if o.force {
		err := os.Rename(o.path, aside)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("--force: %w", err)
		}
		replaced = err == nil
	}
	err := artifact.Write(o.path, b)
	switch {
	case !replaced:
		return err
	case err != nil:
		return errors.Join(err, os.Rename(aside, o.path))
	}
	return os.RemoveAll(aside)
}
