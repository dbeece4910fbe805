//go:build amd64 && !purego

#include "textflag.h"

// window is 32 bytes of zeros before 64 of ones: 32 bytes from its byte k on select the last k bytes of a vector, or all
// of them from k = 32 on.
DATA ·window+0(SB)/8, $0
DATA ·window+8(SB)/8, $0
DATA ·window+16(SB)/8, $0
DATA ·window+24(SB)/8, $0
DATA ·window+32(SB)/8, $-1
DATA ·window+40(SB)/8, $-1
DATA ·window+48(SB)/8, $-1
DATA ·window+56(SB)/8, $-1
DATA ·window+64(SB)/8, $-1
DATA ·window+72(SB)/8, $-1
DATA ·window+80(SB)/8, $-1
DATA ·window+88(SB)/8, $-1
GLOBL ·window(SB), RODATA|NOPTR, $96

// EACH fills y with copies of a word of four bytes.

#define EACH(word, y) \
	MOVL $word, AX; \
	VMOVD AX, X0; \
	VPBROADCASTD X0, y

// SEPARATORS leaves in R11 a bit for each comma (Y15) and bracket (Y14) of the 64 bytes at R9.

#define SEPARATORS \
	VMOVDQU (R8)(R9*1), Y0; \
	VMOVDQU 32(R8)(R9*1), Y1; \
	VPCMPEQB Y0, Y15, Y2; \
	VPCMPEQB Y0, Y14, Y3; \
	VPCMPEQB Y1, Y15, Y4; \
	VPCMPEQB Y1, Y14, Y5; \
	VPOR Y2, Y3, Y2; \
	VPOR Y4, Y5, Y4; \
	VPMOVMSKB Y2, R11; \
	VPMOVMSKB Y4, AX; \
	SHLQ $32, AX; \
	ORQ AX, R11

// PASS adds 1 to the place R12 if the byte there is c. It leaves in AX whether it is.

#define PASS(c) \
	XORL AX, AX; \
	CMPB (R8)(R12*1), $c; \
	SETEQ AL; \
	ADDQ AX, R12

// func decimalsVector(data *byte, at, size int, list *float32, room int, powers *[64]float64) (next, n int)
//
// The text of a number lies between two separators, which are commas or brackets: they are found 64 bytes at a time. A
// vector takes the 32 bytes before the second one, the digits before the point are moved over it, bytes before the
// number become zeros, and neighbours are added: two digits, four, eight.
//
// The integer that the digits make is below 2^63. It becomes a float64 and is divided by a power of ten: two roundings,
// together less than three units in the last place. So rounding the quotient to float32 rounds the number itself, unless
// the middle of two float32 is as near as that; such a number is refused.
//
// Registers: R8 data, R9 the block's first byte, R11 its separators that are left, R12 the byte behind the last separator,
// R13 numbers, R14 window, R15 powers, DI list; of a number: SI the separator behind it, AX the sign, DX the length.
TEXT ·decimalsVector(SB), NOSPLIT, $0-64
	MOVQ data+0(FP), R8
	MOVQ at+8(FP), R9
	SUBQ $64, size+16(FP) // the last place for a block
	MOVQ list+24(FP), DI
	MOVQ powers+40(FP), R15
	LEAQ ·window(SB), R14
	XORL R13, R13
	MOVQ R9, R12
	EACH(0x2c2c2c2c, Y15) // commas
	EACH(0x5d5d5d5d, Y14) // brackets
	EACH(0x30303030, Y13) // digits 0
	EACH(0x09090909, Y12) // nines
	EACH(0x2e2e2e2e, Y11) // points
	EACH(0x010a010a, Y10) // factors 10 and 1
	EACH(0x00010064, Y9) // factors 100 and 1
	EACH(0x00012710, Y8) // factors 10000 and 1
	VPXOR Y7, Y7, Y7
block:
	CMPQ R9, size+16(FP)
	JGT done
	SEPARATORS
	JZ following
