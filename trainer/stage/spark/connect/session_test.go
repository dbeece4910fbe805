package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	rpc "connectrpc.com/connect"

	"rivulet/test/expect"
	"rivulet/trainer/stage/spark/connect/connectpb"
)

const rightToken = "the-right-token"

// Ways in which a fake breaks the first stream of an operation in the middle.
const (
	whole   = iota // it does not
	refused        // the server says that it is not available
	cut            // the connection ends
)

// fake is a Spark Connect server that answers every statement with the same rows.
type fake struct {
	t          *testing.T
	arrow      []byte
	token      string // empty: none is wanted
	breaks     int
	executions []string // operations
	statements []string
	attached   []string // response ids behind which streams were taken up
	files      map[string][]byte
}

func (f *fake) allowed(h http.Header) error {
	if f.token != "" && h.Get("Authorization") != "Bearer "+f.token {
		return rpc.NewError(rpc.CodeUnauthenticated, errors.New("invalid token"))
	}
	return nil
}

func (f *fake) part(id string) *connectpb.ExecutePlanResponse {
	r := &connectpb.ExecutePlanResponse{ResponseId: id}
	switch id {
	case "1":
		progress := &connectpb.ExecutePlanResponse_ExecutionProgress{
			Stages: []*connectpb.ExecutePlanResponse_ExecutionProgress_StageInfo{{NumTasks: 4, NumCompletedTasks: 3,
				InputBytesRead: 10}, {NumTasks: 2}}}
		r.ResponseType = &connectpb.ExecutePlanResponse_ExecutionProgress_{ExecutionProgress: progress}
	case "2":
		r.ResponseType = &connectpb.ExecutePlanResponse_ArrowBatch_{
			ArrowBatch: &connectpb.ExecutePlanResponse_ArrowBatch{RowCount: 3, Data: f.arrow}}
	case "3":
		r.ResponseType = &connectpb.ExecutePlanResponse_ResultComplete_{
			ResultComplete: &connectpb.ExecutePlanResponse_ResultComplete{}}
	}
	return r
}

func (f *fake) execute(_ context.Context, r *rpc.Request[connectpb.ExecutePlanRequest],
	out *rpc.ServerStream[connectpb.ExecutePlanResponse]) error {
	if err := f.allowed(r.Header()); err != nil {
		return err
	}
	f.executions = append(f.executions, r.Msg.GetOperationId())
	f.statements = append(f.statements, r.Msg.GetPlan().String())
	if strings.Contains(r.Msg.GetPlan().String(), "broken") {
		return rpc.NewError(rpc.CodeInternal, errors.New("[PARSE_SYNTAX_ERROR] Syntax error at 'broken'"))
	}
	if err := out.Send(f.part("1")); err != nil {
		return err
	}
	switch f.breaks {
	case refused:
		return rpc.NewError(rpc.CodeUnavailable, errors.New("the connection is gone"))
	case cut:
		panic(http.ErrAbortHandler)
	}
	return errors.Join(out.Send(f.part("2")), out.Send(f.part("3")))
}

func (f *fake) reattach(_ context.Context, r *rpc.Request[connectpb.ReattachExecuteRequest],
	out *rpc.ServerStream[connectpb.ExecutePlanResponse]) error {
	if r.Msg.GetOperationId() != f.executions[len(f.executions)-1] {
		return rpc.NewError(rpc.CodeInternal, errors.New("OPERATION_NOT_FOUND"))
	}
	f.attached = append(f.attached, r.Msg.GetLastResponseId())
	if len(f.attached) == 1 {
		return out.Send(f.part("2")) // and ends, as the server does after some minutes
	}
	return out.Send(f.part("3"))
}

func (f *fake) artifacts(_ context.Context, in *rpc.ClientStream[connectpb.AddArtifactsRequest]) (
	*rpc.Response[connectpb.AddArtifactsResponse], error) {
	if err := f.allowed(in.RequestHeader()); err != nil {
		return nil, err
	}
	name, chunks := "", int64(0)
	for in.Receive() {
		m := in.Msg()
		for _, a := range m.GetBatch().GetArtifacts() {
			name, f.files[a.GetName()] = a.GetName(), a.GetData().GetData()
		}
		if b := m.GetBeginChunk(); b != nil {
			name, chunks = b.GetName(), b.GetNumChunks()
			f.files[name] = slices.Clone(b.GetInitialChunk().GetData())
			if chunks < 2 {
				return nil, rpc.NewError(rpc.CodeInternal, errors.New("requirement failed"))
			}
			chunks--
		}
		if c := m.GetChunk(); c != nil {
			f.files[name] = append(f.files[name], c.GetData()...)
			chunks--
		}
	}
	if chunks != 0 {
		f.t.Errorf("%d chunks of %s are missing", chunks, name)
	}
	taken := &connectpb.AddArtifactsResponse_ArtifactSummary{Name: name, IsCrcSuccessful: name != "files/damaged"}
	return rpc.NewResponse(&connectpb.AddArtifactsResponse{
		Artifacts: []*connectpb.AddArtifactsResponse_ArtifactSummary{taken}}), nil
}

