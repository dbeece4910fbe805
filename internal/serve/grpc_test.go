package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	rpc "connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/testing/protocmp"

	"rivulet/event"
	pb "rivulet/internal/serve/inferencepb"
	"rivulet/serving"
	"rivulet/test/expect"
)

// h2c is a client that speaks HTTP/2 without TLS, as clients of gRPC do.
func h2c(t testing.TB) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// protocols are the ways to call a procedure.
var protocols = map[string][]rpc.ClientOption{"gRPC": {rpc.WithGRPC()}, "gRPC-Web": {rpc.WithGRPCWeb()}, "Connect": nil,
	"Connect, JSON": {rpc.WithProtoJSON()}}

// ask calls a procedure.
func ask[Q, A any](t testing.TB, a *api, name string, q *Q, headers []string, options ...rpc.ClientOption) (*A, error) {
	t.Helper()
	client := rpc.NewClient[Q, A](h2c(t), a.url+grpcService+name, options...)
	request := rpc.NewRequest(q)
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		request.Header().Set(key, value)
	}
	got, err := client.CallUnary(t.Context(), request)
	if err != nil {
		return nil, err
	}
	return got.Msg, nil
}

// bytesInferred are the three arrivals of binaryTensors as a message with raw contents, textsInferred with others.
func bytesInferred() *pb.ModelInferRequest {
	m := textsInferred()
	for _, in := range m.GetInputs() {
		text, err := bytesOfContents(in.GetDatatype(), in.GetContents())
		if err != nil {
			panic(err)
		}
		m.RawInputContents, in.Contents = append(m.RawInputContents, text), nil
	}
	return m
}

func textsInferred() *pb.ModelInferRequest {
	input := func(name, datatype string, shape []int64, c *pb.InferTensorContents) *pb.ModelInferRequest_InferInputTensor {
		return &pb.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape, Contents: c}
	}
	words := func(all ...string) (c *pb.InferTensorContents) {
		c = &pb.InferTensorContents{}
		for _, w := range all {
			c.BytesContents = append(c.BytesContents, []byte(w))
		}
		return c
	}
	return &pb.ModelInferRequest{ModelName: "rivulet", Id: "q7", Inputs: []*pb.ModelInferRequest_InferInputTensor{
		input(tensorID, typeBytes, []int64{3}, words("a", "b", "c")),
		input(tensorFeatures, typeFloat, []int64{3, 3},
			&pb.InferTensorContents{Fp32Contents: []float32{1, 2, 3, 0.5, -1, 0, 0, 0, 7}}),
		input(tensorEdges, typeBytes, []int64{3}, words("node-0-é", "nobody", "node-3-é")),
		input(tensorOffsets, typeInt64, []int64{4}, &pb.InferTensorContents{Int64Contents: []int64{0, 2, 2, 3}}),
	}}
}

// Tensors by gRPC, gRPC-Web and Connect get the bits that JSON gets, in the form of the request's contents.
func TestMessagesGetTheSameBits(t *testing.T) {
	a := start(t, nil)
	a.server.o.Path.Output.Probabilities = true // of JSON, to compare with
	var want []event.Prediction
	for _, one := range []string{`{"id":"a","features":[1,2,3],"edges":["node-0-é","nobody"]}`,
		`{"id":"b","features":[0.5,-1,0]}`, `{"id":"c","features":[0,0,7],"edges":["node-3-é"]}`} {
		want = append(want, predictionOf(t, a.post(predictPath, one).body))
	}
	versioned := textsInferred()
	versioned.ModelVersion = want[0].Artifact
	one := bytesInferred()
	one.Outputs = []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: tensorProbabilities}}
	for protocol, options := range protocols {
		for name, q := range map[string]*pb.ModelInferRequest{"texts": textsInferred(), "raw": bytesInferred(),
			"a version": versioned, "one output": one} {
			got, err := ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", q, nil, options...)
			if err != nil {
				t.Errorf("%s, %s: %v", protocol, name, err)
				continue
			}
			if got.GetModelName() != "rivulet" || got.GetModelVersion() != want[0].Artifact || got.GetId() != "q7" {
				t.Errorf("%s, %s: %s", protocol, name, got)
			}
			classes, probabilities := messageOutputs(t, got, q.RawInputContents != nil)
			if outputs := max(1, 2-len(q.GetOutputs())); len(got.GetOutputs()) != outputs || len(probabilities) != 6 ||
				outputs == 2 && len(classes) != 3 {
				t.Fatalf("%s, %s: %s", protocol, name, got)
			}
			for i, p := range want {
				if len(classes) > 0 && int(classes[i]) != p.Class ||
					math.Float32bits(probabilities[2*i]) != math.Float32bits(p.Probabilities[0]) ||
					math.Float32bits(probabilities[2*i+1]) != math.Float32bits(p.Probabilities[1]) {
					t.Errorf("%s, %s: row %d is %v %v, want %d %v", protocol, name, i, classes, probabilities, p.Class,
						p.Probabilities)
				}
			}
		}
	}
}

