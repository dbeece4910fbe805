package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Pipeline is one of the streams that a consumer's process follows: a topic of arrivals, and the version that answers
// them.
type Pipeline struct {
	Name     string // the name of its file, without the ending; empty where the settings list no pipelines
	Settings Consumer
}

// Stream chooses one of the streams that a consumer's process follows, for a program that looks at one.
type Stream struct {
	Pipelines []string `key:"pipelines" default:"" usage:"file of settings of the stream to look at, where the consumer follows several; what it sets goes before all other settings" zero:"the stream of these settings"`
}

// pipelinesKey is the key of [Consumer.Pipelines] and [Stream.Pipelines].
const pipelinesKey = "pipelines"

// stream reads the file of the stream that a program looks at.
func (l *loader) stream() error {
	f := l.schema.byKey[pipelinesKey]
	if f == nil {
		return nil
	}
	listed, err := f.read(l.values[pipelinesKey])
	if err != nil {
		return nil //nolint:nilerr // fill finds it, too
	}
	switch files := listed.([]string); len(files) {
	case 0:
	case 1:
		return l.file(files[0])
	default:
		l.problem(pipelinesKey, strings.Join(files, ","), l.origins[pipelinesKey],
			"are several streams, and this program looks at one: want the file of one of them, such as --pipelines "+files[0])
	}
	return nil
}

// processSections are the settings that all pipelines of a process share.
var processSections = []string{pipelinesKey, "http", "debug", "traces", "shutdown", "log"}

// Pipelines returns one pipeline for each file that cfg lists: cfg's settings, overridden by the file's. Without files
// it returns one pipeline with cfg's settings. The error is an [*Error] that lists everything that is wrong, or it says
// why a file could not be read.
func Pipelines(cfg Consumer) ([]Pipeline, error) {
	if len(cfg.Pipelines) == 0 {
		return []Pipeline{{Settings: cfg}}, nil
	}
	var all []Pipeline
	var problems []Problem
	for _, path := range cfg.Pipelines {
		l := newLoader(reflect.TypeFor[Consumer]())
		l.base = reflect.ValueOf(cfg)
		if err := l.file(path); err != nil {
			return nil, err
		}
		for key, origin := range l.origins {
			section, _, _ := strings.Cut(key, ".")
			if origin != OriginDefault && slices.Contains(processSections, section) {
				l.problem(key, "", origin, "is of the whole process: want it beside pipelines")
			}
		}
		p := Pipeline{Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
		l.fill(reflect.ValueOf(&p.Settings).Elem())
		p.Settings.Pipelines = nil
		for k := range all {
			l.problems = append(l.problems, p.clashes(&all[k], path)...)
		}
		for k := range l.problems {
			if l.problems[k].Origin == OriginDefault { // of a setting that is not the file's, beside one that is
				l.problems[k].Origin = "with file " + path
			}
		}
		problems, all = append(problems, l.problems...), append(all, p)
	}
	if problems != nil {
		return nil, &Error{problems}
	}
	return all, nil
}

// clashes returns the settings that two pipelines must not have in common. Members of one group would share out the
// partitions of both topics, and members with one transactional id would end each other's transactions.
func (p *Pipeline) clashes(other *Pipeline, path string) (found []Problem) {
	k, o := p.Settings.Kafka, other.Settings.Kafka
	for _, same := range []struct{ key, value, other string }{
		{pipelinesKey, p.Name, other.Name},
		{"kafka.group", k.Group, o.Group},
		{"kafka.transactional_id", cmp.Or(k.TransactionalID, k.Group), cmp.Or(o.TransactionalID, o.Group)},
	} {
		if same.value == same.other {
			return []Problem{{Key: same.key, Value: same.value, Origin: "file " + path,
				Reason: fmt.Sprintf("is that of pipeline %s, too: want another one", other.Name)}}
		}
	}
	return nil
}
