package retry

import (
	"errors"
	"io"
	"net"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// ErrGeneration is wrapped by errors that end a generation of the consumer group, and not the consumer: records that it
// has not committed are read again under the next generation.
var ErrGeneration = errors.New("the generation of the consumer group is over")

// Verdict classifies an error by the reaction that it needs.
type Verdict int

// Verdicts.
const (
	// Retriable errors end by themselves: brokers come back, leaders are elected, topics are created.
	Retriable Verdict = iota
	// GenerationOver errors end the member's generation and its transaction: another member has taken over, or the
	// brokers have given the transaction up. The member joins again.
	GenerationOver
	// Permanent errors come back at every attempt: missing rights, wrong passwords.
	Permanent
	// Content errors concern a record's size or key. They come back for that record and for no other. A
	// kafka.Sink changes its batch, or leaves the record out and reports it as a kafka.Refusal.
	Content
)

// contentCodes are the codes of Content errors.
var contentCodes = []kafkago.Error{kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge,
	kafkago.InvalidRecord}

// Judge classifies an error, which must not be nil. An error that is no answer of a broker is Retriable, unless it has
// a method Permanent() bool that returns true.
func Judge(err error) Verdict {
	var own interface{ Permanent() bool }
	if errors.As(err, &own) && own.Permanent() {
		return Permanent
	}
	var code kafkago.Error
	if errors.As(err, &code) {
		switch code {
		case kafkago.TopicAuthorizationFailed, kafkago.GroupAuthorizationFailed, kafkago.ClusterAuthorizationFailed,
			kafkago.TransactionalIDAuthorizationFailed, kafkago.SASLAuthenticationFailed,
			kafkago.UnsupportedSASLMechanism,
			kafkago.IllegalSASLState, kafkago.SecurityDisabled,
			kafkago.InvalidTopic, kafkago.InvalidGroupId, kafkago.InvalidSessionTimeout,
			kafkago.InconsistentGroupProtocol,
			kafkago.InvalidTransactionTimeout, kafkago.OffsetMetadataTooLarge,
			kafkago.UnsupportedVersion, kafkago.UnsupportedForMessageFormat, kafkago.UnsupportedCompressionType,
			kafkago.InvalidRequiredAcks, kafkago.FencedInstanceID:
			return Permanent
		case kafkago.InvalidProducerEpoch, kafkago.ProducerFenced,
			kafkago.IllegalGeneration, kafkago.UnknownMemberId, kafkago.RebalanceInProgress,
			kafkago.OutOfOrderSequenceNumber, kafkago.UnknownProducerId, kafkago.InvalidProducerIDMapping,
			kafkago.InvalidTransactionState, TransactionAbortable:
			return GenerationOver
		}
	}
	switch {
	case errors.Is(err, ErrGeneration):
		return GenerationOver
	case slices.Contains(contentCodes, code):
		return Content
	}
	return Retriable
}

// awayCodes are answers of a broker which say that another one, that it needs, cannot be reached.
var awayCodes = []kafkago.Error{kafkago.LeaderNotAvailable, kafkago.NotLeaderForPartition, kafkago.BrokerNotAvailable,
	kafkago.ReplicaNotAvailable, kafkago.NetworkException, kafkago.RequestTimedOut, kafkago.NotEnoughReplicas,
	kafkago.NotEnoughReplicasAfterAppend, kafkago.GroupCoordinatorNotAvailable, kafkago.GroupLoadInProgress,
	kafkago.NotCoordinatorForGroup, kafkago.KafkaStorageError}

// Away reports whether an error only says that a service cannot be reached. Whoever waits for it has nothing to give up
// but connections: it is there again one day, and a rebalance would not bring it back.
func Away(err error) bool {
	var code kafkago.Error
	if errors.As(err, &code) {
		return slices.Contains(awayCodes, code)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, protocol.ErrNoLeader)
}

// Codes that kafka-go has no name for, or another one.
const (
	OperationNotAttempted kafkago.Error = 55 // another partition of the request failed
	TransactionAbortable  kafkago.Error = 120
)

// Fenced reports whether another producer has taken over the transactional id.
func Fenced(err error) bool {
	return errors.Is(err, kafkago.InvalidProducerEpoch) || errors.Is(err, kafkago.ProducerFenced)
}

// Misuse is a mistake in the settings or in the wiring of a client. No waiting mends it.
type Misuse string

// Error returns the mistake.
func (m Misuse) Error() string { return string(m) }

// Permanent makes [Judge] say so.
func (Misuse) Permanent() bool { return true }
