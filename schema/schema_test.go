package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/test/expect"
)

// people is a table with a column of each type; node 3 has nothing but a name, the last node is not in rows.
func people() (columns []Column, rows []int32) {
	const n = 12
	day := func(k int) time.Time { return time.Date(2026, 3, 1+k, 12, 0, 0, 0, time.UTC) }
	age, active, country, about := Column{Name: "age", Type: Number}, Column{Name: "active", Type: Bool},
		Column{Name: "country", Type: Text}, Column{Name: "about", Type: Text}
	seen, signup, emb := Column{Name: "seen", Type: Time}, Column{Name: "signup", Type: Text},
		Column{Name: "emb", Type: Vector}
	name, one := Column{Name: "name", Type: Text}, Column{Name: "one", Type: Number}
	for i := range n {
		age.Numbers = append(age.Numbers, float64(20+i))
		active.Bools = append(active.Bools, i%3 == 0)
		country.Texts = append(country.Texts, []string{"DE", "FR"}[i%2])
		about.Texts = append(about.Texts, fmt.Sprintf("Likes Go, likes tea %d", i))
		seen.Times = append(seen.Times, day(i))
		signup.Texts = append(signup.Texts, day(i-1).Format(time.DateOnly))
		emb.Vectors = append(emb.Vectors, []float32{float32(i), -1})
		name.Texts = append(name.Texts, fmt.Sprintf("p%d", i))
		one.Numbers = append(one.Numbers, 1)
		if i < n-1 {
			rows = append(rows, int32(i))
		}
	}
	country.Texts[5], country.Texts[n-1] = "IS", "XX"
	columns = []Column{name, age, active, country, about, seen, signup, emb, one}
	for k := range columns {
		if columns[k].Name != "name" && columns[k].Name != "one" {
			columns[k].Missing = make([]bool, n)
			columns[k].Missing[3] = true
		}
	}
	return columns, rows
}

func fit(t *testing.T, o FitOptions) *Schema {
	t.Helper()
	columns, rows := people()
	s, err := Fit(columns, rows, o)
	expect.OK(t, err)
	return s
}

func fieldsOf(columns []Column, i int) []Field {
	var out []Field
	for k := range columns {
		out = append(out, Field{columns[k].Name, columns[k].At(i)})
	}
	return out
}

var chosen = FitOptions{
	Kinds:   map[string]string{"seen": "age:signup", "signup": "time:year+month+day+weekday+hour", "about": "text:64"},
	Missing: map[string]Rule{"age": RuleMean, "active": RuleZero, "signup": RuleZero}, MinCount: 3, Seed: 7,
}

