package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"rivulet/test/chaos/stream"
	"rivulet/test/chaos/world"
	"rivulet/test/harness"
)

// options are the command line's.
type options struct {
	world.Options
	length time.Duration
	rate   int
	only   string
	commit string
}

func main() {
	var o options
	flag.Uint64Var(&o.Seed, "seed", 1, "decides the order of the faults, and when and whom they hit")
	flag.DurationVar(&o.length, "time", 10*time.Minute,
		"how long: no fault begins, and no arrival of the steady rate is sent, after that")
	flag.IntVar(&o.rate, "rate", 100, "arrivals a second, of each stream")
	flag.StringVar(&o.Dir, "dir", "",
		"keep logs and configurations in this new directory; empty: in one that is removed where all is well")
	flag.StringVar(&o.Bin, "bin", "", "directory of the programs; empty: they are built")
	flag.StringVar(&o.only, "only", "", "deal only faults whose names contain this; several: with | between them")
	flag.IntVar(&o.Brokers, "brokers", 3, "brokers of Kafka: 1, or 3 or more, with three replicas of all topics")
	flag.BoolVar(&o.Sentinel, "sentinel", false, "Redis is a master and a replica with a sentinel, and fails over")
	flag.StringVar(&o.Streams, "streams", "",
		"run only streams whose delivery and redis.outage, as \"at_least_once, wait\", contain this")
	flag.StringVar(&o.Old, "old", "",
		"a commit whose programs run beside the new ones for two minutes, of faults; empty: none")
	flag.DurationVar(&o.Patience, "patience", patience,
		"how long to wait for answers before a run ends and calls them lost")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./test/chaos [flags] faults|soak, in the module")
		flag.PrintDefaults()
	}
	flag.Parse()
	command := map[string]func(context.Context, *world.World, options) error{"faults": faultsCommand,
		"soak": soakCommand}[flag.Arg(0)]
	if flag.NArg() != 1 || command == nil || o.rate < 1 || o.Brokers < 1 || o.Brokers == 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	patience, o.commit = o.Patience, commit() // the files may be others at the end
	err := inWorld(ctx, o, command)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inWorld runs a command with everything started, and cleans up.
func inWorld(ctx context.Context, o options, command func(context.Context, *world.World, options) error) (err error) {
	if _, err := harness.Root(); err != nil {
		return err
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "rivulet-chaos"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				_ = os.RemoveAll(o.Dir)
			} else {
				err = fmt.Errorf("%w\nlogs are in %s", err, o.Dir)
			}
		}()
	} else if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return err
	}
	if flag.Arg(0) == "soak" {
		o.IDs, o.RowsLive, o.Brokers = soakIDs, soakRowsLive, 1
	} else {
		o.RowsLive = rowsLive
	}
	w, err := world.New(ctx, o.Options, os.Stderr)
	defer w.Close(context.WithoutCancel(ctx)) //nolint:staticcheck // it returns what it has started, also with an error
	if err != nil {
		return err
	}
	return command(ctx, w, o)
}

// faultsCommand causes the faults and prints the table.
func faultsCommand(ctx context.Context, w *world.World, o options) error {
	all := possible(w, o.only)
	if len(all) == 0 || len(stream.Kinds(w.Options)) == 0 {
		return fmt.Errorf("-only is %q and -streams %q: there is no such fault, or no such stream", o.only, o.Streams)
	}
	failed := make(chan error)
	r := &run{options: o, world: w, failed: failed}
	trouble := collect(w, failed)
	kinds := stream.Kinds(w.Options)
	for i, k := range kinds {
		s, err := stream.New(ctx, w, k, uint64(i+1), failed)
		if err != nil {
			return err
		}
		r.streams = append(r.streams, s)
	}
	err := r.faultsFor(ctx, schedule(rand.New(rand.NewPCG(o.Seed, 0)), all))
	if err != nil {
		w.Say("%v", err)
	}
	for _, s := range r.streams {
		s.Close()
	}
	close(failed)
	err = errors.Join(err, trouble())
	if ctx.Err() != nil {
		return err // work under way is not lost, only not waited for
	}
	return errors.Join(err, r.report(ctx, o))
}

// collect gathers the errors of the goroutines beside the faults; the returned function returns them once failed is
// closed.
func collect(w *world.World, failed <-chan error) func() error {
	var all error
	var wait sync.WaitGroup
	wait.Go(func() {
		for err := range failed {
			w.Say("%v", err)
			all = errors.Join(all, err)
		}
	})
	return func() error {
		wait.Wait()
		return all
	}
}

// commit returns the commit of the build.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output() //nolint:noctx // it ends by itself
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
