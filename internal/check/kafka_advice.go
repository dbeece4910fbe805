package check

import (
	"errors"
	"fmt"

	"rivulet/kafka"
)

// AdviseKafka adds advice to an error by which the brokers refuse a consumer for good; it returns any other error
// unchanged. principal is the client's name in ACLs, as "User:rivulet".
func AdviseKafka(err error, principal string) error {
	var code kafka.Error
	if !errors.As(err, &code) {
		return err
	}
	if do := kafkaAdvice(code, principal); do != "" {
		return fmt.Errorf("%w -> %s", err, do)
	}
	return err
}

// kafkaAdvice returns the advice for a code, "" if the code itself is clear or is not about rights and settings.
func kafkaAdvice(code kafka.Error, principal string) string {
	allow := func(resource, operations string) string {
		return fmt.Sprintf("allow %s %s: kafka-acls.sh --add --allow-principal '%s' …; `consumer check` prints the whole "+
			"command",
			operations, resource, principal)
	}
	switch code {
	case kafka.TopicAuthorizationFailed:
		return allow("for this topic", "Describe and Read (arrivals, labels) or Write (predictions, dead letters)")
	case kafka.GroupAuthorizationFailed:
		return allow("for the group of kafka.group", "Read")
	case kafka.TransactionalIDAuthorizationFailed:
		return allow("for all transactional ids that begin with kafka.transactional_id (--resource-pattern-type prefixed)",
			"Write and Describe")
	case kafka.ClusterAuthorizationFailed:
		return allow("for the cluster (--cluster)", "IdempotentWrite")
	case kafka.SASLAuthenticationFailed:
		return "correct kafka.sasl.username and kafka.sasl.password (or password_file); compare a token's issuer, " +
			"audience, scopes and times with what the listener expects, and with AWS the region and the right " +
			"kafka-cluster:Connect; this is not about ACLs"
	case kafka.UnsupportedSASLMechanism:
		return "set kafka.sasl.mechanism to one of the brokers' sasl.enabled.mechanisms"
	case kafka.IllegalSASLState, kafka.SecurityDisabled:
		return "set kafka.sasl.mechanism to none, or kafka.brokers to a listener with SASL"
	case kafka.InvalidGroupID:
		return "set kafka.group to a name that the brokers take"
	case kafka.InvalidSessionTimeout:
		return "set kafka.session_timeout to between the brokers' group.min.session.timeout.ms and " +
			"group.max.session.timeout.ms"
	case kafka.FencedInstanceID:
		return "give each member of the group a kafka.instance_id of its own: another process has joined with this one's"
	case kafka.InconsistentGroupProtocol:
		return "set kafka.group to a group of this consumer's own: the members of this one share out partitions in a way " +
			"that it does not know"
	case kafka.InvalidTransactionTimeout:
		return "lower kafka.transaction_timeout, or raise the brokers' transaction.max.timeout.ms"
	case kafka.UnsupportedVersion:
		return "use brokers of Kafka 2.5 or newer"
	case kafka.UnsupportedCompressionType:
		return "set kafka.compression to one that the brokers know"
	}
	return ""
}