// messageOutputs reads class and probabilities of a message with raw contents or others.
func messageOutputs(t *testing.T, m *pb.ModelInferResponse, raw bool) (classes []int32, probabilities []float32) {
	t.Helper()
	for k, o := range m.GetOutputs() {
		if raw != (o.GetContents() == nil) || raw && len(m.GetRawOutputContents()) != len(m.GetOutputs()) {
			t.Fatalf("raw is %t: %s", raw, m)
		}
		var words []uint32
		if raw {
			for text := m.GetRawOutputContents()[k]; len(text) > 0; text = text[4:] {
				words = append(words, binary.LittleEndian.Uint32(text))
			}
		}
		wantType, wantShape := typeInt32, []int64{3}
		if o.GetName() == tensorProbabilities {
			wantType, wantShape = typeFloat, []int64{3, 2}
			probabilities = o.GetContents().GetFp32Contents()
			for _, w := range words {
				probabilities = append(probabilities, math.Float32frombits(w))
			}
		} else {
			classes = o.GetContents().GetIntContents()
			for _, w := range words {
				classes = append(classes, int32(w))
			}
		}
		if diff := cmp.Diff(wantShape, o.GetShape()); o.GetDatatype() != wantType || diff != "" {
			t.Errorf("%s is %s %v", o.GetName(), o.GetDatatype(), o.GetShape())
		}
	}
	return classes, probabilities
}

// Metadata and health are those of HTTP.
func TestProceduresBesideInference(t *testing.T) {
	a := start(t, nil)
	version := a.version.Current().ID()
	live, err := ask[pb.ServerLiveRequest, pb.ServerLiveResponse](t, a, "ServerLive", &pb.ServerLiveRequest{}, nil,
		rpc.WithGRPC())
	if err != nil || !live.GetLive() {
		t.Error(live, err)
	}
	meta, err := ask[pb.ServerMetadataRequest, pb.ServerMetadataResponse](t, a, "ServerMetadata",
		&pb.ServerMetadataRequest{}, nil, rpc.WithGRPC())
	if err != nil || meta.GetName() != "rivulet" || meta.GetVersion() != "test" {
		t.Error(meta, err)
	}
	model, err := ask[pb.ModelMetadataRequest, pb.ModelMetadataResponse](t, a, "ModelMetadata",
		&pb.ModelMetadataRequest{Name: "rivulet", Version: version}, nil, rpc.WithGRPC())
	tensor := func(name, datatype string, shape ...int64) *pb.ModelMetadataResponse_TensorMetadata {
		return &pb.ModelMetadataResponse_TensorMetadata{Name: name, Datatype: datatype, Shape: shape}
	}
	want := &pb.ModelMetadataResponse{Name: "rivulet", Versions: []string{version}, Platform: "rivulet",
		Inputs: []*pb.ModelMetadataResponse_TensorMetadata{tensor("id", "BYTES", -1), tensor("features", "FP32", -1, 3),
			tensor("edges", "BYTES", -1), tensor("edges.offsets", "INT64", -1)},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{tensor("class", "INT32", -1),
			tensor("probabilities", "FP32", -1, 2)}}
	if diff := cmp.Diff(want, model, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v, metadata differ (-want +got):\n%s", err, diff)
	}
	ready := func(name, version string) (bool, error) {
		got, err := ask[pb.ModelReadyRequest, pb.ModelReadyResponse](t, a, "ModelReady",
			&pb.ModelReadyRequest{Name: name, Version: version}, nil, rpc.WithGRPC())
		return got.GetReady(), err
	}
	if is, err := ready("rivulet", ""); !is || err != nil {
		t.Error(is, err)
	}
	for _, other := range [][2]string{{"other", ""}, {"rivulet", "other"}} {
		if is, err := ready(other[0], other[1]); is || err != nil {
			t.Errorf("%v: %t, %v", other, is, err)
		}
	}
	a.version.now.Store(nil)
	if is, err := ready("rivulet", ""); is || err != nil {
		t.Errorf("without a version: %t, %v", is, err)
	}
	all, err := ask[pb.ServerReadyRequest, pb.ServerReadyResponse](t, a, "ServerReady", &pb.ServerReadyRequest{}, nil,
		rpc.WithGRPC())
	if err != nil || all.GetReady() {
		t.Errorf("without a version: %s, %v", all, err)
	}
	_, err = ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", textsInferred(), nil, rpc.WithGRPC())
	if rpc.CodeOf(err) != rpc.CodeUnavailable || !strings.Contains(err.Error(), "no_version") {
		t.Errorf("without a version: %v", err)
	}
}

