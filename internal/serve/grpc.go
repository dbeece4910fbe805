package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	rpc "connectrpc.com/connect"

	"rivulet/event"
	pb "rivulet/internal/serve/inferencepb"
)

// grpcService is the path of the Open Inference Protocol by gRPC. Package connect reads and writes the messages, also
// of gRPC-Web and of the Connect protocol. The code of oip.go answers them, within the same limits as by HTTP.
const grpcService = "/inference.GRPCInferenceService/"

// grpcRoutes returns a route for each procedure.
func (s *Server) grpcRoutes() []route {
	return []route{
		procedure(s, "ServerLive", true, s.grpcLive),
		procedure(s, "ServerReady", true, s.grpcReady),
		procedure(s, "ModelReady", true, s.grpcModelReady),
		procedure(s, "ServerMetadata", false, s.grpcServerMetadata),
		procedure(s, "ModelMetadata", false, s.grpcModelMetadata),
		procedure(s, "ModelInfer", false, s.grpcInfer),
	}
}

// call is a request by gRPC: where it is answered, and what of it the message does not have.
type call struct {
	*body
	path    string
	schema  string   // the header rivulet-schema
	refused *refusal // where it was
}

type callKey struct{}

// procedure returns the route of a procedure. Its body is read as all bodies are, within the limits of the server,
// before connect decodes it.
func procedure[Q, A any](s *Server, name string, open bool,
	answer func(context.Context, *call, *Q) (*A, *refusal)) route {
	path := grpcService + name
	handler := rpc.NewUnaryHandler(path, func(ctx context.Context, q *rpc.Request[Q]) (*rpc.Response[A], error) {
		of := ctx.Value(callKey{}).(*call)
		a, refused := answer(ctx, of, q.Msg)
		if of.refused = refused; refused != nil {
			return nil, rpcError(refused)
		}
		return rpc.NewResponse(a), nil
	}, rpc.WithCompression("gzip", nil, nil)) // a small body could become a large message
	return route{http.MethodPost, path, open, func(w http.ResponseWriter, r *http.Request) *refusal {
		ctx, cancel := context.WithTimeout(r.Context(), s.o.Limits.Timeout)
		defer cancel()
		if err := announce(ctx, w, r); err != nil {
			return because(err)
		}
		return s.withBody(w, r.WithContext(ctx), func(ctx context.Context, body *body) *refusal {
			of := &call{body: body, path: path, schema: r.Header.Get(event.HeaderSchema)}
			r = r.WithContext(context.WithValue(ctx, callKey{}, of))
			r.Body = io.NopCloser(bytes.NewReader(body.text.Bytes()))
			handler.ServeHTTP(w, r)
			if of.refused != nil {
				noteStatus(w, of.refused.status)
			}
			return nil
		})
	}}
}

// messageHead is the length of the prefix of a message of gRPC: a byte that says whether it is compressed, and four
// with its length.
const messageHead = 1 + 4

// announce sets the length of a body from the prefix of its message, so that only its bytes are reserved: clients of
// gRPC send no content-length.
func announce(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength >= 0 || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		return nil
	}
	until, _ := ctx.Deadline()
	_ = http.NewResponseController(w).SetReadDeadline(until) // where it cannot be set there is no connection
	var head [messageHead]byte
	if _, err := io.ReadFull(r.Body, head[:]); err != nil {
		return unread(ctx, r, err)
	}
	r.ContentLength = messageHead + int64(binary.BigEndian.Uint32(head[1:]))
	r.Body = io.NopCloser(io.LimitReader(io.MultiReader(bytes.NewReader(head[:]), r.Body), r.ContentLength))
	return nil
}

// rpcCodes are the codes of gRPC for the statuses of refusals.
var rpcCodes = map[int]rpc.Code{
	http.StatusBadRequest:            rpc.CodeInvalidArgument,
	http.StatusUnsupportedMediaType:  rpc.CodeInvalidArgument,
	http.StatusUnauthorized:          rpc.CodeUnauthenticated,
	http.StatusForbidden:             rpc.CodePermissionDenied,
	http.StatusMisdirectedRequest:    rpc.CodePermissionDenied,
	http.StatusNotFound:              rpc.CodeNotFound,
	http.StatusMethodNotAllowed:      rpc.CodeUnimplemented,
	http.StatusRequestTimeout:        rpc.CodeDeadlineExceeded,
	http.StatusGatewayTimeout:        rpc.CodeDeadlineExceeded,
	http.StatusRequestEntityTooLarge: rpc.CodeResourceExhausted,
	http.StatusTooManyRequests:       rpc.CodeResourceExhausted,
	http.StatusServiceUnavailable:    rpc.CodeUnavailable,
	http.StatusInternalServerError:   rpc.CodeInternal,
	statusGone:                       rpc.CodeCanceled,
}

func rpcError(e *refusal) *rpc.Error {
	return rpc.NewError(rpcCodes[e.status], errors.New(e.reason+": "+e.detail))
}

// failRPC answers an error to a call that connect was not asked to answer.
func failRPC(w http.ResponseWriter, r *http.Request, e *refusal) {
	_ = rpc.NewErrorWriter().Write(w, r, rpcError(e)) // a client that is gone is no error of ours
	noteStatus(w, e.status)
}

// noteStatus notes the status of a refusal, as that of gRPC is always 200.
func noteStatus(w http.ResponseWriter, status int) {
	if seen, is := w.(*statusWriter); is {
		seen.status = status
	}
}

func (s *Server) grpcLive(context.Context, *call, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, *refusal) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

func (s *Server) grpcReady(context.Context, *call, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, *refusal) {
	return &pb.ServerReadyResponse{Ready: s.unready() == nil}, nil
}

