package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// until is a command that sends itself a signal, if there is one, waits for its context and returns then's error.
func until(s os.Signal, then func(ctx context.Context) error) *cobra.Command {
	cmd := &cobra.Command{Use: "program"}
	cmd.SetArgs([]string{})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if s != nil {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Signal(s); err != nil {
				return err
			}
			<-cmd.Context().Done()
		}
		return then(cmd.Context())
	}
	return cmd
}

// half is the error of work of which half is kept.
type half struct{ error }

func (h half) Unwrap() error { return h.error }

func (half) Kept() string { return "half of it is kept" }

// A command that a signal broke off says that, and nothing of contexts; one that ended well after a signal, as a
// consumer does, has status 0.
func TestSignals(t *testing.T) {
	own := func(ctx context.Context) error { return fmt.Errorf("fitting: %w", ctx.Err()) }
	for name, c := range map[string]struct {
		signal os.Signal
		then   func(context.Context) error
		status int
		says   string
	}{
		"Ctrl-C":    {os.Interrupt, own, 130, "program: interrupted (Ctrl-C)\n"},
		"the cause": {os.Interrupt, context.Cause, 130, "program: interrupted (Ctrl-C)\n"},
		"only the text": {os.Interrupt, func(context.Context) error { return errors.New("dial: context canceled") }, 130,
			"program: interrupted (Ctrl-C)\n"},
		"work is kept": {os.Interrupt, func(ctx context.Context) error {
			return fmt.Errorf("learning: %w", half{ctx.Err()})
		}, 130, "program: interrupted (Ctrl-C): half of it is kept\n"},
		"SIGTERM": {syscall.SIGTERM, own, 143, "program: ended by a signal (terminated)\n"},
		"a drain": {os.Interrupt, func(context.Context) error { return nil }, 0, ""},
		"a drain that fails": {syscall.SIGTERM, func(context.Context) error { return errors.New("the drain timed out") }, 1,
			"program: the drain timed out\n"},
		"no signal": {nil, func(context.Context) error { return errors.New("wrong") }, 1, "program: wrong\n"},
		"success":   {nil, func(context.Context) error { return nil }, 0, ""},
	} {
		var stderr bytes.Buffer
		status := run(until(c.signal, c.then), &stderr)
		if status != c.status || stderr.String() != c.says {
			t.Errorf("%s: status %d and %q, want %d and %q", name, status, stderr.String(), c.status, c.says)
		}
	}
}

func TestMisspeltFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--batch.szie=1": "program: unknown flag: --batch.szie, did you mean --batch.size?\n",
		"--wholly-new":   "program: unknown flag: --wholly-new\n",
		"-x":             "program: unknown shorthand flag: 'x' in -x\n",
	} {
		cmd := until(nil, func(context.Context) error { return nil })
		cmd.Flags().Int("batch.size", 1, "")
		cmd.SetArgs(strings.Fields(args))
		var stderr bytes.Buffer
		if status := run(cmd, &stderr); status != 1 || stderr.String() != want {
			t.Errorf("%s: status %d and %q, want %q", args, status, stderr.String(), want)
		}
	}
}

func TestVersion(t *testing.T) {
	cmd := until(nil, func(context.Context) error { return errors.New("it ran") })
	cmd.SetArgs([]string{"--version"})
	var out, stderr bytes.Buffer
	cmd.SetOut(&out)
	if status := run(cmd, &stderr); status != 0 || !strings.HasPrefix(out.String(), "program version ") ||
		!strings.Contains(out.String(), ", commit ") {
		t.Errorf("status %d, %q, %q", status, out.String(), stderr.String())
	}
}

// A program that is installed as rivulet-consumer says so; one under a name of somebody's own keeps its own.
func TestProgramsTakeTheNameOfTheirInstallation(t *testing.T) {
	for program, want := range map[string]string{"/usr/bin/rivulet-consumer": "rivulet-consumer [--config FILE]",
		"bin/consumer": "consumer [--config FILE]", "consumer.test": "consumer [--config FILE]"} {
		cmd := &cobra.Command{Use: "consumer [--config FILE]"}
		if takeName(cmd, program); cmd.Use != want {
			t.Errorf("%s: %q, want %q", program, cmd.Use, want)
		}
	}
}
