package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/consumer"
	"rivulet/dataset"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/infer/target"
	"rivulet/kafka"
	"rivulet/mapping"
	"rivulet/schema"
	"rivulet/serving"
	"rivulet/test/expect"
	"rivulet/trainer"
)

type quiet struct{}

func (quiet) Step(string, int, int) {}

// named returns a data set whose features are columns of each type, some of them missing.
func named(t *testing.T) *dataset.Dataset {
	t.Helper()
	d := small(t)
	n := d.Nodes()
	number := schema.Column{Name: "spend", Type: schema.Number, Numbers: make([]float64, n), Missing: make([]bool, n)}
	city := schema.Column{Name: "city", Type: schema.Text, Texts: make([]string, n)}
	seen := schema.Column{Name: "seen", Type: schema.Time, Times: make([]time.Time, n)}
	for i := range n {
		number.Missing[i] = i%7 == 0
		if !number.Missing[i] {
			number.Numbers[i] = float64(d.X.Dense.Row(i)[0]) + float64(i)/3
		}
		city.Texts[i] = []string{"Ulm", "Köln", "Bonn \"am\" Rhein", ""}[(i+int(d.Labels[i]))%4]
		seen.Times[i] = time.Unix(1700000000+int64(i)*86400, 0).UTC()
	}
	d.Columns, d.X = []schema.Column{number, city, seen}, graph.Features{}
	return d
}

func sparse(t *testing.T) *dataset.Dataset {
	t.Helper()
	d := small(t)
	x := d.X.Dense
	out := &graph.CSR{Rows: x.Rows, Cols: x.Cols, RowPtr: []int{0}, Val: []float32{}}
	for i := range x.Rows {
		for c, v := range x.Row(i) {
			if v != 0 {
				out.ColIdx, out.Val = append(out.ColIdx, int32(c)), append(out.Val, v)
			}
		}
		out.RowPtr = append(out.RowPtr, len(out.ColIdx))
	}
	d.X = graph.Features{Sparse: out}
	return d
}

func options() trainer.Options {
	o := trainer.Defaults()
	o.Nodes, o.Costs = 20, false
	o.Schema.MinCount = 2
	return o
}

func train(t *testing.T, d *dataset.Dataset) *trainer.Outcome {
	t.Helper()
	return trainModels(t, d, "sgc")
}

func trainModels(t *testing.T, d *dataset.Dataset, models ...string) *trainer.Outcome {
	t.Helper()
	o := options()
	o.Models = models
	out, err := trainer.Train(t.Context(), d, o, time.Unix(0, 0), quiet{})
	expect.OK(t, err)
	return out
}

var standard = event.Limits{Edges: 10000, IDBytes: 1024, RecordBytes: 1 << 20}

// G11: A run's offline answers are the same as the consumer's path gives, whatever the form of the features.
func TestConsumersAnswerAsTheTrainer(t *testing.T) {
	for name, data := range map[string]func(*testing.T) *dataset.Dataset{"dense": small, "sparse": sparse,
		"named": named} {
		out := train(t, data(t))
		roles := map[string]int{}
		edges, values := 0, 0
		for _, a := range out.Answers {
			roles[a.Role]++
			edges, values = edges+len(a.Edges), values+len(a.Named)
		}
		if roles["validation"] < 10 || roles["test"] < 10 || edges == 0 || roles["train"] != 10 ||
			(name == "named") != (values > 0) {
			t.Errorf("%s: answers of %v, %d edges and %d named values", name, roles, edges, values)
		}
		if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
			t.Errorf("%s: %v, %q", name, err, warnings)
		}
	}
}

// weigh gives the edges of a data set weights.
func weigh(d *dataset.Dataset) *dataset.Dataset {
	var weights []float32
	for i := range d.Adj.Rows {
		cols, _ := d.Adj.Row(i)
		for _, j := range cols {
			weights = append(weights, 0.25+float32((i+int(j))%5)) // the same in both directions
		}
	}
	d.Adj.Val = weights
	return d
}

