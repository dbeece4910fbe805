package main

import (
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/test/harness"
)

// What a user reads where Spark, its working directory or the workers are missing. The workers are looked for beside
// the program, which is this test.
func TestSparkFlagsRefuse(t *testing.T) {
	t.Setenv(sparkToken, "secret-word")
	for line, want := range map[string]string{
		"--engine spark":           "want --work, a directory that all of Spark's machines see",
		"--engine spark --work /w": "want one of --spark sc://host:15002 and --spark-sql PATH",
		"--engine spark --work /w --spark sc://h --spark-sql s":       "want one of --spark",
		"--engine spark --work /w --spark http://h":                   "--spark: want sc://host:port",
		"--engine spark --work /w --spark sc://h/;colour=secret-word": `parameter "colour" is not known`,
		"--engine spark --work /w --spark sc://h --partitions 0":      "--partitions is 0",
		"--engine spark --work /w --spark sc://h --memory 1GiB":       "--memory is for --engine disk",
		"--engine spark --work /w --spark sc://h --sums float":        "those of engine spark are always fixed",
		"--engine disk --spark sc://h": "--spark, --spark-sql and --partitions " +
			"are for --engine spark",
		"--engine spark --work /w --spark sc://h --method learned":               "method is learned",
		"--engine spark --work /w --spark sc://127.0.0.1:1 --preset small":       "build them with: make workers",
		"--engine spark --work /w --spark-sql /nowhere/spark-sql --preset small": "build them with: make workers",
	} {
		out, err := harness.Execute(root(), strings.Fields("train --out "+filepath.Join(t.TempDir(), "a")+" "+line)...)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(out+err.Error(), "secret-word") {
			t.Errorf("%s: error %v, want %q", line, err, want)
		}
	}
	expect.Error(t, expect.ErrorOf(harness.Execute(root(), "clean", "--spark-sql", "/nowhere/spark-sql", "/w")),
		"/nowhere/spark-sql")
}
