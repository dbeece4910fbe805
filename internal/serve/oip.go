package serve

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	json "github.com/go-json-experiment/json"

	"rivulet/consumer"
	"rivulet/event"
	"rivulet/event/protobuf"
	"rivulet/kafka"
)

// Names of tensors, of the protocol's datatypes, and of its header for binary ones.
const (
	tensorID, tensorFeatures, tensorEdges, tensorOffsets = "id", "features", "edges", "edges.offsets"
	tensorClass, tensorProbabilities                     = "class", "probabilities"

	typeBytes, typeFloat, typeInt32, typeInt64 = "BYTES", "FP32", "INT32", "INT64"

	headerLength = "Inference-Header-Content-Length"
	binaryType   = "application/octet-stream"
)

// tensorInfo describes a tensor; −1 is a length that a request chooses.
type tensorInfo struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

type modelInfo struct {
	Name     string       `json:"name"`
	Versions []string     `json:"versions"`
	Platform string       `json:"platform"`
	Inputs   []tensorInfo `json:"inputs"`
	Outputs  []tensorInfo `json:"outputs"`
}

// answerJSON answers a document.
func answerJSON(w http.ResponseWriter, document any) *refusal {
	text, err := json.Marshal(document)
	if err != nil {
		return because(err)
	}
	reply(w, http.StatusOK, text)
	return nil
}

// serverName is the server's name in its metadata.
const serverName = "rivulet"

func (s *Server) serverMetadata(w http.ResponseWriter, _ *http.Request) *refusal {
	return answerJSON(w, struct {
		Name       string   `json:"name"`
		Version    string   `json:"version"`
		Extensions []string `json:"extensions"`
	}{serverName, s.o.Version, []string{"binary_tensor_data"}})
}

func (s *Server) live(w http.ResponseWriter, _ *http.Request) *refusal {
	return answerJSON(w, struct {
		Live bool `json:"live"`
	}{true})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) *refusal {
	if err := s.unready(); err != nil {
		return err
	}
	return answerJSON(w, struct {
		Ready bool `json:"ready"`
	}{true})
}

// readyz answers as Health does, but while the server is being stopped.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if !s.Draining() {
		s.o.Health.ServeHTTP(w, r)
		return
	}
	http.Error(w, s.unready().detail, http.StatusServiceUnavailable)
}

// unready says why requests should go elsewhere, nil where they need not.
func (s *Server) unready() *refusal {
	switch {
	case s.Draining():
		return &refusal{http.StatusServiceUnavailable, "draining", "the server is being stopped"}
	case s.o.Path.Versions.Current() == nil:
		return because(consumer.ErrNoVersion)
	}
	return nil
}

// model returns the version that a request names: the one that serves, and no other.
func (s *Server) model(name, version string) (consumer.Version, *refusal) {
	if name != s.o.Name {
		return nil, refused(http.StatusNotFound, "not_found", "there is no model %.80q, it is %q", name, s.o.Name)
	}
	v := s.o.Path.Versions.Current()
	if v == nil {
		return nil, because(consumer.ErrNoVersion)
	}
	if e := s.forClasses("the Open Inference Protocol"); e != nil {
		return nil, e
	}
	return v, otherVersion(version, v.ID())
}

// modelOf is [Server.model] for the model that a path names.
func (s *Server) modelOf(r *http.Request) (consumer.Version, *refusal) {
	return s.model(r.PathValue("name"), r.PathValue("version"))
}

// forClasses refuses a request that needs classes where the version that serves has another task.
func (s *Server) forClasses(what string) *refusal {
	if of, ok := s.o.Path.Versions.Current().(consumer.Tasked); ok {
		if err := of.Task().Require(what); err != nil {
			return refused(http.StatusNotFound, "not_found", "%v; POST records to %s", err, predictPath)
		}
	}
	return nil
}

// otherVersion is the refusal of a request for another version than the one that serves.
func otherVersion(asked, serving string) *refusal {
	if asked != "" && asked != serving {
		return refused(http.StatusNotFound, "not_found", "version %.80q does not serve now, %q does", asked, serving)
	}
	return nil
}

func (s *Server) modelMetadata(w http.ResponseWriter, r *http.Request) *refusal {
	v, err := s.modelOf(r)
	if err != nil {
		return err
	}
	return answerJSON(w, s.describe(v))
}

