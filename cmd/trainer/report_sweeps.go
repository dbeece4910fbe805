package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"rivulet/dataset"
	"rivulet/infer/propagation"
	"rivulet/internal/cli"
	"rivulet/lab/mcond"
	"rivulet/lab/methods"
	page "rivulet/lab/report"
	"rivulet/lab/study"
	"rivulet/trainer"
	"rivulet/trainer/eval"
)

// sweeps holds the runs for the parts of a report, each a study of one method at the first size, with the first seed
// and model.
type sweeps struct {
	k            []int
	lambda, beta []float64
	rounds       int

	set      *dataset.Dataset
	one      study.Options
	progress *cli.Lines
	traces   map[bool]*methods.Course // of the first size and seed, by whether M started at random
}

// check refuses values for a sweep that are not possible.
func (s *sweeps) check() error {
	for i, k := range s.k {
		if k < 1 {
			return fmt.Errorf("k[%d] is %d, want at least 1", i, k)
		}
	}
	if s.rounds < 1 {
		return fmt.Errorf("sweep-rounds is %d, want at least 1", s.rounds)
	}
	for name, values := range map[string][]float64{"lambda-values": s.lambda, "beta-values": s.beta} {
		for i, v := range values {
			if !(v >= 0) {
				return fmt.Errorf("%s[%d] is %g, want at least 0", name, i, v)
			}
		}
	}
	return nil
}

func (s *sweeps) start(d *dataset.Dataset, o study.Options, lines *cli.Lines) {
	o.Nodes, o.Ratios, o.Seeds = o.Nodes[:min(1, len(o.Nodes))], o.Ratios[:min(1, len(o.Ratios))], o.Seeds[:1]
	o.Run.Models = o.Run.Models[:1]
	o.Calibrations, o.Attachments, o.Ablations = []string{propagation.None}, nil, false
	s.set, s.one, s.progress, s.traces = d, o, lines, map[bool]*methods.Course{}
}

// keep keeps the traces that the page shows, if a study makes them anyway.
func (s *sweeps) keep(run trainer.Options, l *methods.Course) {
	first := run.Seed == s.one.Seeds[0] && (len(s.one.Nodes) == 0 || run.Nodes == s.one.Nodes[0]) &&
		(len(s.one.Ratios) == 0 || run.Ratio == s.one.Ratios[0])
	plain := !l.Options.NoStructure && !l.Options.NoInductive
	asked := s.one.Learned.Learn != nil && (s.one.Learned.Learn.NoStructure || s.one.Learned.Learn.NoInductive)
	if run.Method == methods.Learned && first && (plain || asked) && s.traces[l.Options.RandomStart] == nil {
		s.traces[l.Options.RandomStart] = l
	}
}

// run studies the method learned with one thing changed.
func (s *sweeps) run(ctx context.Context, change func(o *mcond.Options)) ([]eval.Result, error) {
	o := s.one
	o.Methods, o.Traced = []string{methods.Learned}, s.keep
	learn := methods.Defaults(s.set)
	if o.Learned.Learn != nil {
		learn = *o.Learned.Learn
	}
	learn.Checkpoint = "" // the file belongs to another run
	change(&learn)
	o.Learned.Learn = &learn
	return study.Run(ctx, s.set, o, s.progress)
}

// learned runs the method learned from a class-aware and from a random M, unless a study has done so.
func (s *sweeps) learned(ctx context.Context, _ *page.Page) error {
	for _, random := range []bool{false, true} {
		if s.traces[random] != nil {
			continue
		}
		s.progress.Note("method learned, " + startName(random) + " of M")
		if _, err := s.run(ctx, func(o *mcond.Options) { o.RandomStart = random }); err != nil {
			return err
		}
	}
	return nil
}

func startName(random bool) string {
	if random {
		return "random start"
	}
	return "class-aware start"
}

// draw puts the runs of method learned onto the page: the first in full and, if there are two, the losses of M of both.
func (s *sweeps) draw(p *page.Page) {
	l := s.traces[false]
	if l == nil {
		l = s.traces[true]
	}
	if l == nil {
		return
	}
	r, classes := l.Result, len(s.set.Classes)
	p.Learned = &page.LearnedCourse{Seed: l.Options.Seed, SyntheticNodes: len(r.Labels), Gra: r.Losses.Gra,
		Str: r.Losses.Str, Tra: r.Losses.Tra, Ind: r.Losses.Ind}
	p.Heat = &page.Heat{Before: methods.ClassMap(r.Start, l.Labels, r.Labels, classes),
		After: methods.ClassMap(r.Mapping, l.Labels, r.Labels, classes)}
	p.Sparsity = append([]page.Sparsity{overDelta(r)}, p.Sparsity...)
	if len(s.traces) < 2 {
		return
	}
	for _, random := range []bool{false, true} {
		losses := s.traces[random].Result.Losses
		p.Starts = append(p.Starts, page.Start{Name: startName(random), Tra: losses.Tra, Ind: losses.Ind})
	}
}