// Each position has the number that the kinds' definitions give, written out by hand.
func TestEncodeByHand(t *testing.T) {
	s := fit(t, chosen)
	columns, _ := people()
	row := make([]float32, s.Width())
	expect.OK(t, s.Encode(row, fieldsOf(columns, 5)))
	got := map[string]float32{}
	for k, name := range s.Names() {
		if row[k] != 0 {
			got[name] = row[k]
		}
	}
	// "Likes Go, likes tea 5" has the words likes (twice), go, tea and 5.
	want := map[string]float32{"age": 25, "country=(other)": 1, "seen": -1.5, "signup.year": 2026, "signup.month": 3,
		"signup.day": 5, "signup.weekday": 3, "emb[0]": 5, "emb[1]": -1}
	counts := map[string]float64{}
	for _, word := range []string{"likes", "go", "likes", "tea", "5"} {
		h := fnv.New64a()
		h.Write([]byte{7, 0, 0, 0, 0, 0, 0, 0})
		h.Write([]byte(word))
		sum := h.Sum64()
		counts[fmt.Sprintf("about#%d", (sum^sum>>32)%64)]++
	}
	squares := 0.0
	for _, c := range counts {
		squares += c * c
	}
	for name, c := range counts {
		want[name] = float32(c) / float32(math.Sqrt(squares))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMissingByRule(t *testing.T) {
	s := fit(t, chosen)
	columns, _ := people()
	row := make([]float32, s.Width())
	expect.OK(t, s.Encode(row, fieldsOf(columns, 3)))
	absent := make([]float32, s.Width())
	expect.OK(t, s.Encode(absent, nil))
	if !slices.Equal(row, absent) {
		t.Errorf("null gives %v, absent %v", row, absent)
	}
	mean := 0.0
	for _, i := range []float64{0, 1, 2, 4, 5, 6, 7, 8, 9, 10} {
		mean += i / 10
	}
	for k, name := range s.Names() {
		want := float32(0)
		switch {
		case name == "age":
			want = float32(20 + mean)
		case name == "seen": // each is a day and a half after its signup
			want = -1.5
		case name == "emb[0]":
			want = float32(mean)
		case name == "emb[1]":
			want = -1
		case strings.HasSuffix(name, "=(missing)"):
			want = 1
		}
		if math.Abs(float64(row[k]-want)) > 1e-6 {
			t.Errorf("%s is %v, want %v", name, row[k], want)
		}
	}
	refusing := fit(t, FitOptions{MinCount: 3, Missing: map[string]Rule{"country": RuleRefuse}})
	var fault *Error
	err := refusing.Encode(make([]float32, refusing.Width()), fieldsOf(columns, 3))
	if !errors.As(err, &fault) || fault.Fault != Refused || fault.Feature != "country" {
		t.Errorf("got %v", err)
	}
}

// Fit on the original nodes only: the last node's country and values are not learnt.
func TestFitChooses(t *testing.T) {
	s := fit(t, FitOptions{MinCount: 3})
	var got []string
	for _, f := range s.Features() {
		got = append(got, f.Name+" "+f.Describe()+" "+string(f.Missing))
	}
	want := []string{"age number column", "active bool column", "country category of 2 values and others column",
		"about text:256 column", "seen age:2026-03-11T12:00:00Z column", "signup age:2026-03-10T00:00:00Z column",
		"emb vector of 2 column"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	want = []string{"name", "one"}
	for k, u := range s.Unused() {
		if u.Name != want[k] || u.Reason == "" {
			t.Errorf("unused[%d] is %v, want %s", k, u, want[k])
		}
	}
}

func TestFitRefuses(t *testing.T) {
	columns, rows := people()
	for _, tc := range []struct {
		name string
		o    FitOptions
		want string
	}{
		{"Unnamed: 0", FitOptions{}, "index=False"},
		{"", FitOptions{}, "index=False"},
		{"__index_level_0__", FitOptions{}, "index=False"},
		{"age", FitOptions{}, `column "age" is there twice`},
		{"name", FitOptions{Drop: []string{"x"}}, `no column "x"`},
		{"name", FitOptions{Kinds: map[string]string{"x": "number"}}, `no column "x"`},
		{"name", FitOptions{Missing: map[string]Rule{"x": RuleZero}}, `no column "x"`},
		{"name", FitOptions{Kinds: map[string]string{"age": "date"}}, `column "age": kind is "date"`},
		{"name", FitOptions{Kinds: map[string]string{"country": "number"}},
			`feature "country": the string "DE", want a number`},
		{"name", FitOptions{Kinds: map[string]string{"name": "category"}}, `column "name": no value is there 5 times`},
		{"name", FitOptions{Missing: map[string]Rule{"country": RuleMean}, MinCount: 2},
			`column "country": missing is "mean"`},
		{"name", FitOptions{Kinds: map[string]string{"seen": "age:x"}}, `until_feature is "x"`},
		{"name", FitOptions{Drop: []string{"age"}, Kinds: map[string]string{"age": "number"}}, "dropped and has a kind"},
	} {
		columns[0].Name = tc.name
		expect.Error(t, expect.ErrorOf(Fit(columns, rows, tc.o)), tc.want, "%q, %+v", tc.name, tc.o)
	}
}

// Dense, sparse and table rows are the same, in any order of the fields, with unused names among them.
func TestFormsOfRowsAgree(t *testing.T) {
	columns, _ := people()
	for name, o := range map[string]FitOptions{"dense": {MinCount: 3, Buckets: 8}, "sparse": {MinCount: 3, Seed: 1}} {
		s := fit(t, o)
		if s.Sparse() != (name == "sparse") {
			t.Fatalf("%s: Sparse is %v", name, s.Sparse())
		}
		table, err := s.EncodeColumns(columns)
		expect.OK(t, err)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range table.N {
			fields := fieldsOf(columns, i)
			rng.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
			row := make([]float32, s.Width())
			expect.OK(t, s.Encode(row, fields))
			indices, values, err := s.AppendSparse(nil, nil, fields)
			expect.OK(t, err)
			scattered := make([]float32, s.Width())
			for k, p := range indices {
				if k > 0 && p <= indices[k-1] {
					t.Fatalf("positions %v do not ascend", indices)
				}
				scattered[p] = values[k]
			}
			ofTable := make([]float32, s.Width())
			if table.Dense != nil {
				ofTable = table.Dense[i*s.Width() : (i+1)*s.Width()]
			} else {
				for p := table.RowPtr[i]; p < table.RowPtr[i+1]; p++ {
					ofTable[table.ColIdx[p]] = table.Val[p]
				}
			}
			if !slices.Equal(row, scattered) || !slices.Equal(row, ofTable) {
				t.Errorf("%s, node %d: dense %v, sparse %v, table %v", name, i, row, scattered, ofTable)
			}
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	s := fit(t, chosen)
	number := func(v float64) Value { return Value{Type: Number, Number: v} }
	text := func(v string) Value { return Value{Type: Text, Text: v} }
	for _, tc := range []struct {
		fault  Fault
		fields []Field
		want   string
	}{
		{Unknown, []Field{{"colour", text("red")}}, `feature "colour": the schema has no such feature`},
		{Repeated, []Field{{"age", number(1)}, {"age", number(1)}}, "given twice"},
		{WrongType, []Field{{"age", text("7")}}, `the string "7", want a number`},
		{WrongType, []Field{{"active", number(2)}}, "the number 2, want true, false, 1 or 0"},
		{WrongType, []Field{{"about", number(2)}}, "want a string"},
		{WrongType, []Field{{"signup", text("1.3.2026")}}, "RFC 3339"},
		{WrongType, []Field{{"country", Value{Type: Vector}}}, "want a string, a number or a bool"},
		{WrongType, []Field{{"emb", number(2)}}, "want a list of 2 numbers"},
		{WrongSize, []Field{{"emb", Value{Type: Vector, Vector: []float32{1}}}}, "1 numbers, want 2"},
		{NotFinite, []Field{{"age", number(math.NaN())}}, "NaN"},
		{NotFinite, []Field{{"age", number(1e39)}}, "1e+39"},
		{NotFinite, []Field{{"country", number(math.Inf(1))}}, "+Inf"},
		{NotFinite, []Field{{"emb", Value{Type: Vector, Vector: []float32{1, float32(math.Inf(-1))}}}}, "element 1 is -Inf"},
	} {
		var fault *Error
		err := s.Encode(make([]float32, s.Width()), tc.fields)
		if !errors.As(err, &fault) || fault.Fault != tc.fault || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: got %v, want fault %d, %s", tc.fields, err, tc.fault, tc.want)
		}
	}
	if err := s.IgnoringUnknown().Encode(make([]float32, s.Width()), []Field{{"colour", text("red")}}); err != nil {
		t.Error(err)
	}
}

// The places of names are remembered from row to row: no row may take another's.
func TestRowsOfDifferentNames(t *testing.T) {
	number := func(name string, v float64) Field { return Field{name, Value{Type: Number, Number: v}} }
	s, err := Parse([]byte(`{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"number","missing":"zero",` +
		`"mean":[0]},
		{"name":"b","kind":"number","missing":"zero","mean":[0]}],"unused":[{"name":"c","reason":"dropped"}]}`))
	expect.OK(t, err)
	tolerant := s.IgnoringUnknown()
	for range 3 {
		for _, tc := range []struct {
			by     *Schema
			fields []Field
			want   []float32 // nil: refused
		}{
			{s, []Field{number("a", 1), number("b", 2)}, []float32{1, 2}},
			{s, []Field{number("a", 3), number("b", 4)}, []float32{3, 4}},
			{s, []Field{number("b", 5), number("a", 6)}, []float32{6, 5}},
			{s, []Field{number("b", 7), number("b", 8)}, nil},
			{s, []Field{number("b", 9), number("c", 1)}, []float32{0, 9}},
			{s, []Field{number("c", 9), number("a", 1)}, []float32{1, 0}},
			{tolerant, []Field{number("a", 1), number("b", 2), number("x", 3), number("y", 4)}, []float32{1, 2}},
			{tolerant, []Field{number("x", 1), number("y", 2), number("b", 3), number("a", 4)}, []float32{4, 3}},
			{tolerant, []Field{number("b", 1), number("x", 2), number("a", 3), number("z", 4)}, []float32{3, 1}},
			{s, []Field{number("b", 1), number("x", 2)}, nil},
			{s, []Field{number("b", 1)}, []float32{0, 1}},
			{s, []Field{}, []float32{0, 0}},
		} {
			row := []float32{-1, -1}
			err := tc.by.Encode(row, tc.fields)
			if (err == nil) != (tc.want != nil) || err == nil && !slices.Equal(row, tc.want) {
				t.Fatalf("%v: got %v, %v, want %v", tc.fields, row, err, tc.want)
			}
		}
	}
}

// Numbers and bools are categories by their text.
func TestCategoriesOfNumbers(t *testing.T) {
	c := Column{Name: "c", Type: Number, Categorical: true, Numbers: []float64{1, 1, 100000, 100000, 0.5, 0.5, 3}}
	b := Column{Name: "b", Type: Bool, Categorical: true, Bools: []bool{true, true, false, false, true, true, true}}
	s, err := Fit([]Column{c, b}, []int32{0, 1, 2, 3, 4, 5, 6}, FitOptions{MinCount: 2})
	expect.OK(t, err)
	want := []string{"c=0.5", "c=1", "c=100000", "c=(other)", "b=false", "b=true", "b=(other)"}
	if got := s.Names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	row := make([]float32, s.Width())
	fields := []Field{{"c", Value{Type: Text, Text: "100000"}}, {"b", Value{Type: Bool, Number: 1}}}
	if err := s.Encode(row, fields); err != nil || !slices.Equal(row, []float32{0, 0, 1, 0, 0, 1, 0}) {
		t.Errorf("got %v, %v", row, err)
	}
}

func TestJSONAndHash(t *testing.T) {
	s := fit(t, chosen)
	text, err := json.Marshal(s)
	expect.OK(t, err)
	var indented map[string]any
	expect.OK(t, json.Unmarshal(text, &indented))
	loose, err := json.MarshalIndent(indented, "", "  ")
	expect.OK(t, err)
	again, err := Parse(loose)
	expect.OK(t, err)
	if again.Hash() != s.Hash() || !slices.Equal(again.Names(), s.Names()) {
		t.Errorf("another schema after reading: %s and %s", again.text, s.text)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != s.Hash() {
		t.Error("the hash is not that of the text")
	}
	other := chosen
	other.Seed++
	if fit(t, other).Hash() == s.Hash() {
		t.Error("another seed, the same hash")
	}
}

func TestParseRefuses(t *testing.T) {
	const good = `{"schema_version":1,"seed":0,"features":[{"name":"a","kind":"number","missing":"mean","mean":[1]}]}`
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{`"schema_version":1`, `"schema_version":2`, "schema_version is 2"},
		{`"seed":0`, `"seed":0,"x":1`, "x"},
		{`"name":"a"`, `"name":""`, `features[0].name is ""`},
		{`"kind":"number"`, `"kind":"word"`, `features[0].kind is "word"`},
		{`"missing":"mean"`, `"missing":"x"`, `features[0].missing is "x"`},
		{`[1]`, `[1,2]`, "features[0].mean has 2 values, want 1"},
		{`[1]`, `[1e39]`, "features[0].mean[0] is 1e+39"},
		{`"mean":[1]`, `"mean":[1],"buckets":3`, "features[0].buckets is 3"},
		{`"mean":[1]`, `"mean":[1],"categories":["x"]`, "features[0].categories has 1"},
		{`"mean":[1]`, `"mean":[1],"parts":["year"]`, "features[0].parts"},
		{`"mean":[1]`, `"mean":[1],"until_feature":"a"`, "features[0].until"},
		{`"number","missing":"mean","mean":[1]`, `"age","missing":"mean","mean":[1]`, "want one of the two"},
		{`"number","missing":"mean","mean":[1]`, `"age","missing":"zero","mean":[1],"until_feature":"b"`,
			`until_feature is "b"`},
		{`"number","missing":"mean","mean":[1]`, `"text","missing":"zero","buckets":99999999`, "buckets is 99999999"},
		{`"number","missing":"mean","mean":[1]`, `"vector","missing":"zero"`, "mean has 0 values"},
		{`"number","missing":"mean","mean":[1]`, `"category","missing":"zero","categories":["x","x"]`, "categories[1]"},
		{`"number","missing":"mean","mean":[1]`, `"time","missing":"zero","mean":[1],"parts":["second"]`, "parts[0]"},
		{`}]}`, `}],"unused":[{"name":"a","reason":"x"}]}`, `unused[0].name is "a"`},
		{`{"name":"a","kind":"number","missing":"mean","mean":[1]}`, ``, "features is empty"},
	} {
		text := strings.Replace(good, tc.old, tc.new, 1)
		expect.Error(t, expect.ErrorOf(Parse([]byte(text))), tc.want, "%s", text)
	}
}

func TestEncodeDoesNotAllocate(t *testing.T) {
	s := fit(t, chosen)
	columns, _ := people()
	fields := fieldsOf(columns, 5)
	row := make([]float32, s.Width())
	indices, values := make([]int32, 0, 256), make([]float32, 0, 256)
	allocations := testing.AllocsPerRun(100, func() {
		expect.OK(t, s.Encode(row, fields))
		if _, _, err := s.AppendSparse(indices, values, fields); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 0 && !race {
		t.Errorf("%v allocations", allocations)
	}
}

// Any text is refused with a reason, or is a schema that reads back the same and encodes what is missing.
func FuzzParse(f *testing.F) {
	columns, rows := people()
	for _, o := range []FitOptions{chosen, {MinCount: 3}} {
		s, err := Fit(columns, rows, o)
		expect.OK(f, err)
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.text)
		if err != nil || again.Hash() != s.Hash() {
			t.Fatalf("%s: %v", s.text, err)
		}
		if s.Width() > 1<<16 {
			return
		}
		row := make([]float32, s.Width())
		var fault *Error
		if err := s.Encode(row, nil); err != nil && (!errors.As(err, &fault) || fault.Fault != Refused) {
			t.Fatal(err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	columns, rows := people()
	s, err := Fit(columns, rows, chosen)
	expect.OK(b, err)
	fields, row := fieldsOf(columns, 5), make([]float32, s.Width())
	b.ReportAllocs()
	for b.Loop() {
		expect.OK(b, s.Encode(row, fields))
	}
}
