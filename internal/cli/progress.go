package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// every is the pause between two updates of a line.
const every = 100 * time.Millisecond

// Lines writes stages to W. It is used by one goroutine at a time.
type Lines struct {
	W io.Writer
	// Terminal says that W understands a carriage return; elsewhere only finished stages are written.
	Terminal bool

	what    string
	started time.Time
	shown   time.Time
	width   int
}

// Stderr returns Lines that write to standard error, with carriage returns if it is a terminal.
func Stderr() *Lines {
	info, err := os.Stderr.Stat()
	return &Lines{W: os.Stderr, Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Step shows that done of total parts of a stage are done. A stage ends with done == total, or when another begins.
func (l *Lines) Step(what string, done, total int) {
	now := time.Now()
	if what != l.what {
		l.what, l.started, l.shown = what, now, time.Time{}
	}
	if done < total {
		if l.Terminal && now.Sub(l.shown) >= every {
			l.shown = now
			l.write(fmt.Sprintf("  %s %d/%d", what, done, total))
		}
		return
	}
	l.write(fmt.Sprintf("  %-40s %6.2f s", what, now.Sub(l.started).Seconds()))
	fmt.Fprintln(l.W)
	l.width, l.what = 0, ""
}

// Note writes a line about the stage under way: over the last one if W is a terminal, else as a line of its own.
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
