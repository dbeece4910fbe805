package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"rivulet/schema"
	"rivulet/test/expect"
	"rivulet/trainer"
)

func TestSchemaFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--feature a=text:64 --feature b=age:2026-01-31 --missing a=refuse --min-count 3": "",
		"--feature a=word":  `--feature a: kind is "word"`,
		"--missing a=never": `--missing a: missing is "never"`,
	} {
		o := trainer.Defaults()
		o.Seed = 9
		flags := pflag.NewFlagSet("train", pflag.ContinueOnError)
		f := registerSchema(flags, &o)
		expect.OK(t, flags.Parse(strings.Fields(line)))
		err := f.apply(&o)
		if want != "" {
			expect.Error(t, err, want, "%s", line)
			continue
		}
		if s := o.Schema; err != nil || s.Kinds["a"] != "text:64" || s.Missing["a"] != schema.RuleRefuse || s.MinCount != 3 ||
			s.Seed != 9 {
			t.Errorf("%s: %+v, %v", line, s, err)
		}
	}
}

func TestPrintSchema(t *testing.T) {
	s, err := schema.Parse([]byte(
		`{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"text","missing":"zero","buckets":8}],` +
			`"unused":[{"name":"b","reason":"dropped"}]}`))
	expect.OK(t, err)
	var out strings.Builder
	printSchema(&out, s)
	want := "column \"a\" is used: text:8, missing: zero, 8 of 8 positions\ncolumn \"b\" is not used: dropped\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}
