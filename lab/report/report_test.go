package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/eval"
)

// node is an element of a page.
type node struct {
	name     string
	attr     map[string]string
	text     string // its own and that of all below it
	children []*node
}

// written returns a page as a tree. Pages are written so that an XML parser reads them: every element is closed.
func written(t *testing.T, p *Page) (*node, string) {
	t.Helper()
	var b strings.Builder
	expect.OK(t, Write(&b, p))
	d := xml.NewDecoder(strings.NewReader(b.String()))
	d.Entity = xml.HTMLEntity
	stack := []*node{{name: "document"}}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page cannot be parsed: %v", err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				n.attr[a.Name.Local] = a.Value
			}
			top.children, stack = append(top.children, n), append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].text += top.text
		case xml.CharData:
			top.text += string(token)
		}
	}
	if len(stack) != 1 {
		t.Fatalf("%d elements are not closed", len(stack)-1)
	}
	return stack[0], b.String()
}

// all returns the elements of a name at and below n.
func (n *node) all(name string) []*node {
	var out []*node
	if n.name == name {
		out = append(out, n)
	}
	for _, c := range n.children {
		out = append(out, c.all(name)...)
	}
	return out
}

func (n *node) byID(id string) *node {
	if n.attr["id"] == id {
		return n
	}
	for _, c := range n.children {
		if found := c.byID(id); found != nil {
			return found
		}
	}
	return nil
}

// has reports whether an element of a name has exactly this text.
func (n *node) has(name, text string) bool {
	return slices.ContainsFunc(n.all(name), func(c *node) bool { return strings.TrimSpace(c.text) == text })
}

var sections = []string{"results", "losses", "ratio", "sparsity", "sensitivity", "mapping", "starts", "cost",
	"confusion", "reliability"}

// Without data a section says why it is missing and draws nothing; with data it draws.
func TestSectionsFollowTheData(t *testing.T) {
	empty, _ := written(t, &Page{Title: "nothing yet"})
	full, _ := written(t, sample(7))
	for _, id := range sections {
		missing, there := empty.byID(id), full.byID(id)
		if missing == nil || there == nil {
			t.Fatalf("no section %s", id)
		}
		if len(missing.all("svg"))+len(missing.all("table")) != 0 || !strings.Contains(missing.text, "trainer ") {
			t.Errorf("section %s without data: %q", id, missing.text)
		}
		if len(there.all("svg"))+len(there.all("table")) == 0 ||
			slices.ContainsFunc(there.all("p"), func(n *node) bool { return n.attr["class"] == "missing" }) {
			t.Errorf("section %s with data is empty: %q", id, there.text)
		}
	}
}

// Each part of a page makes its own section and no other.
func TestPartsAreIndependent(t *testing.T) {
	all := sample(5)
	for want, p := range map[string]*Page{
		"losses": {Learned: all.Learned}, "sparsity": {Sparsity: all.Sparsity}, "sensitivity": {Sensitivity: all.Sensitivity},
		"mapping": {Heat: all.Heat}, "starts": {Starts: all.Starts},
	} {
		p.Title = "one part"
		tree, _ := written(t, p)
		for _, id := range sections {
			if drawn := len(tree.byID(id).all("svg")) > 0; drawn != (id == want) {
				t.Errorf("page of %s alone: section %s drawn: %v", want, id, drawn)
			}
		}
	}
}

// The page loads nothing, runs nothing, and its references lead to elements of its own, which have one id each.
func TestSelfContained(t *testing.T) {
	tree, text := written(t, sample(15))
	for _, word := range []string{"http:", "https:", "//", "@import", "url(", "<script", "<link", "<img", "<iframe",
		"javascript:", " onload"} {
		if strings.Contains(text, word) {
			t.Errorf("the page contains %q", word)
		}
	}
	ids := map[string]int{}
	var walk func(n *node)
	walk = func(n *node) {
		if id, ok := n.attr["id"]; ok {
			ids[id]++
		}
		for _, c := range n.children {
			walk(c)
		}
	}
	walk(tree)
	for id, n := range ids {
		if n != 1 {
			t.Errorf("id %q is there %d times", id, n)
		}
	}
	for _, a := range tree.all("a") {
		if ids[strings.TrimPrefix(a.attr["href"], "#")] != 1 {
			t.Errorf("link to %q leads nowhere", a.attr["href"])
		}
	}
}

// Every plot has a name and a description, and no colour but those of the style sheet.
func TestPlotsAreAccessible(t *testing.T) {
	tree, text := written(t, sample(15))
	plots := 0
	for _, s := range tree.all("svg") {
		if s.attr["aria-hidden"] == "true" {
			continue // a swatch: its name stands beside it
		}
		plots++
		if s.attr["role"] != "img" {
			t.Error("a plot has no role")
		}
		for _, id := range strings.Fields(s.attr["aria-labelledby"]) {
			if n := s.byID(id); n == nil || strings.TrimSpace(n.text) == "" {
				t.Errorf("plot labelled by %q, which is empty", id)
			}
		}
	}
	if plots < 15 {
		t.Errorf("%d plots, want at least 15", plots)
	}
	_, body, _ := strings.Cut(text, "<body>")
	for _, attribute := range styles.FindAllString(body, -1) {
		if strings.Contains(attribute, "#") {
			t.Fatalf("a colour is not the style sheet's: %s", attribute)
		}
	}
	for r := range cells + cellLevels {
		if strings.Contains(body, "var("+r.variable()+")") && strings.Count(text, r.variable()+":") != 2 {
			t.Errorf("%s is not declared for light and dark", r.variable())
		}
	}
}

