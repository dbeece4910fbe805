//go:build amd64 && !purego

#include "textflag.h"

// addRowsV adds Σ_p vals[p]·x[cols[p]] to 8V columns of y, of the last eight those that the mask names, in the order of p. y
// stays in registers. Products and sums are rounded one by one (no fused multiply-add): the bits are those of Axpy.
//
// DI y, SI x, R8 bytes from row to row of x, R9 cols, R10 vals, R11 bytes from factor to factor, CX rows left; Y0… sums,
// Y14 the factor, Y15 the mask.

#define ARGUMENTS \
	MOVQ y+0(FP), DI; \
	MOVQ x+8(FP), SI; \
	MOVQ stride+16(FP), R8; \
	MOVQ cols+24(FP), R9; \
	MOVQ vals+32(FP), R10; \
	MOVQ step+40(FP), R11; \
	MOVQ n+48(FP), CX; \
	MOVQ mask+56(FP), DX; \
	VMOVDQU (DX), Y15

#define ROW \
	MOVLQSX (R9), AX; \
	IMULQ R8, AX; \
	ADDQ SI, AX; \
	VBROADCASTSS (R10), Y14

#define NEXT \
	ADDQ $4, R9; \
	ADDQ R11, R10; \
	DECQ CX

#define ADD8(at, product, sum) \
	VMULPS at(AX), Y14, product; \
	VADDPS product, sum, sum

#define ADDMASKED(at, sum) \
	VMASKMOVPS at(AX), Y15, Y13; \
	VMULPS Y13, Y14, Y13; \
	VADDPS Y13, sum, sum

// func addRows1(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows1(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMASKMOVPS 0(DI), Y15, Y0

loop1:
	ROW
	ADDMASKED(0, Y0)
	NEXT
	JNZ loop1

	VMASKMOVPS Y0, Y15, 0(DI)
	VZEROUPPER
	RET

// func addRows2(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows2(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMASKMOVPS 32(DI), Y15, Y1

loop2:
	ROW
	ADD8(0, Y8, Y0)
	ADDMASKED(32, Y1)
	NEXT
	JNZ loop2

	VMOVUPS Y0, 0(DI)
	VMASKMOVPS Y1, Y15, 32(DI)
	VZEROUPPER
	RET

// func addRows3(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows3(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMASKMOVPS 64(DI), Y15, Y2

loop3:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADDMASKED(64, Y2)
	NEXT
	JNZ loop3

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMASKMOVPS Y2, Y15, 64(DI)
	VZEROUPPER
	RET

// func addRows4(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows4(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMASKMOVPS 96(DI), Y15, Y3

loop4:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADD8(64, Y10, Y2)
	ADDMASKED(96, Y3)
	NEXT
	JNZ loop4

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMASKMOVPS Y3, Y15, 96(DI)
	VZEROUPPER
	RET

// func addRows5(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows5(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMASKMOVPS 128(DI), Y15, Y4

loop5:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADD8(64, Y10, Y2)
	ADD8(96, Y11, Y3)
	ADDMASKED(128, Y4)
	NEXT
	JNZ loop5

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMASKMOVPS Y4, Y15, 128(DI)
	VZEROUPPER
	RET

// func addRows6(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows6(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMASKMOVPS 160(DI), Y15, Y5

loop6:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADD8(64, Y10, Y2)
	ADD8(96, Y11, Y3)
	ADD8(128, Y12, Y4)
	ADDMASKED(160, Y5)
	NEXT
	JNZ loop6

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMASKMOVPS Y5, Y15, 160(DI)
	VZEROUPPER
	RET

// func addRows7(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows7(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMASKMOVPS 192(DI), Y15, Y6

loop7:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADD8(64, Y10, Y2)
	ADD8(96, Y11, Y3)
	ADD8(128, Y12, Y4)
	ADD8(160, Y8, Y5)
	ADDMASKED(192, Y6)
	NEXT
	JNZ loop7

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMASKMOVPS Y6, Y15, 192(DI)
	VZEROUPPER
	RET

// func addRows8(y, x *float32, stride int, cols *int32, vals *float32, step, n int, mask *[8]int32)
TEXT ·addRows8(SB), NOSPLIT, $0-64
	ARGUMENTS
	VMOVUPS 0(DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMOVUPS 192(DI), Y6
	VMASKMOVPS 224(DI), Y15, Y7

loop8:
	ROW
	ADD8(0, Y8, Y0)
	ADD8(32, Y9, Y1)
	ADD8(64, Y10, Y2)
	ADD8(96, Y11, Y3)
	ADD8(128, Y12, Y4)
	ADD8(160, Y8, Y5)
	ADD8(192, Y9, Y6)
	ADDMASKED(224, Y7)
	NEXT
	JNZ loop8

	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMASKMOVPS Y7, Y15, 224(DI)
	VZEROUPPER
	RET
