package serving

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// large is an artifact on disk with more rows than one part of M has.
func large(t *testing.T) string {
	t.Helper()
	b := artifacttest.Bundle(5, artifacttest.Size{Nodes: artifact.PartRows + 5000, Synthetic: 12, PerRow: 2})
	b.Manifest.Version = "large"
	dir := filepath.Join(t.TempDir(), "artifact")
	expect.OK(t, artifact.Write(dir, b))
	return dir
}

// rowsOf are all keys of rows with their content.
func (s *server) rowsOf(t *testing.T, version string) map[string]string {
	t.Helper()
	out, before := map[string]string{}, s.dataOf(t, version)+":rows:"
	for _, key := range s.data(t, version) {
		if strings.HasPrefix(key, before) {
			rows, err := s.client.Get(t.Context(), key).Result()
			expect.OK(t, err)
			out[strings.TrimPrefix(key, before)] = rows
		}
	}
	return out
}

// unsealed leaves the seals out of buckets of so many pages: those of two publications differ.
func unsealed(buckets map[string]string, pages int) map[string]string {
	const seal = 8
	out := map[string]string{}
	for key, bucket := range buckets {
		table := seal + 4 + 4*pages
		content, from := bucket[seal:table], table
		for at := seal + 4; at < table; at += 4 {
			end := int(binary.LittleEndian.Uint32([]byte(bucket[at : at+4])))
			content += bucket[from:max(from, end-seal)]
			from = end
		}
		out[key] = content
	}
	return out
}

// An M in parts is published as one in memory, to the byte but for the seals: a broken-off publication goes on, nothing
// of it is served before its marker is there, and a bucket that was lost is there when it is published again.
func TestPublishParts(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of writing 267,000 rows")
	}
	dir := large(t)
	s := newServer(t, mapping.RedisOptions{URL: "redis://" + miniredis.RunT(t).Addr()}, "parts")
	inMemory, err := artifact.ReadAll(dir)
	expect.OK(t, err)
	parts, err := artifact.Read(dir)
	expect.OK(t, err)
	if parts.Mapping != nil || inMemory.Mapping == nil {
		t.Fatal("M of the test is not where it should be")
	}
	s.publish(t, bundle(t, 1, "small"))
	client := s.connect(t)
	client.AddHook(&faults{fail: func(call int, _ string) fault {
		if call < 12 {
			return fine
		}
		return answerLost
	}})
	err = newPublisher(t, client, s.prefix).Publish(t.Context(), parts, PublishOptions{})
	if !errors.Is(err, errInjected) {
		t.Fatalf("error = %v, want the injected one", err)
	}
	w, _ := s.watcher(t, "consumer")
	mustServe(t, w, "small")
	var from []int
	o := PublishOptions{TempDir: t.TempDir(), OtherData: true, Progress: func(done, total int) {
		if from = append(from, done); total != artifact.PartRows+5000 {
			panic(fmt.Sprintf("%d rows in all", total))
		}
	}}
	expect.OK(t, s.publisher(t).Publish(t.Context(), parts, o))
	if from[0] <= 256*40 {
		t.Errorf("it went on with %d rows, and so began anew", from[0])
	}
	mustServe(t, w, "large")
	got := s.rowsOf(t, "large")
	for key := range got {
		s.client.Del(t.Context(), s.dataOf(t, "large")+":rows:"+key)
		break
	}
	if err := s.publisher(t).Publish(t.Context(), parts, PublishOptions{}); err != nil {
		t.Fatalf("publishing it again: %v", err)
	}
	s.clear(t)
	s.publish(t, inMemory)
	pages := mapping.LayoutOf(inMemory.Mapping).Pages
	if diff := cmp.Diff(unsealed(s.rowsOf(t, "large"), pages), unsealed(got, pages)); diff != "" {
		t.Errorf("rows of M in memory and in parts differ: %.2000s", diff)
	}
}
