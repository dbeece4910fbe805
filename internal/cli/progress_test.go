package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"time"
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

// clocked are lines whose clock a test sets.
func clocked(out *bytes.Buffer, terminal bool) (l *Lines, pass func(time.Duration)) {
	now := time.Unix(1000, 0)
	l = &Lines{W: out, Terminal: terminal, clock: func() time.Time { return now }}
	return l, func(d time.Duration) { now = now.Add(d) }
}

// In a log a stage that lasts has a line every ten seconds.
func TestALogHasALineEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	l, pass := clocked(&out, false)
	l.Step("fitting", 0, 4)
	for epoch := 1; epoch <= 25; epoch++ {
		pass(time.Second)
		l.Now(fmt.Sprintf("epoch %d", epoch))
	}
	pass(7 * time.Second)
	l.Step("fitting", 2, 4)
	pass(time.Second)
	l.Step("fitting", 4, 4)
	want := "  epoch 10\n  epoch 20\n  fitting 2/4, about 32 s left\n  " + fmt.Sprintf("%-40s %6.2f s\n", "fitting", 33.0)
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// A stage of one part is named when it begins.
func TestAStageOfOnePartIsNamed(t *testing.T) {
	var out bytes.Buffer
	l, pass := clocked(&out, true)
	l.Step("reading the data set", 0, 1)
	pass(3 * time.Second)
	l.Step("reading the data set", 1, 1)
	want := fmt.Sprintf("\r  reading the data set …\r  %-40s %6.2f s\n", "reading the data set", 3.0)
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// On a terminal the line is written over, ten times a second at most.
func TestATerminalShowsWhereAStageStands(t *testing.T) {
	var out bytes.Buffer
	l, pass := clocked(&out, true)
	l.Step("fitting", 0, 2)
	l.Now("too soon")
	pass(time.Second)
	l.Now("epoch 1")
	pass(time.Second)
	l.Step("fitting", 1, 2)
	if got, want := out.String(), "\r  fitting 0/2\r  epoch 1    \r  fitting 1/2, about 2 s left"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
