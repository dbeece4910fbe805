package target

import "math"

// Constants of [exponentials]: the logarithm of 2 divided by 32, in two parts, the first of which is exact when
// multiplied by a whole number below 2¹⁷; and the powers 2^(j/32).
const (
	stepsPerUnit = 32 / math.Ln2
	stepHigh     = 0x1.62e42fefa0000p-6
	stepLow      = 0x1.cf79abc9e3b3ap-45
	steps        = 32
	// toWhole is the number whose sum with a smaller one has that one, rounded to a whole number, in its last bits.
	toWhole = 0x1.8p52
)

var powers = [steps]float64{
	0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
	0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
	0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
	0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
	0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
	0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
	0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
	0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0,
}

// leastExponent is where float32 has had its least number for long.
const leastExponent = -110

// exponentials leaves e^(v−top), rounded from float64, in row and returns their sum. No v is greater than top.
//
// Each is 2^(k/32)·e^r with |r| ≤ ln 2/64; six terms of the series for e^r are as exact as float64, in less than half
// of [math.Exp]'s time. Conversions keep compilers from fusing products with sums, so that the bits are the same on
// every processor.
func exponentials(row []float32, top float32) (sum float32) {
	for c, v := range row {
		x := float64(v - top)
		var e float32
		if x >= leastExponent {
			whole := float64(x*stepsPerUnit) + toWhole
			k := int64(math.Float64bits(whole) - math.Float64bits(toWhole))
			whole -= toWhole
			r := x - float64(whole*stepHigh) - float64(whole*stepLow)
			p := 1.0/24 + float64(r*(1.0/120+float64(r*(1.0/720))))
			p = 0.5 + float64(r*(1.0/6+float64(r*p)))
			p = r + float64(float64(r*r)*p)
			t := powers[k&(steps-1)]
			e = float32(math.Float64frombits(uint64(k>>5+1023)<<52) * (t + float64(t*p)))
		} else {
			e = float32(math.Exp(x)) // 0, or no number
		}
		row[c] = e
		sum += e
	}
	return sum
}
