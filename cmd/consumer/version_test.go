package main

import (
	"bytes"
	"testing"

	"rivulet/test/expect"
)

// --version prints the program's version, and is not the setting version.
func TestVersion(t *testing.T) {
	cmd := command()
	cmd.Version = "1.2.3"
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--version"})
	expect.OK(t, cmd.Execute())
	if got, want := out.String(), "consumer version 1.2.3\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