// overDelta returns the accuracy at each δ, by which a run chose δ, at its choice of μ.
func overDelta(r *mcond.Result) page.Sparsity {
	const settings = 3 // whose accuracies are summed in that choice: O→S, S→S and S→O
	out := page.Sparsity{Method: methods.Learned, Parameter: "δ",
		Of:    "mean of O→S, S→S and S→O on the validation nodes",
		Nodes: r.Mapping.Rows, SyntheticNodes: r.Mapping.Cols}
	for _, t := range r.Thresholds {
		if t.Mu == r.Mu {
			out.Points = append(out.Points, page.SparsityPoint{Value: t.Delta, Entries: t.EntriesM,
				Accuracy: eval.Spread{Mean: t.Accuracy / settings}})
		}
	}
	slices.SortFunc(out.Points, func(a, b page.SparsityPoint) int { return cmp.Compare(a.Value, b.Value) })
	return out
}

// sparsity draws the accuracy of the method solved at each k.
func (s *sweeps) sparsity(ctx context.Context, p *page.Page) error {
	out := page.Sparsity{Method: trainer.MethodSolved, Parameter: "k", Of: "O→S on the test nodes, graph batches",
		Nodes: p.Data.Nodes}
	for i, k := range s.k {
		o := s.one
		o.Methods, o.Run.Entries, o.Learned.Learn, o.Learned.Search = []string{trainer.MethodSolved}, k, nil, nil
		s.progress.Note(fmt.Sprintf("method solved, k = %d (%d of %d)", k, i+1, len(s.k)))
		rows, err := study.Run(ctx, s.set, o, s.progress)
		if err != nil {
			return err
		}
		row, err := rowOf(rows, eval.OtoS)
		if err != nil {
			return err
		}
		out.SyntheticNodes = row.SyntheticNodes
		out.Points = append(out.Points,
			page.SparsityPoint{Value: float64(k), Entries: int(row.KeptBytes / 8), Accuracy: row.Accuracy}) // see KeptBytes
	}
	p.Sparsity = append(p.Sparsity, out)
	return nil
}

// sensitivity draws the accuracy of the method learned at each λ, and at each β.
func (s *sweeps) sensitivity(ctx context.Context, p *page.Page) error {
	usual := methods.Defaults(s.set)
	if s.one.Learned.Learn != nil {
		usual = *s.one.Learned.Learn
	}
	s.one.Learned.Search = nil // its λ and β are set here
	known := map[[2]float64][]eval.Result{}
	of := fmt.Sprintf("test nodes, graph batches, N' = %%d, %d rounds, seed %d", s.rounds, s.one.Seeds[0])
	for _, sweep := range []struct {
		parameter, fixed string
		values           []float64
		at               func(v float64) (lambda, beta float64)
	}{
		{"λ", fmt.Sprintf("β = %g", usual.Beta), s.lambda, func(v float64) (lambda, beta float64) { return v, usual.Beta }},
		{"β", fmt.Sprintf("λ = %g", usual.Lambda), s.beta, func(v float64) (lambda, beta float64) { return usual.Lambda, v }},
	} {
		out := page.Sensitivity{Parameter: sweep.parameter, Fixed: sweep.fixed, Values: sweep.values}
		for _, setting := range []string{"O→S", "S→O", "S→S"} {
			out.Lines = append(out.Lines, page.SensitivityLine{Name: setting})
		}
		for i, v := range sweep.values {
			lambda, beta := sweep.at(v)
			rows := known[[2]float64{lambda, beta}]
			if rows == nil {
				s.progress.Note(fmt.Sprintf("method learned, λ = %g, β = %g (%d of %d)", lambda, beta, i+1, len(sweep.values)))
				var err error
				if rows, err = s.run(ctx, func(o *mcond.Options) {
					o.Lambda, o.Beta, o.Rounds = lambda, beta, s.rounds
				}); err != nil {
					return err
				}
				known[[2]float64{lambda, beta}] = rows
			}
			for j, setting := range []string{eval.OtoS, eval.StoO, eval.StoS} {
				row, err := rowOf(rows, setting)
				if err != nil {
					return err
				}
				out.Of = fmt.Sprintf(of, row.SyntheticNodes)
				out.Lines[j].Accuracy = append(out.Lines[j].Accuracy, row.Accuracy)
			}
		}
		p.Sensitivity = append(p.Sensitivity, out)
	}
	return nil
}

// rowOf returns the first row of a setting in graph batches.
func rowOf(rows []eval.Result, setting string) (*eval.Result, error) {
	for k := range rows {
		if r := &rows[k]; r.Setting == setting && r.Batch == trainer.GraphBatch && !r.SharedM {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no row of %s", setting)
}
