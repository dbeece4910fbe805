package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/twmb/franz-go/pkg/sr"

	"rivulet/event"
	"rivulet/event/read"
)

// Output writes predictions in the Confluent wire format. It may be used once [Output.Resolve] has returned nil.
type Output struct {
	event.Codec
	form    string
	subject string
	schema  sr.Schema
	create  bool
	index   []byte // of the message, in Protobuf
	from    *Registry
	head    []byte
}

// Output returns a codec for a topic: the subject is the topic's name and -value. name is avro, protobuf or json.
// register has the schema registered where the subject lacks it, else it must be there.
func (r *Registry) Output(name, topic string, register bool) (*Output, error) {
	o := &Output{form: name, subject: topic + "-value", create: register, from: r}
	var known bool
	if o.Codec, known = read.Payload(name); !known {
		return nil, fmt.Errorf("%q is no form of predictions", name)
	}
	switch name {
	case "avro":
		o.schema = sr.Schema{Schema: event.PredictionAvro, Type: sr.TypeAvro}
	case "protobuf":
		o.schema, o.index = sr.Schema{Schema: event.PredictionProto, Type: sr.TypeProtobuf}, []byte{0} // the first message
	case "json":
		o.schema = sr.Schema{Schema: string(event.PredictionSchema), Type: sr.TypeJSON}
	}
	return o, nil
}

// ContentType names the Confluent wire format, and the form of its payload.
func (o *Output) ContentType() string { return read.ConfluentContentType(o.form) }

// AppendPrediction appends the wire format of p to dst.
func (o *Output) AppendPrediction(dst []byte, p *event.Prediction) ([]byte, error) {
	out, err := o.Codec.AppendPrediction(append(dst, o.head...), p)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// Resolve asks the registry for the id of the schema. An error that is [Permanent] is not to be tried again.
func (o *Output) Resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, o.from.timeout)
	defer cancel()
	ask, doing := o.from.client.LookupSchema, "looking up"
	if o.create {
		ask, doing = o.from.client.CreateSchema, "registering"
	}
	found, err := ask(ctx, o.subject, o.schema)
	if err != nil {
		err = fmt.Errorf("%s the schema of predictions as %s: %w", doing, o.subject, err)
		if unavailable(err) {
			return err
		}
		return Permanent{err}
	}
	if found.ID < 0 || found.ID > math.MaxUint32 {
		return Permanent{fmt.Errorf("the registry gave %s the id %d", o.subject, found.ID)}
	}
	o.head = append(read.AppendConfluentHead(nil, uint32(found.ID)), o.index...)
	return nil
}

// unavailable reports whether an error ends by itself. Before anything is read, a wrong login is worth an end.
func unavailable(err error) bool {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) {
		return true
	}
	code := answer.StatusCode
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// Permanent is an error that comes back at every attempt.
type Permanent struct{ error }

// Permanent returns true.
func (Permanent) Permanent() bool { return true }

// Unwrap returns the error itself.
func (p Permanent) Unwrap() error { return p.error }

// Renew is [Registry.Renew].
func (o *Output) Renew() { o.from.Renew() }
