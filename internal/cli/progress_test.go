package cli

import (
	"bytes"
	"regexp"
	"testing"
)

func TestOnlyFinishedStagesInAFile(t *testing.T) {
	var out bytes.Buffer
	l := &Lines{W: &out}
	for done := range 3 {
		l.Step("fitting", done, 2)
	}
	l.Live("arrived 10")
	l.Done()
	if got := out.String(); !regexp.MustCompile(`^  fitting +\d+\.\d\d s\n$`).MatchString(got) {
		t.Errorf("wrote %q", got)
	}
}

func TestTerminalLinesAreWrittenOver(t *testing.T) {
	var out bytes.Buffer
	l := &Lines{W: &out, Terminal: true}
	l.Live("arrived 1000")
	l.Live("done")
	l.Done()
	if got, want := out.String(), "\r  arrived 1000\r  done        \n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