// Consumers read the weights of an arrival's edges, whatever the task: without them the answers are others than the
// trainer's.
func TestConsumersReadWeights(t *testing.T) {
	for task, of := range map[string]func(t *testing.T) *dataset.Dataset{
		"classes": small, "labels": severalLabels, "number": numbered, "links": linked} {
		t.Run(task, func(t *testing.T) {
			out := train(t, weigh(of(t)))
			if out.Bundle.Slots.Len() < 2 {
				t.Fatalf("%d bins of weights", out.Bundle.Slots.Len())
			}
			if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
				t.Errorf("%v, %q", err, warnings)
			}
			for k := range out.Answers {
				out.Answers[k].Weights = nil
			}
			if _, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err == nil {
				t.Error("arrivals without their weights get the same answers")
			}
		})
	}
}

// Consumers read the directions of edges from records as the trainer read them from the data.
func TestConsumersReadDirections(t *testing.T) {
	d := small(t)
	var edges []graph.Edge
	for i := range int32(d.Adj.Rows) {
		cols, _ := d.Adj.Row(int(i))
		for _, j := range cols {
			if j < i || (i+j)%5 == 0 { // some go both ways
				edges = append(edges, graph.Edge{Row: i, Col: j, Val: 1})
			}
		}
	}
	d.Relate(graph.Slots{Directed: true}, graph.NewCSR(d.Adj.Rows, d.Adj.Rows, edges))
	d.By.Arriving = graph.Outgoing
	cites := trainModels(t, d, "dirsgc")
	for k := range cites.Answers { // what arrivals bring beside it is not read
		other := func(id string) bool { return id == cites.Answers[k].ID }
		cites.Answers[k].Incoming = slices.DeleteFunc(slices.Clone(d.IDs[:20]), other)
	}
	if _, err := Answers(t.Context(), cites.Bundle, cites.Answers, standard); err != nil {
		t.Error(err)
	}
	d.By.Arriving = 0
	out := trainModels(t, d, "dirsgc")
	if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
		t.Errorf("%v, %q", err, warnings)
	}
	for k := range out.Answers {
		a := &out.Answers[k]
		a.Edges, a.Incoming = a.Incoming, a.Edges
	}
	if _, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err == nil {
		t.Error("arrivals with turned edges get the same answers")
	}
}

// Consumers read the types of edges from records as the trainer read them from the data. Edges of a type that nobody
// knows count as unknown neighbours.
func TestConsumersReadTypes(t *testing.T) {
	for _, directed := range []bool{false, true} {
		d := small(t)
		by := graph.Slots{Types: []string{"likes", "views"}, Directed: directed}
		out := make([][]graph.Edge, 2)
		for i := range int32(d.Adj.Rows) {
			cols, _ := d.Adj.Row(int(i))
			for _, j := range cols {
				for k := range out { // some are of both types
					if (i+j)%3 != int32(k) && (!directed || j < i) {
						out[k] = append(out[k], graph.Edge{Row: i, Col: j, Val: 1})
					}
				}
			}
		}
		n := d.Adj.Rows
		d.Relate(by, graph.NewCSR(n, n, out[0]), graph.NewCSR(n, n, out[1]))
		of := trainModels(t, d, "rsgc")
		if warnings, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err != nil || warnings != nil {
			t.Fatalf("%v, %q", err, warnings)
		}
		for k := range of.Answers { // as an edge to an unknown node
			a := &of.Answers[k]
			other := d.IDs[slices.IndexFunc(d.IDs, func(id string) bool { return id != a.ID })]
			a.Edges, a.Types = append([]string{other}, a.Edges...), append([]string{"buys"}, a.Types...)
		}
		if _, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err != nil {
			t.Error(err)
		}
		for k := range of.Answers {
			for e, kind := range of.Answers[k].Types {
				of.Answers[k].Types[e] = map[string]string{"likes": "views", "views": "likes"}[kind] + "s"
			}
		}
		if _, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err == nil {
			t.Error("arrivals with other types get the same answers")
		}
	}
}

