package connect

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"time"

	rpc "connectrpc.com/connect"

	"rivulet/trainer/stage/spark/connect/connectpb"
)

// Session is a session in a server. It runs one statement at a time.
type Session struct {
	address Address
	id      string

	execute        *rpc.Client[connectpb.ExecutePlanRequest, connectpb.ExecutePlanResponse]
	reattach       *rpc.Client[connectpb.ReattachExecuteRequest, connectpb.ExecutePlanResponse]
	releaseExecute *rpc.Client[connectpb.ReleaseExecuteRequest, connectpb.ReleaseExecuteResponse]
	addArtifacts   *rpc.Client[connectpb.AddArtifactsRequest, connectpb.AddArtifactsResponse]
	interrupt      *rpc.Client[connectpb.InterruptRequest, connectpb.InterruptResponse]
	releaseSession *rpc.Client[connectpb.ReleaseSessionRequest, connectpb.ReleaseSessionResponse]
}

const clientType = "rivulet"

// maxMessage bounds an answer's message.
const maxMessage = 256 << 20

// silence is how long a server may send nothing before it is asked whether it is there. A server ends each stream after
// two minutes, so a longer silence is no long task. Servers of gRPC close a connection on which they are asked several
// times within five minutes of silence.
const silence = 150 * time.Second

// New returns a session. Nothing is sent before the first call. roots are the authorities of the server's certificate,
// nil for this machine's.
func New(a Address, security *tls.Config) *Session {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(a.TLS)
	protocols.SetUnencryptedHTTP2(!a.TLS)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols, Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: security,
		HTTP2:           &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: 15 * time.Second}}}
	options := rpc.WithClientOptions(rpc.WithGRPC(), rpc.WithReadMaxBytes(maxMessage),
		rpc.WithInterceptors(headers{a.header}))
	base := a.url()
	return &Session{address: a, id: newID(),
		execute: rpc.NewClient[connectpb.ExecutePlanRequest, connectpb.ExecutePlanResponse](client, base+"ExecutePlan",
			options),
		reattach: rpc.NewClient[connectpb.ReattachExecuteRequest, connectpb.ExecutePlanResponse](client,
			base+"ReattachExecute", options),
		releaseExecute: rpc.NewClient[connectpb.ReleaseExecuteRequest, connectpb.ReleaseExecuteResponse](client,
			base+"ReleaseExecute", options),
		addArtifacts: rpc.NewClient[connectpb.AddArtifactsRequest, connectpb.AddArtifactsResponse](client,
			base+"AddArtifacts", options),
		interrupt: rpc.NewClient[connectpb.InterruptRequest, connectpb.InterruptResponse](client, base+"Interrupt",
			options),
		releaseSession: rpc.NewClient[connectpb.ReleaseSessionRequest, connectpb.ReleaseSessionResponse](client,
			base+"ReleaseSession", options),
	}
}

// headers are sent with every call.
type headers struct{ header http.Header }

func (h headers) WrapUnary(next rpc.UnaryFunc) rpc.UnaryFunc {
	return func(ctx context.Context, req rpc.AnyRequest) (rpc.AnyResponse, error) {
		maps.Copy(req.Header(), h.header)
		return next(ctx, req)
	}
}

func (h headers) WrapStreamingClient(next rpc.StreamingClientFunc) rpc.StreamingClientFunc {
	return func(ctx context.Context, spec rpc.Spec) rpc.StreamingClientConn {
		conn := next(ctx, spec)
		maps.Copy(conn.RequestHeader(), h.header)
		return conn
	}
}

func (h headers) WrapStreamingHandler(next rpc.StreamingHandlerFunc) rpc.StreamingHandlerFunc {
	return next
}

// newID is a random UUID.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Session) user() *connectpb.UserContext {
	return &connectpb.UserContext{UserId: s.address.User}
}

// say puts an error of a call into words. Spark's own message is the error's text.
func (s *Session) say(err error) error {
	if err == nil {
		return nil
	}
	switch rpc.CodeOf(err) {
	case rpc.CodeUnauthenticated, rpc.CodePermissionDenied:
		return fmt.Errorf("%s refuses the token, or wants one: %w", s.address, err)
	case rpc.CodeUnavailable:
		return fmt.Errorf("no Spark Connect server answers at %s: %w", s.address, err)
	}
	if refused, ok := errors.AsType[*rpc.Error](err); ok {
		return errors.New(refused.Message())
	}
	return err
}

// chunk is the size of the pieces of a file.
const chunk = 256 << 10

// AddFile makes a file available to the tasks of this session: they find it as ./SESSION/name.
func (s *Session) AddFile(ctx context.Context, name string, content []byte) error {
	stream := s.addArtifacts.CallClientStream(ctx)
	piece := func(from int) *connectpb.AddArtifactsRequest_ArtifactChunk {
		data := content[from:min(len(content), from+chunk)]
		return &connectpb.AddArtifactsRequest_ArtifactChunk{Data: data, Crc: int64(crc32.ChecksumIEEE(data))}
	}
	request := func() *connectpb.AddArtifactsRequest {
		client := clientType
		return &connectpb.AddArtifactsRequest{SessionId: s.id, UserContext: s.user(), ClientType: &client}
	}
	first := request()
	if name = "files/" + name; len(content) <= chunk { // the server refuses one chunk that is sent as chunks
		first.Payload = &connectpb.AddArtifactsRequest_Batch_{Batch: &connectpb.AddArtifactsRequest_Batch{
			Artifacts: []*connectpb.AddArtifactsRequest_SingleChunkArtifact{{Name: name, Data: piece(0)}}}}
	} else {
		begin := &connectpb.AddArtifactsRequest_BeginChunkedArtifact{Name: name, TotalBytes: int64(len(content)),
			NumChunks: int64((len(content) + chunk - 1) / chunk), InitialChunk: piece(0)}
		first.Payload = &connectpb.AddArtifactsRequest_BeginChunk{BeginChunk: begin}
	}
	err := stream.Send(first)
	for from := chunk; err == nil && from < len(content); from += chunk {
		next := request()
		next.Payload = &connectpb.AddArtifactsRequest_Chunk{Chunk: piece(from)}
		err = stream.Send(next)
	}
	answer, closed := stream.CloseAndReceive() // it has the reason why Send failed
	if closed != nil {
		return fmt.Errorf("sending file %s: %w", name, s.say(closed))
	}
	if err != nil {
		return fmt.Errorf("sending file %s: %w", name, err)
	}
	for _, a := range answer.Msg.GetArtifacts() {
		if !a.GetIsCrcSuccessful() {
			return fmt.Errorf("sending file %s: it arrived damaged", name)
		}
	}
	return nil
}

// Close ends the session, and statements that it still runs.
func (s *Session) Close(ctx context.Context) error {
	client := clientType
	_, err := s.releaseSession.CallUnary(ctx, rpc.NewRequest(&connectpb.ReleaseSessionRequest{SessionId: s.id,
		UserContext: s.user(), ClientType: &client}))
	return s.say(err)
}
