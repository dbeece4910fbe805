package spark

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// program is a [Runner]: each call writes a file of statements and runs spark-sql -f on it, an application of Spark of
// its own.
type program struct {
	path  string
	dir   string   // of files and statements
	keep  []string // workers: needed by every call
	fresh []string // needed by the next
	calls int
}

// Command returns a Runner that runs the program spark-sql at a path, whose configuration says which cluster it uses.
// Its files lie in a directory of this process, which Close removes.
func Command(path string) (Runner, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("spark-sql: %w", err)
	}
	dir, err := os.MkdirTemp("", "rivulet-spark-")
	if err != nil {
		return nil, err
	}
	return &program{path: found, dir: dir}, nil
}

// Saves implements [Runner].
func (p *program) Saves() bool { return true }

// Send implements [Runner].
func (p *program) Send(_ context.Context, files ...File) error {
	for _, f := range files {
		name := filepath.Join(p.dir, f.Name)
		if err := os.WriteFile(name, f.Content, 0o700); err != nil { // the tasks run workers
			return err
		}
		if strings.HasPrefix(f.Name, workerPrefix) {
			p.keep = append(p.keep, name)
		} else {
			p.fresh = append(p.fresh, name)
		}
	}
	return nil
}

// answerMark begins a line of the query's answer: spark-sql writes other lines, too.
const answerMark = "rivulet-answer "

// script is the file of a call.
func (p *program) script(statements []string, query string) string {
	var s strings.Builder
	for _, file := range append(p.keep, p.fresh...) {
		s.WriteString("ADD FILE " + literal(file) + ";\n")
	}
	for _, statement := range statements {
		s.WriteString(statement + ";\n")
	}
	if query != "" {
		s.WriteString("SELECT concat(" + literal(answerMark) + ", s) AS s FROM (" + query + ");\n")
	}
	return s.String()
}

// Run implements [Runner].
func (p *program) Run(ctx context.Context, statements []string, query string, r Reporter) error {
	p.calls++
	file := filepath.Join(p.dir, fmt.Sprintf("call-%d.sql", p.calls))
	if err := os.WriteFile(file, []byte(p.script(statements, query)), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.path, "-S", "-f", file)
	cmd.Dir = p.dir // spark-sql leaves files where it is started
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("spark-sql: %w", err)
	}
	answered := answers(out, r)
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w", reason(errs.String()), err)
	}
	for _, name := range p.fresh {
		_ = os.Remove(name) // it has been sent
	}
	p.fresh = nil
	return answered
}

// answers gives the lines of the query's answer to a reporter.
func answers(out io.Reader, r Reporter) error {
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), answerMark); ok {
			if err := r.Strings([]string{value}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ofSpark is the line of an error of Spark's own, which has a name; warnings before it have stacks of other errors.
var ofSpark = regexp.MustCompile(`(?m)^(?:.*: )?\[[A-Z][A-Z0-9_.]+\] .*$`)

// reason is spark-sql's own message for an error, without the lines of its log.
func reason(text string) string {
	if at := strings.Index(text, prefix); at >= 0 {
		line, _, _ := strings.Cut(text[at:], "\n")
		return line
	}
	if line := ofSpark.FindString(text); line != "" {
		return strings.TrimSpace(line)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "Exception:") || strings.HasPrefix(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	const tail = 500
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-tail):], ""))
}

// Close implements [Runner].
func (p *program) Close(context.Context) error { return os.RemoveAll(p.dir) }
