package marks

import (
	"strings"
	"testing"
)

func TestWhatIsCommittedBesideAnOffset(t *testing.T) {
	m := Mark{Topic: TopicID{1, 2, 3}, Epoch: 7, Ahead: -1}
	resumes := m
	resumes.Resume, resumes.Ahead = Resume{Next: 120, Aside: 118}, 9
	for _, want := range []Mark{m, resumes} {
		if got := Of(want.Metadata(), 7); got != want {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
	earlier := strings.TrimSuffix(resumes.Metadata(), " epoch=9") // as releases before 0.2 have it
	resumes.Ahead = -1
	if got := Of(earlier, 7); got != resumes {
		t.Errorf("%q is read as %+v, want %+v", earlier, got, resumes)
	}
	for _, text := range []string{"", "by hand", prefix, prefix + "short",
		strings.TrimPrefix(m.Metadata(), prefix), m.Metadata() + "x"} {
		if got := Of(text, 7); got != None {
			t.Errorf("%q means %+v, want nothing", text, got)
		}
	}
}
