//go:build arm64 && !purego

#include "textflag.h"

// add6x16 adds to a tile of C of 6 rows and 16 columns the products of k values a row of A and k packed rows of B. The
// sums begin at 0 in V0-V23, four of a row, and are added to C at the end.
//
// R0 C, R1 bytes from row to row of C; R2-R7 the rows of A, R9 bytes from value to value; R10 B; R11 rows of B left.
// V24-V27 are a row of B, V28-V31 values of A.

#define ROW(a, x, s, t, u, v) \
	VLD1R.P (a)(R9), [x.S4]; \
	VFMLA x.S4, V24.S4, s.S4; \
	VFMLA x.S4, V25.S4, t.S4; \
	VFMLA x.S4, V26.S4, u.S4; \
	VFMLA x.S4, V27.S4, v.S4

#define ZERO4(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

// V28 is ones: Go's assembler has no addition of vectors, and a sum plus 1 times another, fused, is rounded once.

#define OUT(s, t, u, v) \
	VLD1 (R0), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	VFMLA V28.S4, s.S4, V24.S4; \
	VFMLA V28.S4, t.S4, V25.S4; \
	VFMLA V28.S4, u.S4, V26.S4; \
	VFMLA V28.S4, v.S4, V27.S4; \
	VST1.P [V24.S4, V25.S4, V26.S4, V27.S4], (R0)(R1)

// func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
TEXT ·add6x16(SB), NOSPLIT, $0-56
	MOVD c+0(FP), R0
	MOVD cstride+8(FP), R1
	LSL  $2, R1, R1
	MOVD a+16(FP), R2
	MOVD arow+24(FP), R8
	LSL  $2, R8, R8
	MOVD acol+32(FP), R9
	LSL  $2, R9, R9
	MOVD b+40(FP), R10
	MOVD k+48(FP), R11
	ADD  R8, R2, R3
	ADD  R8, R3, R4
	ADD  R8, R4, R5
	ADD  R8, R5, R6
	ADD  R8, R6, R7
	ZERO4(V0, V1, V2, V3)
	ZERO4(V4, V5, V6, V7)
	ZERO4(V8, V9, V10, V11)
	ZERO4(V12, V13, V14, V15)
	ZERO4(V16, V17, V18, V19)
	ZERO4(V20, V21, V22, V23)

loop:
	VLD1.P 64(R10), [V24.S4, V25.S4, V26.S4, V27.S4]
	ROW(R2, V28, V0, V1, V2, V3)
	ROW(R3, V29, V4, V5, V6, V7)
	ROW(R4, V30, V8, V9, V10, V11)
	ROW(R5, V31, V12, V13, V14, V15)
	ROW(R6, V28, V16, V17, V18, V19)
	ROW(R7, V29, V20, V21, V22, V23)
	SUBS $1, R11, R11
	BNE  loop
	FMOVS $1.0, F28
	VDUP V28.S[0], V28.S4
	OUT(V0, V1, V2, V3)
	OUT(V4, V5, V6, V7)
	OUT(V8, V9, V10, V11)
	OUT(V12, V13, V14, V15)
	OUT(V16, V17, V18, V19)
	OUT(V20, V21, V22, V23)
	RET
