//go:build amd64 && !purego

#include "textflag.h"

// addRowsV adds Σ_p vals[p]·x[cols[p]] to 8V columns of y, of the last eight those that the mask names, in the order of p; addWideV to
// 16V columns (AVX-512). y stays in registers. The bits are those of Axpy.
//
// DI y, SI x, R8 bytes from row to row of x, R9 cols, R10 vals, R11 bytes from factor to factor, CX rows left, DX the mask. Sums
// are in Y0… or Z0…; Y14 and Z30 are the factor, Y15 and K1 the mask.

#define ARGUMENTS \
	MOVQ y+0(FP), DI; \
	MOVQ x+8(FP), SI; \
	MOVQ stride+16(FP), R8; \
	MOVQ cols+24(FP), R9; \
	MOVQ vals+32(FP), R10; \
	MOVQ step+40(FP), R11; \
	MOVQ n+48(FP), CX; \
	MOVQ mask+56(FP), DX

#define ROW \
	MOVLQSX (R9), AX; \
	IMULQ R8, AX; \
	ADDQ SI, AX

#define NEXT \
	ADDQ $4, R9; \
	ADDQ R11, R10; \
	DECQ CX; \
	JNZ loop

// For all vectors but the last, each with those before it.

#define LOAD1
#define LOAD2 VMOVUPS 0(DI), Y0
#define LOAD3 LOAD2; VMOVUPS 32(DI), Y1
#define LOAD4 LOAD3; VMOVUPS 64(DI), Y2
#define LOAD5 LOAD4; VMOVUPS 96(DI), Y3
#define LOAD6 LOAD5; VMOVUPS 128(DI), Y4
#define LOAD7 LOAD6; VMOVUPS 160(DI), Y5
#define LOAD8 LOAD7; VMOVUPS 192(DI), Y6

#define ADD1
#define ADD2 VFMADD231PS 0(AX), Y14, Y0
#define ADD3 ADD2; VFMADD231PS 32(AX), Y14, Y1
#define ADD4 ADD3; VFMADD231PS 64(AX), Y14, Y2
#define ADD5 ADD4; VFMADD231PS 96(AX), Y14, Y3
#define ADD6 ADD5; VFMADD231PS 128(AX), Y14, Y4
#define ADD7 ADD6; VFMADD231PS 160(AX), Y14, Y5
#define ADD8 ADD7; VFMADD231PS 192(AX), Y14, Y6

#define STORE1
#define STORE2 VMOVUPS Y0, 0(DI)
#define STORE3 STORE2; VMOVUPS Y1, 32(DI)
#define STORE4 STORE3; VMOVUPS Y2, 64(DI)
#define STORE5 STORE4; VMOVUPS Y3, 96(DI)
#define STORE6 STORE5; VMOVUPS Y4, 128(DI)
#define STORE7 STORE6; VMOVUPS Y5, 160(DI)
#define STORE8 STORE7; VMOVUPS Y6, 192(DI)

#define WIDELOAD1
#define WIDELOAD2 VMOVUPS 0(DI), Z0
#define WIDELOAD3 WIDELOAD2; VMOVUPS 64(DI), Z1
#define WIDELOAD4 WIDELOAD3; VMOVUPS 128(DI), Z2
#define WIDELOAD5 WIDELOAD4; VMOVUPS 192(DI), Z3
#define WIDELOAD6 WIDELOAD5; VMOVUPS 256(DI), Z4
#define WIDELOAD7 WIDELOAD6; VMOVUPS 320(DI), Z5
#define WIDELOAD8 WIDELOAD7; VMOVUPS 384(DI), Z6

#define WIDEADD1
#define WIDEADD2 VFMADD231PS 0(AX), Z30, Z0
#define WIDEADD3 WIDEADD2; VFMADD231PS 64(AX), Z30, Z1
#define WIDEADD4 WIDEADD3; VFMADD231PS 128(AX), Z30, Z2
#define WIDEADD5 WIDEADD4; VFMADD231PS 192(AX), Z30, Z3
#define WIDEADD6 WIDEADD5; VFMADD231PS 256(AX), Z30, Z4
#define WIDEADD7 WIDEADD6; VFMADD231PS 320(AX), Z30, Z5
#define WIDEADD8 WIDEADD7; VFMADD231PS 384(AX), Z30, Z6

