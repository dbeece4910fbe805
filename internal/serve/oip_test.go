package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/event"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

const inferPath = "/v2/models/rivulet/infer"

// inferred is an answer of the protocol.
type inferred struct {
	Model   string `json:"model_name"`
	Version string `json:"model_version"`
	ID      string
	Outputs []struct {
		Name, Datatype string
		Shape          []int
		Data           []float64
		Parameters     struct {
			Size int `json:"binary_data_size"`
		}
	}
}

// Tensors get what JSON gets, bit for bit, whichever of the two forms input and output have.
func TestTensorsGetTheSameBits(t *testing.T) {
	a := start(t, nil)
	a.server.o.Path.Output.Probabilities = true // of JSON, to compare with
	var want []event.Prediction
	for _, one := range []string{`{"id":"a","features":[1,2,3],"edges":["node-0-é","nobody"]}`,
		`{"id":"b","features":[0.5,-1,0]}`, `{"id":"c","features":[0,0,7],"edges":["node-3-é"]}`} {
		want = append(want, predictionOf(t, a.post(predictPath, one).body))
	}
	text := `{"id":"q7","inputs":[{"name":"id","shape":[3],"datatype":"BYTES","data":["a","b","c"]},
		{"name":"features","shape":[3,3],"datatype":"FP32","data":[[1,2,3],[0.5,-1,0],[0,0,7]]},
		{"name":"edges","shape":[3],"datatype":"BYTES","data":["node-0-é","nobody","node-3-é"]},
		{"name":"edges.offsets","shape":[4],"datatype":"INT64","data":[0,2,2,3]}]%s}`
	for name, got := range map[string]answer{
		"JSON":            a.post(inferPath, fmt.Sprintf(text, "")),
		"a version":       a.post("/v2/models/rivulet/versions/"+want[0].Artifact+"/infer", fmt.Sprintf(text, "")),
		"a binary answer": a.post(inferPath, fmt.Sprintf(text, `,"parameters":{"binary_data_output":true}`)),
		"one of each": a.post(inferPath, fmt.Sprintf(text,
			`,"outputs":[{"name":"probabilities","parameters":{"binary_data":true}},{"name":"class"}]`)),
		"a binary request": a.postTensors(t),
	} {
		if got.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, got.status, got.body)
			continue
		}
		classes, probabilities := readOutputs(t, got)
		for i, p := range want {
			if int(classes[i]) != p.Class || math.Float32bits(probabilities[2*i]) != math.Float32bits(p.Probabilities[0]) ||
				math.Float32bits(probabilities[2*i+1]) != math.Float32bits(p.Probabilities[1]) {
				t.Errorf("%s: row %d is %v %v, want %d %v", name, i, classes[i], probabilities[2*i:2*i+2], p.Class, p.Probabilities)
			}
		}
	}
}

