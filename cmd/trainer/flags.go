package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rivulet/dataset"
	"rivulet/infer/architecture"
	"rivulet/internal/help"
	"rivulet/lab/mcond"
	"rivulet/lab/methods"
	"rivulet/mapping"
	"rivulet/trainer"
)

// laboratory has the methods of package lab/methods, with their default settings.
var laboratory = methods.All(methods.Settings{})

// Headings of flags, in help.
const (
	headModel      = "Model"
	headSize       = "Size of S and M"
	headArtifact   = "Parts of the artifact"
	headEvaluation = "Evaluation"
)

// runFlags registers the flags that train and eval share: the options of a run except method, size and seed.
func runFlags(flags *pflag.FlagSet, o *trainer.Options) {
	help.Group(flags, headModel, func() {
		flags.StringSliceVar(&o.Models, "models", o.Models,
			"models to fit and serve through one M, the first by default: "+strings.Join(architecture.Names(), ", ")+
				"; auto: all, of which train serves the best on validation")
	})
	fitFlags(flags, o)
	help.Group(flags, headEvaluation, func() {
		flags.IntVar(&o.Batch, "batch", o.Batch, "nodes of a batch in evaluation")
		flags.BoolVar(&o.Costs, "costs", o.Costs, costsUsage)
	})
	o.Keeper, o.More = mapping.Footprint{}, laboratory
}

// fitFlags registers the flags of how models are fitted and rows of M are solved.
func fitFlags(flags *pflag.FlagSet, o *trainer.Options) {
	help.Group(flags, headSize, func() {
		flags.IntVar(&o.Entries, "entries", o.Entries, "most entries of a row of M, of method solved")
	})
	help.Group(flags, headModel, func() {
		flags.IntVar(&o.Hidden, "hidden", o.Hidden, "width of the hidden layers, of models that have some")
		flags.IntVar(&o.Layers, "layers", o.Layers,
			"number of layers, of "+having(func(a *architecture.Architecture) bool { return a.Deepens() })+
				"; 0: the fewest")
		flags.IntVar(&o.Hops, "hops", o.Hops, "number of hops, of "+having(hasHops)+"; 0: the model's default")
		flags.Float64SliceVar(&o.WeightDecays, "weight-decays", trainer.WeightDecays,
			"weight decays that validation chooses from, for each model fitted on the original graph")
		flags.StringVar(&o.Preprocess, "preprocess", o.Preprocess,
			"features: auto, l1, l2-center, standardize or none; auto: l2-center for bags of words, else standardize")
		flags.StringVar(&o.Own, "own", o.Own, ownUsage)
	})
}

// modelsAuto is the value of --models that stands for all of a method's.
const modelsAuto = "auto"

// expandModels puts the models of auto into the options, and reports whether it was given.
func expandModels(o *trainer.Options) bool {
	if !slices.Equal(o.Models, []string{modelsAuto}) {
		return false
	}
	o.Models = o.Candidates()
	return true
}

// ownUsage is the help of --own.
const ownUsage = "a small model of an arrival's own features answers beside the models: " +
	"auto (where validation gains more than 0.5 points), always or never"

// costsUsage and representationUsage are the help of --costs and --representation.
const (
	costsUsage          = "measure time and memory of inference, too"
	representationUsage = "add the tables by which a frozen sgc publishes embeddings"
)

// spreadUsage is the help of --spread.
const spreadUsage = "fit models on S (S->S) with the spread of the original nodes around the synthetic ones, too, " +
	"and to soft labels (S->S labels); false: on S alone"

// registerKinds registers the flags of the propagations among which validation chooses.
func registerKinds(flags *pflag.FlagSet, o *trainer.Options) {
	help.Group(flags, headModel, func() {
		flags.BoolVar(&o.Propagate, "propagate", o.Propagate, "have validation choose label and error propagation "+
			"(LP, EP), too; false leaves out their hops, on a large graph most of the work")
	})
}

// mapFlags are --map and --no-ids of a run that makes an artifact.
type mapFlags struct {
	flags *pflag.FlagSet
	noIDs bool
}

func registerMap(flags *pflag.FlagSet, o *trainer.Options) *mapFlags {
	m := &mapFlags{flags: flags}
	help.Group(flags, headArtifact, func() {
		flags.BoolVar(&o.Map, "map", o.Map, "add map.safetensors: S in the plane, for the Map view of rivulet page")
		flags.BoolVar(&m.noIDs, "no-ids", false, "leave the ids of original nodes out of the map")
	})
	return m
}

// apply puts --no-ids, if it was given, into the options, and refuses it where there is no map.
func (m *mapFlags) apply(o *trainer.Options) error {
	if !m.flags.Changed("no-ids") {
		return nil
	}
	if o.MapIDs = !m.noIDs; m.noIDs && !o.Map {
		return errors.New("--no-ids is for the map, which --map adds")
	}
	return nil
}

// learnFlags holds the flags of the method learned (and gcond), which change mcond.Defaults.
type learnFlags struct {
	flags  *pflag.FlagSet
	o      mcond.Options
	plain  bool
	search bool
	grid   mcond.Grid
}

