//go:build amd64 && !purego

#include "textflag.h"

// Each kernel takes a tile of C, rows × columns as its name says, and the products of k values a row of A and k rows of
// B. The sums of an add kernel begin at 0 in registers and are added to C at the end; those of a chain kernel begin
// with the values of C, and are stored.
//
// DI C, R8 bytes from row to row of C; R10, R11, R12, R13 rows 0, 3, 6, 9 of A, R9 bytes from row to row, DX bytes from
// value to value; SI B, BX bytes from row to row; CX rows of B left.

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
	MOVQ bstride+48(FP), BX; \
	SHLQ $2, BX; \
	MOVQ k+56(FP), CX; \
	LEAQ (R9)(R9*2), AX; \
	LEAQ (R10)(AX*1), R11; \
	LEAQ (R11)(AX*1), R12; \
	LEAQ (R12)(AX*1), R13; \
	MOVQ DI, AX

// KERNEL does something with the sums of each row of the tile before the loop, and after it.

#define KERNEL(rows, before, loops, after) \
	ARGUMENTS; \
	rows(before); \
	loops; \
	rows(after); \
	VZEROUPPER; \
	RET

#define NEXT \
	ADDQ BX, SI; \
	ADDQ DX, R10; \
	ADDQ DX, R11; \
	ADDQ DX, R12; \
	ADDQ DX, R13; \
	DECQ CX; \
	JNZ loop

// Rows of one, two or three vectors of AVX-512. VXORPS on Z registers would need AVX512DQ beside AVX512F, which is all
// that is asked of a processor.

#define ZERO1(s) VPXORD s, s, s
#define ZERO2(s, t) ZERO1(s); ZERO1(t)
#define ZERO3(s, t, u) ZERO2(s, t); ZERO1(u)

#define LOAD1(s) VMOVUPS (AX), s; ADDQ R8, AX
#define LOAD2(s, t) VMOVUPS 64(AX), t; LOAD1(s)
#define LOAD3(s, t, u) VMOVUPS 128(AX), u; LOAD2(s, t)

#define STORE1(s) VMOVUPS s, (DI); ADDQ R8, DI
#define STORE2(s, t) VMOVUPS t, 64(DI); STORE1(s)
#define STORE3(s, t, u) VMOVUPS u, 128(DI); STORE2(s, t)

#define SUM1(s) VADDPS (DI), s, s; STORE1(s)
#define SUM2(s, t) VADDPS (DI), s, s; VADDPS 64(DI), t, t; STORE2(s, t)
#define SUM3(s, t, u) VADDPS (DI), s, s; VADDPS 64(DI), t, t; VADDPS 128(DI), u, u; STORE3(s, t, u)

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

#define ROWS12X16(of) \
	of(Z0); of(Z1); of(Z2); of(Z3); of(Z4); of(Z5); of(Z6); of(Z7); of(Z8); of(Z9); of(Z10); of(Z11)

#define LOOP12X16 \
loop: \
	VMOVUPS (SI), Z24; \
	ROW1((R10), Z0); \
	ROW1((R10)(R9*1), Z1); \
	ROW1((R10)(R9*2), Z2); \
	ROW1((R11), Z3); \
	ROW1((R11)(R9*1), Z4); \
	ROW1((R11)(R9*2), Z5); \
	ROW1((R12), Z6); \
	ROW1((R12)(R9*1), Z7); \
	ROW1((R12)(R9*2), Z8); \
	ROW1((R13), Z9); \
	ROW1((R13)(R9*1), Z10); \
	ROW1((R13)(R9*2), Z11); \
	NEXT

#define ROWS12X32(of) \
	of(Z0, Z1); of(Z2, Z3); of(Z4, Z5); of(Z6, Z7); of(Z8, Z9); of(Z10, Z11); \
	of(Z12, Z13); of(Z14, Z15); of(Z16, Z17); of(Z18, Z19); of(Z20, Z21); of(Z22, Z23)

#define LOOP12X32 \
loop: \
	VMOVUPS (SI), Z24; \
	VMOVUPS 64(SI), Z25; \
	ROW2((R10), Z0, Z1); \
	ROW2((R10)(R9*1), Z2, Z3); \
	ROW2((R10)(R9*2), Z4, Z5); \
	ROW2((R11), Z6, Z7); \
	ROW2((R11)(R9*1), Z8, Z9); \
	ROW2((R11)(R9*2), Z10, Z11); \
	ROW2((R12), Z12, Z13); \
	ROW2((R12)(R9*1), Z14, Z15); \
	ROW2((R12)(R9*2), Z16, Z17); \
	ROW2((R13), Z18, Z19); \
	ROW2((R13)(R9*1), Z20, Z21); \
	ROW2((R13)(R9*2), Z22, Z23); \
	NEXT

