package config

import (
	"slices"
	"strconv"
)

// Candidate says how the version that CANDIDATE names is tried on the stream.
type Candidate struct {
	Mode    string  `key:"mode" default:"off" oneof:"off|shadow|canary" usage:"shadow: the candidate (trainer publish --candidate) answers the arrivals, too, after the predictions of the version that serves are delivered, and is compared with it; canary: the same, and it answers a share of the keys itself (batch.mode node). It takes the memory of a second version; not with attach.arrivals"`
	Percent float64 `key:"percent" default:"5" check:"percent" unit:"percent of the keys" usage:"share of the keys that a canary answers. Which keys these are depends on the keys alone" zero:"none: as in shadow"`
	Load    float64 `key:"load" default:"0.05" check:"share" unit:"share" usage:"share of the time that goes into answers which are only compared, while the stream is behind by more than four micro-batches; arrivals beyond it are counted as dropped" zero:"none"`
	Topic   string  `key:"topic" default:"" usage:"topic of the candidate's answers to arrivals that the version that serves has answered: those that were dropped or could not be answered are not on it" zero:"they are only compared"`
}

// Values of [Candidate.Mode] on which wiring branches.
const (
	Shadow = "shadow"
	Canary = "canary"
)

// Tried reports whether a candidate is tried at all.
func (c Candidate) Tried() bool { return c.Mode == Shadow || c.Mode == Canary }

// candidateProblems returns the first of the candidate's settings that contradicts another one.
func (c Consumer) candidateProblems() problems {
	others := []string{c.Kafka.Topics.Arrivals, c.Kafka.Topics.Predictions, c.Kafka.Topics.DeadLetters, c.Labels.Topic}
	found := func(key, value, reason string) problems {
		return problems{{Key: "candidate." + key, Value: value, Reason: reason}}
	}
	switch topic, mode := c.Candidate.Topic, strconv.Quote(c.Candidate.Mode); {
	case topic != "" && !c.Candidate.Tried():
		return found("topic", topic, "has no effect, because candidate.mode is off")
	case topic != "" && slices.Contains(others, topic):
		return found("topic", topic, "is a topic of something else, too: want one of its own")
	case !c.Candidate.Tried():
	case c.Artifact != "":
		return found("mode", mode, "a candidate comes from Redis, which is not used because artifact is set")
	case c.Attach.Arrivals == On:
		return found("mode", mode, "attach.arrivals is on: arrivals have rows of the version that serves "+
			"alone, and a candidate would be compared without them")
	case c.Candidate.Mode == Shadow && c.Attach.Wait > 0:
		return found("mode", mode, "attach.wait is set: a shadow answers the records again, "+
			"without the edges that came apart: want canary")
	case c.Candidate.Mode == Canary && c.Batch.Mode == ModeGraph:
		return found("mode", mode, "a canary divides a micro-batch, and batch.mode is graph: "+
			"want node, or candidate.mode shadow")
	}
	return nil
}