// newLearnFlags registers the weights, thresholds and rounds of the method learned.
func newLearnFlags(flags *pflag.FlagSet) *learnFlags {
	l := &learnFlags{flags: flags, grid: mcond.DefaultGrid()}
	o := mcond.Defaults(1 << 20)
	help.Group(flags, "Method learned", func() {
		flags.IntVar(&l.o.Rounds, "rounds", o.Rounds, "learned, gcond: outer rounds, each with a relay of its own")
		flags.Float64Var(&l.o.Lambda, "lambda", o.Lambda, "learned: weight λ of the structure loss")
		flags.Float64Var(&l.o.Beta, "beta", o.Beta, "learned: weight β of the inductive loss")
		flags.Float64SliceVar(&l.o.Mu, "mu", o.Mu,
			"learned, gcond: thresholds μ of A', in units of 1/N', that validation chooses from")
		flags.Float64SliceVar(&l.o.Delta, "delta", o.Delta,
			"learned: thresholds δ of M, in units of 1/N', that validation chooses from")
	})
	return l
}

// studies registers what only measurements need: ablations, when to stop, and the search for λ and β.
func (l *learnFlags) studies() *learnFlags {
	help.Group(l.flags, "Ablations and search of method learned", func() {
		l.flags.IntVar(&l.o.Patience, "patience", mcond.Defaults(1<<20).Patience,
			"learned, gcond: evaluations in a row without a better one that end the run; 0: none do")
		l.flags.BoolVar(&l.o.NoStructure, "no-structure", false, "learned: ablation without the structure loss L_str")
		l.flags.BoolVar(&l.o.NoInductive, "no-inductive", false, "learned: ablation without the inductive loss L_ind")
		l.flags.BoolVar(&l.plain, "plain", false, "learned: ablation without both")
		l.flags.BoolVar(&l.o.RandomStart, "random-start", false,
			"learned: ablation in which M starts at random, not class-aware")
		l.flags.BoolVar(&l.search, "search", false, "learned: choose λ, β, μ and δ on validation first; --json has them")
		l.flags.Float64SliceVar(&l.grid.Lambda, "search-lambda", l.grid.Lambda, "values of λ that --search tries")
		l.flags.Float64SliceVar(&l.grid.Beta, "search-beta", l.grid.Beta, "values of β that --search tries")
		l.flags.IntVar(&l.grid.Rounds, "search-rounds", l.grid.Rounds, "outer rounds of each point that --search tries")
	})
	return l
}

// learnNames lists the flags that set a field of mcond.Options of the same meaning.
var learnNames = []string{"rounds", "lambda", "beta", "mu", "delta", "patience", "no-structure",
	"no-inductive", "plain", "random-start"}

// settings returns the settings of the learned methods for runs of some methods on d. A flag that none of these methods
// reads is an error.
func (l *learnFlags) settings(d *dataset.Dataset, names []string) (s methods.Settings, err error) {
	said := slices.DeleteFunc(slices.Clone(learnNames), func(name string) bool { return !l.flags.Changed(name) })
	if len(said) > 0 && !slices.ContainsFunc(names, learns) {
		return s, fmt.Errorf("--%s is for method learned, not %s", said[0], strings.Join(names, ", "))
	}
	if l.search && !slices.Contains(names, methods.Learned) {
		return s, fmt.Errorf("--search is for method %s, not %s", methods.Learned, strings.Join(names, ", "))
	}
	if l.search {
		s.Search = &l.grid
	}
	if len(said) == 0 {
		return s, nil
	}
	learn := methods.Defaults(d)
	for name, set := range map[string]func(){
		"rounds": func() { learn.Rounds = l.o.Rounds }, "lambda": func() { learn.Lambda = l.o.Lambda },
		"beta": func() {
			learn.Beta = l.o.Beta
		}, "mu": func() { learn.Mu = l.o.Mu }, "delta": func() { learn.Delta = l.o.Delta },
		"patience":     func() { learn.Patience = l.o.Patience },
		"no-structure": func() { learn.NoStructure = l.o.NoStructure },
		"no-inductive": func() { learn.NoInductive = l.o.NoInductive },
		"random-start": func() { learn.RandomStart = l.o.RandomStart },
	} {
		if l.flags.Changed(name) {
			set()
		}
	}
	if l.plain {
		learn.NoStructure, learn.NoInductive = true, true
	}
	s.Learn = &learn
	return s, learn.Validate()
}

// learns reports whether a method reads the settings of learned runs.
func learns(method string) bool {
	return slices.Contains([]string{methods.Learned, methods.GCond, methods.GCondX, methods.DosCond}, method)
}

// sizeFlags registers --ratio and --nodes of one run.
func sizeFlags(cmd *cobra.Command, o *trainer.Options) {
	flags := cmd.Flags()
	help.Group(flags, headSize, func() {
		flags.Float64Var(&o.Ratio, "ratio", o.Ratio,
			"synthetic nodes as a share of the original graph's; 0: 1%, but ten a class (and type of edges) if the labels allow")
		flags.IntVar(&o.Nodes, "nodes", o.Nodes, "synthetic nodes, instead of --ratio; 0: by ratio")
	})
}
