//go:build amd64 && !purego

#include "textflag.h"

// The steps of math.Exp (exp_amd64.s of Go's package math, with fused multiply-adds) on several values at once.
//
// DI dst, SI x, CX values to do, AX values done, DX the constants, each as wide as the widest vector (expSteps).

#define ARGUMENTS \
	MOVQ dst+0(FP), DI; \
	MOVQ x+8(FP), SI; \
	MOVQ n+16(FP), CX; \
	MOVQ steps+40(FP), DX; \
	XORQ AX, AX

// SERIES leaves e^x without its power of 2 in x. whole is the argument over ln 2, rounded; p and two are free.
//
// First x less whole·ln 2, in two parts, over 16; then x times seven terms of the series of (e^x−1)/x; then four times x(x+2),
// which is (e^x−1)'s way to its argument's double, and 1 at last.

#define SERIES(x, whole, p, two) \
	VFNMADD231PD 64(DX), whole, x; \
	VFNMADD231PD 128(DX), whole, x; \
	VMULPD 192(DX), x, x; \
	VMOVUPD 256(DX), p; \
	VFMADD213PD 320(DX), x, p; \
	VFMADD213PD 384(DX), x, p; \
	VFMADD213PD 448(DX), x, p; \
	VFMADD213PD 512(DX), x, p; \
	VFMADD213PD 576(DX), x, p; \
	VFMADD213PD 640(DX), x, p; \
	VFMADD213PD 704(DX), x, p; \
	VMULPD p, x, x; \
	VMOVUPD 768(DX), two; \
	VADDPD two, x, p; \
	VMULPD p, x, x; \
	VADDPD two, x, p; \
	VMULPD p, x, x; \
	VADDPD two, x, p; \
	VMULPD p, x, x; \
	VADDPD two, x, p; \
	VFMADD213PD 704(DX), p, x

// func expWide(dst *float64, x *float32, n int, top float32, factor float64, steps *[16][8]uint64) int
//
// K2 selects the values of a vector: all (R8), of the last one those that there are (R9).
TEXT ·expWide(SB), NOSPLIT, $0-56
	ARGUMENTS
	VBROADCASTSS top+24(FP), Y14
	VBROADCASTSD factor+32(FP), Z15
	MOVL $255, R8
	MOVQ CX, BX
	NEGQ BX
	ANDQ $7, BX
	MOVQ CX, R11
	MOVQ BX, CX
	MOVL R8, R9
	SHRL CX, R9
	MOVQ R11, CX
loop:
	MOVL R8, BX
	LEAQ 8(AX), R10
	CMPQ R10, CX
	CMOVLGE R9, BX
	KMOVW BX, K2
	VMOVUPS.Z (SI)(AX*4), K2, Z0
	VSUBPS Y14, Y0, Y0
	VCVTPS2PD Y0, Z0
	VMULPD Z15, Z0, Z0
	VPANDQ 832(DX), Z0, Z1
	VCMPPD $1, 896(DX), Z1, K2, K1 // |x| < 700, false where x is no number
	KMOVW K1, R11
	CMPL R11, BX
	JNE done
	VMULPD (DX), Z0, Z1
	VCVTPD2DQ Z1, Y2
	VCVTDQ2PD Y2, Z1
	SERIES(Z0, Z1, Z3, Z4)
	VPMOVSXDQ Y2, Z2
	VPADDQ 960(DX), Z2, Z2
	VPSLLQ $52, Z2, Z2
	VMULPD Z2, Z0, Z0
	VMOVUPD Z0, K2, (DI)(AX*8)
	MOVQ R10, AX
	CMPQ AX, CX
	JLT loop
	MOVQ CX, AX
done:
	VZEROUPPER
	MOVQ AX, ret+48(FP)
	RET

// func expNarrow(dst *float64, x *float32, n int, top float32, factor float64, steps *[16][8]uint64) int
TEXT ·expNarrow(SB), NOSPLIT, $0-56
	ARGUMENTS
	VBROADCASTSS top+24(FP), X14
	VBROADCASTSD factor+32(FP), Y15
loop:
	VMOVUPS (SI)(AX*4), X0
	VSUBPS X14, X0, X0
	VCVTPS2PD X0, Y0
	VMULPD Y15, Y0, Y0
	VANDPD 832(DX), Y0, Y1
	VCMPPD $1, 896(DX), Y1, Y1
	VMOVMSKPD Y1, BX
	CMPL BX, $15
	JNE done
	VMULPD (DX), Y0, Y1
	VCVTPD2DQY Y1, X2
	VCVTDQ2PD X2, Y1
	SERIES(Y0, Y1, Y3, Y4)
	VPMOVSXDQ X2, Y2
	VPADDQ 960(DX), Y2, Y2
	VPSLLQ $52, Y2, Y2
	VMULPD Y2, Y0, Y0
	VMOVUPD Y0, (DI)(AX*8)
	ADDQ $4, AX
	CMPQ AX, CX
	JLT loop
done:
	VZEROUPPER
	MOVQ AX, ret+48(FP)
	RET
