package spark

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is something that is sent to the tasks.
type File struct {
	Name    string // with the SHA-256 of the content
	Content []byte
}

func newFile(prefix string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{prefix + "-" + hex.EncodeToString(sum[:16]), content}
}

// workerPrefix begins the names of workers that are sent.
const workerPrefix = "rivulet-worker-"

// architectures are Go's names and uname -m's.
var architectures = []struct {
	name, machine string
	elf           elf.Machine
}{{"amd64", "x86_64", elf.EM_X86_64}, {"arm64", "aarch64", elf.EM_AARCH64}}

// Workers reads the programs that make workers builds, worker-linux-amd64 and worker-linux-arm64: at least one of them
// must be in the directory.
func Workers(dir string) (map[string]File, error) {
	found := map[string]File{}
	for _, a := range architectures {
		name := filepath.Join(dir, "worker-linux-"+a.name)
		content, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		program, err := elf.Open(name)
		if err != nil {
			return nil, fmt.Errorf("worker %s is no program for linux: build it with: make workers: %w", name, err)
		}
		machine := program.Machine
		_ = program.Close()
		if machine != a.elf {
			return nil, fmt.Errorf("worker %s is a program for %s, want %s: build it with: make workers", name, machine, a.elf)
		}
		found[a.name] = newFile(workerPrefix+a.name, content)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no worker-linux-amd64 or worker-linux-arm64 is in %s, where this program is: build them "+
			"with: make workers", dir)
	}
	return found, nil
}

// command is the shell command of a task: the worker for its machine on a job. Sent files are in a directory of the
// session or in the task's own, so their names are hexadecimal digits.
func command(workers map[string]File, job string) string {
	var s strings.Builder
	s.WriteString("case $(uname -m) in ")
	for _, a := range architectures {
		if w, ok := workers[a.name]; ok {
			s.WriteString(a.machine + ") w=" + w.Name + ";; ")
		}
	}
	names := []string{}
	for name := range workers {
		names = append(names, name)
	}
	slices.Sort(names)
	fail := func(words string) string {
		return `echo "` + prefix + words + `" >&2; cat >/dev/null; exit 1`
	}
	s.WriteString("*) " + fail("this machine is $(uname -m), and workers were sent for "+strings.Join(names, ", ")+
		" only: make workers builds both") + ";; esac; ")
	s.WriteString("j=" + job + "; for d in ./*/ ./; do if [ -f $d$w ] && [ -f $d$j ]; then " +
		"[ -x $d$w ] || chmod +x $d$w; exec $d$w $d$j; fi; done; ")
	s.WriteString(fail("worker or job has not reached this machine"))
	return s.String()
}