// typedNodes are users with classes who buy and view items, which have features of their own.
func typedNodes(t *testing.T) *dataset.Dataset {
	t.Helper()
	users, items := "id,label,split,age\n", "id,price,colour\n"
	edges := "source,target,kind\n"
	for i := range 60 {
		items += fmt.Sprintf("i%d,%d,%s\n", i, i%3*10+i%7, []string{"red", "blue"}[i%2])
	}
	for u := range 240 {
		users += fmt.Sprintf("u%d,k%d,%s,%d\n", u, u%3, []string{"train", "train", "val", "test"}[u/3%4], 20+u%3*5+u%11)
		for k := range 3 {
			edges += fmt.Sprintf("u%d,i%d,buys\nu%d,i%d,views\n", u, (u%3+3*((u+7*k)%20))%60, u, (u*5+k)%60)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"users.csv": users, "items.csv": items, "edges.csv": edges,
		"data.yaml": "nodes: {user: users.csv, item: items.csv}\nedges: edges.csv\nedge_type: kind\n"} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	d, err := dataset.Open(dir, dataset.OpenOptions{})
	expect.OK(t, err)
	return d
}

// Consumers predict users of a graph of users and items as the trainer does, whether they say their type or not. A user
// with a feature of items, and an item, are no arrivals.
func TestConsumersReadTypesOfNodes(t *testing.T) {
	d := typedNodes(t)
	of := trainModels(t, d, "rsgc")
	if warnings, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err != nil || warnings != nil {
		t.Fatalf("%v, %q", err, warnings)
	}
	for k := range of.Answers {
		of.Answers[k].Named = slices.DeleteFunc(slices.Clone(of.Answers[k].Named), func(f schema.Field) bool {
			return f.Name == "node_type"
		})
	}
	if _, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err != nil {
		t.Errorf("without their type: %v", err)
	}
	for words, more := range map[string]schema.Field{
		"price": {Name: "price", Value: schema.Value{Type: schema.Number, Number: 3}},
		"the string \"item\", want the type of an arriving node: user": {Name: "node_type",
			Value: schema.Value{Type: schema.Text, Text: "item"}}} {
		wrong := slices.Clone(of.Answers)
		wrong[0].Named = append(slices.DeleteFunc(slices.Clone(wrong[0].Named), func(f schema.Field) bool {
			return f.Name == more.Name
		}), more)
		expect.Error(t, expect.ErrorOf(Answers(t.Context(), of.Bundle, wrong, standard)), words)
	}
}

// Of items as candidates of links, which are all training nodes, none is asked as an arrival. Edges may have weights.
func TestConsumersReadTypesOfNodesOfLinks(t *testing.T) {
	d := typedNodes(t)
	d.By, d.Relations = graph.Slots{}, nil
	expect.OK(t, weigh(d).AsLinks())
	of := trainModels(t, d, "sgc")
	if _, err := Answers(t.Context(), of.Bundle, of.Answers, standard); err != nil {
		t.Error(err)
	}
	if sent, err := Sample(t.Context(), d, options(), standard); err != nil || sent == 0 {
		t.Errorf("a sample: %d nodes, %v", sent, err)
	}
}

// numbered returns a data set with two numbers a node in place of a class.
func numbered(t *testing.T) *dataset.Dataset {
	t.Helper()
	d := small(t)
	d.Task, d.Classes, d.Targets = target.Number, []string{"price", "age"}, graph.NewDense(d.Nodes(), 2)
	for i := range d.Labels {
		x := d.X.Dense.Row(i)
		d.Targets.Row(i)[0], d.Targets.Row(i)[1] = 1000*(x[0]+float32(d.Labels[i])), x[1]-x[2]
		d.Labels[i] = min(d.Labels[i], 0)
	}
	return d
}

// Consumers predict the trainer's numbers, with their intervals, and neither a class nor a probability; a sample does,
// too. Settings that have a meaning for classes alone refuse the artifact by their name.
func TestConsumersPredictNumbers(t *testing.T) {
	out := train(t, numbered(t))
	if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
		t.Fatalf("%v, %q", err, warnings)
	}
	at := slices.IndexFunc(out.Answers, func(a trainer.Answer) bool { return a.Role == "test" })
	out.Answers[at].Probabilities[1] += 0.5
	expect.Error(t, expect.ErrorOf(Answers(t.Context(), out.Bundle, out.Answers, standard)),
		"age is ", "another number is no error")
	if sent, err := Sample(t.Context(), numbered(t), options(), standard); err != nil || sent == 0 {
		t.Errorf("a sample: %d nodes, %v", sent, err)
	}
	rows := mapping.FromBundle(out.Bundle)
	for want, o := range map[string]serving.Options{
		"output.coverage":            {Coverage: 0.9},
		"output.explain":             {Explain: true},
		"output.top_k":               {Capabilities: []*target.Capability{target.TopK}},
		"the artifact has parameter": {Calibration: "lp"},
	} {
		if _, _, err := serving.New(out.Bundle, rows, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	r := refusals{}
	version, err := serve(out.Bundle, out.Answers[at:at+1], standard, &r)
	expect.OK(t, err)
	a := arrival(&out.Answers[at])
	value, err := json.Codec{}.AppendArrival(nil, &a)
	expect.OK(t, err)
	sink := &predictions{}
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: consumer.Pin{Version: version}, Deliverer: sink, Mode: attach.Node,
		Limits: standard, Output: consumer.Output{Logits: true}})
	in := consumer.Intake{Name: "one", Records: []kafka.Record{{Key: []byte("k"), Value: value}}}
	if err == nil {
		err = pipeline.Process(t.Context(), in)
	}
	if err != nil || len(sink.records) != 1 {
		t.Fatalf("%d predictions: %v", len(sink.records), err)
	}
	p := sink.records[0]
	for k, n := range p.Numbers {
		radius := version.Info().Radius[k]
		if n.Name != version.Info().Classes[k] || !(n.Lower < n.Value && n.Value < n.Upper) ||
			math.Abs(float64(n.Upper-n.Lower)-2*radius) > 1e-3*radius {
			t.Errorf("%+v with radius %v", n, radius)
		}
	}
	if len(p.Numbers) != 2 || p.Class != 0 || p.ClassName != "" || p.Probability != 0 || p.Abstained || p.Top != nil ||
		p.Logits[1] != p.Numbers[1].Value {
		t.Errorf("%+v", p)
	}
	_, _, err = pipeline.Explain(t.Context(), in)
	expect.Error(t, err, "an explanation is for", "numbers are explained")
}

