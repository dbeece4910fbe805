package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"rivulet/trainer"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/spark"
	"rivulet/trainer/stage/spark/connect"
)

// engineSpark is a value of --engine.
const engineSpark = "spark"

// sparkToken is the variable of the environment that has the token of a Spark Connect server.
const sparkToken = "RIVULET_SPARK_TOKEN"

// sparkFlags say where Spark is.
type sparkFlags struct {
	address, program string
	partitions       int
}

func (f *sparkFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "spark", "",
		"of engine spark: a Spark Connect server, sc://host:15002[/;use_ssl=true]; its token is in "+sparkToken)
	flags.StringVar(&f.program, "spark-sql", "",
		"of engine spark: in place of --spark, the program spark-sql of an installation (3.5.2 or newer, also on YARN)")
	flags.IntVar(&f.partitions, "partitions", 64,
		"of engine spark: tasks that a shuffle is cut into; no result depends on it")
}

func (f *sparkFlags) given(flags *pflag.FlagSet) bool {
	return f.address != "" || f.program != "" || flags.Changed("partitions")
}

// check returns an error for flags with which Spark is not found.
func (f *sparkFlags) check() error {
	switch {
	case (f.address == "") == (f.program == ""):
		return errors.New("--engine spark: want one of --spark sc://host:15002 and --spark-sql PATH")
	case f.partitions < 1:
		return fmt.Errorf("--partitions is %d, want 1 or more", f.partitions)
	case f.program != "":
		return nil
	}
	if _, err := connect.Parse(f.address, os.Getenv(sparkToken)); err != nil {
		return fmt.Errorf("--spark: %w", err) // without the address, which may have a token
	}
	return nil
}

func (f *sparkFlags) runner() (spark.Runner, error) {
	if f.program != "" {
		r, err := spark.Command(f.program)
		if err != nil {
			return nil, fmt.Errorf("--spark-sql: %w", err)
		}
		return r, nil
	}
	a, err := connect.Parse(f.address, os.Getenv(sparkToken))
	if err != nil {
		return nil, fmt.Errorf("--spark: %w", err)
	}
	return spark.Connect(connect.New(a, nil)), nil
}

// open returns the engine, and a function that closes it. work is a directory that Spark's machines see.
func (f *sparkFlags) open(ctx context.Context, work string, progress trainer.Progress) (stage.Engine, func() error,
	error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	workers, err := spark.Workers(filepath.Dir(self))
	if err != nil {
		return nil, nil, err
	}
	r, err := f.runner()
	if err != nil {
		return nil, nil, err
	}
	closing := func(end func(context.Context) error) error {
		// Also after an interrupt: Spark should not go on when nobody waits for it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return end(ctx)
	}
	e, err := spark.Open(ctx, r, spark.Options{Work: work, Partitions: f.partitions, Workers: workers, Progress: progress})
	if err != nil {
		return nil, nil, errors.Join(err, closing(r.Close))
	}
	return e, func() error { return closing(e.Close) }, nil
}

// clean removes the tables of a working directory.
func (f *sparkFlags) clean(ctx context.Context, work string) error {
	if err := f.check(); err != nil {
		return err
	}
	r, err := f.runner()
	if err != nil {
		return err
	}
	return errors.Join(spark.Clean(ctx, r, work), r.Close(context.WithoutCancel(ctx)))
}