#define ROWS8X48(of) \
	of(Z0, Z1, Z2); of(Z3, Z4, Z5); of(Z6, Z7, Z8); of(Z9, Z10, Z11); \
	of(Z12, Z13, Z14); of(Z15, Z16, Z17); of(Z18, Z19, Z20); of(Z21, Z22, Z23)

#define LOOP8X48 \
loop: \
	VMOVUPS (SI), Z24; \
	VMOVUPS 64(SI), Z25; \
	VMOVUPS 128(SI), Z26; \
	ROW3((R10), Z0, Z1, Z2); \
	ROW3((R10)(R9*1), Z3, Z4, Z5); \
	ROW3((R10)(R9*2), Z6, Z7, Z8); \
	ROW3((R11), Z9, Z10, Z11); \
	ROW3((R11)(R9*1), Z12, Z13, Z14); \
	ROW3((R11)(R9*2), Z15, Z16, Z17); \
	ROW3((R12), Z18, Z19, Z20); \
	ROW3((R12)(R9*1), Z21, Z22, Z23); \
	NEXT

#define ROWS4X48(of) of(Z0, Z1, Z2); of(Z3, Z4, Z5); of(Z6, Z7, Z8); of(Z9, Z10, Z11)

#define LOOP4X48 \
loop: \
	VMOVUPS (SI), Z24; \
	VMOVUPS 64(SI), Z25; \
	VMOVUPS 128(SI), Z26; \
	ROW3((R10), Z0, Z1, Z2); \
	ROW3((R10)(R9*1), Z3, Z4, Z5); \
	ROW3((R10)(R9*2), Z6, Z7, Z8); \
	ROW3((R11), Z9, Z10, Z11); \
	NEXT

// The tile of AVX2: rows of two vectors.

#define ZEROHALF(s, t) VXORPS s, s, s; VXORPS t, t, t
#define LOADHALF(s, t) VMOVUPS (AX), s; VMOVUPS 32(AX), t; ADDQ R8, AX
#define STOREHALF(s, t) VMOVUPS s, (DI); VMOVUPS t, 32(DI); ADDQ R8, DI
#define SUMHALF(s, t) VADDPS (DI), s, s; VADDPS 32(DI), t, t; STOREHALF(s, t)

#define HALF(x, s, t) \
	VBROADCASTSS x, Y14; \
	VFMADD231PS Y14, Y12, s; \
	VFMADD231PS Y14, Y13, t

#define ROWS6X16(of) of(Y0, Y1); of(Y2, Y3); of(Y4, Y5); of(Y6, Y7); of(Y8, Y9); of(Y10, Y11)

#define LOOP6X16 \
loop: \
	VMOVUPS (SI), Y12; \
	VMOVUPS 32(SI), Y13; \
	HALF((R10), Y0, Y1); \
	HALF((R10)(R9*1), Y2, Y3); \
	HALF((R10)(R9*2), Y4, Y5); \
	HALF((R11), Y6, Y7); \
	HALF((R11)(R9*1), Y8, Y9); \
	HALF((R11)(R9*2), Y10, Y11); \
	NEXT

// func add12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add12x16(SB), NOSPLIT, $0-64
	KERNEL(ROWS12X16, ZERO1, LOOP12X16, SUM1)

// func chain12x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain12x16(SB), NOSPLIT, $0-64
	KERNEL(ROWS12X16, LOAD1, LOOP12X16, STORE1)

// func add12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add12x32(SB), NOSPLIT, $0-64
	KERNEL(ROWS12X32, ZERO2, LOOP12X32, SUM2)

// func chain12x32(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain12x32(SB), NOSPLIT, $0-64
	KERNEL(ROWS12X32, LOAD2, LOOP12X32, STORE2)

// func add8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add8x48(SB), NOSPLIT, $0-64
	KERNEL(ROWS8X48, ZERO3, LOOP8X48, SUM3)

// func chain8x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain8x48(SB), NOSPLIT, $0-64
	KERNEL(ROWS8X48, LOAD3, LOOP8X48, STORE3)

// func add4x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add4x48(SB), NOSPLIT, $0-64
	KERNEL(ROWS4X48, ZERO3, LOOP4X48, SUM3)

// func chain4x48(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain4x48(SB), NOSPLIT, $0-64
	KERNEL(ROWS4X48, LOAD3, LOOP4X48, STORE3)

// func add6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·add6x16(SB), NOSPLIT, $0-64
	KERNEL(ROWS6X16, ZEROHALF, LOOP6X16, SUMHALF)

// func chain6x16(c *float32, cstride int, a *float32, arow, acol int, b *float32, bstride, k int)
TEXT ·chain6x16(SB), NOSPLIT, $0-64
	KERNEL(ROWS6X16, LOADHALF, LOOP6X16, STOREHALF)