// linked is small with links to nodes of one class in place of classes.
func linked(t *testing.T) *dataset.Dataset {
	t.Helper()
	d := small(t)
	d.Candidates = make([]bool, d.Nodes())
	for i, y := range d.Labels {
		d.Candidates[i] = y == 0
	}
	expect.OK(t, d.AsLinks())
	return d
}

// Consumers answer with the candidates that have the largest dot products with the trainer's embedding, summed in
// float64, without neighbours of the arrival.
func TestConsumersPredictLinks(t *testing.T) {
	out := train(t, linked(t))
	if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, standard); err != nil || warnings != nil {
		t.Fatalf("%v, %q", err, warnings)
	}
	if sent, err := Sample(t.Context(), linked(t), options(), standard); err != nil || sent == 0 {
		t.Errorf("a sample: %d nodes, %v", sent, err)
	}
	r := refusals{}
	version, err := serve(out.Bundle, out.Answers, standard, &r)
	expect.OK(t, err)
	var records []kafka.Record
	for k := range out.Answers {
		a := arrival(&out.Answers[k])
		value, err := json.Codec{}.AppendArrival(nil, &a)
		expect.OK(t, err)
		records = append(records, kafka.Record{Key: []byte("k"), Value: value})
	}
	const most = 7
	sink := &predictions{}
	pipeline, err := consumer.NewPipeline(consumer.PipelineOptions{Versions: consumer.Pin{Version: version}, Deliverer: sink, Mode: attach.Node,
		Limits: standard, Output: consumer.Output{TopK: most}})
	in := consumer.Intake{Name: "all", Records: records}
	if err == nil {
		err = pipeline.Process(t.Context(), in)
	}
	if err != nil || len(sink.records) != len(records) {
		t.Fatalf("%d predictions of %d: %v", len(sink.records), len(records), err)
	}
	candidates := out.Bundle.Candidates
	for k, p := range sink.records {
		of := &out.Answers[k]
		score := map[string]float64{}
		for c, id := range candidates.IDs {
			if slices.Contains(of.Edges, id) {
				continue
			}
			for j, v := range candidates.Vectors.Row(c) {
				score[id] += float64(v) * float64(of.Probabilities[j])
			}
		}
		want := slices.SortedFunc(maps.Values(score), func(a, b float64) int { return cmp.Compare(b, a) })[:most]
		if len(p.Links) != most || p.Probability != 0 || p.Top != nil || p.Numbers != nil || p.Abstained {
			t.Fatalf("%+v", p)
		}
		for n, l := range p.Links {
			if got, there := score[l.ID]; !there || math.Abs(got-want[n]) > 1e-5 || math.Abs(float64(l.Score)-want[n]) > 1e-5 {
				t.Errorf("%s: candidate %d is %+v, want the score %v", of.ID, n, l, want[n])
			}
		}
	}
	if _, _, err = pipeline.Explain(t.Context(), in); err == nil ||
		!strings.Contains(err.Error(), "an explanation is for") {
		t.Errorf("links are explained: %v", err)
	}
	at := slices.IndexFunc(out.Answers, func(a trainer.Answer) bool { return a.Role == "test" })
	for j := range out.Answers[at].Probabilities {
		out.Answers[at].Probabilities[j] += 5
	}
	expect.Error(t, expect.ErrorOf(Answers(t.Context(), out.Bundle, out.Answers, standard)),
		"candidate ", "other candidates are no error")
}

