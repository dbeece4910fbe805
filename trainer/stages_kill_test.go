//go:build unix

package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"rivulet/artifact"
	"rivulet/test/expect"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
)

// Environment of a run in a process of its own.
const (
	childWork  = "RIVULET_TEST_STAGED_WORK"  // the directory of the tables; set in a child
	childOut   = "RIVULET_TEST_STAGED_OUT"   // the directory of the artifact
	childSteps = "RIVULET_TEST_STAGED_STEPS" // reports of progress after which it kills itself; 0: never
	childLimit = "RIVULET_TEST_STAGED_LIMIT" // largest file that it may write; empty: any
)

// suicide is a progress that ends its process as kill −9 does.
type suicide struct{ left int }

func (s *suicide) Step(string, int, int) {
	if s.left--; s.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// TestStagedChild is no test but the run of the tests below, in a process of its own.
func TestStagedChild(t *testing.T) {
	work := os.Getenv(childWork)
	if work == "" {
		t.Skip("it is for other tests")
	}
	if limit, err := strconv.ParseUint(os.Getenv(childLimit), 10, 64); err == nil {
		expect.OK(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}))
	}
	steps, err := strconv.Atoi(os.Getenv(childSteps))
	expect.OK(t, err)
	e, err := local.Open(solved.Functions, work, 1<<20, &suicide{steps})
	expect.OK(t, err)
	d, o := generated(t, "small"), stagedOptions()
	s, err := StagedOf(d, o)
	expect.OK(t, err)
	out, err := TrainStaged(context.Background(), e, s, o, stagedTime, Silent{})
	expect.OK(t, err)
	expect.OK(t, errors.Join(artifact.Write(os.Getenv(childOut), out.Bundle), e.Close()))
	fmt.Printf("ran %d found %d\n", e.Ran, e.Found)
}

// child runs a run in a process of its own.
func child(work, out string, steps int, limit string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestStagedChild$", "-test.v")
	cmd.Env = append(os.Environ(), childWork+"="+work, childOut+"="+out, fmt.Sprintf("%s=%d", childSteps, steps),
		childLimit+"="+limit)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// A run that is killed again and again, each time a little later, ends with the bytes of one that was not, and
// runs the stages that it had finished no second time.
func TestStagedRunKilledAtManySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a process for each kill")
	}
	work, out, killed := t.TempDir(), t.TempDir()+"/artifact", 0
	for steps := 6; ; steps += 9 {
		text, err := child(work, out, steps, "")
		if err == nil {
			if strings.Contains(text, "found 0\n") {
				t.Errorf("it began anew: %s", text)
			}
			break
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%v: %s", err, text)
		}
		killed++
	}
	if killed < 3 {
		t.Errorf("it was killed %d times only", killed)
	}
	whole, _ := stagedInMemory(t, "small", generated(t, "small"), stagedOptions())
	sameFiles(t, whole, out)
}

// A disk that takes no more is an error, and the run goes on when there is room.
func TestStagedRunWithoutRoom(t *testing.T) {
	work, out := t.TempDir(), t.TempDir()+"/artifact"
	text, err := child(work, out, 0, "12000")
	if err == nil || !strings.Contains(text, "file too large") || !strings.Contains(text, "stage ") {
		t.Fatalf("%v: %s", err, text)
	}
	if text, err = child(work, out, 0, ""); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	whole, _ := stagedInMemory(t, "small", generated(t, "small"), stagedOptions())
	sameFiles(t, whole, out)
}
