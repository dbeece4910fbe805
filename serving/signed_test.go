package serving

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"rivulet/serving/script"
	"rivulet/test/expect"
)

// A consumer that wants signatures refuses versions that nobody or another key has signed, by name, and goes on with
// the one before. It takes a version as soon as it is signed, and keys of several signers.
func TestUnsignedVersionsAreRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		key := func(seed byte) ed25519.PrivateKey {
			return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))
		}
		mine, former, foreign := key('a'), key('b'), key('c')
		p := s.publisher(t)
		publish := func(seed uint64, version string, by ed25519.PrivateKey) {
			t.Helper()
			expect.OK(t, p.Publish(t.Context(), bundle(t, seed, version), PublishOptions{Sign: by, Keep: -1}))
		}
		w, log := s.watcher(t, "consumer")
		w.loader.options.Signers = []ed25519.PublicKey{former.Public().(ed25519.PublicKey), mine.Public().(ed25519.PublicKey)}
		publish(1, "v1", mine)
		mustServe(t, w, "v1")
		for version, by := range map[string]ed25519.PrivateKey{"unsigned": nil, "foreign": foreign} {
			publish(uint64(2+len(version)), version, by)
			expect.Error(t, w.Load(t.Context()), "loading version "+version+": its manifest is not signed", "%s", version)
			w.report(w.Load(t.Context()))
			if got := strings.Join(log.take(), "\n"); !strings.Contains(got, "cannot follow CURRENT") ||
				!strings.Contains(got, "serving=v1") {
				t.Errorf("%s: logged %s", version, got)
			}
			if w.Current().ID() != "v1" {
				t.Errorf("%s serves", w.Current().ID())
			}
		}
		publish(uint64(2+len("unsigned")), "unsigned", former)
		mustServe(t, w, "unsigned")
		copied := s.client.HGet(t.Context(), p.keys.Complete("unsigned"), script.FieldSignature).Val()
		publish(4, "v4", nil)
		expect.OK(t, s.client.HSet(t.Context(), p.keys.Complete("v4"), script.FieldSignature, copied).Err())
		expect.Error(t, w.Load(t.Context()), "or of another manifest", "the signature of another version")
	})
}