// start returns a session in a fake server, with TLS.
func (f *fake) start(t *testing.T, token string) *Session {
	t.Helper()
	content, err := os.ReadFile("testdata/strings.arrow")
	expect.OK(t, err)
	f.t, f.arrow, f.files = t, content, map[string][]byte{}
	const service = "/spark.connect.SparkConnectService/"
	mux := http.NewServeMux()
	mux.Handle(service+"ExecutePlan", rpc.NewServerStreamHandler(service+"ExecutePlan", f.execute))
	mux.Handle(service+"ReattachExecute", rpc.NewServerStreamHandler(service+"ReattachExecute", f.reattach))
	mux.Handle(service+"AddArtifacts", rpc.NewClientStreamHandler(service+"AddArtifacts", f.artifacts))
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	a, err := Parse("sc://"+server.Listener.Addr().String()+"/;use_ssl=true;x-cluster=c1", token)
	expect.OK(t, err)
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return New(a, &tls.Config{RootCAs: roots}) //nolint:gosec // of a test
}

func query(s *Session, sql string) (rows []string, tasks [2]int64, err error) {
	err = s.Query(context.Background(), sql, func(done, total, _ int64) { tasks = [2]int64{done, total} },
		func(values []string) error { rows = append(rows, values...); return nil })
	return rows, tasks, err
}

var wantRows = []string{"row 0", "row 1 ü", "row 2"}

func TestQuery(t *testing.T) {
	for _, breaks := range []int{whole, refused, cut} {
		f := &fake{breaks: breaks, token: rightToken}
		rows, tasks, err := query(f.start(t, rightToken), "SELECT 1")
		if err != nil || !slices.Equal(rows, wantRows) || tasks != [2]int64{3, 6} {
			t.Errorf("breaks %d: %q, tasks %v: %v", breaks, rows, tasks, err)
		}
		if want := []string{"1", "2"}; breaks != whole && !slices.Equal(f.attached, want) || len(f.executions) != 1 {
			t.Errorf("attached behind %q, want %q; %d executions", f.attached, want, len(f.executions))
		}
		for _, s := range f.statements {
			if strings.Contains(s, rightToken) {
				t.Errorf("the token is in a plan: %s", s)
			}
		}
	}
}

// What a user reads: a wrong token, Spark's own message, and a server that is not there. None has the token.
func TestErrors(t *testing.T) {
	const wrong = "a-wrong-token"
	f := &fake{token: rightToken}
	s := f.start(t, wrong)
	_, _, refused := query(s, "SELECT 1")
	own := s.AddFile(t.Context(), "x", nil)
	_, _, syntax := query((&fake{}).start(t, ""), "broken")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	gone := listener.Addr().String()
	_ = listener.Close()
	a, err := Parse("sc://"+gone, "")
	expect.OK(t, err)
	down := New(a, nil).AddFile(t.Context(), "x", nil)
	for want, err := range map[string]error{"refuses the token, or wants one": refused, "sending file files/x: sc://": own,
		"[PARSE_SYNTAX_ERROR] Syntax error at 'broken'": syntax, "no Spark Connect server answers at sc://" + gone: down} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), wrong) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestAddFile(t *testing.T) {
	f := &fake{}
	s := f.start(t, "")
	for _, size := range []int{0, 1, chunk, chunk + 1, 3 * chunk} {
		content := []byte(strings.Repeat("z", size))
		if err := s.AddFile(t.Context(), "f", content); err != nil || string(f.files["files/f"]) != string(content) {
			t.Errorf("%d bytes: %d arrived: %v", size, len(f.files["files/f"]), err)
		}
	}
	expect.Error(t, s.AddFile(t.Context(), "damaged", nil), "damaged")
}

func TestParse(t *testing.T) {
	a, err := Parse("sc://host/;user_id=me;token=secret;x-a=b%20c", "")
	if err != nil || a.Host != "host:15002" || !a.TLS || a.User != "me" || a.header.Get("x-a") != "b c" ||
		a.header.Get("Authorization") != "Bearer secret" || strings.Contains(a.String(), "secret") {
		t.Errorf("%v: %v", a.header, err)
	}
	if a, err := Parse("sc://h:1/;token=one", "two"); err != nil || a.header.Get("Authorization") != "Bearer two" {
		t.Errorf("%v: %v", a.header, err)
	}
	for _, bad := range []string{"", "host:1", "http://h:1", "sc://", "sc://:1", "sc://h:", "sc://h:1/;secret",
		"sc://h:1/;use_ssl=yes",
		"sc://h:1/;colour=secret", "sc://u:secret@h:1"} {
		if _, err := Parse(bad, ""); err == nil || bad != "sc://h:1/;secret" && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// Bytes of any kind are strings or an error.
func FuzzArrow(f *testing.F) {
	content, err := os.ReadFile("testdata/strings.arrow")
	expect.OK(f, err)
	if rows, err := arrowStrings(content); err != nil || !slices.Equal(rows, wantRows) {
		f.Fatalf("%q: %v", rows, err)
	}
	f.Add(content)
	f.Add(content[:len(content)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := arrowStrings(b)
		if err == nil && len(rows) > len(b) {
			t.Errorf("%d rows of %d bytes", len(rows), len(b))
		}
	})
}
