package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"rivulet/internal/build"
)

// Machine is where a run was made.
type Machine struct {
	CPU     string   `json:"cpu"`
	Vectors []string `json:"vectors"` // of avx2, fma, avx512f: those that the processor has
	Cores   int      `json:"cores"`   // that Go uses
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	Go      string   `json:"go"`
	Commit  string   `json:"commit"`
}

// ThisMachine describes the machine and the build.
func ThisMachine() Machine {
	b := build.Read()
	m := Machine{CPU: "unknown processor", Vectors: []string{}, Cores: runtime.GOMAXPROCS(0), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Go: b.Go, Commit: b.Commit}
	f, err := os.Open("/proc/cpuinfo") // on Linux
	if err != nil {
		return m
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(key) {
		case "model name":
			m.CPU = strings.TrimSpace(value)
		case "flags":
			flags := strings.Fields(value)
			m.Vectors = slices.DeleteFunc([]string{"avx2", "fma", "avx512f"},
				func(v string) bool { return !slices.Contains(flags, v) })
		case "":
			return m // the end of the first processor
		}
	}
	return m
}

// String is the machine in one line.
func (m Machine) String() string {
	vectors := "no vector extensions known"
	if len(m.Vectors) > 0 {
		vectors = strings.Join(m.Vectors, ", ")
	}
	return fmt.Sprintf("%s (%s), %d cores, %s/%s, %s, commit %s", m.CPU, vectors, m.Cores, m.OS, m.Arch, m.Go, m.Commit)
}
