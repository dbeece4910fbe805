package main

import (
	"context"
	"os"

	"rivulet/test/harness"
)

// buildOld builds the programs of another commit, from a checkout that is removed when it is done.
func (w *world) buildOld(ctx context.Context) error {
	tree, archive := w.Path("old-tree"), w.Path("old.tar")
	w.oldBin = w.Path("old-bin")
	root, err := harness.Root()
	if err != nil {
		return err
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	defer func() { _, _ = os.RemoveAll(tree), os.Remove(archive) }()
	if _, err := harness.Output(ctx, nil, "git", "-C", root, "archive", "-o", archive, w.old); err != nil {
		return err
	}
	if _, err := harness.Output(ctx, nil, "tar", "-xf", archive, "-C", tree); err != nil {
		return err
	}
	return harness.Build(ctx, w.oldBin, "-C", tree)
}