// A request's fault has a code of gRPC, and the reason and detail that HTTP answers.
func TestRefusedMessages(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := start(t, func(o *Options) { o.Limits.Body, o.Metrics = 4<<10, registry })
	for name, c := range map[string]struct {
		change func(*pb.ModelInferRequest)
		code   rpc.Code
		says   string
	}{
		"another model":   {func(m *pb.ModelInferRequest) { m.ModelName = "x" }, rpc.CodeNotFound, `no model "x"`},
		"another version": {func(m *pb.ModelInferRequest) { m.ModelVersion = "x" }, rpc.CodeNotFound, `version "x"`},
		"no inputs":       {func(m *pb.ModelInferRequest) { m.Inputs = nil }, rpc.CodeInvalidArgument, `"id" is missing`},
		"twice": {func(m *pb.ModelInferRequest) { m.Inputs = append(m.Inputs, m.Inputs[0]) }, rpc.CodeInvalidArgument,
			`input "id": is there twice`},
		"unknown": {func(m *pb.ModelInferRequest) { m.Inputs[0].Name = "y" }, rpc.CodeInvalidArgument, "is not known"},
		"datatype": {func(m *pb.ModelInferRequest) { m.Inputs[1].Datatype = "FP64" }, rpc.CodeInvalidArgument,
			`datatype is "FP64"`},
		"contents of another datatype": {func(m *pb.ModelInferRequest) {
			m.Inputs[1].Contents = &pb.InferTensorContents{Fp64Contents: make([]float64, 9)}
		}, rpc.CodeInvalidArgument, "has contents of another datatype than FP32"},
		"contents of two datatypes": {func(m *pb.ModelInferRequest) { m.Inputs[1].Contents.Int64Contents = []int64{1} },
			rpc.CodeInvalidArgument, "has contents of another datatype than FP32"},
		"shape": {func(m *pb.ModelInferRequest) { m.Inputs[1].Shape = []int64{3, 4} }, rpc.CodeInvalidArgument,
			"has 9 elements, its shape [3 4] wants 12"},
		"a width": {func(m *pb.ModelInferRequest) {
			m.Inputs[1].Shape, m.Inputs[1].Contents.Fp32Contents = []int64{3, 2}, make([]float32, 6)
		}, rpc.CodeInvalidArgument, "feature_length: row 0"},
		"offsets": {func(m *pb.ModelInferRequest) { m.Inputs[3].Contents.Int64Contents[3] = 2 }, rpc.CodeInvalidArgument,
			"from 0 to 3"},
		"an output": {func(m *pb.ModelInferRequest) {
			m.Outputs = []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "y"}}
		}, rpc.CodeInvalidArgument, `output "y" is not known`},
		"shared memory of an input": {func(m *pb.ModelInferRequest) {
			m.Inputs[0].Parameters = map[string]*pb.InferParameter{"shared_memory_region": {}}
		}, rpc.CodeInvalidArgument, "shared memory"},
		"classification": {func(m *pb.ModelInferRequest) {
			m.Outputs = []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: tensorClass,
				Parameters: map[string]*pb.InferParameter{"classification": {}}}}
		}, rpc.CodeInvalidArgument, "classification are not supported"},
		"raw and contents": {func(m *pb.ModelInferRequest) { m.RawInputContents = make([][]byte, 4) },
			rpc.CodeInvalidArgument, "raw_input_contents are there"},
		"too few raw": {func(m *pb.ModelInferRequest) { m.RawInputContents = [][]byte{{1}} }, rpc.CodeInvalidArgument,
			"raw_input_contents has 1 tensors, inputs have 4"},
		"a raw tensor that is cut": {func(m *pb.ModelInferRequest) {
			raw := bytesInferred()
			m.Inputs, m.RawInputContents = raw.Inputs, raw.RawInputContents
			m.RawInputContents[0] = m.RawInputContents[0][:7]
		}, rpc.CodeInvalidArgument, "longer than the bytes that are left"},
		"too many arrivals": {func(m *pb.ModelInferRequest) {
			n := int64(65)
			m.Inputs = m.Inputs[:2]
			m.Inputs[0].Shape, m.Inputs[1].Shape = []int64{n}, []int64{n, 3}
			m.Inputs[0].Contents = &pb.InferTensorContents{BytesContents: make([][]byte, n)}
			m.Inputs[1].Contents = &pb.InferTensorContents{Fp32Contents: make([]float32, 3*n)}
		}, rpc.CodeResourceExhausted, "too_many"},
		"too large": {func(m *pb.ModelInferRequest) { m.Id = strings.Repeat("x", 4<<10) }, rpc.CodeResourceExhausted,
			"too_large"},
	} {
		m := textsInferred()
		c.change(m)
		for protocol, options := range protocols {
			_, err := ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", m, nil, options...)
			if rpc.CodeOf(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%s, %s: %v, want %s with %s", name, protocol, err, c.code, c.says)
			}
		}
	}
	families, err := registry.Gather()
	expect.OK(t, err)
	statuses := map[string]bool{}
	for _, family := range families {
		if family.GetName() == "rivulet_http_requests_total" {
			for _, m := range family.GetMetric() {
				if m.GetCounter().GetValue() > 0 {
					statuses[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = true
				}
			}
		}
	}
	want := map[string]bool{}
	for _, status := range []string{"400", "404", "413"} {
		want[grpcService+"ModelInfer "+status] = true
	}
	expect.Same(t, want, statuses, "requests are counted with other labels")
}

