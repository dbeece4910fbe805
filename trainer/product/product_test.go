package product

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rivulet/test/expect"
	"rivulet/test/reference/convert"
)

// Products are those of dense matrices, of values and of patterns, with rows that are in order.
func TestOfIsTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r, n, c := rapid.IntRange(0, 6).Draw(t, "r"), rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "c")
		a, b := convert.Normal(rng, r, n, 0.4), convert.Normal(rng, n, c, 0.3)
		left, right := convert.Sparse(a, r, n), convert.Sparse(b, n, c)
		if rapid.Bool().Draw(t, "pattern") {
			right.Val = nil
			b = convert.FromCSR(right)
		}
		got := Of(left, right)
		expect.OK(t, got.Validate())
		for _, v := range got.Val {
			if v == 0 {
				t.Fatalf("a zero is stored: %v", got.Val)
			}
		}
		if gap := convert.Gap(convert.FromCSR(got), a.Mul(b)); r > 0 && gap > 1e-6 {
			t.Fatalf("a·b is off by %g", gap)
		}
	})
}

// The bits do not depend on the number of processors.
func TestOfIsDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	a, b := convert.Sparse(convert.Normal(rng, 90, 200, 0.3), 90, 200), convert.Sparse(convert.Normal(rng, 200, 150, 0.3),
		200, 150)
	before := runtime.GOMAXPROCS(1)
	one := Of(a, b)
	runtime.GOMAXPROCS(4)
	defer runtime.GOMAXPROCS(before)
	if diff := cmp.Diff(one, Of(a, b)); diff != "" {
		t.Errorf("on four processors (-one +four):\n%s", diff)
	}
}