// An artifact that serves other answers than the run has measured is refused, with the node, the field and both values.
func TestAnotherAnswerIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(*testing.T) *dataset.Dataset
		change func(out *trainer.Outcome)
		want   []string
	}{
		"schema": {named, func(out *trainer.Outcome) {
			other := named(t)
			for k := range other.Columns[0].Numbers {
				other.Columns[0].Numbers[k] += 5
			}
			s, err := schema.Fit(other.Columns, other.Train, schema.FitOptions{MinCount: 2})
			expect.OK(t, err)
			out.Bundle.Schema = s
		}, []string{`node "`, "features[0] is ", " at a consumer and ", " at the trainer"}},
		"no schema": {named, func(out *trainer.Outcome) { out.Bundle.Schema = nil }, []string{`node "`, "schema"}},
		"features": {sparse, func(out *trainer.Outcome) {
			x := out.Answers[12].X
			out.Answers[12].X.Sparse = &graph.CSR{Rows: 1, Cols: x.Cols(), RowPtr: []int{0, 1}, ColIdx: []int32{0},
				Val: []float32{50}}
		}, []string{`probabilities[`}},
		"M": {small, func(out *trainer.Outcome) {
			ids := out.Bundle.Mapping.IDs
			slices.Reverse(ids)
		}, []string{`probabilities[`, `(class "`, " at a consumer and ", " at the trainer"}},
		"preprocessing": {small, func(out *trainer.Outcome) { out.Bundle.Preprocess.Scale *= 1.5 },
			[]string{`probabilities[`}},
		"not a number": {small, func(out *trainer.Outcome) { out.Bundle.Models[0].Tables.C.Data[0] = float32(math.NaN()) },
			[]string{"node"}},
	} {
		out := train(t, c.make(t))
		c.change(out)
		_, err := Answers(t.Context(), out.Bundle, out.Answers, standard)
		for _, want := range c.want {
			expect.Error(t, err, want, "%s", name)
		}
	}
}

// Nodes that consumers refuse by a setting are warnings, and the others are still sent.
func TestRefusedNodesAreWarnings(t *testing.T) {
	out := train(t, small(t))
	most := 0
	for _, a := range out.Answers {
		if a.Role != "train" {
			most = max(most, len(a.Edges))
		}
	}
	l := standard
	l.Edges = most - 1
	out.Bundle.Preprocess.Scale *= 1.5
	_, err := Answers(t.Context(), out.Bundle, out.Answers, l)
	if err == nil {
		t.Error("nodes that are not refused were not sent")
	}
	out.Bundle.Preprocess.Scale /= 1.5
	if warnings, err := Answers(t.Context(), out.Bundle, out.Answers, l); err != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "limits.edges") {
		t.Errorf("warnings %q, error %v", warnings, err)
	}
}
