package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Pauses between two updates of a line: on a terminal, where the next one takes its place, and in a log, where each
// stays.
const (
	every       = 100 * time.Millisecond
	everyLogged = 10 * time.Second
)

// Lines writes stages to W. It is used by one goroutine at a time.
type Lines struct {
	W io.Writer
	// Terminal says that W understands a carriage return. Elsewhere a line is written when a stage ends, and every
	// ten seconds on the way.
	Terminal bool

	what    string
	started time.Time
	shown   time.Time
	width   int
	clock   func() time.Time // nil: time.Now
}

// Stderr returns Lines that write to standard error, with carriage returns if it is a terminal.
func Stderr() *Lines {
	info, err := os.Stderr.Stat()
	return &Lines{W: os.Stderr, Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (l *Lines) now() time.Time {
	if l.clock != nil {
		return l.clock()
	}
	return time.Now()
}

// Step shows that done of total parts of a stage are done; of a stage of one part only its name. A stage ends with
// done == total, or when another begins.
func (l *Lines) Step(what string, done, total int) {
	now := l.now()
	if what != l.what {
		l.what, l.started, l.shown = what, now, time.Time{}
		if !l.Terminal {
			l.shown = now // a stage that ends soon needs one line
		}
	}
	took := now.Sub(l.started)
	if done < total {
		text := fmt.Sprintf("%s %d/%d", what, done, total)
		if total == 1 {
			text = what + " …"
		}
		if done > 0 {
			text += fmt.Sprintf(", about %.0f s left", (took / time.Duration(done) * time.Duration(total-done)).Seconds())
		}
		l.Now(text)
		return
	}
	l.write(fmt.Sprintf("  %-40s %6.2f s", what, took.Seconds()))
	fmt.Fprintln(l.W)
	l.width, l.what = 0, ""
}

// Now writes a line about the stage under way, unless the last one is too recent: over the last one if W is a
// terminal, else as a line of its own.
func (l *Lines) Now(text string) {
	now, pause := l.now(), everyLogged
	if l.Terminal {
		pause = every
	}
	if now.Sub(l.shown) < pause {
		return
	}
	l.shown = now
	l.write("  " + text)
	if !l.Terminal {
		fmt.Fprintln(l.W)
	}
}

// Note writes a line about the stage to come: over the last one if W is a terminal, else as a line of its own.
func (l *Lines) Note(text string) {
	if l.Terminal {
		l.write("  " + text)
		return
	}
	fmt.Fprintln(l.W, "  "+text)
}

// Live writes a line over the last one; nothing if W is not a terminal.
func (l *Lines) Live(text string) {
	if l.Terminal {
		l.write("  " + text)
	}
}

// Done ends a live line.
func (l *Lines) Done() {
	if l.width > 0 {
		fmt.Fprintln(l.W)
		l.width = 0
	}
}

// write replaces the current line.
func (l *Lines) write(text string) {
	pad := strings.Repeat(" ", max(0, l.width-len(text)))
	if l.Terminal {
		fmt.Fprintf(l.W, "\r%s%s", text, pad)
	} else {
		fmt.Fprint(l.W, text)
	}
	l.width = len(text)
}

// During shows on standard error that work in one part is under way.
func During(what string, work func() error) error {
	lines := Stderr()
	lines.Step(what, 0, 1)
	err := work()
	if err != nil {
		lines.Done()
		return err
	}
	lines.Step(what, 1, 1)
	return nil
}
