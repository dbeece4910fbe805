// Package world is a directory with programs, a data set and artifacts, and the services that they talk to.
package world

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"rivulet/event/json"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// Options say how a world is made.
type Options struct {
	Seed     uint64
	Dir      string // of everything
	Bin      string // directory of the programs; empty: they are built
	Old      string // a commit whose programs are built, too; empty: none
	Streams  string // only streams whose name contains this run
	Brokers  int
	Sentinel bool // Redis is a master and a replica with a sentinel
	// IDs is the number of arrivals that are made at least, and sent before the first refresh; 0: as many as the data
	// set has.
	IDs      int
	RowsLive time.Duration // ttl of rows of arrivals
	Patience time.Duration // how long anything may take on a busy machine
}

// World has the services and programs that the streams of a run share.
type World struct {
	harness.Workshop
	Options Options
	log     io.Writer
	OldBin  string // programs of another commit; empty: none
	Versions
	Released atomic.Int64 // how many of Arrivals are sent by now: the others are for refreshes to come
	ByID     map[string]record.Arrival
	Features int

	Services
	Traps Traps
}

// New builds, trains and starts everything. The caller closes it, also after an error.
func New(ctx context.Context, o Options, log io.Writer) (*World, error) {
	w := &World{Workshop: harness.Workshop{Dir: o.Dir, Bin: o.Bin}, Options: o, log: log, Versions: newVersions(),
		ByID: map[string]record.Arrival{}}
	for _, need := range []string{"redis-server", "java", "openssl"} {
		if _, err := exec.LookPath(need); err != nil {
			return w, fmt.Errorf("a real Kafka and a real Redis are needed: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{w.build, w.startServices, w.train, w.expect} {
		if err := step(ctx); err != nil {
			return w, err
		}
	}
	return w, w.Publish(ctx, 0)
}

// Say writes a line to the log of the run.
func (w *World) Say(format string, args ...any) {
	fmt.Fprintf(w.log, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}

func (w *World) build(ctx context.Context) error {
	if w.Options.Old != "" {
		w.Say("building the programs of %s", w.Options.Old)
		w.OldBin = w.Path("old-bin")
		if err := harness.BuildCommit(ctx, w.Options.Old, w.Path("old-tree"), w.OldBin); err != nil {
			return err
		}
	}
	if w.Workshop.Bin != "" {
		return nil
	}
	w.Say("building the programs")
	w.Workshop.Bin = w.Path("bin")
	return harness.Build(ctx, w.Workshop.Bin, "-tags", "chaos") // their clocks can be stepped
}

// train makes a data set and two artifacts.
func (w *World) train(ctx context.Context) error {
	w.Say("training two artifacts")
	seeds := []string{"1", "2"}
	if err := w.Train(ctx, seeds...); err != nil {
		return err
	}
	var err error
	for _, seed := range seeds {
		if err == nil {
			w.Features, err = w.add("artifact-" + seed)
		}
	}
	return err
}

// RedisConfig returns the configuration for clients that come past the proxies.
func (w *World) RedisConfig() string {
	addr := ""
	if w.Redis != nil {
		addr = w.Redis.Addr
	}
	return fmt.Sprintf("redis: {%s, prefix: %s}\n", w.RedisURL(addr), Prefix)
}

// aRefresh is the number of arrivals that are kept back for one refresh, so that it has something to merge. At first a
// quarter of all arrivals is kept back; in a soak, all that are made beyond Options.IDs.
const aRefresh = 40

// Release lets the arrivals be sent that are kept back for the next refresh.
func (w *World) Release() { w.Released.Store(min(w.Released.Load()+aRefresh, int64(len(w.Arrivals)))) }

// expect makes arrivals of the data set's test nodes, stores the features of those that may come without, and notes
// each artifact's answers to them.
func (w *World) expect(ctx context.Context) error {
	lines, err := w.Output(ctx, nil, "rivulet", "replay", "--data", w.Path("data"), "--out", "-")
	if err == nil {
		w.Arrivals, err = record.Make(lines, w.Options.IDs)
	}
	if err != nil {
		return err
	}
	client := w.Stored.Client()
	defer func() { _ = client.Close() }()
	store := client.Pipeline()
	for _, a := range w.Arrivals {
		w.ByID[a.ID] = a
		store.Set(ctx, record.FeaturesKey(a.ID), a.Stored(w.Features), 0)
	}
	w.Released.Store(int64(len(w.Arrivals) - len(w.Arrivals)/4))
	if w.Options.IDs > 0 {
		w.Released.Store(int64(w.Options.IDs))
	}
	if _, err := store.Exec(ctx); err != nil {
		return err
	}
	return w.Learn(ctx)
}

// Line returns an arrival in JSON; what stands behind a ~ makes the id its own.
func (w *World) Line(id string) ([]byte, error) {
	base, _, _ := strings.Cut(id, "~")
	a := *w.ByID[base].Decoded
	a.ID = id
	return json.Codec{}.AppendArrival(nil, &a)
}
