//go:build amd64 && !purego

#include "textflag.h"

// addTileV adds Σ_k x_r[k]·w[k] to four rows y_r of up to 16V columns each, k ascending: each row of w is loaded once for four of
// x. The bits are those of addWide.
//
// DI y, R8 bytes from row to row of y, R10-R13 x of the four rows, SI w, R9 bytes from row to row of w, CX rows of w left; K1
// the mask of the last vector, Z0-Z11 sums (three of a row, as many of them as there are vectors), Z12-Z14 a row of w, Z15-Z18 the
// factors of the four rows.

#define ARGUMENTS \
	MOVQ y+0(FP), DI; \
	MOVQ ystride+8(FP), R8; \
	MOVQ x+16(FP), R10; \
	MOVQ xstride+24(FP), AX; \
	LEAQ (R10)(AX*1), R11; \
	LEAQ (R11)(AX*1), R12; \
	LEAQ (R12)(AX*1), R13; \
	MOVQ w+32(FP), SI; \
	MOVQ wstride+40(FP), R9; \
	MOVQ n+48(FP), CX; \
	MOVQ mask+56(FP), DX; \
	KMOVW DX, K1

#define FACTORS \
	VBROADCASTSS (R10), Z15; \
	VBROADCASTSS (R11), Z16; \
	VBROADCASTSS (R12), Z17; \
	VBROADCASTSS (R13), Z18

#define NEXT \
	ADDQ $4, R10; \
	ADDQ $4, R11; \
	ADDQ $4, R12; \
	ADDQ $4, R13; \
	ADDQ R9, SI; \
	DECQ CX; \
	JNZ loop

// A row of one, two or three vectors, the last of them masked.

#define LOAD1(at, a, b, c) VMOVUPS.Z 0(at), K1, a
#define LOAD2(at, a, b, c) VMOVUPS 0(at), a; VMOVUPS.Z 64(at), K1, b
#define LOAD3(at, a, b, c) VMOVUPS 0(at), a; VMOVUPS 64(at), b; VMOVUPS.Z 128(at), K1, c

#define STORE1(at, a, b, c) VMOVUPS a, K1, 0(at)
#define STORE2(at, a, b, c) VMOVUPS a, 0(at); VMOVUPS b, K1, 64(at)
#define STORE3(at, a, b, c) VMOVUPS a, 0(at); VMOVUPS b, 64(at); VMOVUPS c, K1, 128(at)

// Products are in three registers, those of the next row in three others.

#define ADD1(factor, p, q, r, a, b, c) VMULPS Z12, factor, p; VADDPS p, a, a
#define ADD2(factor, p, q, r, a, b, c) ADD1(factor, p, q, r, a, b, c); VMULPS Z13, factor, q; VADDPS q, b, b
#define ADD3(factor, p, q, r, a, b, c) ADD2(factor, p, q, r, a, b, c); VMULPS Z14, factor, r; VADDPS r, c, c

// ROWS is of the four rows of y.

#define ROWS(of) \
	MOVQ DI, AX; \
	of(AX, Z0, Z1, Z2); \
	ADDQ R8, AX; \
	of(AX, Z3, Z4, Z5); \
	ADDQ R8, AX; \
	of(AX, Z6, Z7, Z8); \
	ADDQ R8, AX; \
	of(AX, Z9, Z10, Z11)

#define KERNEL(load, add, store) \
	ARGUMENTS; \
	ROWS(load); \
loop: \
	load(SI, Z12, Z13, Z14); \
	FACTORS; \
	add(Z15, Z19, Z20, Z21, Z0, Z1, Z2); \
	add(Z16, Z22, Z23, Z24, Z3, Z4, Z5); \
	add(Z17, Z25, Z26, Z27, Z6, Z7, Z8); \
	add(Z18, Z28, Z29, Z30, Z9, Z10, Z11); \
	NEXT; \
	ROWS(store); \
	VZEROUPPER; \
	RET

// func addTile1(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile1(SB), NOSPLIT, $0-64
	KERNEL(LOAD1, ADD1, STORE1)

// func addTile2(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile2(SB), NOSPLIT, $0-64
	KERNEL(LOAD2, ADD2, STORE2)

// func addTile3(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile3(SB), NOSPLIT, $0-64
	KERNEL(LOAD3, ADD3, STORE3)
