package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/internal/build"
	"rivulet/internal/spelling"
)

// Main runs a command until it ends, with a context that ends on SIGINT or SIGTERM; a second signal has its default
// effect. An error is printed with the program's name. The exit status is 0 after success, which a consumer's drain is;
// 1 after an error; and 128 plus the signal's number if a signal broke the command off, so 130 for Ctrl-C. An error may
// name the work that was kept, by a method Kept() string.
func Main(cmd *cobra.Command) { os.Exit(run(cmd, os.Stderr)) }

// run is Main without the end of the process.
func run(cmd *cobra.Command, stderr io.Writer) (status int) {
	cmd.Version = build.Read().String()
	takeName(cmd, os.Args[0])
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(suggest)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // another one has its default effect
			cancel(interruption{s})
		case <-ctx.Done():
		}
	}()
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if by, ok := brokenOff(ctx, err); ok {
		said := by.Error()
		if left := interface{ Kept() string }(nil); errors.As(err, &left) {
			said += ": " + left.Kept()
		}
		fmt.Fprintf(stderr, "%s: %s\n", cmd.Name(), Message(said))
		return by.status()
	}
	fmt.Fprintf(stderr, "%s: %s\n", cmd.Name(), Message(err.Error()))
	return 1
}

// takeName lets help, completions and errors name the program as it was installed: packages call the consumer
// rivulet-consumer.
func takeName(cmd *cobra.Command, program string) {
	if name := filepath.Base(program); strings.HasSuffix(name, "-"+cmd.Name()) {
		cmd.Use = name + strings.TrimPrefix(cmd.Use, cmd.Name())
	}
}

// interruption is why a context ended: a signal.
type interruption struct{ signal os.Signal }

// Error describes how the command was ended.
func (i interruption) Error() string {
	if i.signal == os.Interrupt {
		return "interrupted (Ctrl-C)"
	}
	return fmt.Sprintf("ended by a signal (%s)", i.signal)
}

// Is makes an interruption one kind of cancellation, as the context's own error is.
func (i interruption) Is(target error) bool { return target == context.Canceled }

// status is the exit status that a shell expects after a signal.
func (i interruption) status() int {
	if number, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return 1
}

// brokenOff returns the signal that ended the context, if err says only that. Some libraries keep the
// text of an error alone.
func brokenOff(ctx context.Context, err error) (by interruption, ok bool) {
	if !errors.As(context.Cause(ctx), &by) {
		return by, false
	}
	return by, errors.Is(err, context.Canceled) || strings.Contains(err.Error(), context.Canceled.Error())
}

// suggest adds the flag that was meant to the error of one that does not exist.
func suggest(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := spelling.Closest(unknown.GetSpecifiedName(), names); meant != "" {
		return fmt.Errorf("%w, did you mean --%s?", err, meant)
	}
	return err
}
