//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// The kernels of kernel.go for eight columns at once. Products and sums are rounded one by one, as in plain Go.
// Vectors have a multiple of 64 bytes.

// func productsAVX2(to *float64, across, t *float32, rows, bytes int)
//
// DI to, SI across, DX t, R8 rows, R9 bytes of to, R10 bytes of a row of across; AX is the place in to in bytes.
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ across+8(FP), SI
	MOVQ t+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ bytes+32(FP), R9
	MOVQ R9, R10
	SHRQ $1, R10
	XORQ AX, AX

columns:
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	MOVQ   SI, R11
	MOVQ   DX, R12
	MOVQ   R8, CX

row:
	VCVTSS2SD    (R12), X2, X2
	VBROADCASTSD X2, Y2
	VCVTPS2PD    (R11), Y3
	VCVTPS2PD    16(R11), Y4
	VMULPD       Y3, Y2, Y3
	VMULPD       Y4, Y2, Y4
	VADDPD       Y3, Y0, Y0
	VADDPD       Y4, Y1, Y1
	ADDQ         R10, R11
	ADDQ         $4, R12
	DECQ         CX
	JNZ          row

	VMOVUPD Y0, (DI)(AX*1)
	VMOVUPD Y1, 32(DI)(AX*1)
	ADDQ    $32, SI
	ADDQ    $64, AX
	CMPQ    AX, R9
	JLT     columns
	VZEROUPPER
	RET

// func projectAVX2(s, before *stage, earlier **stage, n int, gram *float64, inverse float64, bytes int)
//
// earlier are n+1 supports, of which the first, the empty one, is left out. DI, R8 and R9 are v, left and r of
// s, R10 and R11 left and r before, R12 gram, R13 bytes; AX is the place in bytes. Y15 is inverse, Y14 y.
TEXT ·projectAVX2(SB), NOSPLIT, $0-56
	MOVQ         s+0(FP), BX
	MOVQ         before+8(FP), DX
	MOVQ         gram+32(FP), R12
	MOVQ         bytes+48(FP), R13
	VBROADCASTSD inverse+40(FP), Y15
	VBROADCASTSD stage_y(BX), Y14
	MOVQ         stage_v(BX), DI
	MOVQ         stage_left(BX), R8
	MOVQ         stage_r(BX), R9
	MOVQ         stage_left(DX), R10
	MOVQ         stage_r(DX), R11
	XORQ         AX, AX

columns:
	VMOVUPD (R12)(AX*1), Y0
	VMOVUPD 32(R12)(AX*1), Y1
	MOVQ    n+24(FP), CX
	MOVQ    earlier+16(FP), SI
	MOVQ    stage_lower(BX), DX
	TESTQ   CX, CX
	JZ      own

support:
	ADDQ         $8, SI
	MOVQ         (SI), R15
	MOVQ         stage_v(R15), R15
	VBROADCASTSD (DX), Y2
	VMULPD       (R15)(AX*1), Y2, Y3
	VMULPD       32(R15)(AX*1), Y2, Y4
	VSUBPD       Y3, Y0, Y0
	VSUBPD       Y4, Y1, Y1
	ADDQ         $8, DX
	DECQ         CX
	JNZ          support

own:
	VMULPD  Y15, Y0, Y0
	VMULPD  Y15, Y1, Y1
	VMOVUPD Y0, (DI)(AX*1)
	VMOVUPD Y1, 32(DI)(AX*1)
	VMULPD  Y0, Y0, Y2
	VMULPD  Y1, Y1, Y3
	VMOVUPD (R10)(AX*1), Y4
	VMOVUPD 32(R10)(AX*1), Y5
	VSUBPD  Y2, Y4, Y4
	VSUBPD  Y3, Y5, Y5
	VMOVUPD Y4, (R8)(AX*1)
	VMOVUPD Y5, 32(R8)(AX*1)
	VMULPD  Y14, Y0, Y2
	VMULPD  Y14, Y1, Y3
	VMOVUPD (R11)(AX*1), Y4
	VMOVUPD 32(R11)(AX*1), Y5
	VSUBPD  Y2, Y4, Y4
	VSUBPD  Y3, Y5, Y5
	VMOVUPD Y4, (R9)(AX*1)
	VMOVUPD Y5, 32(R9)(AX*1)
	ADDQ    $64, AX
	CMPQ    AX, R13
	JLT     columns
	VZEROUPPER
	RET

// func risingAVX2(r, left *float64, most float64, from, bytes int) int
//
// Places are in bytes. Y15 is most, Y14 selects all bits but the sign.
TEXT ·risingAVX2(SB), NOSPLIT, $0-48
	MOVQ         r+0(FP), SI
	MOVQ         left+8(FP), DI
	VBROADCASTSD most+16(FP), Y15
	MOVQ         from+24(FP), AX
	MOVQ         bytes+32(FP), R8
	VPCMPEQD     Y14, Y14, Y14
	VPSRLQ       $1, Y14, Y14

columns:
	VMOVUPD   (SI)(AX*1), Y0
	VMOVUPD   32(SI)(AX*1), Y1
	VANDPD    Y14, Y0, Y2
	VANDPD    Y14, Y1, Y3
	VMULPD    Y2, Y0, Y0
	VMULPD    Y3, Y1, Y1
	VMULPD    (DI)(AX*1), Y15, Y2
	VMULPD    32(DI)(AX*1), Y15, Y3
	VCMPPD    $6, Y2, Y0, Y0         // not less or equal
	VCMPPD    $6, Y3, Y1, Y1
	VORPD     Y0, Y1, Y0
	VMOVMSKPD Y0, CX
	TESTQ     CX, CX
	JNZ       found
	ADDQ      $64, AX
	CMPQ      AX, R8
	JLT       columns

found:
	MOVQ AX, ret+40(FP)
	VZEROUPPER
	RET