func (s *Server) grpcModelReady(_ context.Context, _ *call, q *pb.ModelReadyRequest) (*pb.ModelReadyResponse,
	*refusal) {
	_, err := s.model(q.GetName(), q.GetVersion())
	return &pb.ModelReadyResponse{Ready: err == nil && s.unready() == nil}, nil
}

func (s *Server) grpcServerMetadata(context.Context, *call, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse,
	*refusal) {
	return &pb.ServerMetadataResponse{Name: serverName, Version: s.o.Version}, nil
}

func (s *Server) grpcModelMetadata(_ context.Context, _ *call, q *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse,
	*refusal) {
	v, err := s.model(q.GetName(), q.GetVersion())
	if err != nil {
		return nil, err
	}
	of := s.describe(v)
	tensors := func(all []tensorInfo) (out []*pb.ModelMetadataResponse_TensorMetadata) {
		for _, t := range all {
			out = append(out, &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
		}
		return out
	}
	return &pb.ModelMetadataResponse{Name: of.Name, Versions: of.Versions, Platform: of.Platform,
		Inputs: tensors(of.Inputs), Outputs: tensors(of.Outputs)}, nil
}

func (s *Server) grpcInfer(ctx context.Context, of *call, m *pb.ModelInferRequest) (*pb.ModelInferResponse, *refusal) {
	if _, err := s.model(m.GetModelName(), m.GetModelVersion()); err != nil {
		return nil, err
	}
	q, err := readMessage(m)
	if err != nil {
		return nil, malformed(err.Error())
	}
	q.schema = of.schema
	out, refused := s.inferred(ctx, of.path, q, of.body)
	if refused != nil {
		return nil, refused
	}
	return out.message(s.o.Name, q, m.RawInputContents != nil), nil
}

// readMessage reads tensors of a message. Those of its contents become bytes, as raw ones are.
func readMessage(m *pb.ModelInferRequest) (*inferRequest, error) {
	raw := m.GetRawInputContents()
	if raw != nil && len(raw) != len(m.GetInputs()) {
		return nil, fmt.Errorf("raw_input_contents has %d tensors, inputs have %d", len(raw), len(m.GetInputs()))
	}
	found := map[string]*tensor{}
	for i, in := range m.GetInputs() {
		t := &tensor{inputJSON: inputJSON{Name: in.GetName(), Shape: in.GetShape(), Datatype: in.GetDatatype()},
			binary: true}
		if in.GetParameters()["shared_memory_region"] != nil {
			t.Parameters.Region = present
		}
		err := t.check()
		switch {
		case err != nil:
		case found[t.Name] != nil:
			err = errors.New("is there twice")
		case raw != nil && in.Contents != nil:
			err = errors.New("has contents, and raw_input_contents are there")
		case raw != nil:
			t.bytes = raw[i]
		default:
			t.bytes, err = bytesOfContents(t.Datatype, in.GetContents())
		}
		if err != nil {
			return nil, fmt.Errorf("input %.80q: %w", in.GetName(), err)
		}
		found[t.Name] = t
	}
	q := &inferRequest{id: m.GetId(), version: m.GetModelVersion()}
	if err := q.read(found); err != nil {
		return nil, err
	}
	wanted := requestJSON{}
	for _, o := range m.GetOutputs() {
		of := outputJSON{Name: o.GetName()}
		if p := o.GetParameters(); p["shared_memory_region"] != nil || p["classification"] != nil {
			of.Parameters.Region = present
		}
		wanted.Outputs = append(wanted.Outputs, of)
	}
	return q, q.want(&wanted)
}

// present is a parameter that is there, whatever its value.
var present = []byte("true")

// bytesOfContents returns the elements of a tensor as bytes. Other fields of its contents than the one of its datatype
// must be empty.
func bytesOfContents(datatype string, c *pb.InferTensorContents) (all []byte, err error) {
	of := map[string]int{typeBytes: len(c.GetBytesContents()), typeFloat: len(c.GetFp32Contents()),
		typeInt64: len(c.GetInt64Contents())}
	others := len(c.GetBoolContents()) + len(c.GetIntContents()) + len(c.GetUintContents()) +
		len(c.GetUint64Contents()) + len(c.GetFp64Contents())
	for name, n := range of {
		if name != datatype {
			others += n
		}
	}
	if others > 0 {
		return nil, fmt.Errorf("has contents of another datatype than %s", datatype)
	}
	for _, text := range c.GetBytesContents() {
		all = append(binary.LittleEndian.AppendUint32(all, uint32(len(text))), text...)
	}
	for _, v := range c.GetFp32Contents() {
		all = binary.LittleEndian.AppendUint32(all, math.Float32bits(v))
	}
	for _, v := range c.GetInt64Contents() {
		all = binary.LittleEndian.AppendUint64(all, uint64(v))
	}
	return all, nil
}

// message returns an answer as a message, with raw contents or others.
func (t *tensors) message(model string, q *inferRequest, raw bool) *pb.ModelInferResponse {
	m := &pb.ModelInferResponse{ModelName: model, ModelVersion: t.version, Id: q.id}
	for _, name := range q.order {
		of := &pb.ModelInferResponse_InferOutputTensor{Name: name, Datatype: typeInt32, Shape: []int64{int64(len(t.classes))}}
		contents := &pb.InferTensorContents{IntContents: t.classes}
		if name == tensorProbabilities {
			of.Datatype, of.Shape = typeFloat, append(of.Shape, int64(t.width))
			contents = &pb.InferTensorContents{Fp32Contents: t.probabilities}
		}
		if raw {
			m.RawOutputContents = append(m.RawOutputContents, t.appendBytes(nil, name))
		} else {
			of.Contents = contents
		}
		m.Outputs = append(m.Outputs, of)
	}
	return m
}
