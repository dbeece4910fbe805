//go:build arm64 && !purego

#include "textflag.h"

// The kernel of V vectors adds Σ_p vals[p]·x[cols[p]] to the columns of V vectors of y, four columns each, in the order of p. All
// but the last lie one behind the other from y on; the last begins at the byte last of y, and may overlap the one
// before it: columns that are in both are computed twice, with the same bits. y stays in registers. The bits
// are those of Axpy.
//
// R0 y, R1 x, R2 bytes from row to row of x, R3 cols, R4 vals, R5 bytes from factor to factor, R6 rows left, R7 last.
// Sums are in V0-V7, a row of x in V16-V23, the factor in V24.

#define ARGUMENTS \
	MOVD v+0(FP), R8; \
	MOVD y+8(FP), R0; \
	MOVD x+16(FP), R1; \
	MOVD stride+24(FP), R2; \
	MOVD cols+32(FP), R3; \
	MOVD vals+40(FP), R4; \
	MOVD step+48(FP), R5; \
	MOVD n+56(FP), R6; \
	MOVD last+64(FP), R7; \
	ADD R7, R0, R11

// The next row of x, and where its last vector begins.

#define ROW \
	MOVW.P 4(R3), R8; \
	MADD R2, R1, R8, R9; \
	ADD R7, R9, R10; \
	VLD1R.P (R4)(R5), [V24.S4]

// For all vectors but the last, each with those before it.

#define LOAD1
#define LOAD2 FMOVQ (R0), F0
#define LOAD3 LOAD2; FMOVQ 16(R0), F1
#define LOAD4 LOAD3; FMOVQ 32(R0), F2
#define LOAD5 LOAD4; FMOVQ 48(R0), F3
#define LOAD6 LOAD5; FMOVQ 64(R0), F4
#define LOAD7 LOAD6; FMOVQ 80(R0), F5
#define LOAD8 LOAD7; FMOVQ 96(R0), F6

#define ADD1
#define ADD2 FMOVQ (R9), F16; VFMLA V24.S4, V16.S4, V0.S4
#define ADD3 ADD2; FMOVQ 16(R9), F17; VFMLA V24.S4, V17.S4, V1.S4
#define ADD4 ADD3; FMOVQ 32(R9), F18; VFMLA V24.S4, V18.S4, V2.S4
#define ADD5 ADD4; FMOVQ 48(R9), F19; VFMLA V24.S4, V19.S4, V3.S4
#define ADD6 ADD5; FMOVQ 64(R9), F20; VFMLA V24.S4, V20.S4, V4.S4
#define ADD7 ADD6; FMOVQ 80(R9), F21; VFMLA V24.S4, V21.S4, V5.S4
#define ADD8 ADD7; FMOVQ 96(R9), F22; VFMLA V24.S4, V22.S4, V6.S4

#define STORE1
#define STORE2 FMOVQ F0, (R0)
#define STORE3 STORE2; FMOVQ F1, 16(R0)
#define STORE4 STORE3; FMOVQ F2, 32(R0)
#define STORE5 STORE4; FMOVQ F3, 48(R0)
#define STORE6 STORE5; FMOVQ F4, 64(R0)
#define STORE7 STORE6; FMOVQ F5, 80(R0)
#define STORE8 STORE7; FMOVQ F6, 96(R0)

// The last vector's sums are in F7. It is read before any is written.

#define KERNEL(start, loop, load, add, store) \
start: \
	load; \
	FMOVQ (R11), F7; \
loop: \
	ROW; \
	add; \
	FMOVQ (R10), F23; \
	VFMLA V24.S4, V23.S4, V7.S4; \
	SUBS $1, R6, R6; \
	BNE loop; \
	store; \
	FMOVQ F7, (R11); \
	RET

// func addNarrow(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n, last int)
TEXT ·addNarrow(SB), NOSPLIT, $0-72
	ARGUMENTS
	CMP $2, R8
	BLT start1
	BEQ start2
	CMP $4, R8
	BLT start3
	BEQ start4
	CMP $6, R8
	BLT start5
	BEQ start6
	CMP $8, R8
	BLT start7
	B   start8
	KERNEL(start1, loop1, LOAD1, ADD1, STORE1)
	KERNEL(start2, loop2, LOAD2, ADD2, STORE2)
	KERNEL(start3, loop3, LOAD3, ADD3, STORE3)
	KERNEL(start4, loop4, LOAD4, ADD4, STORE4)
	KERNEL(start5, loop5, LOAD5, ADD5, STORE5)
	KERNEL(start6, loop6, LOAD6, ADD6, STORE6)
	KERNEL(start7, loop7, LOAD7, ADD7, STORE7)
	KERNEL(start8, loop8, LOAD8, ADD8, STORE8)
