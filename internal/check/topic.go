package check

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rivulet/kafka"
	"rivulet/kafka/probe"
)

// Settings of a topic that decide whether records written to it are taken and stay.
const (
	maxMessageBytes = "max.message.bytes"
	cleanupPolicy   = "cleanup.policy"
	minInsync       = "min.insync.replicas"
)

// defaultMessageBytes is Kafka's default of max.message.bytes.
const defaultMessageBytes = 1048588

// settings adds to a result what follows from the topic's settings. Only settings that keep all records out are a
// failure; the rest is advice.
func (k *Kafka) settings(first *connection, name string, r Result) Result {
	found, err := first.Settings(name, maxMessageBytes, cleanupPolicy, minInsync)
	switch {
	case errors.Is(err, kafka.TopicAuthorizationFailed):
		r.Found += fmt.Sprintf("; %s may not read its settings (DescribeConfigs), which only this check would", k.Principal)
		return r
	case err != nil:
		r.Found += "; its settings cannot be read: " + err.Error()
		return r
	}
	i := slices.IndexFunc(first.cluster.Topics, func(t probe.Topic) bool { return t.Name == name })
	return judge(r, name, first.cluster.Topics[i].Replicas, found)
}

// judge adds what follows from the settings of a topic with so many replicas.
func judge(r Result, name string, replicas int, found map[string]string) Result {
	var says, advice []string
	alter := func(setting string) string {
		return fmt.Sprintf("kafka-configs.sh --alter --topic %s --add-config %s", name, setting)
	}
	if size, err := strconv.Atoi(found[maxMessageBytes]); err == nil {
		says = append(says, fmt.Sprintf("%s %d", maxMessageBytes, size))
		if size < kafka.BatchBytes {
			advice = append(advice,
				"batches are split; a prediction that is larger becomes a dead letter, and a dead letter is trimmed "+
					"or dropped: "+alter(fmt.Sprintf("%s=%d", maxMessageBytes, defaultMessageBytes)))
		}
	}
	if policy := found[cleanupPolicy]; policy != "" {
		says = append(says, cleanupPolicy+" "+policy)
		if strings.Contains(policy, "compact") {
			advice = append(advice, "of the records of a key only the last one is kept, and those without a key are given one; "+
				"if all are wanted: "+alter(cleanupPolicy+"=delete"))
		}
	}
	if least, err := strconv.Atoi(found[minInsync]); err == nil {
		says = append(says, fmt.Sprintf("%s %d of %d", minInsync, least, replicas))
		switch {
		case least > replicas:
			return Result{Failed, r.What, fmt.Sprintf("nothing can be written: %s is %d, and it has %d replicas",
				minInsync, least, replicas),
				alter(fmt.Sprintf("%s=%d", minInsync, replicas)) + ", or give it more replicas"}
		case least == 1 && replicas > 1:
			advice = append(advice, "what one broker has acknowledged is lost with it: "+alter(minInsync+"=2"))
		}
	}
	if len(says) > 0 {
		r.Found += "; " + strings.Join(says, ", ")
	}
	r.Do = strings.Join(advice, "; ")
	return r
}
