//go:build amd64 && !purego

#include "textflag.h"

// Each kernel adds to a tile of C, rows × columns as its name says, the products of k values a row of A and k packed
// rows of B. The sums begin at 0 in registers and are added to C at the end.
//
// DI C, R8 bytes from row to row of C; R10, R11, R12, R13 rows 0, 3, 6, 9 of A, R9 bytes from row to row, DX bytes from
// value to value; SI B; CX rows of B left.

#define ARGUMENTS \
	MOVQ c+0(FP), DI; \
	MOVQ cstride+8(FP), R8; \
	SHLQ $2, R8; \
	MOVQ a+16(FP), R10; \
	MOVQ arow+24(FP), R9; \
	SHLQ $2, R9; \
	MOVQ acol+32(FP), DX; \
	SHLQ $2, DX; \
	MOVQ b+40(FP), SI; \
	MOVQ k+48(FP), CX; \
	LEAQ (R9)(R9*2), AX; \
	LEAQ (R10)(AX*1), R11; \
	LEAQ (R11)(AX*1), R12; \
	LEAQ (R12)(AX*1), R13

// VXORPS on Z registers would need AVX512DQ beside AVX512F, which is all that is asked of a processor.

#define ZERO4(a, b, c, d) \
	VPXORD a, a, a; \
	VPXORD b, b, b; \
	VPXORD c, c, c; \
	VPXORD d, d, d

// ROW multiplies a value of A by 16, 32 or 48 values of B.

#define ROW1(x, s) VFMADD231PS.BCST x, Z24, s

#define ROW2(x, s, t) \
	VBROADCASTSS x, Z27; \
	VFMADD231PS Z27, Z24, s; \
	VFMADD231PS Z27, Z25, t

#define ROW3(x, s, t, u) \
	VBROADCASTSS x, Z27; \
	VFMADD231PS Z27, Z24, s; \
	VFMADD231PS Z27, Z25, t; \
	VFMADD231PS Z27, Z26, u

#define OUT1(s) \
	VADDPS (DI), s, s; \
	VMOVUPS s, (DI); \
	ADDQ R8, DI

#define OUT2(s, t) \
	VADDPS (DI), s, s; \
	VADDPS 64(DI), t, t; \
	VMOVUPS s, (DI); \
	VMOVUPS t, 64(DI); \
	ADDQ R8, DI

#define OUT3(s, t, u) \
	VADDPS (DI), s, s; \
	VADDPS 64(DI), t, t; \
	VADDPS 128(DI), u, u; \
	VMOVUPS s, (DI); \
	VMOVUPS t, 64(DI); \
	VMOVUPS u, 128(DI); \
	ADDQ R8, DI

// func add12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
TEXT ·add12x16(SB), NOSPLIT, $0-56
	ARGUMENTS
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	ZERO4(Z8, Z9, Z10, Z11)

loop:
	VMOVUPS (SI), Z24
	ADDQ $64, SI
	ROW1((R10), Z0)
	ROW1((R10)(R9*1), Z1)
	ROW1((R10)(R9*2), Z2)
	ROW1((R11), Z3)
	ROW1((R11)(R9*1), Z4)
	ROW1((R11)(R9*2), Z5)
	ROW1((R12), Z6)
	ROW1((R12)(R9*1), Z7)
	ROW1((R12)(R9*2), Z8)
	ROW1((R13), Z9)
	ROW1((R13)(R9*1), Z10)
	ROW1((R13)(R9*2), Z11)
	ADDQ DX, R10
	ADDQ DX, R11
	ADDQ DX, R12
	ADDQ DX, R13
	DECQ CX
	JNZ loop
	OUT1(Z0)
	OUT1(Z1)
	OUT1(Z2)
	OUT1(Z3)
	OUT1(Z4)
	OUT1(Z5)
	OUT1(Z6)
	OUT1(Z7)
	OUT1(Z8)
	OUT1(Z9)
	OUT1(Z10)
	OUT1(Z11)
	VZEROUPPER
	RET

// func add12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
TEXT ·add12x32(SB), NOSPLIT, $0-56
	ARGUMENTS
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)