func TestSamePageSameBytes(t *testing.T) {
	var first, second bytes.Buffer
	expect.OK(t, errors.Join(Write(&first, sample(9)), Write(&second, sample(9))))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same page was written differently")
	}
}

// The page prints the given values.
func TestValuesAreTheInput(t *testing.T) {
	p := sample(7)
	p.Results[1].Accuracy, p.Results[1].WeightDecay = eval.Spread{Mean: 93.456, Std: 0.344}, 3e-5
	p.Sparsity[0].Points[0] = SparsityPoint{Value: .25, Entries: 12345, Accuracy: eval.Spread{Mean: 77.77}}
	p.Sensitivity[0].Lines[1].Accuracy[2] = eval.Spread{Mean: 81.23, Std: 1.5}
	p.Learned.Gra = []float64{8, 0.125, 4}
	p.Results[0].Confusion[2][3] = 4711
	p.Results[1].Confusion[2][3] = 1234
	tree, _ := written(t, p)
	for _, want := range []struct{ section, element, text string }{
		{"results", "td", "93.46 ± 0.34"}, {"results", "td", "3e-5"},
		{"sparsity", "td", "12345"}, {"sparsity", "td", "δ = 0.25"}, {"sparsity", "td", "77.77"},
		{"sparsity", "td", "98.54"}, // 1 − 12345/(9166·92)
		{"sensitivity", "td", "81.23 ± 1.50"},
		{"losses", "td", "0.125"}, {"losses", "td", "8"},
		{"confusion", "td", "4711"}, {"confusion", "td", "1234"},
		{"cost", "td", "38.2"}, {"cost", "td", "267×"}, // 213.4/0.8
		{"results", "td", "31:23"}, {"results", "td", "0.043"},
		{"cost", "td", "4.30 MB"}, {"cost", "td", "95.8×"}, // 412/(3 + 1.3) with M in the consumer
		{"cost", "td", "4.70 MB"}, {"cost", "td", "87.7×"}, // and 0.4 in Redis
		{"ratio", "td", "93.46 ± 0.34"},
	} {
		if !tree.byID(want.section).has(want.element, want.text) {
			t.Errorf("section %s has no %s %q", want.section, want.element, want.text)
		}
	}
	header := tree.all("header")[0].text
	for _, want := range []string{p.Command, p.Data.Fingerprint, "1, 2, 3", "9166", "auto (l2-center)"} {
		if !strings.Contains(header, want) {
			t.Errorf("the head has no %q", want)
		}
	}
}

// Whole is one row, however often a study repeats it.
func TestWholeOnce(t *testing.T) {
	p := sample(5)
	again := p.Results[0]
	again.Method, again.SyntheticNodes = "vng", 77
	p.Results = append(p.Results, again)
	tree, _ := written(t, p)
	n := 0
	for _, cell := range tree.byID("results").all("table")[0].all("th") {
		if cell.text == "Whole" {
			n++
		}
	}
	if n != 2 { // graph and node batches
		t.Errorf("%d rows of Whole, want 2", n)
	}
}

// Names from outside are escaped everywhere.
func TestNamesAreText(t *testing.T) {
	p := sample(3)
	const name = `<b onload="x">&amp;'`
	p.Title, p.Command, p.Classes[0], p.Starts[0].Name = name, name, name, name
	for k := range p.Results {
		p.Results[k].Model = name
	}
	tree, text := written(t, p)
	if slices.ContainsFunc(tree.all("b"), func(n *node) bool { return len(n.attr) > 0 }) || strings.Contains(text, "<b ") {
		t.Error("a name became an element")
	}
	if got := tree.all("h1")[0].text; got != name {
		t.Errorf("title %q, want %q", got, name)
	}
}

