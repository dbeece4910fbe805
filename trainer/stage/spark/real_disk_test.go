package spark_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// smallDisk mounts a file system of so many bytes, which Spark sees, too. The test is skipped where this process may
// not mount.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs",
		dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// A disk that is full ends a run with a sentence that says so, and without an artifact. The stages that were finished
// are found by the same run when there is room.
func TestSparkWithAFullDisk(t *testing.T) {
	a, d, o := realSpark(t), generated(t), options()
	o.Propagate = false // the stages of which would only take time
	work, w := filepath.Join(smallDisk(t, "1m"), "work"), workers(t)
	plain := local.NewMemory(solved.Functions, trainer.Silent{})
	want, _ := trainWith(t, plain, d, o)
	s, err := trainer.StagedOf(d, o)
	expect.OK(t, err)
	full := open(t, spark.Connect(connect.New(a, nil)), work, 4, w)
	out, err := trainer.TrainStaged(t.Context(), full, s, o, created, trainer.Silent{})
	if says := "make room, and give the same command again"; err == nil ||
		!strings.Contains(err.Error(), says) || len(err.Error()) > 1000 {
		t.Fatalf("error %v, want %q", err, says)
	}
	if out != nil || full.Ran == 0 {
		t.Errorf("outcome %v of a run that failed after %d stages", out, full.Ran)
	}
	t.Log(err)
	if err := full.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,size=1g",
		filepath.Dir(work)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	again := open(t, spark.Connect(connect.New(a, nil)), work, 4, w)
	got, _ := trainWith(t, again, d, o)
	sameFiles(t, want, got)
	// a run asks for some stages twice, and finds these, too
	if again.Found != full.Ran+plain.Found {
		t.Errorf("%d stages were found of %d that were finished; a run alone finds %d", again.Found, full.Ran, plain.Found)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
