package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"rivulet/artifact"
	"rivulet/config"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/read"
	"rivulet/internal/cli/dataflag"
	"rivulet/internal/featurestore"
	"rivulet/internal/replay"
	"rivulet/run/connect"
	"rivulet/schema"
)

func featuresCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "features", Short: "Features by id in Redis, for arrivals that bring none",
		Args: cobra.NoArgs}
	cmd.AddCommand(putCommand())
	return cmd
}

// putRows is the number of rows that are written in one request.
const putRows = 500

func putCommand() *cobra.Command {
	var nodes, schemaOf string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "put --data DIR",
		Short: "Write the features of a data set's nodes to Redis, where consumers with features.from: redis look them up",
		Long: "put writes the features of nodes of a data set to the Redis of features.url, under features.prefix and\n" +
			"the node's id, in the form that features.format says (event/README.md, Features by id): float32, the\n" +
			"values of all positions, or json, features by name where the tables have named columns. To have named\n" +
			"columns in positions, give the artifact whose schema makes them.",
		Args: cobra.NoArgs,
		Example: "  rivulet generate --preset small --out out/data\n" +
			"  rivulet features put --data out/data --features.url redis://localhost:6379/1\n" +
			"  rivulet replay --data out/data --without-features",
	}
	flags := cmd.Flags()
	flags.StringVar(&nodes, "nodes", "all", "which nodes: all, test, or withheld: those in no role that have a class")
	flags.StringVar(&schemaOf, "artifact", "",
		"directory of the artifact whose schema makes positions of named columns, for the format float32")
	flags.DurationVar(&ttl, "ttl", 0, "when they expire; 0: never")
	data := dataflag.Register(flags, "")
	config.Flags[config.Put](flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := config.Load[config.Put](config.OfProgram(flags))
		if err != nil {
			return err
		}
		if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
			return fmt.Errorf("--ttl is %s, want 0 or at least 1ms", ttl)
		}
		d, err := data.Open("")
		if err != nil {
			return err
		}
		p := &putter{data: d, form: read.FeatureForm(cfg.Features.Format), ttl: ttl}
		if p.schema, err = schemaFor(schemaOf); err != nil {
			return err
		}
		chosen, err := p.nodes(nodes)
		if err != nil {
			return err
		}
		err = connect.WithFeatures(cfg.Features, cfg.Redis, func(s *featurestore.Store) error {
			return p.put(cmd, s, chosen)
		})
		fmt.Fprintf(cmd.ErrOrStderr(), "features of %d nodes are written, as %s, under %sID\n", p.written, p.form,
			cfg.Features.Prefix)
		return err
	}
	return cmd
}

// schemaFor returns the schema of an artifact; nil where none is named.
func schemaFor(dir string) (*schema.Schema, error) {
	if dir == "" {
		return nil, nil
	}
	b, err := artifact.Read(dir)
	if err != nil {
		return nil, err
	}
	if b.Schema == nil {
		return nil, fmt.Errorf("--artifact %s has no schema: it takes features by position", dir)
	}
	return b.Schema, nil
}

// putter writes features of nodes of a data set.
type putter struct {
	data    *dataset.Dataset
	schema  *schema.Schema // of the positions of named columns; nil: none
	form    read.FeatureForm
	ttl     time.Duration
	written int
}

func (p *putter) nodes(which string) ([]int32, error) {
	switch which {
	case "test":
		return p.data.Test, nil
	case "withheld":
		return p.data.Withheld(), nil
	case "all":
		all := make([]int32, p.data.Nodes())
		for i := range all {
			all[i] = int32(i)
		}
		return all, nil
	}
	return nil, fmt.Errorf("--nodes is %q, want all, test or withheld", which)
}

func (p *putter) put(cmd *cobra.Command, s *featurestore.Store, nodes []int32) error {
	var entries []featurestore.Entry
	for k, node := range nodes {
		value, err := p.value(node)
		if err != nil {
			return fmt.Errorf("features of %q: %w", p.data.IDs[node], err)
		}
		entries = append(entries, featurestore.Entry{ID: p.data.IDs[node], Value: value})
		if len(entries) < putRows && k+1 < len(nodes) {
			continue
		}
		if err := s.Put(cmd.Context(), entries, p.ttl); err != nil {
			return err
		}
		p.written += len(entries)
		entries = entries[:0]
	}
	return nil
}

// value returns the features of a node in the form of the store.
func (p *putter) value(node int32) ([]byte, error) {
	f := replay.Arrival(p.data, node, time.Time{}).Features
	if f.Named != nil && p.schema != nil {
		if err := f.Encode(p.schema); err != nil {
			return nil, err
		}
		f.Named = nil
	}
	if p.form != read.FeaturesFloat32 {
		return p.form.Append(nil, &f)
	}
	if f.Named != nil {
		return nil, errors.New("the tables have named columns: give --features.format json, or --artifact with the schema " +
			"that makes positions of them")
	}
	if f.Sparse {
		width := 0
		if p.schema != nil {
			width = p.schema.Width()
		} else {
			width = p.data.X.Cols()
		}
		dense := make([]float32, width)
		for k, at := range f.Indices {
			dense[at] = f.Values[k]
		}
		f = event.Features{Values: dense}
	}
	return p.form.Append(nil, &f)
}
