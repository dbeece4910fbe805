package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Build builds all programs, without tables for debuggers, into a directory, with further flags of go build.
func Build(ctx context.Context, dir string, flags ...string) error {
	_, err := Output(ctx, nil, "go", slices.Concat([]string{"build", "-ldflags=-s -w"}, flags,
		[]string{"-o", dir + string(filepath.Separator), "rivulet/cmd/..."})...)
	return err
}

// BuildCommit builds the programs of a commit into dir, from a checkout in tree that is removed when it is done.
func BuildCommit(ctx context.Context, commit, tree, dir string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	archive := tree + ".tar"
	defer func() { _, _ = os.RemoveAll(tree), os.Remove(archive) }()
	if _, err := Output(ctx, nil, "git", "-C", root, "archive", "-o", archive, commit); err != nil {
		return err
	}
	if _, err := Output(ctx, nil, "tar", "-xf", archive, "-C", tree); err != nil {
		return err
	}
	return Build(ctx, dir, "-C", tree)
}

// Output runs a program to its end and returns its standard output. An error contains its standard error.
func Output(ctx context.Context, stdin io.Reader, program string, args ...string) ([]byte, error) {
	return OutputIn(ctx, nil, stdin, program, args...)
}

// OutputIn is [Output] with further environment variables, NAME=value each.
func OutputIn(ctx context.Context, variables []string, stdin io.Reader, program string,
	args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, trouble bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &trouble
	cmd.Env = append(os.Environ(), variables...)
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, trouble.Bytes())
	}
	return out.Bytes(), nil
}

// Process is a program that was started.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is over
	err  error         // how it ended; to be read after done
}

// Start starts a program; both its outputs go to one writer, nil: nowhere. The caller must end it.
func Start(output io.Writer, program string, args ...string) (*Process, error) {
	return StartIn(nil, output, program, args...)
}

// StartIn is [Start] with further environment variables, NAME=value each.
func StartIn(variables []string, output io.Writer, program string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(program, args...), done: make(chan struct{})} //nolint:noctx // signals end it
	p.cmd.Stdout, p.cmd.Stderr = output, output
	p.cmd.Env = append(os.Environ(), variables...)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done returns a channel that is closed when the process is over.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process is over; an error says that it did not end with status 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// ID returns the number of the process.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Signal sends a signal; a process that is over gets none.
func (p *Process) Signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill ends the process at once and waits until it is over.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}

// Drain ends the process as an orchestrator does, by SIGTERM. It is an error if it does not end by
// itself with status 0 in time.
func (p *Process) Drain(limit time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-time.After(limit):
		p.Kill()
		return fmt.Errorf("still there %v after SIGTERM", limit)
	}
	if p.err != nil {
		return fmt.Errorf("after SIGTERM: %w", p.err)
	}
	return nil
}

// Execute runs a command line in this process and returns its standard output.
func Execute(cmd *cobra.Command, args ...string) (string, error) {
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

// ResetPeak forgets the peak of a process' resident memory, and returns its present size in bytes. It needs Linux.
func ResetPeak(id int) (now int64, err error) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", id), []byte("5"), 0o600); err != nil {
		return 0, err
	}
	return memoryOf(id, "VmRSS")
}

// PeakMemory returns the peak of a process' resident memory since ResetPeak, in bytes.
func PeakMemory(id int) (int64, error) { return memoryOf(id, "VmHWM") }

func memoryOf(id int, name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", id, name)
}

// Transcript keeps a process's output. It may be read while the process runs.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds p.
func (t *Transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String returns the text so far.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
