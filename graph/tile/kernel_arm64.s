//go:build arm64 && !purego

#include "textflag.h"

// Kernels for a tile of C of 6 rows and 16 columns and the products of k values a row of A and k rows of B. The sums
// are in V0-V23, four registers a row.
//
// R0 C, R1 bytes from row to row of C; R2-R7 the rows of A, R9 bytes from value to value; R10 B, R12 bytes from row to
// row; R11 rows of B left. V24-V27 are a row of B, V28-V31 values of A.

#define ARGUMENTS \
	MOVD c+0(FP), R0; \
	MOVD cstride+8(FP), R1; \
	LSL  $2, R1, R1; \
	MOVD a+16(FP), R2; \
	MOVD arow+24(FP), R8; \
	LSL  $2, R8, R8; \
	MOVD acol+32(FP), R9; \
	LSL  $2, R9, R9; \
	MOVD b+40(FP), R10; \
	MOVD bstride+48(FP), R12; \
	LSL  $2, R12, R12; \
	MOVD k+56(FP), R11; \
	ADD  R8, R2, R3; \
	ADD  R8, R3, R4; \
	ADD  R8, R4, R5; \
	ADD  R8, R5, R6; \
	ADD  R8, R6, R7; \
	MOVD R0, R13

#define ROW(a, x, s, t, u, v) \
	VLD1R.P (a)(R9), [x.S4]; \
	VFMLA x.S4, V24.S4, s.S4; \
	VFMLA x.S4, V25.S4, t.S4; \
	VFMLA x.S4, V26.S4, u.S4; \
	VFMLA x.S4, V27.S4, v.S4

#define ZERO(s, t, u, v) \
	VEOR s.B16, s.B16, s.B16; \
	VEOR t.B16, t.B16, t.B16; \
	VEOR u.B16, u.B16, u.B16; \
	VEOR v.B16, v.B16, v.B16

#define LOAD(s, t, u, v) VLD1.P (R13)(R1), [s.S4, t.S4, u.S4, v.S4]
#define STORE(s, t, u, v) VST1.P [s.S4, t.S4, u.S4, v.S4], (R0)(R1)

// V28 is ones: Go's assembler has no addition of vectors, and a sum plus 1 times another, fused, is rounded once.

#define SUM(s, t, u, v) \
	VLD1 (R0), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	VFMLA V28.S4, s.S4, V24.S4; \
	VFMLA V28.S4, t.S4, V25.S4; \
	VFMLA V28.S4, u.S4, V26.S4; \
	VFMLA V28.S4, v.S4, V27.S4; \
	STORE(V24, V25, V26, V27)

#define ROWS(of) \
	of(V0, V1, V2, V3); \
	of(V4, V5, V6, V7); \
	of(V8, V9, V10, V11); \
	of(V12, V13, V14, V15); \
	of(V16, V17, V18, V19); \
	of(V20, V21, V22, V23)

#define LOOP \
loop: \
	VLD1.P (R10)(R12), [V24.S4, V25.S4, V26.S4, V27.S4]; \
	ROW(R2, V28, V0, V1, V2, V3); \
	ROW(R3, V29, V4, V5, V6, V7); \
	ROW(R4, V30, V8, V9, V10, V11); \
	ROW(R5, V31, V12, V13, V14, V15); \
	ROW(R6, V28, V16, V17, V18, V19); \
	ROW(R7, V29, V20, V21, V22, V23); \
	SUBS $1, R11, R11; \
	BNE  loop

// func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add6x16(SB), NOSPLIT, $0-64
	ARGUMENTS
	ROWS(ZERO)
	LOOP
	FMOVS $1.0, F28
	VDUP V28.S[0], V28.S4
	ROWS(SUM)
	RET

// func chain6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain6x16(SB), NOSPLIT, $0-64
	ARGUMENTS
	ROWS(LOAD)
	LOOP
	ROWS(STORE)
	RET
