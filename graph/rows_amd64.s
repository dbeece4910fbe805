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

// The same with vectors of sixteen columns (AVX-512). K1 is the mask, Z30 the factor.

#define WIDEARGUMENTS \
	MOVQ y+0(FP), DI; \
	MOVQ x+8(FP), SI; \
	MOVQ stride+16(FP), R8; \
	MOVQ cols+24(FP), R9; \
	MOVQ vals+32(FP), R10; \
	MOVQ step+40(FP), R11; \
	MOVQ n+48(FP), CX; \
	MOVQ mask+56(FP), DX; \
	KMOVW DX, K1

#define WIDEROW \
	MOVLQSX (R9), AX; \
	IMULQ R8, AX; \
	ADDQ SI, AX; \
	VBROADCASTSS (R10), Z30

#define ADD16(at, product, sum) \
	VMULPS at(AX), Z30, product; \
	VADDPS product, sum, sum

#define ADD16MASKED(at, sum) \
	VMOVUPS.Z at(AX), K1, Z29; \
	VMULPS Z29, Z30, Z29; \
	VADDPS Z29, sum, sum

// func addWide1(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide1(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS.Z 0(DI), K1, Z0

wide1:
	WIDEROW
	ADD16MASKED(0, Z0)
	NEXT
	JNZ wide1

	VMOVUPS Z0, K1, 0(DI)
	VZEROUPPER
	RET

// func addWide2(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide2(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS.Z 64(DI), K1, Z1

wide2:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16MASKED(64, Z1)
	NEXT
	JNZ wide2

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, K1, 64(DI)
	VZEROUPPER
	RET

// func addWide3(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide3(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS.Z 128(DI), K1, Z2

wide3:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16MASKED(128, Z2)
	NEXT
	JNZ wide3

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, K1, 128(DI)
	VZEROUPPER
	RET

// func addWide4(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide4(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS.Z 192(DI), K1, Z3

wide4:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16(128, Z18, Z2)
	ADD16MASKED(192, Z3)
	NEXT
	JNZ wide4

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, K1, 192(DI)
	VZEROUPPER
	RET

// func addWide5(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide5(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	VMOVUPS.Z 256(DI), K1, Z4

wide5:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16(128, Z18, Z2)
	ADD16(192, Z19, Z3)
	ADD16MASKED(256, Z4)
	NEXT
	JNZ wide5

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	VMOVUPS Z4, K1, 256(DI)
	VZEROUPPER
	RET

// func addWide6(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide6(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	VMOVUPS 256(DI), Z4
	VMOVUPS.Z 320(DI), K1, Z5

wide6:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16(128, Z18, Z2)
	ADD16(192, Z19, Z3)
	ADD16(256, Z20, Z4)
	ADD16MASKED(320, Z5)
	NEXT
	JNZ wide6

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	VMOVUPS Z4, 256(DI)
	VMOVUPS Z5, K1, 320(DI)
	VZEROUPPER
	RET

// func addWide7(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide7(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	VMOVUPS 256(DI), Z4
	VMOVUPS 320(DI), Z5
	VMOVUPS.Z 384(DI), K1, Z6

wide7:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16(128, Z18, Z2)
	ADD16(192, Z19, Z3)
	ADD16(256, Z20, Z4)
	ADD16(320, Z21, Z5)
	ADD16MASKED(384, Z6)
	NEXT
	JNZ wide7

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	VMOVUPS Z4, 256(DI)
	VMOVUPS Z5, 320(DI)
	VMOVUPS Z6, K1, 384(DI)
	VZEROUPPER
	RET

// func addWide8(y, x *float32, stride int, cols *int32, vals *float32, step, n, mask int)
TEXT ·addWide8(SB), NOSPLIT, $0-64
	WIDEARGUMENTS
	VMOVUPS 0(DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3
	VMOVUPS 256(DI), Z4
	VMOVUPS 320(DI), Z5
	VMOVUPS 384(DI), Z6
	VMOVUPS.Z 448(DI), K1, Z7

wide8:
	WIDEROW
	ADD16(0, Z16, Z0)
	ADD16(64, Z17, Z1)
	ADD16(128, Z18, Z2)
	ADD16(192, Z19, Z3)
	ADD16(256, Z20, Z4)
	ADD16(320, Z21, Z5)
	ADD16(384, Z22, Z6)
	ADD16MASKED(448, Z7)
	NEXT
	JNZ wide8

	VMOVUPS Z0, 0(DI)
	VMOVUPS Z1, 64(DI)
	VMOVUPS Z2, 128(DI)
	VMOVUPS Z3, 192(DI)
	VMOVUPS Z4, 256(DI)
	VMOVUPS Z5, 320(DI)
	VMOVUPS Z6, 384(DI)
	VMOVUPS Z7, K1, 448(DI)
	VZEROUPPER
	RET