loop:
	VMOVUPS (SI), Z24
	VMOVUPS 64(SI), Z25
	ADDQ $128, SI
	ROW2((R10), Z0, Z1)
	ROW2((R10)(R9*1), Z2, Z3)
	ROW2((R10)(R9*2), Z4, Z5)
	ROW2((R11), Z6, Z7)
	ROW2((R11)(R9*1), Z8, Z9)
	ROW2((R11)(R9*2), Z10, Z11)
	ROW2((R12), Z12, Z13)
	ROW2((R12)(R9*1), Z14, Z15)
	ROW2((R12)(R9*2), Z16, Z17)
	ROW2((R13), Z18, Z19)
	ROW2((R13)(R9*1), Z20, Z21)
	ROW2((R13)(R9*2), Z22, Z23)
	ADDQ DX, R10
	ADDQ DX, R11
	ADDQ DX, R12
	ADDQ DX, R13
	DECQ CX
	JNZ loop
	OUT2(Z0, Z1)
	OUT2(Z2, Z3)
	OUT2(Z4, Z5)
	OUT2(Z6, Z7)
	OUT2(Z8, Z9)
	OUT2(Z10, Z11)
	OUT2(Z12, Z13)
	OUT2(Z14, Z15)
	OUT2(Z16, Z17)
	OUT2(Z18, Z19)
	OUT2(Z20, Z21)
	OUT2(Z22, Z23)
	VZEROUPPER
	RET

// func add8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
TEXT ·add8x48(SB), NOSPLIT, $0-56
	ARGUMENTS
	ZERO4(Z0, Z1, Z2, Z3)
	ZERO4(Z4, Z5, Z6, Z7)
	ZERO4(Z8, Z9, Z10, Z11)
	ZERO4(Z12, Z13, Z14, Z15)
	ZERO4(Z16, Z17, Z18, Z19)
	ZERO4(Z20, Z21, Z22, Z23)

loop:
	VMOVUPS (SI), Z24
	VMOVUPS 64(SI), Z25
	VMOVUPS 128(SI), Z26
	ADDQ $192, SI
	ROW3((R10), Z0, Z1, Z2)
	ROW3((R10)(R9*1), Z3, Z4, Z5)
	ROW3((R10)(R9*2), Z6, Z7, Z8)
	ROW3((R11), Z9, Z10, Z11)
	ROW3((R11)(R9*1), Z12, Z13, Z14)
	ROW3((R11)(R9*2), Z15, Z16, Z17)
	ROW3((R12), Z18, Z19, Z20)
	ROW3((R12)(R9*1), Z21, Z22, Z23)
	ADDQ DX, R10
	ADDQ DX, R11
	ADDQ DX, R12
	DECQ CX
	JNZ loop
	OUT3(Z0, Z1, Z2)
	OUT3(Z3, Z4, Z5)
	OUT3(Z6, Z7, Z8)
	OUT3(Z9, Z10, Z11)
	OUT3(Z12, Z13, Z14)
	OUT3(Z15, Z16, Z17)
	OUT3(Z18, Z19, Z20)
	OUT3(Z21, Z22, Z23)
	VZEROUPPER
	RET

#define ZEROHALF4(a, b, c, d) \
	VXORPS a, a, a; \
	VXORPS b, b, b; \
	VXORPS c, c, c; \
	VXORPS d, d, d

#define HALF(x, s, t) \
	VBROADCASTSS x, Y14; \
	VFMADD231PS Y14, Y12, s; \
	VFMADD231PS Y14, Y13, t

#define OUTHALF(s, t) \
	VADDPS (DI), s, s; \
	VADDPS 32(DI), t, t; \
	VMOVUPS s, (DI); \
	VMOVUPS t, 32(DI); \
	ADDQ R8, DI

// func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, k int)
TEXT ·add6x16(SB), NOSPLIT, $0-56
	ARGUMENTS
	ZEROHALF4(Y0, Y1, Y2, Y3)
	ZEROHALF4(Y4, Y5, Y6, Y7)
	ZEROHALF4(Y8, Y9, Y10, Y11)

loop:
	VMOVUPS (SI), Y12
	VMOVUPS 32(SI), Y13
	ADDQ $64, SI
	HALF((R10), Y0, Y1)
	HALF((R10)(R9*1), Y2, Y3)
	HALF((R10)(R9*2), Y4, Y5)
	HALF((R11), Y6, Y7)
	HALF((R11)(R9*1), Y8, Y9)
	HALF((R11)(R9*2), Y10, Y11)
	ADDQ DX, R10
	ADDQ DX, R11
	DECQ CX
	JNZ loop
	OUTHALF(Y0, Y1)
	OUTHALF(Y2, Y3)
	OUTHALF(Y4, Y5)
	OUTHALF(Y6, Y7)
	OUTHALF(Y8, Y9)
	OUTHALF(Y10, Y11)
	VZEROUPPER
	RET
