//go:build amd64 && !purego

#include "textflag.h"

// The kernel of V vectors adds Σ_p vals[p]·x[cols[p]] to 8V columns of y (addNarrow) or 16V (addWide, AVX-512), in the
// order of p; of the last vector to those columns that the mask names. y stays in registers. The bits are those of Axpy.
//
// DI y, SI x, R8 bytes from row to row of x, R9 cols, R10 vals, R11 bytes from factor to factor, CX rows left, DX the mask. Sums
// are in Y0… or Z0…; Y14 and Z30 are the factor, Y15 and K1 the mask.

#define ARGUMENTS \
	MOVQ v+0(FP), AX; \
	MOVQ y+8(FP), DI; \
	MOVQ x+16(FP), SI; \
	MOVQ stride+24(FP), R8; \
	MOVQ cols+32(FP), R9; \
	MOVQ vals+40(FP), R10; \
	MOVQ step+48(FP), R11; \
	MOVQ n+56(FP), CX; \
	MOVQ mask+64(FP), DX

// The kernel of v vectors, from 1 to 8.

#define JUMP \
	CMPQ AX, $2; \
	JLT start1; \
	JEQ start2; \
	CMPQ AX, $4; \
	JLT start3; \
	JEQ start4; \
	CMPQ AX, $6; \
	JLT start5; \
	JEQ start6; \
	CMPQ AX, $8; \
	JLT start7; \
	JMP start8

#define ROW \
	MOVLQSX (R9), AX; \
	IMULQ R8, AX; \
	ADDQ SI, AX

#define NEXT \
	ADDQ $4, R9; \
	ADDQ R11, R10; \
	DECQ CX

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

#define KERNEL(start, loop, load, add, store, at, last) \
start: \
	load; \
	VMASKMOVPS at(DI), Y15, last; \
loop: \
	ROW; \
	VBROADCASTSS (R10), Y14; \
	add; \
	VMASKMOVPS at(AX), Y15, Y13; \
	VFMADD231PS Y13, Y14, last; \
	NEXT; \
	JNZ loop; \
	store; \
	VMASKMOVPS last, Y15, at(DI); \
	VZEROUPPER; \
	RET

#define WIDEKERNEL(start, loop, load, add, store, at, last) \
start: \
	load; \
	VMOVUPS.Z at(DI), K1, last; \
loop: \
	ROW; \
	VBROADCASTSS (R10), Z30; \
	add; \
	VMOVUPS.Z at(AX), K1, Z29; \
	VFMADD231PS Z29, Z30, last; \
	NEXT; \
	JNZ loop; \
	store; \
	VMOVUPS last, K1, at(DI); \
	VZEROUPPER; \
	RET

// func addNarrow(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addNarrow(SB), NOSPLIT, $0-72
	ARGUMENTS
	VMOVDQU (DX), Y15
	JUMP
	KERNEL(start1, loop1, LOAD1, ADD1, STORE1, 0, Y0)
	KERNEL(start2, loop2, LOAD2, ADD2, STORE2, 32, Y1)
	KERNEL(start3, loop3, LOAD3, ADD3, STORE3, 64, Y2)
	KERNEL(start4, loop4, LOAD4, ADD4, STORE4, 96, Y3)
	KERNEL(start5, loop5, LOAD5, ADD5, STORE5, 128, Y4)
	KERNEL(start6, loop6, LOAD6, ADD6, STORE6, 160, Y5)
	KERNEL(start7, loop7, LOAD7, ADD7, STORE7, 192, Y6)
	KERNEL(start8, loop8, LOAD8, ADD8, STORE8, 224, Y7)

// func addWide(v int, y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide(SB), NOSPLIT, $0-72
	ARGUMENTS
	KMOVW DX, K1
	JUMP
	WIDEKERNEL(start1, loop1, WIDELOAD1, WIDEADD1, WIDESTORE1, 0, Z0)
	WIDEKERNEL(start2, loop2, WIDELOAD2, WIDEADD2, WIDESTORE2, 64, Z1)
	WIDEKERNEL(start3, loop3, WIDELOAD3, WIDEADD3, WIDESTORE3, 128, Z2)
	WIDEKERNEL(start4, loop4, WIDELOAD4, WIDEADD4, WIDESTORE4, 192, Z3)
	WIDEKERNEL(start5, loop5, WIDELOAD5, WIDEADD5, WIDESTORE5, 256, Z4)
	WIDEKERNEL(start6, loop6, WIDELOAD6, WIDEADD6, WIDESTORE6, 320, Z5)
	WIDEKERNEL(start7, loop7, WIDELOAD7, WIDEADD7, WIDESTORE7, 384, Z6)
	WIDEKERNEL(start8, loop8, WIDELOAD8, WIDEADD8, WIDESTORE8, 448, Z7)
