package spark

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"rivulet/trainer/stage/pipe"
)

// Runner runs statements in Spark.
type Runner interface {
	// Send makes files available to the tasks of statements that are run from now on. One that was sent is not sent again.
	Send(ctx context.Context, files ...File) error
	// Run runs statements and then a query, unless that is empty, of one column of strings without nulls and line breaks.
	Run(ctx context.Context, statements []string, query string, r Reporter) error
	// Saves reports whether a few statements in one call are much cheaper than in several.
	Saves() bool
	// Close ends running statements.
	Close(ctx context.Context) error
}

// Reporter is told of statements' results. Functions may be called from the goroutine of Run alone.
type Reporter interface {
	// Tasks says how many of the tasks known so far are done.
	Tasks(done, total int)
	// Strings are rows of the query.
	Strings(values []string) error
}

const prefix = pipe.Prefix

// ofWorker finds the reason in Spark's message about a failed task: the line of a worker.
var ofWorker = regexp.MustCompile(regexp.QuoteMeta(prefix) + `([^\r\n]*)`)

// Spark's names of errors that the user can mend.
var notThere = regexp.MustCompile(
	`\[(PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA)\]?|Path does not exist|Unable to infer schema`)

// isMissing reports whether Spark says that a directory is not there or has no rows.
func isMissing(err error) bool { return err != nil && notThere.MatchString(err.Error()) }

// hints explain Spark's messages for errors that the user can mend.
var hints = []struct {
	words *regexp.Regexp
	hint  string
}{
	{regexp.MustCompile(`No space left on device|DiskErrorException|Disk quota exceeded`),
		"a machine of Spark has no room left, in spark.local.dir or in --work: make room, and give the same command again"},
	{regexp.MustCompile(`TASK_WRITE_FAILED`), // Spark Connect says no more: the reason is in the executors' logs
		"a machine of Spark could not write below --work, most often as there is no room left: make room, and give the " +
			"same command again"},
	{regexp.MustCompile(`ExecutorLostFailure|FetchFailedException|OutOfMemoryError`),
		"executors of Spark ended or lost their files: their logs say why, often too little spark.executor.memory or " +
			"memoryOverhead"},
}

// maxWords bounds the part that is shown of Spark's own messages, which have plans and stacks.
const maxWords = 600

// words makes an error of a statement readable: the worker's reason, or the first lines of Spark's with a hint.
func words(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	text := err.Error()
	if found := ofWorker.FindStringSubmatch(text); found != nil {
		return errors.New(strings.TrimSpace(found[1]))
	}
	hint := ""
	for _, h := range hints {
		if hint == "" && h.words.MatchString(text) {
			hint = h.hint + ": "
		}
	}
	for _, cut := range []string{"\n\tat ", "\nDriver stacktrace", "\n\nJVM stacktrace", ";\n'"} {
		text, _, _ = strings.Cut(text, cut)
	}
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return fmt.Errorf("spark: %s%s", hint, strings.TrimSpace(text))
}
