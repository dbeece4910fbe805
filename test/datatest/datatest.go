// Package datatest finds the real graphs that some tests measure on.
package datatest

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir returns the directory of a real graph below RIVULET_DATA. The test is skipped if RIVULET_DATA is not set, and
// fails if it is set and the graph is not there. A relative RIVULET_DATA is seen from the module's root.
func Dir(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("RIVULET_DATA")
	if root == "" {
		t.Skip("RIVULET_DATA is not set: it names the directory of the real graphs")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(moduleRoot(t), root)
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("RIVULET_DATA is %s: %v", os.Getenv("RIVULET_DATA"), err)
	}
	return dir
}

// Given reports whether RIVULET_DATA names a directory of real graphs.
func Given() bool { return os.Getenv("RIVULET_DATA") != "" }

// moduleRoot returns the nearest directory above that has a go.mod: tests run in the directory of their package.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}
