package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rivulet/consumer"
	"rivulet/event"
)

// inferRequest is a request of the Open Inference Protocol: n arrivals of d features.
type inferRequest struct {
	id       string
	version  string    // asked for; empty: whichever serves
	schema   string    // the header rivulet-schema
	ids      []string  // n
	features []float32 // n×d, row by row
	width    int       // d
	edges    []string
	offsets  []int64         // n+1: the edges of arrival i are edges[offsets[i]:offsets[i+1]]
	wants    map[string]bool // tensors of the answer, and whether as bytes
	order    []string        // names in order
}

type requestJSON struct {
	ID         string         `json:"id"`
	Parameters parametersJSON `json:"parameters"`
	Inputs     []inputJSON    `json:"inputs"`
	Outputs    []outputJSON   `json:"outputs"`
}

type inputJSON struct {
	Name       string         `json:"name"`
	Shape      []int64        `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters parametersJSON `json:"parameters"`
	Data       jsontext.Value `json:"data"`
}

type outputJSON struct {
	Name       string         `json:"name"`
	Parameters parametersJSON `json:"parameters"`
}

// parametersJSON are the parameters that the server understands.
type parametersJSON struct {
	BinarySize   *int64         `json:"binary_data_size"`
	Binary       *bool          `json:"binary_data"`
	BinaryOutput bool           `json:"binary_data_output"`
	Region       jsontext.Value `json:"shared_memory_region"`
	Classes      jsontext.Value `json:"classification"`
}

// tensor is an input as it came: its text, or its bytes.
type tensor struct {
	inputJSON
	bytes  []byte
	binary bool
}

// inputs lists the inputs that there may be, with their datatype and number of dimensions.
var inputs = map[string]struct {
	datatype string
	rank     int
}{tensorID: {typeBytes, 1}, tensorFeatures: {typeFloat, 2}, tensorEdges: {typeBytes, 1}, tensorOffsets: {typeInt64, 1}}

// parseTensors reads a body whose first bytes, all where header is negative, are JSON, and the others the
// tensors that it announces, in their order.
func parseTensors(body []byte, header int) (*inferRequest, error) {
	if header > len(body) {
		return nil, fmt.Errorf("%s is %d, the body has %d bytes", headerLength, header, len(body))
	}
	text, rest := body, []byte(nil)
	if header >= 0 {
		text, rest = body[:header], body[header:]
	}
	var q requestJSON
	if err := json.Unmarshal(text, &q); err != nil {
		return nil, fmt.Errorf("the request is not as the protocol has it: %w", err)
	}
	found := map[string]*tensor{}
	for i := range q.Inputs {
		t, left, err := takeTensor(&q.Inputs[i], rest)
		if err == nil && found[t.Name] != nil {
			err = errors.New("is there twice")
		}
		if err != nil {
			return nil, fmt.Errorf("input %.80q: %w", q.Inputs[i].Name, err)
		}
		found[t.Name], rest = t, left
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes are left behind the inputs", len(rest))
	}
	out := &inferRequest{id: q.ID}
	if err := out.read(found); err != nil {
		return nil, err
	}
	return out, out.want(&q)
}

// takeTensor checks an input's description, and takes its bytes from rest if it is binary.
func takeTensor(in *inputJSON, rest []byte) (*tensor, []byte, error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	t := &tensor{inputJSON: *in}
	size := in.Parameters.BinarySize
	switch {
	case size == nil && in.Data == nil:
		return nil, nil, errors.New("has neither data nor binary_data_size")
	case size == nil:
		return t, rest, nil
	case in.Data != nil:
		return nil, nil, errors.New("has both data and binary_data_size")
	case *size < 0 || *size > int64(len(rest)):
		return nil, nil, fmt.Errorf("binary_data_size is %d, %d bytes are left", *size, len(rest))
	}
	t.bytes, t.binary = rest[:*size], true
	return t, rest[*size:], nil
}

// check checks the description of an input.
func (in *inputJSON) check() error {
	want, known := inputs[in.Name]
	switch {
	case !known:
		return errors.New("is not known, want id, features, edges or edges.offsets")
	case in.Datatype != want.datatype:
		return fmt.Errorf("datatype is %.80q, want %s", in.Datatype, want.datatype)
	case len(in.Shape) != want.rank:
		return fmt.Errorf("shape has %d dimensions, want %d", len(in.Shape), want.rank)
	case in.Parameters.Region != nil:
		return errors.New("shared memory is not supported")
	}
	return nil
}

// read reads the inputs and checks that they fit together.
func (q *inferRequest) read(found map[string]*tensor) (err error) {
	for _, name := range []string{tensorID, tensorFeatures} {
		if found[name] == nil {
			return fmt.Errorf("input %q is missing", name)
		}
	}
	if (found[tensorEdges] == nil) != (found[tensorOffsets] == nil) {
		return fmt.Errorf("inputs %q and %q need each other", tensorEdges, tensorOffsets)
	}
	if q.ids, err = words(found[tensorID]); err != nil {
		return err
	}
	n := int64(len(q.ids))
	if q.features, err = numbers(found[tensorFeatures], 4, float, bitsFloat); err != nil {
		return err
	}
	shape := found[tensorFeatures].Shape
	if n == 0 || shape[0] != n {
		return fmt.Errorf("input %q has %d rows for %d ids, want as many, and one at least", tensorFeatures, shape[0], n)
	}
	q.width = int(shape[1])
	if found[tensorEdges] == nil {
		q.offsets = make([]int64, n+1)
		return nil
	}
	if q.edges, err = words(found[tensorEdges]); err != nil {
		return err
	}
	if q.offsets, err = numbers(found[tensorOffsets], 8, integer, bitsInteger); err != nil {
		return err
	}
	return q.checkOffsets(n)
}

func (q *inferRequest) checkOffsets(n int64) error {
	if int64(len(q.offsets)) != n+1 || q.offsets[0] != 0 || q.offsets[n] != int64(len(q.edges)) {
		return fmt.Errorf("input %q must have %d numbers from 0 to %d, the number of edges", tensorOffsets, n+1, len(q.edges))
	}
	for i := range n {
		if q.offsets[i+1] < q.offsets[i] {
			return fmt.Errorf("input %q falls from %d to %d at %d", tensorOffsets, q.offsets[i], q.offsets[i+1], i+1)
		}
	}
	return nil
}

// want reads which tensors the request wants: both, unless it names some.
func (q *inferRequest) want(r *requestJSON) error {
	q.wants, q.order = map[string]bool{}, nil
	if len(r.Outputs) == 0 {
		r.Outputs = []outputJSON{{Name: tensorClass}, {Name: tensorProbabilities}}
	}
	for _, o := range r.Outputs {
		_, twice := q.wants[o.Name]
		switch {
		case o.Name != tensorClass && o.Name != tensorProbabilities:
			return fmt.Errorf("output %.80q is not known, want class or probabilities", o.Name)
		case twice:
			return fmt.Errorf("output %q is there twice", o.Name)
		case o.Parameters.Region != nil || o.Parameters.Classes != nil:
			return fmt.Errorf("output %q: shared memory and classification are not supported", o.Name)
		}
		q.wants[o.Name], q.order = r.Parameters.BinaryOutput, append(q.order, o.Name)
		if o.Parameters.Binary != nil {
			q.wants[o.Name] = *o.Parameters.Binary
		}
	}
	return nil
}

// count returns the number of a shape's elements, and an error if it is not have.
func (t *tensor) count(have int) error {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > math.MaxInt32 || d > 0 && n > math.MaxInt32/d {
			return fmt.Errorf("input %q: shape %v is beyond what a request can hold", t.Name, t.Shape)
		}
		n *= d
	}
	if n != int64(have) {
		return fmt.Errorf("input %q has %d elements, its shape %v wants %d", t.Name, have, t.Shape, n)
	}
	return nil
}

// words reads a tensor of BYTES.
func words(t *tensor) (all []string, err error) {
	if !t.binary {
		err = t.elements(func(v jsontext.Value) error {
			if v.Kind() != '"' {
				return fmt.Errorf("%.80s, want a string", v)
			}
			text, err := jsontext.AppendUnquote(nil, v)
			all = append(all, string(text))
			return err
		})
	} else {
		for rest := t.bytes; len(rest) > 0; {
			if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
				return nil, fmt.Errorf("input %q: element %d is longer than the bytes that are left", t.Name, len(all))
			}
			end := 4 + int(binary.LittleEndian.Uint32(rest))
			all, rest = append(all, string(rest[4:end])), rest[end:]
		}
	}
	if err != nil {
		return nil, err
	}
	return all, t.count(len(all))
}

// numbers reads a tensor of numbers of a width in bytes.
func numbers[T float32 | int64](t *tensor, width int, parse func(string) (T, error),
	of func([]byte) T) (all []T, err error) {
	if !t.binary {
		err = t.elements(func(v jsontext.Value) error {
			if v.Kind() != '0' {
				return fmt.Errorf("%.80s, want a number", v)
			}
			number, err := parse(string(v))
			all = append(all, number)
			return err
		})
		if err != nil {
			return nil, err
		}
		return all, t.count(len(all))
	}
	if len(t.bytes)%width != 0 {
		return nil, fmt.Errorf("input %q has %d bytes, want a multiple of %d", t.Name, len(t.bytes), width)
	}
	all = make([]T, len(t.bytes)/width)
	for i := range all {
		all[i] = of(t.bytes[i*width:])
	}
	return all, t.count(len(all))
}

func float(text string) (float32, error) {
	v, err := strconv.ParseFloat(text, 32)
	return float32(v), err
}

func integer(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func bitsFloat(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

func bitsInteger(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

// elements calls take with each element of data in JSON, which is flat or nested exactly as the shape says. A nested
// list of other lengths is refused even where it has as many elements: in [[1,0],[0,0,1,0]] for the shape [2,3] the
// third number belongs to the second arrival.
func (t *tensor) elements(take func(jsontext.Value) error) error {
	d, n := jsontext.NewDecoder(bytes.NewReader(t.Data)), 0
	if d.PeekKind() != '[' {
		return fmt.Errorf("input %q: data is no array", t.Name)
	}
	nesting := nesting{shape: t.Shape}
	for {
		var err error
		switch kind := d.PeekKind(); kind {
		case '[', ']':
			if _, err = d.ReadToken(); err == nil {
				err = nesting.bracket(kind == '[')
			}
		default:
			var v jsontext.Value
			if v, err = d.ReadValue(); err == nil {
				if err = nesting.element(); err == nil {
					err, n = take(v), n+1
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errNesting):
			return fmt.Errorf("input %q: %w", t.Name, err)
		case err != nil:
			return fmt.Errorf("input %q: element %d of data: %w", t.Name, n, err)
		}
	}
}

var errNesting = errors.New("data is nested otherwise than its shape")

// nesting compares the brackets of a tensor's data with its shape.
type nesting struct {
	shape        []int64
	open         []int64 // for each open bracket, how many elements or lists it holds so far
	flat, nested bool    // the outermost list holds elements, lists
}

// bracket opens or closes a list.
func (s *nesting) bracket(opens bool) error {
	depth := len(s.open)
	if !opens {
		held := s.open[depth-1]
		s.open = s.open[:depth-1]
		if want := s.shape[depth-1]; s.nested && held != want {
			return fmt.Errorf("%w: a list holds %d where the shape %v has %d", errNesting, held, s.shape, want)
		}
		return nil
	}
	if depth == len(s.shape) {
		return fmt.Errorf("%w: lists lie %d deep where the shape is %v", errNesting, depth+1, s.shape)
	}
	if depth > 0 {
		s.open[depth-1]++
		s.nested = true
	}
	s.open = append(s.open, 0)
	return s.mixed()
}

// element counts an element.
func (s *nesting) element() error {
	depth := len(s.open)
	s.open[depth-1]++
	s.flat = s.flat || depth == 1
	if s.nested && depth < len(s.shape) {
		return fmt.Errorf("%w: an element lies %d deep where the shape is %v", errNesting, depth, s.shape)
	}
	return s.mixed()
}

func (s *nesting) mixed() error {
	if s.flat && s.nested {
		return fmt.Errorf("%w: elements and lists stand side by side", errNesting)
	}
	return nil
}

// tensors are answers as tensors.
type tensors struct {
	classes       []int32   // n; −1: none yet
	probabilities []float32 // n×C
	width         int       // C
	version       string
	refused       *refusal // of the first refused arrival
	first         int      // its place
}

func newTensors(n int) *tensors {
	t := &tensors{classes: make([]int32, n)}
	for i := range t.classes {
		t.classes[i] = -1
	}
	return t
}

func (t *tensors) prediction(at int, p *event.Prediction) error {
	if t.probabilities == nil {
		t.width, t.version = len(p.Probabilities), p.Artifact
		t.probabilities = make([]float32, len(t.classes)*t.width)
	}
	t.classes[at] = int32(p.Class)
	copy(t.probabilities[at*t.width:], p.Probabilities)
	return nil
}

func (t *tensors) explanation(int, *consumer.ExplainedArrival) error {
	return errors.New("explanations are no tensors")
}

func (t *tensors) refusal(at int, reason, detail string) {
	if t.refused == nil || at < t.first {
		t.first = at
		t.refused = refused(http.StatusBadRequest, reason, "row %d: %s", at, detail)
	}
}

// inferResponse is the document of an answer.
type inferResponse struct {
	Model   string           `json:"model_name"`
	Version string           `json:"model_version"`
	ID      string           `json:"id,omitzero"`
	Outputs []responseTensor `json:"outputs"`
}

type responseTensor struct {
	Name       string          `json:"name"`
	Datatype   string          `json:"datatype"`
	Shape      []int           `json:"shape"`
	Parameters *responseBinary `json:"parameters,omitzero"`
	Data       any             `json:"data,omitzero"`
}

type responseBinary struct {
	Size int `json:"binary_data_size"`
}

// response returns the document, and the bytes behind it; nil: there are none.
func (t *tensors) response(model string, q *inferRequest) (inferResponse, []byte) {
	out := inferResponse{Model: model, Version: t.version, ID: q.id}
	var all []byte
	for _, name := range q.order {
		r, begin := responseTensor{Name: name}, len(all)
		if name == tensorClass {
			r.Datatype, r.Shape, r.Data = typeInt32, []int{len(t.classes)}, t.classes
		} else {
			r.Datatype, r.Shape, r.Data = typeFloat, []int{len(t.classes), t.width}, t.probabilities
		}
		if q.wants[name] {
			all = t.appendBytes(all, name)
			r.Parameters, r.Data = &responseBinary{len(all) - begin}, nil
		}
		out.Outputs = append(out.Outputs, r)
	}
	return out, all
}

// appendBytes appends the elements of an output as bytes.
func (t *tensors) appendBytes(all []byte, name string) []byte {
	if name == tensorClass {
		for _, c := range t.classes {
			all = binary.LittleEndian.AppendUint32(all, uint32(c))
		}
		return all
	}
	for _, p := range t.probabilities {
		all = binary.LittleEndian.AppendUint32(all, math.Float32bits(p))
	}
	return all
}
