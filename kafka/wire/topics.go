package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"rivulet/internal/spelling"
)

// AllTopics asks for the names of all topics that this client may see.
func AllTopics() *Request {
	req := kmsg.NewPtrMetadataRequest() // without a list of topics
	const listsAll = 1                  // Kafka 0.10; an empty list meant all before
	return &Request{Request: req, Least: listsAll, Most: req.MaxVersion()}
}

// Similar returns ", did you mean TOPIC?" for a topic that does not exist, with the one of an answer to [AllTopics]
// that was probably meant; it returns nothing if none is similar, or if there is no answer.
func Similar(answer kmsg.Response, topic string) string {
	all, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return ""
	}
	var names []string
	for _, t := range all.Topics {
		if t.Topic != nil && *t.Topic != topic {
			names = append(names, *t.Topic)
		}
	}
	return spelling.DidYouMean(topic, names)
}
