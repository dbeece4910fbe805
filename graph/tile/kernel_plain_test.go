package tile

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact is x·y + z by arithmetic without an error, rounded once. Sums that are 0 have the sign that IEEE 754 gives
// them, and where one of the numbers is not finite float64 has the result.
func exact(x, y, z float32) float32 {
	sum := float64(float64(x)*float64(y)) + float64(z)
	if math.IsNaN(sum) || math.IsInf(sum, 0) || sum == 0 {
		return float32(sum)
	}
	product := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
	got, _ := product.Add(product, big.NewFloat(float64(z))).Float32()
	return got
}

// same reports whether bits are equal, or both are no numbers: processors disagree on the bits of these.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

func checkFMA(t *testing.T, x, y, z float32) {
	t.Helper()
	got, want := FMA(x, y, z), exact(x, y, z)
	if !same(got, want) {
		t.Fatalf("%x · %x + %x is %x, want %x", x, y, z, got, want)
	}
	for _, use := range kernels() {
		a, b := make([]float32, use.rows), make([]float32, use.cols)
		c := make([]float32, use.rows*use.cols)
		for k := range c {
			a[k%use.rows], b[k%use.cols], c[k] = x, y, z
		}
		use.chain(&c[0], use.cols, &a[0], 1, 1, &b[0], use.cols, 1)
		for k, v := range c {
			if !same(v, want) {
				t.Fatalf("kernel of %d×%d, sum %d: %x · %x + %x is %x, want %x", use.rows, use.cols, k, x, y, z, v, want)
			}
		}
	}
}

// Sums that float64 rounds to the middle between two float32: x·y is the middle or a number beside it, and z so small
// that float64 drops it, or the other way round. Rounded twice, half of them are off by one in the last bit.
func TestFMAIsRoundedOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	twice := 0
	for range 20000 {
		// (2¹² + a)(2¹² + b) has 25 bits, of which the last is 1 if both are odd: a middle.
		x, y := float32(1<<12+rng.IntN(1<<12)|1), float32(1<<12+rng.IntN(1<<12)|1)
		x, y = float32(math.Ldexp(float64(x), rng.IntN(40)-20)), float32(math.Ldexp(float64(y), rng.IntN(40)-20))
		z := float32(math.Ldexp(rng.Float64()-0.5, -30-rng.IntN(60)) * float64(x) * float64(y))
		for _, s := range [][3]float32{{x, y, z}, {-x, y, z}, {x, y, 0}, {x, y, -x * y}} {
			checkFMA(t, s[0], s[1], s[2])
			if exact(s[0], s[1], s[2]) != float32(float64(s[0])*float64(s[1])+float64(s[2])) {
				twice++
			}
		}
	}
	if twice < 2000 {
		t.Errorf("%d sums that would be rounded twice, want thousands", twice)
	}
}

// Middles between subnormal numbers lie further up in the bits of float64.
func TestFMAOfSubnormalNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		half := math.Ldexp(float64(2*rng.IntN(1<<rng.IntN(23))+1), -150) // between two subnormal numbers, or 0 and one
		shift := rng.IntN(40)
		x, y := float32(math.Ldexp(half, 75+shift)), float32(math.Ldexp(1, -75-shift))
		z := float32(math.Ldexp(float64(rng.IntN(9)-4), -149))
		checkFMA(t, x, y, z)
		// A middle by z and half a unit, and something beside it that float64 drops.
		checkFMA(t, float32(math.Ldexp(1+rng.Float64()/(1<<20), -75)), float32(math.Ldexp(1, -75)), z)
		checkFMA(t, x, float32(float64(y)*(1+math.Ldexp(float64(rng.IntN(3)-1), -23))), z)
	}
}

// Numbers of every kind, each bit drawn: also infinite ones, no numbers, and sums that overflow.
func TestFMAOfAllNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
		-math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-75, 0x1.000002p0, 0x1p-24, 0x1p103, -0x1p103}
	for _, x := range special {
		for _, y := range special {
			for _, z := range special {
				checkFMA(t, x, y, z)
			}
		}
	}
	drawn := func() float32 { return math.Float32frombits(rng.Uint32()) }
	for range 100000 {
		x, y := drawn(), drawn()
		checkFMA(t, x, y, drawn())
		checkFMA(t, x, y, float32(float64(x)*float64(y)*(rng.Float64()-0.5)*math.Ldexp(1, rng.IntN(60)-30)))
	}
}
