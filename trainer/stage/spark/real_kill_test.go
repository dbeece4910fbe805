package spark_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/artifact"
	"rivulet/test/expect"
	"rivulet/trainer"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
	"rivulet/trainer/stage/solved"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// sparkDir is the directory in which tools/spark started the Spark that tests use: they kill its processes. Tests that
// do are skipped without it, and with -short.
func sparkDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("RIVULET_TEST_SPARK_DIR")
	switch {
	case dir == "":
		t.Skip("RIVULET_TEST_SPARK_DIR names no directory of tools/spark")
	case testing.Short():
		t.Skip("it takes minutes")
	}
	return dir
}

// atWork returns a process that does a stage below a directory of Spark, and the executor that started it; 0 if there
// is none.
func atWork(dir string) (worker, executor int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		comm, _ := os.ReadFile(filepath.Join(process, "comm"))
		if !strings.HasPrefix(string(comm), "rivulet-worker") {
			continue
		}
		in, _ := os.Readlink(filepath.Join(process, "cwd"))
		stat, _ := os.ReadFile(filepath.Join(process, "stat"))
		_, behind, ok := strings.Cut(string(stat), ") ") // state and parent
		if fields := strings.Fields(behind); ok && len(fields) > 1 && strings.HasPrefix(in, dir+"/work/") {
			worker, _ = strconv.Atoi(filepath.Base(process))
			executor, _ = strconv.Atoi(fields[1])
			return worker, executor
		}
	}
	return 0, 0
}

// awaitWork waits for a process that does a stage.
func awaitWork(t *testing.T, dir string) (executor int) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if worker, executor := atWork(dir); worker > 0 {
			return executor
		}
	}
	t.Error("no worker was seen at work")
	return 0
}

// kill ends a process as kill −9 does.
func kill(t *testing.T, id int) {
	t.Helper()
	p, err := os.FindProcess(id)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("killing %d: %v", id, err)
	}
}

// executorKiller is a progress that has an executor killed while a worker of a stage runs below it.
type executorKiller struct {
	shown
	stage, dir string
	done       chan struct{}
}

func (k *executorKiller) Step(what string, done, total int) {
	k.shown.Step(what, done, total)
	if what != k.stage || done != 0 || k.done != nil {
		return
	}
	k.done = make(chan struct{})
	go func() {
		defer close(k.done)
		if executor := awaitWork(k.t, k.dir); executor > 0 {
			k.t.Logf("killing executor %d", executor)
			kill(k.t, executor)
		}
	}()
}

