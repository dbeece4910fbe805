package serving

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// A version of layout 1, with rows in hashes and a meta without pages, is listed, neither served nor gone on with, and
// removed when a newer version has taken its place.
func TestVersionsOfAnOlderBuild(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		old := bundle(t, 1, "v1")
		s.publish(t, old)
		makeOlder := func(marker string) {
			t.Helper()
			m := map[string]any{}
			expect.OK(t, json.Unmarshal([]byte(s.client.HGet(t.Context(), marker, "meta").Val()), &m))
			m["layout"], m["buckets"] = 1, 7
			delete(m, "pages")
			text, err := json.Marshal(m)
			expect.OK(t, err)
			expect.OK(t, s.client.HSet(t.Context(), marker, "meta", text).Err())
		}
		k := keysOf(s.prefix)
		makeOlder(k.Complete("v1"))
		rows := s.dataOf(t, "v1") + ":rows:"
		for _, key := range s.data(t, "v1") {
			if strings.HasPrefix(key, rows) {
				s.client.Del(t.Context(), key)
			}
		}
		for _, b := range []string{"0", "6"} {
			s.client.HSet(t.Context(), rows+b, "a node", "a row")
		}
		w, _ := s.watcher(t, "consumer")
		if err := tick(t, w); err == nil || !strings.Contains(err.Error(), "older build") || w.Ready() {
			t.Errorf("a consumer: error = %v, want a refusal", err)
		}
		expect.Error(t, s.publisher(t).Publish(t.Context(), old, PublishOptions{}),
			"under another version", "publishing it again")
		infos, err := s.publisher(t).Versions(t.Context())
		if err != nil || len(infos) != 1 || infos[0].Version != "v1" || infos[0].State != Complete {
			t.Fatalf("versions are %+v (%v)", infos, err)
		}
		s.publish(t, bundle(t, 2, "v2"))
		mustServe(t, w, "v2")
		if err := s.client.Del(t.Context(), k.Holders).Err(); err != nil { // the publisher's heartbeat has not lapsed yet
			t.Fatal(err)
		}
		removed, err := s.publisher(t).Prune(t.Context(), 0)
		if err != nil || !slices.Equal(removed, []string{"v1"}) {
			t.Errorf("removed are %q (%v), want v1", removed, err)
		}
		if left := s.client.Exists(t.Context(), rows+"0").Val() + s.client.Exists(t.Context(), rows+"6").Val(); left > 0 {
			t.Errorf("%d keys of its rows are left", left)
		}
	})
}