// describe returns the metadata of the version that serves.
func (s *Server) describe(v consumer.Version) modelInfo {
	return modelInfo{Name: s.o.Name, Versions: []string{v.ID()}, Platform: serverName,
		Inputs: []tensorInfo{{tensorID, typeBytes, []int64{-1}}, {tensorFeatures, typeFloat,
			[]int64{-1, int64(v.Features())}},
			{tensorEdges, typeBytes, []int64{-1}}, {tensorOffsets, typeInt64, []int64{-1}}},
		Outputs: []tensorInfo{{tensorClass, typeInt32, []int64{-1}},
			{tensorProbabilities, typeFloat, []int64{-1, int64(len(v.Classes()))}}}}
}

func (s *Server) modelReady(w http.ResponseWriter, r *http.Request) *refusal {
	_, err := s.modelOf(r)
	if err == nil {
		err = s.unready()
	}
	if err != nil {
		return err
	}
	return answerJSON(w, struct {
		Name  string `json:"name"`
		Ready bool   `json:"ready"`
	}{s.o.Name, true})
}

// infer answers tensors.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) *refusal {
	if _, err := s.modelOf(r); err != nil {
		return err
	}
	header, err := tensorHeader(r)
	if err != nil {
		return err
	}
	return s.withBody(w, r, func(ctx context.Context, body *body) *refusal {
		q, err := parseTensors(body.text.Bytes(), header)
		if err != nil {
			return malformed(err.Error())
		}
		q.version, q.schema = r.PathValue("version"), r.Header.Get(event.HeaderSchema)
		out, bad := s.inferred(ctx, r.URL.Path, q, body)
		if bad != nil {
			return bad
		}
		head, binary := out.response(s.o.Name, q)
		if binary == nil {
			return answerJSON(w, head)
		}
		return answerBinary(w, head, binary)
	})
}

// inferred returns the answer to tensors, whichever protocol brought them.
func (s *Server) inferred(ctx context.Context, path string, q *inferRequest, from *body) (*tensors, *refusal) {
	n := len(q.ids)
	if n > s.o.Limits.Arrivals {
		return nil, s.tooMany()
	}
	records, bad := tensorRecords(q)
	if bad != nil {
		return nil, bad
	}
	out := newTensors(n)
	if err := s.ask(ctx, s.predicts, records, out, from); err != nil {
		return nil, s.cause(path, err)
	}
	if out.refused != nil { // tensors have no place for the refusal of a row
		return out, out.refused
	}
	return out, otherVersion(q.version, out.version)
}

// answerBinary answers the document and, after it, tensors as bytes.
func answerBinary(w http.ResponseWriter, head inferResponse, binary []byte) *refusal {
	text, err := json.Marshal(head)
	if err != nil {
		return because(err)
	}
	h := w.Header()
	h.Set("Content-Type", binaryType)
	h.Set(headerLength, strconv.Itoa(len(text)))
	h.Set("Content-Length", strconv.Itoa(len(text)+len(binary)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(append(text, binary...)) // a client that is gone is no error of ours
	return nil
}

// tensorHeader returns how many bytes of a body are its JSON; −1: all.
func tensorHeader(r *http.Request) (int, *refusal) {
	declared, length := r.Header.Get("Content-Type"), r.Header.Get(headerLength)
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return 0, refused(http.StatusUnsupportedMediaType, reasonMediaType, "content-encoding %.80q, want none", coding)
	}
	if length == "" {
		if !isJSON(declared) { // tritonclient sends JSON without a type; routes.go keeps browsers out
			return 0, &refusal{http.StatusUnsupportedMediaType, reasonMediaType,
				fmt.Sprintf("content-type %.80q, want application/json, or the header %s", declared, headerLength)}
		}
		return -1, nil
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return 0, malformed(fmt.Sprintf("%s is %.80q, want a number of bytes", headerLength, length))
	}
	return n, nil
}

// tensorRecords makes a record of each row of tensors: a message of Protobuf, which holds the same numbers.
func tensorRecords(q *inferRequest) ([]kafka.Record, *refusal) {
	headers := []kafka.Header{{Key: event.HeaderContentType, Value: []byte(protobuf.Codec{}.ContentType())}}
	if q.schema != "" {
		headers = append(headers, kafka.Header{Key: event.HeaderSchema, Value: []byte(q.schema)})
	}
	records, now := make([]kafka.Record, len(q.ids)), time.Now()
	for i, id := range q.ids {
		a := event.Arrival{ID: id, Features: event.Features{Values: q.features[i*q.width : (i+1)*q.width]},
			Edges: q.edges[q.offsets[i]:q.offsets[i+1]]}
		value, err := (protobuf.Codec{}).AppendArrival(nil, &a)
		if err != nil {
			return nil, malformed(fmt.Sprintf("row %d: %v", i, err))
		}
		records[i] = kafka.Record{Value: value, Headers: headers, Time: now}
	}
	return records, nil
}