// An executor that is killed while a worker runs below it changes no byte.
func TestSparkWithAnExecutorKilled(t *testing.T) {
	a, dir, d := realSpark(t), sparkDir(t), generated(t)
	want := train(t, local.NewMemory(solved.Functions, trainer.Silent{}), d)
	for _, stage := range []string{partition.StageBlocks, solved.StageTake} {
		killer := &executorKiller{shown: shown{t}, stage: stage, dir: dir}
		e, err := spark.Open(t.Context(), spark.Connect(connect.New(a, nil)), spark.Options{
			Work: t.TempDir(), Partitions: 4, Workers: workers(t), Progress: killer})
		expect.OK(t, err)
		sameFiles(t, want, train(t, e, d))
		if killer.done == nil {
			t.Fatalf("stage %s did not run", stage)
		}
		<-killer.done
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Environment of a run in a process of its own.
const (
	childWork = "RIVULET_TEST_SPARK_WORK" // the working directory; set in a child
	childOut  = "RIVULET_TEST_SPARK_OUT"  // the directory of the artifact
)

// TestSparkChild is no test but the run of the tests below, in a process of its own.
func TestSparkChild(t *testing.T) {
	work := os.Getenv(childWork)
	if work == "" {
		t.Skip("it is for other tests")
	}
	d := generated(t)
	e, err := spark.Open(t.Context(), spark.Connect(connect.New(realSpark(t), nil)), spark.Options{
		Work: work, Partitions: 4, Workers: workers(t), Progress: said{}})
	expect.OK(t, err)
	s, err := trainer.StagedOf(d, options())
	expect.OK(t, err)
	out, err := trainer.TrainStaged(t.Context(), e, s, options(), created, trainer.Silent{})
	expect.OK(t, err)
	expect.OK(t, errors.Join(artifact.Write(os.Getenv(childOut), out.Bundle), e.Close(t.Context())))
	fmt.Printf("ran %d found %d\n", e.Ran, e.Found)
}

// said writes what begins.
type said struct{}

func (said) Step(what string, done, _ int) {
	if done == 0 {
		fmt.Println("begins", what)
	}
}

// child is a run in a process of its own.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	text  strings.Builder
}

func startChild(t *testing.T, work, out string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSparkChild$", "-test.v")
	cmd.Env = append(os.Environ(), childWork+"="+work, childOut+"="+out)
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	expect.OK(t, err)
	return &child{cmd: cmd, lines: bufio.NewScanner(pipe)}
}

// until reads lines to the n-th of one text; false if there are fewer.
func (c *child) until(line string, n int) bool {
	for c.lines.Scan() {
		c.text.WriteString(c.lines.Text() + "\n")
		if c.lines.Text() == line {
			if n--; n == 0 {
				return true
			}
		}
	}
	return false
}

// end reads the rest and returns how the process ended, and what it wrote.
func (c *child) end() (string, error) {
	c.until("", 0)
	return c.text.String(), c.cmd.Wait()
}

var ranAndFound = regexp.MustCompile(`ran (\d+) found (\d+)`)

// finish runs the run to its end and fails unless it gives the bytes that are wanted and finds some stages.
func finish(t *testing.T, work, want string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "artifact")
	text, err := startChild(t, work, out).end()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	counts := ranAndFound.FindStringSubmatch(text)
	if counts == nil || counts[1] == "0" || counts[2] == "0" {
		t.Errorf("it began anew, or had nothing to do: %s", text)
	}
	t.Log(counts)
	sameFiles(t, want, out)
}

// The trainer is killed while a worker of one of its stages runs, twice, and started again at once, while Spark may
// still write what the killed one had asked for.
func TestSparkWithTheTrainerKilled(t *testing.T) {
	realSpark(t)
	dir, work := sparkDir(t), t.TempDir()
	want := train(t, local.NewMemory(solved.Functions, trainer.Silent{}), generated(t))
	for _, stage := range []string{partition.StageTiles, solved.StageBring} {
		c := startChild(t, work, filepath.Join(t.TempDir(), "artifact"))
		if !c.until("begins "+stage, 1) {
			text, err := c.end()
			t.Fatalf("%s has not begun: %v: %s", stage, err, text)
		}
		awaitWork(t, dir)
		kill(t, c.cmd.Process.Pid)
		if _, err := c.end(); err == nil {
			t.Error("the process was not killed")
		}
	}
	finish(t, work, want)
}

// Spark's driver, the Connect server, is killed while a worker runs: the trainer ends with an error that says so, and
// goes on when the server is there again.
func TestSparkWithItsDriverKilled(t *testing.T) {
	a := realSpark(t)
	dir, work := sparkDir(t), t.TempDir()
	want := train(t, local.NewMemory(solved.Functions, trainer.Silent{}), generated(t))
	c := startChild(t, work, filepath.Join(t.TempDir(), "artifact"))
	if !c.until("begins "+solved.StageTake, 1) {
		text, err := c.end()
		t.Fatalf("%v: %s", err, text)
	}
	awaitWork(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "connect.pid"))
	expect.OK(t, err)
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	expect.OK(t, err)
	kill(t, id)
	wrote, err := c.end()
	restart := exec.Command("../../../tools/spark/spark.sh", "connect", dir)
	if out, err := restart.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if says := "no Spark Connect server answers at " + a.String(); err == nil || !strings.Contains(wrote, says) {
		t.Errorf("%v: %s: want %q", err, wrote, says)
	}
	finish(t, work, want)
}