// readOutputs reads class and probabilities in either form.
func readOutputs(t *testing.T, got answer) (classes, probabilities []float32) {
	t.Helper()
	text, rest := got.body, []byte(nil)
	if length := got.header.Get(headerLength); length != "" {
		n, err := strconv.Atoi(length)
		expect.OK(t, err)
		text, rest = got.body[:n], got.body[n:]
	}
	var in inferred
	if err := json.Unmarshal(text, &in); err != nil || in.Model != "rivulet" || in.Version == "" {
		t.Fatalf("%v %s", err, text)
	}
	for _, o := range in.Outputs {
		var values []float32
		for _, v := range o.Data {
			values = append(values, float32(v))
		}
		for k := 0; k < o.Parameters.Size; k += 4 {
			bits := binary.LittleEndian.Uint32(rest[k:])
			if o.Name == tensorClass {
				values = append(values, float32(bits))
			} else {
				values = append(values, math.Float32frombits(bits))
			}
		}
		rest = rest[o.Parameters.Size:]
		if o.Name == tensorClass {
			classes = values
		} else {
			probabilities = values
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	return classes, probabilities
}

// binaryTensors is a request of the three arrivals as bytes, and how many of them are JSON.
func binaryTensors() (body []byte, header int) {
	words := func(all ...string) (out []byte) {
		for _, w := range all {
			out = append(binary.LittleEndian.AppendUint32(out, uint32(len(w))), w...)
		}
		return out
	}
	ids, edges := words("a", "b", "c"), words("node-0-é", "nobody", "node-3-é")
	var features, offsets []byte
	for _, v := range []float32{1, 2, 3, 0.5, -1, 0, 0, 0, 7} {
		features = binary.LittleEndian.AppendUint32(features, math.Float32bits(v))
	}
	for _, v := range []uint64{0, 2, 2, 3} {
		offsets = binary.LittleEndian.AppendUint64(offsets, v)
	}
	head := fmt.Sprintf(`{"inputs":[{"name":"id","shape":[3],"datatype":"BYTES","parameters":{"binary_data_size":%d}},
		{"name":"features","shape":[3,3],"datatype":"FP32","parameters":{"binary_data_size":%d}},
		{"name":"edges","shape":[3],"datatype":"BYTES","parameters":{"binary_data_size":%d}},
		{"name":"edges.offsets","shape":[4],"datatype":"INT64","parameters":{"binary_data_size":%d}}]}`,
		len(ids), len(features), len(edges), len(offsets))
	return bytes.Join([][]byte{[]byte(head), ids, features, edges, offsets}, nil), len(head)
}

func (a *api) postTensors(t *testing.T) answer {
	t.Helper()
	body, header := binaryTensors()
	got, err := a.do(t.Context(), http.MethodPost, inferPath, bytes.NewReader(body),
		headerLength+": "+strconv.Itoa(header), "Content-Type: application/octet-stream")
	expect.OK(t, err)
	return got
}

// A request's fault is reported in the protocol's form, with the input or the row.
func TestRefusedTensors(t *testing.T) {
	a := start(t, nil)
	id, x := `{"name":"id","shape":[1],"datatype":"BYTES","data":["a"]}`,
		`{"name":"features","shape":[1,3],"datatype":"FP32","data":[1,2,3]}`
	e, o := `{"name":"edges","shape":[1],"datatype":"BYTES","data":["n"]}`,
		`{"name":"edges.offsets","shape":[2],"datatype":"INT64","data":[0,1]}`
	nested := func(shape, data string) string {
		return `{"inputs":[{"name":"id","shape":[2],"datatype":"BYTES","data":["a","b"]},{"name":"features","shape":` +
			shape +
			`,"datatype":"FP32","data":` + data + `}]}`
	}
	many := strings.Repeat(`"a",`, 64) + `"a"`
	for _, c := range []struct {
		body, says string
		status     int
	}{
		{`{"inputs":[` + id + `,` + x + `,` + e + `,` + o + `]}`, "", 200},
		{`{"inputs":[` + x + `,` + id + `]}`, "", 200},
		{`x`, "unparsable", 400},
		{`{}`, `"id\" is missing`, 400},
		{`{"inputs":[` + id + `]}`, `features`, 400},
		{`{"inputs":[` + id + `,` + id + `,` + x + `]}`, "twice", 400},
		{`{"inputs":[` + id + `,` + x + `,` + e + `]}`, "need each other", 400},
		{`{"inputs":[` + id + `,` + x + `,{"name":"y","shape":[1],"datatype":"FP32","data":[1]}]}`, "not known", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "FP32", "FP64", 1) + `]}`, "datatype", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,3]", "[3]", 1) + `]}`, "dimensions", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,3]", "[1,4]", 1) + `]}`, "wants 4", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,3]", "[3,1]", 1) + `]}`, "3 rows", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,3]", "[-1,-3]", 1) + `]}`, "beyond", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,3]", "[4294967296,4294967296]", 1) + `]}`, "beyond", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,2,3]", "[1,null,3]", 1) + `]}`, "want a number", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,2,3]", "[1,1e99,3]", 1) + `]}`, "out of range", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(x, "[1,2,3]", "7", 1) + `]}`, "no array", 400},
		{`{"inputs":[` + id + `,` + strings.Replace(strings.Replace(x, "[1,3]", "[1,2]", 1), "[1,2,3]", "[1,2]", 1) + `]}`,
			"feature_length: row 0", 400},
		{`{"inputs":[` + strings.Replace(id, `"a"`, `""`, 1) + `,` + x + `]}`, "row 0", 400},
		{nested("[2,3]", "[[1,2,3],[4,5,6]]"), "", 200},
		{nested("[2,3]", "[1,2,3,4,5,6]"), "", 200},
		{nested("[2,3]", "[[1,2],[3,4,5,6]]"), "a list holds 2 where the shape [2 3] has 3", 400},
		{nested("[2,3]", "[[1,2,3,4],[5,6]]"), "a list holds 4", 400},
		{nested("[2,3]", "[[1,2],[3,4],[5,6]]"), "a list holds 2", 400},
		{nested("[2,3]", "[[1,2,3],4,5,6]"), "deep where the shape", 400},
		{nested("[2,3]", "[1,2,3,[4,5,6]]"), "side by side", 400},
		{nested("[2,3]", "[[1,2,3],[4,5,6],[]]"), "a list holds 0", 400},
		{nested("[2,3]", "[[[1,2,3],[4,5,6]]]"), "deep", 400},
		{nested("[2,3]", "[[[1],[2],[3]],[[4],[5],[6]]]"), "lists lie 3 deep", 400},
		{`{"inputs":[{"name":"id","shape":[2],"datatype":"BYTES","data":[["a"],["b"]]},` + x + `]}`, "lists lie 2 deep", 400},
		{`{"inputs":[{"name":"id","shape":[2,1],"datatype":"BYTES","data":[["a"],["b"]]},` + x + `]}`, "dimensions", 400},
		{`{"inputs":[` + id + `,` + x + `,` + e + `,` + strings.Replace(o, "[0,1]", "[1,1]", 1) + `]}`, "from 0 to 1", 400},
		{`{"inputs":[` + id + `,` + x + `,` + strings.Replace(e, `["n"]`, `[5]`, 1) + `,` + o + `]}`, "want a string", 400},
		{`{"inputs":[{"name":"id","shape":[2],"datatype":"BYTES","data":["a","b"]},{"name":"features","shape":[2,3],` +
			`"datatype":"FP32","data":[1,2,3,4,5,6]},` + e +
			`,{"name":"edges.offsets","shape":[3],"datatype":"INT64","data":[0,2,1]}]}`, "falls", 400},
		{`{"inputs":[{"name":"id","shape":[65],"datatype":"BYTES","data":[` + many +
			`]},{"name":"features","shape":[65,0],"datatype":"FP32","data":[]}]}`, reasonTooMany, 413},
		{`{"inputs":[` + id + `,` + x + `],"outputs":[{"name":"logits"}]}`, "logits", 400},
		{`{"inputs":[` + id + `,` + x + `],"outputs":[{"name":"class","parameters":{"classification":2}}]}`, "classification",
			400},
		{`{"inputs":[{"name":"id","shape":[1],"datatype":"BYTES","parameters":{"shared_memory_region":"r"}},` + x + `]}`,
			"shared memory", 400},
		{`{"inputs":[{"name":"id","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}},` + x + `]}`,
			"0 bytes are left", 400},
	} {
		got := a.post(inferPath, c.body)
		var e struct{ Error string }
		_ = json.Unmarshal(got.body, &e)
		if got.status != c.status || !strings.Contains(string(got.body), c.says) && !strings.Contains(e.Error, c.says) ||
			(got.status != 200) != (e.Error != "") {
			t.Errorf("%s: %d %s, want %d %s", c.body, got.status, got.body, c.status, c.says)
		}
	}
	for path, status := range map[string]int{"/v2/models/other": 404, "/v2/models/rivulet/versions/other": 404,
		"/v2/models/rivulet/versions/other/ready": 404,
		"/v2/models/rivulet/ready":                200, "/v2": 200, v2ReadyPath: 200} {
		if got := a.get(path); got.status != status {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := a.post(inferPath, "{}", headerLength+": 3"); got.status != 400 {
		t.Errorf("a header longer than the body: %d", got.status)
	}
	if got := a.post(inferPath, "{}",
		"Content-Type: application/octet-stream"); got.status != http.StatusUnsupportedMediaType {
		t.Errorf("bytes without %s: %d", headerLength, got.status)
	}
}

// Any bytes as a body get an answer that a client can read, and never a failure of the server.
func FuzzBodies(f *testing.F) {
	a := start(f, func(o *Options) { o.Limits.Body = 4096 })
	body, header := binaryTensors()
	f.Add(body, header)
	f.Add([]byte(`[{"id":"a","features":[1,2,3],"edges":["node-0-é"]},{"id":"b","features":{"indices":[1],`+
		`"values":[2]}}]`), 1)
	f.Add([]byte(`{"inputs":[{"name":"id","shape":[1],"datatype":"BYTES","data":["a"]},{"name":"features","shape":[1,`+
		`3],"datatype":"FP32","data":[1,2,3]}]}`), -1)
	f.Add([]byte(`[{"id":1,"features":{"named":{"a":null}}}]`), 0)
	f.Fuzz(func(t *testing.T, body []byte, header int) {
		for _, path := range []string{predictPath, explainPath, inferPath} {
			headers := []string{}
			if path == inferPath && header >= 0 {
				headers = append(headers, headerLength+": "+strconv.Itoa(header))
			}
			got, err := a.do(context.Background(), http.MethodPost, path, bytes.NewReader(body), headers...)
			expect.OK(t, err)
			switch got.status {
			case 200, 400, 413, 422:
			default:
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
			if got.header.Get("Content-Type") == "application/json" && !json.Valid(got.body) {
				t.Fatalf("%s: the answer is no JSON: %q", path, got.body)
			}
		}
	})
}

// Of an artifact of labels records get the labels. The protocol and explanations refuse it.
func TestLabelsAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Labels(bundle(t, 1))
	expect.OK(t, b.Seal())
	v := versionOf(t, b, serving.Options{})
	a.version.now.Store(v)
	one := `{"id":"a","features":[1,2,3],"edges":["node-0-é"]}`
	p := predictionOf(t, a.post(predictPath, one).body)
	if p.ClassName != "" || p.Probability < 0.5 || p.Probability > 1 || len(p.Labels) > 2 || p.Numbers != nil {
		t.Errorf("predicted %+v", p)
	}
	for path, body := range map[string]string{inferPath: `{"inputs":[]}`, explainPath: one} {
		if got := a.post(path, body); got.status != http.StatusNotFound || !strings.Contains(string(got.body),
			"the task is labels") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// Of an artifact of numbers records get the numbers. The protocol, which has tensors of classes, and explanations
// refuse it.
func TestNumbersAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Numbers(bundle(t, 1))
	expect.OK(t, b.Seal())
	a.version.now.Store(versionOf(t, b, serving.Options{}))
	one := `{"id":"a","features":[1,2,3],"edges":["node-0-é"]}`
	p := predictionOf(t, a.post(predictPath, one).body)
	if len(p.Numbers) != 2 || p.Numbers[1].Name != "class 1" || p.Numbers[1].Upper-p.Numbers[1].Lower != 4 ||
		p.Probability != 0 {
		t.Errorf("predicted %+v", p)
	}
	tensors := `{"inputs":[{"name":"id","shape":[1],"datatype":"BYTES","data":["a"]},` +
		`{"name":"features","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]}`
	for path, body := range map[string]string{inferPath: tensors, explainPath: one} {
		if got := a.post(path, body); got.status != http.StatusNotFound || !strings.Contains(string(got.body),
			"the task is number") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// An artifact of links is answered as a record with candidates, without the arrival's neighbours.
func TestLinksAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Links(bundle(t, 1))
	expect.OK(t, b.Seal())
	a.version.now.Store(versionOf(t, b, serving.Options{}))
	one := fmt.Sprintf(`{"id":"a","features":[1,2,3],"edges":[%q]}`, b.Candidates.IDs[0])
	p := predictionOf(t, a.post(predictPath, one).body)
	if len(p.Links) != 1 || p.Links[0].ID != b.Candidates.IDs[1] || p.Class != 0 || p.Probability != 0 || p.Top != nil {
		t.Errorf("predicted %+v", p)
	}
	_, _, err := serving.New(b, mapping.FromBundle(b), serving.Options{Attachment: artifact.AttachJoint})
	expect.Error(t, err, "the task is links, and attachment joint is for classes only", "joint attachment")
	tensors := `{"inputs":[{"name":"id","shape":[1],"datatype":"BYTES","data":["a"]},` +
		`{"name":"features","shape":[1,3],"datatype":"FP32","data":[1,2,3]}]}`
	for path, body := range map[string]string{inferPath: tensors, explainPath: one} {
		if got := a.post(path, body); got.status != http.StatusNotFound || !strings.Contains(string(got.body),
			"the task is links") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
