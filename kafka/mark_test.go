package kafka

import (
	"strings"
	"testing"
)

func TestWhatIsCommittedBesideAnOffset(t *testing.T) {
	m := commitMark{Topic: topicID{1, 2, 3}, Epoch: 7, Ahead: -1}
	resumes := m
	resumes.Resume, resumes.Ahead = Resume{Next: 120, Aside: 118}, 9
	noted := resumes
	noted.Resume.Note = "1800000000000,3,-1,5"
	for _, want := range []commitMark{m, resumes, noted} {
		if got := markOf(want.metadata(), 7); got != want {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
	earlier := strings.TrimSuffix(resumes.metadata(), " epoch=9") // as releases before 0.2 have it
	resumes.Ahead = -1
	if got := markOf(earlier, 7); got != resumes {
		t.Errorf("%q is read as %+v, want %+v", earlier, got, resumes)
	}
	for _, text := range []string{"", "by hand", markPrefix, markPrefix + "short",
		strings.TrimPrefix(m.metadata(), markPrefix), m.metadata() + "x"} {
		if got := markOf(text, 7); got != noMark {
			t.Errorf("%q means %+v, want nothing", text, got)
		}
	}
}