#define WIDESTORE1
#define WIDESTORE2 VMOVUPS Z0, 0(DI)
#define WIDESTORE3 WIDESTORE2; VMOVUPS Z1, 64(DI)
#define WIDESTORE4 WIDESTORE3; VMOVUPS Z2, 128(DI)
#define WIDESTORE5 WIDESTORE4; VMOVUPS Z3, 192(DI)
#define WIDESTORE6 WIDESTORE5; VMOVUPS Z4, 256(DI)
#define WIDESTORE7 WIDESTORE6; VMOVUPS Z5, 320(DI)
#define WIDESTORE8 WIDESTORE7; VMOVUPS Z6, 384(DI)

// The last vector is at byte at of y, and last holds its sums.

#define KERNEL(load, add, store, at, last) \
	ARGUMENTS; \
	VMOVDQU (DX), Y15; \
	load; \
	VMASKMOVPS at(DI), Y15, last; \
loop: \
	ROW; \
	VBROADCASTSS (R10), Y14; \
	add; \
	VMASKMOVPS at(AX), Y15, Y13; \
	VFMADD231PS Y13, Y14, last; \
	NEXT; \
	store; \
	VMASKMOVPS last, Y15, at(DI); \
	VZEROUPPER; \
	RET

#define WIDEKERNEL(load, add, store, at, last) \
	ARGUMENTS; \
	KMOVW DX, K1; \
	load; \
	VMOVUPS.Z at(DI), K1, last; \
loop: \
	ROW; \
	VBROADCASTSS (R10), Z30; \
	add; \
	VMOVUPS.Z at(AX), K1, Z29; \
	VFMADD231PS Z29, Z30, last; \
	NEXT; \
	store; \
	VMOVUPS last, K1, at(DI); \
	VZEROUPPER; \
	RET

// func addRows1(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows1(SB), NOSPLIT, $0-64
	KERNEL(LOAD1, ADD1, STORE1, 0, Y0)

// func addRows2(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows2(SB), NOSPLIT, $0-64
	KERNEL(LOAD2, ADD2, STORE2, 32, Y1)

// func addRows3(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows3(SB), NOSPLIT, $0-64
	KERNEL(LOAD3, ADD3, STORE3, 64, Y2)

// func addRows4(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows4(SB), NOSPLIT, $0-64
	KERNEL(LOAD4, ADD4, STORE4, 96, Y3)

// func addRows5(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows5(SB), NOSPLIT, $0-64
	KERNEL(LOAD5, ADD5, STORE5, 128, Y4)

// func addRows6(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows6(SB), NOSPLIT, $0-64
	KERNEL(LOAD6, ADD6, STORE6, 160, Y5)

// func addRows7(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows7(SB), NOSPLIT, $0-64
	KERNEL(LOAD7, ADD7, STORE7, 192, Y6)

// func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows8(SB), NOSPLIT, $0-64
	KERNEL(LOAD8, ADD8, STORE8, 224, Y7)

// func addWide1(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide1(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD1, WIDEADD1, WIDESTORE1, 0, Z0)

// func addWide2(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide2(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD2, WIDEADD2, WIDESTORE2, 64, Z1)

// func addWide3(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide3(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD3, WIDEADD3, WIDESTORE3, 128, Z2)

// func addWide4(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide4(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD4, WIDEADD4, WIDESTORE4, 192, Z3)

// func addWide5(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide5(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD5, WIDEADD5, WIDESTORE5, 256, Z4)

// func addWide6(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide6(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD6, WIDEADD6, WIDESTORE6, 320, Z5)

// func addWide7(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide7(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD7, WIDEADD7, WIDESTORE7, 384, Z6)

// func addWide8(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide8(SB), NOSPLIT, $0-64
	WIDEKERNEL(WIDELOAD8, WIDEADD8, WIDESTORE8, 448, Z7)