number:
	CMPQ R13, room+32(FP)
	JGE done
	MOVQ R12, next+48(FP)
	TZCNTQ R11, SI
	ADDQ R9, SI
	BLSRQ R11, R11

	// A space and a sign may come before the digits, which are at most 24 bytes with their point.
	PASS(0x20)
	PASS(0x2d)
	MOVQ SI, DX
	SUBQ R12, DX
	LEAQ -1(DX), CX
	CMPQ CX, $23
	JHI refused

	// BX the bytes of the number, CX digits, R10 digits behind a zero, R12 points of the number.
	MOVL DX, CX
	NEGL CX
	MOVL $-1, BX
	SHLL CX, BX
	VMOVDQU -32(R8)(SI*1), Y0
	VPSUBB Y13, Y0, Y1
	VPMINUB Y12, Y1, Y2
	VPCMPEQB Y1, Y2, Y2
	VPCMPEQB Y1, Y7, Y3
	VPCMPEQB Y0, Y11, Y4
	VPMOVMSKB Y2, CX
	VPMOVMSKB Y3, R10
	VPMOVMSKB Y4, R12
	ADDL R10, R10
	ANDL CX, R10
	ANDL BX, R12

	// All are digits but one point at most, which is neither first nor last; no digit follows a zero that is first.
	ORL R12, CX
	ANDNL BX, CX, CX
	JNZ refused
	BLSIL BX, BX
	TESTL BX, R12
	JNZ refused
	ADDL BX, BX
	TESTL BX, R10
	JNZ refused
	TESTL R12, R12
	JMI refused
	BLSRL R12, BX
	JNZ refused

	// DX digits, R12 those behind the point: 63 if there is none.
	CMPL R12, $1
	ADCL $-1, DX
	TZCNTL R12, R12
	XORL $31, R12
	VMOVDQU (R14)(R12*1), Y4
	VMOVDQU -33(R8)(SI*1), Y1
	VPBLENDVB Y4, Y0, Y1, Y0
	VPSUBB Y13, Y0, Y0
	VPAND (R14)(DX*1), Y0, Y0
	VPMADDUBSW Y10, Y0, Y0
	VPMADDWD Y9, Y0, Y0
	VPACKUSDW Y0, Y0, Y0
	VPMADDWD Y8, Y0, Y0 // eight digits each: X0 the first and the second, X1 the third and the fourth
	VEXTRACTI128 $1, Y0, X1
	VPEXTRD $1, X0, BX
	CMPL BX, $921 // 921·10^16 and sixteen digits are below 2^63
	JHI refused
	VMOVQ X1, CX
	MOVL CX, DX
	SHRQ $32, CX
	IMUL3Q $100000000, BX, BX
	ADDQ DX, BX
	IMUL3Q $100000000, BX, BX
	ADDQ CX, BX
	VCVTSI2SDQ BX, X7, X0
	VDIVSD (R15)(R12*8), X0, X0
	VMOVQ X0, BX
	ANDL $0x1fffffff, BX // the bits that float32 does not keep
	SUBL $0x0ffffffe, BX
	CMPL BX, $4
	JLS refused
	VCVTSD2SS X0, X0, X0
	VMOVD X0, BX
	SHLL $31, AX
	ORL AX, BX
	MOVL BX, (DI)(R13*4)
	INCQ R13
	LEAQ 1(SI), R12
	CMPB (R8)(SI*1), $0x5d
	JEQ done
	TESTQ R11, R11
	JNZ number
following:
	ADDQ $64, R9
	JMP block
done:
	MOVQ R12, next+48(FP)
refused:
	MOVQ R13, n+56(FP)
	VZEROUPPER
	RET

// func integersVector(data *byte, at, size int, list *int32, room int) (next, n int)
//
// This is decimalsVector for integers of one to eight digits. R10, R14 and R15 have eight bytes each: 0x80, the digit 0,
// and what carries 10 to 0x80. The other registers are the same.
TEXT ·integersVector(SB), NOSPLIT, $0-56
	MOVQ data+0(FP), R8
	MOVQ at+8(FP), R9
	SUBQ $64, size+16(FP) // the last place for a block
	MOVQ list+24(FP), DI
	MOVQ $0x8080808080808080, R10
	MOVQ $0x3030303030303030, R14
	MOVQ $0x7676767676767676, R15
	XORL R13, R13
	MOVQ R9, R12
	EACH(0x2c2c2c2c, Y15) // commas
	EACH(0x5d5d5d5d, Y14) // brackets
	EACH(0x010a010a, Y10) // factors 10 and 1
	EACH(0x00010064, Y9) // factors 100 and 1
	EACH(0x00012710, Y8) // factors 10000 and 1
block:
	CMPQ R9, size+16(FP)
	JGT done
	SEPARATORS
	JZ following
number:
	CMPQ R13, room+32(FP)
	JGE done
	MOVQ R12, next+40(FP)
	TZCNTQ R11, SI
	ADDQ R9, SI
	BLSRQ R11, R11
	PASS(0x20)
	MOVQ SI, DX
	SUBQ R12, DX
	LEAQ -1(DX), CX
	CMPQ CX, $7
	JHI refused

	// The digits as numbers, the first one lowest; then zeros before it.
	MOVQ -8(R8)(SI*1), BX
	XORQ R14, BX
	MOVL DX, CX
	SHLL $3, CX
	NEGL CX
	SHRQ CX, BX // by 64 less eight times the digits
	XORL AX, AX
	TESTB BL, BL
	SETEQ AL
	XORL R12, R12
	CMPL DX, $1
	SETHI R12
	TESTL AX, R12 // a zero before other digits
	JNZ refused
	LEAQ (BX)(R15*1), AX
	ORQ BX, AX
	TESTQ R10, AX // a byte above 9
	JNZ refused
	SHLQ CX, BX
	VMOVQ BX, X0
	VPMADDUBSW X10, X0, X0
	VPMADDWD X9, X0, X0
	VPACKUSDW X0, X0, X0
	VPMADDWD X8, X0, X0
	VMOVD X0, (DI)(R13*4)
	INCQ R13
	LEAQ 1(SI), R12
	CMPB (R8)(SI*1), $0x5d
	JEQ done
	TESTQ R11, R11
	JNZ number
following:
	ADDQ $64, R9
	JMP block
done:
	MOVQ R12, next+40(FP)
refused:
	MOVQ R13, n+48(FP)
	VZEROUPPER
	RET
