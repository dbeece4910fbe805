package kafka

import (
	"errors"
	"slices"

	kafkago "github.com/segmentio/kafka-go"
)

// ErrGeneration is wrapped by errors that end a generation of the consumer group, and not the consumer: what it has
// not committed is read again under the next one.
var ErrGeneration = errors.New("the generation of the consumer group is over")

// Verdict says what an error asks for.
type Verdict int

// Verdicts.
const (
	// Retriable errors end by themselves: brokers come back, leaders are elected, topics are created.
	Retriable Verdict = iota
	// GenerationOver ends the member's generation, and its transaction: another one has taken over, or the brokers
	// have given the transaction up. The member joins again.
	GenerationOver
	// Permanent errors come back at every attempt: missing rights, wrong passwords.
	Permanent
	// Content errors concern what is in a record: its size, its key, its timestamp. They come back for that record and
	// for no other. A [Sink] changes its batch, or leaves the record out and says so ([Refused]).
	Content
)

// contentCodes are those of Content errors.
var contentCodes = []kafkago.Error{kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge,
	kafkago.InvalidRecord,
	kafkago.InvalidTimestamp}

// Judge classifies an error; nil is not to be judged. What is no answer of a broker is retriable, unless it says of
// itself, by a method Permanent() bool, that it is not.
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
			kafkago.InvalidRequiredAcks:
			return Permanent
		case kafkago.InvalidProducerEpoch, kafkago.ProducerFenced, kafkago.FencedInstanceID,
			kafkago.IllegalGeneration, kafkago.UnknownMemberId, kafkago.RebalanceInProgress,
			kafkago.OutOfOrderSequenceNumber, kafkago.UnknownProducerId, kafkago.InvalidProducerIDMapping,
			kafkago.InvalidTransactionState, transactionAbortable:
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

// Codes that kafka-go has no name for, or another one.
const (
	operationNotAttempted kafkago.Error = 55 // another partition of the request failed
	transactionAbortable  kafkago.Error = 120
)

// fenced reports whether another producer has taken over the transactional id.
func fenced(err error) bool {
	return errors.Is(err, kafkago.InvalidProducerEpoch) || errors.Is(err, kafkago.ProducerFenced)
}

// failure is the error of a code, nil for 0.
func failure(code int16) error {
	if code == 0 {
		return nil
	}
	return kafkago.Error(code)
}

// Error is the code of a broker's answer. It is an error, which [errors.Is] finds.
type Error = kafkago.Error

// Codes that callers tell apart.
const (
	MessageTooLarge                    = kafkago.MessageSizeTooLarge
	RecordListTooLarge                 = kafkago.RecordListTooLarge
	InvalidRecord                      = kafkago.InvalidRecord
	InvalidTimestamp                   = kafkago.InvalidTimestamp
	UnknownTopicOrPartition            = kafkago.UnknownTopicOrPartition
	LeaderNotAvailable                 = kafkago.LeaderNotAvailable
	TopicAuthorizationFailed           = kafkago.TopicAuthorizationFailed
	GroupAuthorizationFailed           = kafkago.GroupAuthorizationFailed
	TransactionalIDAuthorizationFailed = kafkago.TransactionalIDAuthorizationFailed
	ClusterAuthorizationFailed         = kafkago.ClusterAuthorizationFailed
	SASLAuthenticationFailed           = kafkago.SASLAuthenticationFailed
	UnsupportedSASLMechanism           = kafkago.UnsupportedSASLMechanism
	IllegalSASLState                   = kafkago.IllegalSASLState
	SecurityDisabled                   = kafkago.SecurityDisabled
	InvalidGroupID                     = kafkago.InvalidGroupId
	InvalidSessionTimeout              = kafkago.InvalidSessionTimeout
	InconsistentGroupProtocol          = kafkago.InconsistentGroupProtocol
	InvalidTransactionTimeout          = kafkago.InvalidTransactionTimeout
	UnsupportedVersion                 = kafkago.UnsupportedVersion
	UnsupportedCompressionType         = kafkago.UnsupportedCompressionType
	CoordinatorNotAvailable            = kafkago.GroupCoordinatorNotAvailable
	CoordinatorLoadInProgress          = kafkago.GroupLoadInProgress
	NotCoordinator                     = kafkago.NotCoordinatorForGroup
)
