package connect

import (
	"context"
	"errors"
	"strings"
	"time"

	rpc "connectrpc.com/connect"

	"rivulet/trainer/stage/spark/connect/connectpb"
)

// Progress is told how many of the tasks known so far are done, and how many bytes they have read.
type Progress func(done, total, bytes int64)

// Exec runs a statement to its end.
func (s *Session) Exec(ctx context.Context, sql string, progress Progress) error {
	plan := &connectpb.Plan{OpType: &connectpb.Plan_Command{Command: &connectpb.Command{
		CommandType: &connectpb.Command_SqlCommand{SqlCommand: &connectpb.SqlCommand{Sql: sql}}}}}
	return s.run(ctx, plan, progress, func([]string) error { return nil })
}

// Query calls each with strings of the answer's only column, as they come.
func (s *Session) Query(ctx context.Context, sql string, progress Progress, each func([]string) error) error {
	plan := &connectpb.Plan{OpType: &connectpb.Plan_Root{Root: &connectpb.Relation{
		RelType: &connectpb.Relation_Sql{Sql: &connectpb.SQL{Query: sql}}}}}
	return s.run(ctx, plan, progress, each)
}

// operation is a statement that the server runs.
type operation struct {
	*Session
	id       string
	plan     *connectpb.Plan
	progress Progress
	each     func([]string) error

	last string // the last part of the answer that has come
	done bool
	own  error // error of each: it ends the operation
}

// tries is how often in a row a call is made that brings nothing, with longer pauses each time: about 15 s.
const tries = 8

func (s *Session) run(ctx context.Context, plan *connectpb.Plan, progress Progress, each func([]string) error) error {
	o := &operation{Session: s, id: newID(), plan: plan, progress: progress, each: each}
	err := o.untilDone(ctx)
	if ctx.Err() != nil {
		o.stop(ctx)
		return ctx.Err()
	}
	if err != nil {
		return s.say(err)
	}
	client := clientType
	// Its answer's memory; if this fails, it is freed when the session ends.
	_, _ = s.releaseExecute.CallUnary(ctx, rpc.NewRequest(&connectpb.ReleaseExecuteRequest{SessionId: s.id,
		UserContext: s.user(),
		OperationId: o.id, ClientType: &client,
		Release: &connectpb.ReleaseExecuteRequest_ReleaseAll_{ReleaseAll: &connectpb.ReleaseExecuteRequest_ReleaseAll{}}}))
	return nil
}

// stop ends statements that the server still runs when the driver was told to end.
func (o *operation) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	client := clientType
	_, _ = o.interrupt.CallUnary(ctx, rpc.NewRequest(&connectpb.InterruptRequest{SessionId: o.Session.id,
		UserContext: o.user(),
		ClientType:  &client, InterruptType: connectpb.InterruptRequest_INTERRUPT_TYPE_ALL}))
}

// untilDone begins the operation and reads its answer. A stream that breaks is taken up where it broke; a request that
// may or may not have arrived is sent again under the same id.
func (o *operation) untilDone(ctx context.Context) error {
	begin := true
	for try := 1; ; try++ {
		before := o.last
		stream, err := o.call(ctx, begin)
		if err == nil {
			err = o.take(stream)
		}
		switch {
		case o.own != nil:
			return o.own
		case o.done:
			return nil
		case err == nil: // the server ended the stream before the answer: it does so after some minutes
			begin, try = false, 0
			continue
		case says(err, "OPERATION_NOT_FOUND") && o.last == "":
			begin = true
		case says(err, "OPERATION_ALREADY_EXISTS"):
			begin = false
		case !broken(err) || try >= tries:
			return err
		default:
			begin = o.last == ""
		}
		if o.last != before {
			try = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try*try) * 100 * time.Millisecond):
		}
	}
}

// broken reports whether a call failed on its way: the server is not there, or the connection ended in the middle of an
// answer, which the library calls a violation of the protocol.
func broken(err error) bool {
	switch rpc.CodeOf(err) {
	case rpc.CodeUnavailable:
		return true
	case rpc.CodeInvalidArgument, rpc.CodeInternal, rpc.CodeUnknown:
		return !rpc.IsWireError(err) // the error is not the server's
	}
	return false
}

func says(err error, word string) bool {
	var refused *rpc.Error
	return errors.As(err, &refused) && strings.Contains(refused.Message(), word)
}

func (o *operation) call(ctx context.Context, begin bool) (*rpc.ServerStreamForClient[connectpb.ExecutePlanResponse],
	error) {
	client := clientType
	if begin {
		return o.execute.CallServerStream(ctx, rpc.NewRequest(&connectpb.ExecutePlanRequest{SessionId: o.Session.id,
			UserContext: o.user(), Plan: o.plan, ClientType: &client, OperationId: &o.id,
			RequestOptions: []*connectpb.ExecutePlanRequest_RequestOption{{
				RequestOption: &connectpb.ExecutePlanRequest_RequestOption_ReattachOptions{
					ReattachOptions: &connectpb.ReattachOptions{Reattachable: true}}}}}))
	}
	request := &connectpb.ReattachExecuteRequest{SessionId: o.Session.id, UserContext: o.user(), OperationId: o.id,
		ClientType: &client}
	if o.last != "" {
		request.LastResponseId = &o.last
	}
	return o.reattach.CallServerStream(ctx, rpc.NewRequest(request))
}

func (o *operation) take(stream *rpc.ServerStreamForClient[connectpb.ExecutePlanResponse]) error {
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		part := stream.Msg()
		if batch := part.GetArrowBatch(); batch != nil {
			values, err := arrowStrings(batch.GetData())
			if err == nil {
				err = o.each(values)
			}
			if err != nil {
				o.own = err
				return err
			}
		}
		if p := part.GetExecutionProgress(); p != nil {
			o.tell(p)
		}
		o.last = part.GetResponseId()
		o.done = o.done || part.GetResultComplete() != nil
	}
	return stream.Err()
}

func (o *operation) tell(p *connectpb.ExecutePlanResponse_ExecutionProgress) {
	var done, total, bytes int64
	for _, stage := range p.GetStages() {
		done += stage.GetNumCompletedTasks()
		total += stage.GetNumTasks()
		bytes += stage.GetInputBytesRead()
	}
	o.progress(done, total, bytes)
}