// NaN and infinity are shown as dashes, without a failure.
func TestNotANumber(t *testing.T) {
	p := sample(4)
	nan, inf := math.NaN(), math.Inf(1)
	p.Results[0].Accuracy.Mean, p.Results[1].Accuracy = nan, eval.Spread{Mean: inf, Std: nan}
	p.Results[0].MsPerBatch, p.Results[1].MsPerBatch, p.Results[2].InferenceBytes = nan, inf, 0
	p.Results[3].Ratio = 0
	p.Learned = &LearnedCourse{Gra: []float64{nan, nan}, Str: []float64{0, 0}, Tra: []float64{-1, 2, nan}, Ind: nil}
	p.Starts = []Start{{Name: "class-aware", Tra: []float64{nan}}}
	p.Sparsity[0].Points = []SparsityPoint{{Accuracy: eval.Spread{Mean: nan}},
		{Value: 1, Entries: 0, Accuracy: eval.Spread{Mean: 3}}}
	for k := range p.Sensitivity[0].Lines {
		for j := range p.Sensitivity[0].Lines[k].Accuracy {
			p.Sensitivity[0].Lines[k].Accuracy[j].Mean = nan
		}
	}
	p.Heat.Before[1][2], p.Heat.After[0][0] = nan, inf
	tree, text := written(t, p)
	_, body, _ := strings.Cut(text, "<body>")
	for _, word := range []string{"NaN", "Inf"} {
		if strings.Contains(body, word) {
			t.Errorf("the page says %s", word)
		}
	}
	if n := len(tree.byID("losses").all("figure")); n != 1 {
		t.Errorf("%d figures of losses, want that of the steps on M alone", n)
	}
	if !strings.Contains(tree.byID("starts").text, "trainer ") || len(tree.byID("sensitivity").all("figure")) != 1 {
		t.Error("sections without a finite value are drawn")
	}
}

// Points that coincide, empty ranges and single values are drawn.
func TestDegenerateRanges(t *testing.T) {
	same := eval.Spread{Mean: 50}
	p := &Page{Title: "one of each", Learned: &LearnedCourse{Gra: []float64{1}},
		Sparsity: []Sparsity{{Method: "solved", Parameter: "k", Nodes: 1, SyntheticNodes: 1,
			Points: []SparsityPoint{{1, 1, same}}}},
		Sensitivity: []Sensitivity{{Parameter: "λ", Values: []float64{0},
			Lines: []SensitivityLine{{"O→S", []eval.Spread{same}}}}},
		Heat: &Heat{Before: [][]float64{{0}}, After: [][]float64{{0}}},
		Results: []eval.Result{{Method: "solved", Model: "sgc", Setting: eval.OtoS, Batch: "node", SyntheticNodes: 1,
			Ratio: 1, Seeds: []uint64{0},
			Accuracy: same, MsPerBatch: 1, InferenceBytes: 1, Confusion: [][]int{{0}},
			Reliability: []eval.Bin{{Count: 1, Confidence: 1, Accuracy: 1}}}}}
	tree, _ := written(t, p)
	for _, id := range []string{"losses", "sparsity", "sensitivity", "mapping", "cost", "confusion", "reliability"} {
		if len(tree.byID(id).all("svg")) == 0 {
			t.Errorf("section %s is not drawn", id)
		}
	}
	if facts := tree.all("dl")[0].text; !strings.Contains(facts, "seeds0") {
		t.Error("seed 0 is not printed")
	}
}

func TestShapesAreChecked(t *testing.T) {
	for want, change := range map[string]func(p *Page){
		"title is empty": func(p *Page) { p.Title = "" },
		"results[3].confusion: row 1 has 1 values": func(p *Page) { p.Results[3].Confusion[1] = []int{1} },
		"sparsity[1] has N = 0":                    func(p *Page) { p.Sparsity[1].Nodes = 0 },
		"sensitivity[0].lines[2] has 1 accuracies for 7": func(p *Page) {
			p.Sensitivity[0].Lines[2].Accuracy = make([]eval.Spread, 1)
		},
		"heat.after: row 0 has 0 values, want 4": func(p *Page) { p.Heat.After[0] = nil },
	} {
		p := sample(4)
		change(p)
		var b bytes.Buffer
		expect.Error(t, Write(&b, p), want)
		if b.Len() > 0 {
			t.Errorf("%s: %d bytes were written", want, b.Len())
		}
	}
}

func TestWriterErrorIsReturned(t *testing.T) {
	full := errors.New("disk full")
	if err := Write(failing{full}, &Page{Title: "x"}); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func ExampleWrite() {
	var b strings.Builder
	err := Write(&b, &Page{Title: "Cora"})
	fmt.Println(err, strings.Contains(b.String(), "<h1>Cora</h1>"))
	// Output: <nil> true
}

// A page of streams alone shows nothing else; each stream has a figure of accuracy, one of known edges, and a table.
func TestStreams(t *testing.T) {
	line := func(name string, a, b float64) StreamLine {
		return StreamLine{Name: name, Accuracy: []float64{a, b}, Known: []float64{90, 80}, Mean: (a + b) / 2}
	}
	one := Stream{Of: "seed 3, order of time", Lines: []StreamLine{line("T never", 90, 60), line("S by alarm", 91, 88.25)},
		Refreshed: []int{2}}
	page, _ := written(t, &Page{Title: "stream", Streams: []Stream{one, one}})
	if found := page.all("section"); len(found) != 1 || found[0].attr["id"] != "stream" {
		t.Fatalf("%d sections, want the stream's", len(found))
	}
	if len(page.all("figure")) != 4 || len(page.all("table")) != 2 || !page.has("td", "88.2") ||
		!page.has("th", "T never") ||
		!page.has("p", "seed 3, order of time; S by alarm was trained anew before chunks 2") {
		t.Error("a figure, a table or a caption is missing")
	}
}