// The token, a full queue and a time-out are answered in the protocol's form; a message that is compressed is not read.
func TestBoundsOfMessages(t *testing.T) {
	a := start(t, func(o *Options) { o.Tokens = word("secret") })
	infer := func(headers ...string) error {
		_, err := ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", textsInferred(), headers,
			rpc.WithGRPC())
		return err
	}
	if err := infer(); rpc.CodeOf(err) != rpc.CodeUnauthenticated || !strings.Contains(err.Error(), "unauthorized") {
		t.Errorf("without a token: %v", err)
	}
	if err := infer("Authorization: Bearer secret"); err != nil {
		t.Error(err)
	}
	live, err := ask[pb.ServerLiveRequest, pb.ServerLiveResponse](t, a, "ServerLive", &pb.ServerLiveRequest{}, nil,
		rpc.WithGRPC())
	if err != nil || !live.GetLive() {
		t.Errorf("health wants no token: %v", err)
	}
	_, err = ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", textsInferred(),
		[]string{"Authorization: Bearer secret"}, rpc.WithGRPC(), rpc.WithSendGzip())
	if rpc.CodeOf(err) != rpc.CodeUnimplemented {
		t.Errorf("a compressed message: %v", err)
	}

	held := make(chan struct{})
	slow := start(t, func(o *Options) { o.Limits.Timeout = 300 * time.Millisecond })
	v := versionOf(t, bundle(t, 1), serving.Options{})
	v.rows = func(ctx context.Context, _ []string) error {
		select {
		case <-held:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	slow.version.now.Store(v)
	_, err = ask[pb.ModelInferRequest, pb.ModelInferResponse](t, slow, "ModelInfer", textsInferred(), nil, rpc.WithGRPC())
	if rpc.CodeOf(err) != rpc.CodeDeadlineExceeded {
		t.Errorf("an answer that does not come: %v", err)
	}
	close(held)
}

// A message of gRPC, whose length no header tells, reserves its bytes and no more.
func TestMessagesReserveTheirBytes(t *testing.T) {
	inside, goOn := make(chan struct{}, 8), make(chan struct{})
	a := start(t, func(o *Options) { o.Limits.QueueBytes, o.Limits.Body = 64<<10, 32<<10 })
	v := versionOf(t, bundle(t, 1), serving.Options{})
	v.rows = func(context.Context, []string) error {
		inside <- struct{}{}
		<-goOn
		return nil
	}
	a.version.now.Store(v)
	const n = 8
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := ask[pb.ModelInferRequest, pb.ModelInferResponse](t, a, "ModelInfer", textsInferred(), nil, rpc.WithGRPC())
			errs <- err
		}()
	}
	<-inside
	for a.server.working.Load() < n { // all wait; 32 KiB each would be refused
		time.Sleep(time.Millisecond)
		select {
		case err := <-errs:
			t.Fatalf("a request was answered early: %v", err)
		default:
		}
	}
	if used := a.server.bytes.inUse(); used == 0 || used > n*1024 {
		t.Errorf("%d bytes are reserved for %d small messages", used, n)
	}
	close(goOn)
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
