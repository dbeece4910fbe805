package check

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rivulet/kafka"
)

// Settings of a topic that decide whether records are taken, stay, and can be read.
const (
	maxMessageBytes = "max.message.bytes"
	cleanupPolicy   = "cleanup.policy"
	minInsync       = "min.insync.replicas"
	retentionTime   = "retention.ms"
	retentionBytes  = "retention.bytes"
)

var settingNames = []string{maxMessageBytes, cleanupPolicy, minInsync, retentionTime, retentionBytes}

const (
	defaultMessageBytes = 1048588   // Kafka's default of max.message.bytes
	batchOverhead       = 61 + 7    // bytes of a batch of one record beside key and value, at least
	shortRetention      = time.Hour // a pause of a consumer that nobody should have to hurry for
)

// judge adds to a topic's result what follows from its settings. Only a setting that keeps all records out is a
// failure; the rest is advice. all are the settings of all topics.
func (k *Kafka) judge(r Result, name string, replicas int, all map[string]map[string]string) Result {
	found := all[name]
	var says, advice []string
	advise := func(why, setting string, value any) { advice = append(advice, why+": "+alter(name, setting, value)) }
	compacted := strings.Contains(found[cleanupPolicy], "compact")
	if policy := found[cleanupPolicy]; policy != "" {
		says = append(says, cleanupPolicy+" "+policy)
	}
	kept, _ := retention(found)
	says = append(says, kept...)
	size, err := strconv.Atoi(found[maxMessageBytes])
	if known := err == nil; known {
		says = append(says, fmt.Sprintf("%s %d", maxMessageBytes, size))
	}
	switch name {
	case k.Labels: // they are read from the topic's end, and the last one of an id counts
	case k.Arrivals:
		for _, l := range k.losses(found) {
			if l.sure {
				r.State = Failed
			}
			advise(l.why, l.setting, l.value)
		}
		if k.RecordBytes > 0 && size-batchOverhead > k.RecordBytes {
			advice = append(advice, fmt.Sprintf("it takes records of more than limits.record_bytes (%d), which become dead "+
				"letters: raise that, or %s", k.RecordBytes, alter(name, maxMessageBytes, k.RecordBytes+batchOverhead)))
		}
	default:
		if compacted {
			advise("of the records of a key only the last one is kept; if all are wanted", cleanupPolicy, "delete")
		}
		if largest, err := strconv.Atoi(all[k.Arrivals][maxMessageBytes]); name == k.DeadLetters && err == nil &&
			0 < size && size < largest {
			advise("a dead letter has its record in it, and the topic of arrivals takes larger ones", maxMessageBytes, largest)
		} else if 0 < size && size < kafka.BatchBytes {
			advise("batches are split, and a prediction that is larger becomes a dead letter", maxMessageBytes,
				defaultMessageBytes)
		}
		least, err := strconv.Atoi(found[minInsync])
		if err != nil {
			break
		}
		says = append(says, fmt.Sprintf("%s %d of %d", minInsync, least, replicas))
		switch {
		case least > replicas:
			return Result{Failed, r.What, fmt.Sprintf("nothing can be written: %s is %d, and it has %d replicas", minInsync,
				least, replicas), alter(name, minInsync, replicas) + ", or give it more replicas"}
		case least == 1 && replicas > 1:
			advise("what one broker has acknowledged is lost with it", minInsync, 2)
		}
	}
	if len(says) > 0 {
		r.Found += "; " + strings.Join(says, ", ")
	}
	r.Do = strings.Join(advice, "; ")
	return r
}

// loss is a way in which the topic of arrivals loses records that nobody has read. It is sure where the consumer's
// settings make it so however fast the consumer is.
type loss struct {
	why, setting string
	value        any // that mends it
	sure         bool
}

// losses judges the settings of the topic of arrivals.
func (k *Kafka) losses(found map[string]string) (all []loss) {
	if strings.Contains(found[cleanupPolicy], "compact") {
		l := loss{"of the records of a key only the last one is kept: arrivals and edges that have not been read are lost",
			cleanupPolicy, "delete", k.Wait > 0}
		if l.sure {
			l.why = "of the records of a key only the last one is kept, and with attach.wait an arrival and its edges have " +
				"one key: edges are lost"
		}
		all = append(all, l)
	}
	_, forEver := retention(found)
	switch age := milliseconds(found[retentionTime]); {
	case forEver:
	case age <= k.Wait:
		all = append(all, loss{fmt.Sprintf("records are kept for %v, and an arrival waits for its edges for %v "+
			"(attach.wait): Kafka may delete it meanwhile, and a consumer that starts again then never answers it", age,
			k.Wait), retentionTime,
			(7 * 24 * time.Hour).Milliseconds(), true})
	case age < max(shortRetention, 2*k.Wait):
		all = append(all, loss{fmt.Sprintf("a consumer that stands still for longer than %v may lose arrivals", age),
			retentionTime, (7 * 24 * time.Hour).Milliseconds(), false})
	}
	return all
}

// Losses asks once for the settings of the topic of arrivals, and returns what is wrong with them and what to do. It
// returns an error where the topic does not exist, or no broker answers; nothing where this client may not read them.
func (k *Kafka) Losses(ctx context.Context) (advice []Result, err error) {
	var cluster *kafka.Cluster
	var settings map[string]map[string]string
	err = k.asked(ctx, func(ctx context.Context) (err error) {
		if cluster, err = k.Client.Describe(ctx, k.Arrivals); err == nil {
			err = cluster.Topics[k.Arrivals].Err
		}
		if err == nil {
			settings, err = k.Client.TopicSettings(ctx, []string{k.Arrivals}, settingNames)
		}
		return err
	})
	for _, l := range k.losses(settings[k.Arrivals]) {
		state := OK
		if l.sure {
			state = Failed
		}
		advice = append(advice, Result{state, "kafka topic " + k.Arrivals, l.why, alter(k.Arrivals, l.setting, l.value)})
	}
	return advice, err
}

// alter is the command that changes a setting of a topic.
func alter(topic, setting string, value any) string {
	return fmt.Sprintf("kafka-configs.sh --alter --topic %s --add-config %s=%v", topic, setting, value)
}

// retention describes how long a topic keeps records, and whether that is for ever by their age.
func retention(found map[string]string) (says []string, forEver bool) {
	age := milliseconds(found[retentionTime])
	forEver = age <= 0 || !strings.Contains(found[cleanupPolicy], "delete")
	if !forEver {
		text := age.String()
		if age%(24*time.Hour) == 0 {
			text = fmt.Sprintf("%d days", age/(24*time.Hour))
		}
		says = append(says, "records are kept for "+text)
	} else if found[retentionTime] != "" {
		says = append(says, "records are kept at any age")
	}
	if bytes, err := strconv.ParseInt(found[retentionBytes], 10, 64); err == nil && bytes >= 0 {
		says = append(says, fmt.Sprintf("at most %d bytes of a partition", bytes))
	}
	return says, forEver
}

// milliseconds reads a setting in milliseconds; -1: for ever.
func milliseconds(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > int64(time.Duration(1<<63-1)/time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}
