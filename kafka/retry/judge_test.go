package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
)

type hopeless bool

func (hopeless) Error() string { return "a row is damaged" }

func (h hopeless) Permanent() bool { return bool(h) }

func TestJudge(t *testing.T) {
	for want, errs := range map[Verdict][]error{
		Permanent: {kafkago.TopicAuthorizationFailed, kafkago.SASLAuthenticationFailed, hopeless(true),
			Misuse("no topic is configured"), errors.Join(context.Canceled, hopeless(true)),
			fmt.Errorf("%w: %w", ErrGeneration, kafkago.GroupAuthorizationFailed)},
		GenerationOver: {ErrGeneration, kafkago.IllegalGeneration, kafkago.ProducerFenced, kafkago.OutOfOrderSequenceNumber,
			kafkago.Error(120), fmt.Errorf("%w: %w", ErrGeneration, kafkago.NotEnoughReplicas),
			fmt.Errorf("%w: %w", ErrGeneration, kafkago.MessageSizeTooLarge)},
		Content: {kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge, kafkago.InvalidRecord},
		Retriable: {io.EOF, kafkago.NotLeaderForPartition, kafkago.UnknownTopicOrPartition, kafkago.Error(88),
			context.Canceled,
			hopeless(false), errors.New("no address is known")},
	} {
		for _, err := range errs {
			if got := Judge(fmt.Errorf("reading: %w", err)); got != want {
				t.Errorf("%v is judged %d, want %d", err, got, want)
			}
		}
	}
}
