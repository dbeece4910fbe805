package report

import (
	"bytes"
	_ "embed" // the page's template and style sheet
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	page      = template.Must(template.New("page").Parse(pageTemplate))
)

// section is a part of the page: its content, or why it is missing and which command would add it.
type section struct {
	ID, Title string
	Text      []string
	Missing   string
	Groups    []group
	Tables    []*table
}

// group holds figures side by side, under their own heading if there are several groups.
type group struct {
	Title   string
	Figures []figure
}

// table is text in rows. Its first Texts columns are names, the rest are numbers.
type table struct {
	Caption string
	Head    []string
	Texts   int
	Rows    [][]string
}

// IsText reports whether a column holds names.
func (t *table) IsText(column int) bool { return column < t.Texts }

// HeadOf returns the name of a column, which narrow screens show beside each value.
func (t *table) HeadOf(column int) string { return t.Head[column] }

// Wide reports whether a narrow screen shows each row as a list of its values. Values by class stay in rows and
// columns.
func (t *table) Wide() bool { return len(t.Head) > 4 && t.Head[0] != "" }

// Write writes the page. The error names the part that cannot be drawn, or is the writer's.
func Write(w io.Writer, p *Page) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var b bytes.Buffer // so that an error in the middle leaves no half-written page
	err := page.Execute(&b, map[string]any{
		"Page": p, "Summary": p.summary(), "Facts": p.facts(), "Sections": p.sections(),
		"Style": template.CSS(pageStyle), // a file of this package
		"Light": light.variables(), "Dark": dark.variables(), "Levels": levelStyles(),
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

func (p *Page) sections() []section {
	if len(p.Streams) > 0 {
		return []section{p.stream()}
	}
	return []section{p.results(), p.losses(), p.ratio(), p.sparsity(), p.sensitivity(), p.mapping(),
		p.starts(), p.cost(), p.confusion(), p.reliability()}
}

// facts returns the data, the batches and the seeds of the figures.
func (p *Page) facts() []Option {
	var out []Option
	add := func(name, value string) {
		if value != "" && value != "0" {
			out = append(out, Option{name, value})
		}
	}
	add("data", p.Data.Name)
	add("fingerprint", p.Data.Fingerprint)
	add("nodes of T (N)", strconv.Itoa(p.Data.Nodes))
	add("edges of T", strconv.Itoa(p.Data.Edges))
	add("features (d)", strconv.Itoa(p.Data.Features))
	add("classes (C)", strconv.Itoa(p.Data.Classes))
	add("test nodes", strconv.Itoa(p.Data.Test))
	add("batch", strconv.Itoa(p.Batch))
	var seeds []uint64
	for k := range p.Results {
		seeds = append(seeds, p.Results[k].Seeds...)
	}
	if p.Learned != nil {
		seeds = append(seeds, p.Learned.Seed)
	}
	slices.Sort(seeds)
	if len(seeds) > 0 {
		out = append(out, Option{"seeds", seedText(slices.Compact(seeds))})
	}
	return out
}

func seedText(seeds []uint64) string {
	out := make([]string, len(seeds))
	for k, s := range seeds {
		out[k] = strconv.FormatUint(s, 10)
	}
	return strings.Join(out, ", ")
}

// perBatch returns the name of a batch in a unit.
func (p *Page) perBatch() string {
	if p.Batch > 0 {
		return fmt.Sprintf("ms per batch of %d", p.Batch)
	}
	return "ms per batch"
}
