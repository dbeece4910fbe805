package kafka

import kafkago "github.com/segmentio/kafka-go"

// Error is the code of a broker's answer. It is an error, which [errors.Is] finds.
type Error = kafkago.Error

// Codes that callers tell apart.
const (
	MessageTooLarge                    = kafkago.MessageSizeTooLarge
	RecordListTooLarge                 = kafkago.RecordListTooLarge
	InvalidRecord                      = kafkago.InvalidRecord
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
	FencedInstanceID                   = kafkago.FencedInstanceID
	InconsistentGroupProtocol          = kafkago.InconsistentGroupProtocol
	InvalidTransactionTimeout          = kafkago.InvalidTransactionTimeout
	UnsupportedVersion                 = kafkago.UnsupportedVersion
	UnsupportedCompressionType         = kafkago.UnsupportedCompressionType
	CoordinatorNotAvailable            = kafkago.GroupCoordinatorNotAvailable
	CoordinatorLoadInProgress          = kafkago.GroupLoadInProgress
	NotCoordinator                     = kafkago.NotCoordinatorForGroup
)
