//go:build amd64 && !purego

#include "textflag.h"

// addTileV adds Σ_k x_r[k]·w[k] to four rows y_r of up to 16V columns each, k ascending: each row of w is loaded once for four of
// x. The bits are those of addWide.
//
// DI y, R8 bytes from row to row of y, R10-R13 x of the four rows, SI w, R9 bytes from row to row of w, CX rows of w left; K1
// the mask of the last vector, Z0-Z11 sums, Z12-Z14 a row of w.

#define TILEARGUMENTS \
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

#define TILE(factor, of, product, sum) \
	VMULPS of, factor, product; \
	VADDPS product, sum, sum

#define TILENEXT \
	ADDQ $4, R10; \
	ADDQ $4, R11; \
	ADDQ $4, R12; \
	ADDQ $4, R13; \
	ADDQ R9, SI; \
	DECQ CX

// func addTile1(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile1(SB), NOSPLIT, $0-64
	TILEARGUMENTS
	MOVQ DI, AX
	VMOVUPS.Z 0(AX), K1, Z0
	ADDQ R8, AX
	VMOVUPS.Z 0(AX), K1, Z3
	ADDQ R8, AX
	VMOVUPS.Z 0(AX), K1, Z6
	ADDQ R8, AX
	VMOVUPS.Z 0(AX), K1, Z9

tile1:
	VMOVUPS.Z 0(SI), K1, Z12
	VBROADCASTSS (R10), Z15
	VBROADCASTSS (R11), Z16
	VBROADCASTSS (R12), Z17
	VBROADCASTSS (R13), Z18
	TILE(Z15, Z12, Z19, Z0)
	TILE(Z16, Z12, Z22, Z3)
	TILE(Z17, Z12, Z25, Z6)
	TILE(Z18, Z12, Z28, Z9)
	TILENEXT
	JNZ tile1

	MOVQ DI, AX
	VMOVUPS Z0, K1, 0(AX)
	ADDQ R8, AX
	VMOVUPS Z3, K1, 0(AX)
	ADDQ R8, AX
	VMOVUPS Z6, K1, 0(AX)
	ADDQ R8, AX
	VMOVUPS Z9, K1, 0(AX)
	VZEROUPPER
	RET

// func addTile2(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile2(SB), NOSPLIT, $0-64
	TILEARGUMENTS
	MOVQ DI, AX
	VMOVUPS 0(AX), Z0
	VMOVUPS.Z 64(AX), K1, Z1
	ADDQ R8, AX
	VMOVUPS 0(AX), Z3
	VMOVUPS.Z 64(AX), K1, Z4
	ADDQ R8, AX
	VMOVUPS 0(AX), Z6
	VMOVUPS.Z 64(AX), K1, Z7
	ADDQ R8, AX
	VMOVUPS 0(AX), Z9
	VMOVUPS.Z 64(AX), K1, Z10

tile2:
	VMOVUPS 0(SI), Z12
	VMOVUPS.Z 64(SI), K1, Z13
	VBROADCASTSS (R10), Z15
	VBROADCASTSS (R11), Z16
	VBROADCASTSS (R12), Z17
	VBROADCASTSS (R13), Z18
	TILE(Z15, Z12, Z19, Z0)
	TILE(Z15, Z13, Z20, Z1)
	TILE(Z16, Z12, Z22, Z3)
	TILE(Z16, Z13, Z23, Z4)
	TILE(Z17, Z12, Z25, Z6)
	TILE(Z17, Z13, Z26, Z7)
	TILE(Z18, Z12, Z28, Z9)
	TILE(Z18, Z13, Z29, Z10)
	TILENEXT
	JNZ tile2

	MOVQ DI, AX
	VMOVUPS Z0, 0(AX)
	VMOVUPS Z1, K1, 64(AX)
	ADDQ R8, AX
	VMOVUPS Z3, 0(AX)
	VMOVUPS Z4, K1, 64(AX)
	ADDQ R8, AX
	VMOVUPS Z6, 0(AX)
	VMOVUPS Z7, K1, 64(AX)
	ADDQ R8, AX
	VMOVUPS Z9, 0(AX)
	VMOVUPS Z10, K1, 64(AX)
	VZEROUPPER
	RET

// func addTile3(y *float32, ystride int, x *float32, xstride int, w *float32, wstride, n, mask int)
TEXT ·addTile3(SB), NOSPLIT, $0-64
	TILEARGUMENTS
	MOVQ DI, AX
	VMOVUPS 0(AX), Z0
	VMOVUPS 64(AX), Z1
	VMOVUPS.Z 128(AX), K1, Z2
	ADDQ R8, AX
	VMOVUPS 0(AX), Z3
	VMOVUPS 64(AX), Z4
	VMOVUPS.Z 128(AX), K1, Z5
	ADDQ R8, AX
	VMOVUPS 0(AX), Z6
	VMOVUPS 64(AX), Z7
	VMOVUPS.Z 128(AX), K1, Z8
	ADDQ R8, AX
	VMOVUPS 0(AX), Z9
	VMOVUPS 64(AX), Z10
	VMOVUPS.Z 128(AX), K1, Z11

tile3:
	VMOVUPS 0(SI), Z12
	VMOVUPS 64(SI), Z13
	VMOVUPS.Z 128(SI), K1, Z14
	VBROADCASTSS (R10), Z15
	VBROADCASTSS (R11), Z16
	VBROADCASTSS (R12), Z17
	VBROADCASTSS (R13), Z18
	TILE(Z15, Z12, Z19, Z0)
	TILE(Z15, Z13, Z20, Z1)
	TILE(Z15, Z14, Z21, Z2)
	TILE(Z16, Z12, Z22, Z3)
	TILE(Z16, Z13, Z23, Z4)
	TILE(Z16, Z14, Z24, Z5)
	TILE(Z17, Z12, Z25, Z6)
	TILE(Z17, Z13, Z26, Z7)
	TILE(Z17, Z14, Z27, Z8)
	TILE(Z18, Z12, Z28, Z9)
	TILE(Z18, Z13, Z29, Z10)
	TILE(Z18, Z14, Z30, Z11)
	TILENEXT
	JNZ tile3

	MOVQ DI, AX
	VMOVUPS Z0, 0(AX)
	VMOVUPS Z1, 64(AX)
	VMOVUPS Z2, K1, 128(AX)
	ADDQ R8, AX
	VMOVUPS Z3, 0(AX)
	VMOVUPS Z4, 64(AX)
	VMOVUPS Z5, K1, 128(AX)
	ADDQ R8, AX
	VMOVUPS Z6, 0(AX)
	VMOVUPS Z7, 64(AX)
	VMOVUPS Z8, K1, 128(AX)
	ADDQ R8, AX
	VMOVUPS Z9, 0(AX)
	VMOVUPS Z10, 64(AX)
	VMOVUPS Z11, K1, 128(AX)
	VZEROUPPER
	RET
