package spelling

import "testing"

func TestClosest(t *testing.T) {
	words := []string{"batch.size", "batch.linger", "kafka.topics.arrivals", "kafka.topics.predictions", "ac", "abc", "a"}
	for word, want := range map[string]string{
		"batch.szie":               "batch.size",
		"batch.lingers":            "batch.linger",
		"kafka.topcis.arrivals":    "kafka.topics.arrivals",
		"kafka.topic.predicitons":  "kafka.topics.predictions",
		"kafka.partitions.arrival": "", // another thing
		"x":                        "",
		"ab":                       "", // of two letters another one is no slip
		"ax":                       "",
		"abd":                      "abc",
		"bacd":                     "",
	} {
		if got := Closest(word, words); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	if got := DidYouMean("batch.szie", words); got != ", did you mean batch.size?" {
		t.Errorf("got %q", got)
	}
	if got := DidYouMean("x", words); got != "" {
		t.Errorf("got %q", got)
	}
}
