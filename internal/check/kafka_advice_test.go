package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"rivulet/kafka"
	"rivulet/kafka/retry"
)

// Errors that end a consumer because of its rights or settings come with advice; errors that are waited for do not.
func TestAdviseKafka(t *testing.T) {
	for code, want := range map[*kerr.Error]string{
		kerr.TopicAuthorizationFailed: "Write (predictions, dead letters) for this topic: kafka-acls.sh --add " +
			"--allow-principal 'User:me'",
		kerr.GroupAuthorizationFailed:           "kafka.group",
		kerr.TransactionalIDAuthorizationFailed: "kafka.transactional_id",
		kerr.ClusterAuthorizationFailed:         "--cluster",
		kerr.SaslAuthenticationFailed:           "kafka.sasl.password",
		kerr.UnsupportedSaslMechanism:           "sasl.enabled.mechanisms",
		kerr.IllegalSaslState:                   "kafka.sasl.mechanism",
		kerr.SecurityDisabled:                   "kafka.sasl.mechanism",
		kerr.InvalidGroupID:                     "kafka.group",
		kerr.InvalidSessionTimeout:              "kafka.session_timeout",
		kerr.InconsistentGroupProtocol:          "kafka.group",
		kerr.FencedInstanceID:                   "kafka.instance_id",
		kerr.InvalidTransactionTimeout:          "kafka.transaction_timeout",
		kerr.UnsupportedVersion:                 "2.5",
		kerr.UnsupportedCompressionType:         "kafka.compression",
	} {
		err := fmt.Errorf("joining: %w", kafka.Error(code.Code))
		got := AdviseKafka(err, "User:me")
		if retry.Judge(err) != retry.Permanent || !errors.Is(got, kafka.Error(code.Code)) ||
			!strings.Contains(got.Error(), want) {
			t.Errorf("%s is judged %d, and said as %v, want a permanent error with %s", code.Message, retry.Judge(err), got,
				want)
		}
	}
	for _, err := range []error{errors.New("the drain timed out"), fmt.Errorf("joining: %w", kafka.NotCoordinator)} {
		if got := AdviseKafka(err, "User:me"); got != err { //nolint:errorlint // the same error, unchanged
			t.Errorf("%v became %v", err, got)
		}
	}
	if AdviseKafka(nil, "User:me") != nil {
		t.Error("an error where there was none")
	}
}
