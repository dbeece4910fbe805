//go:build amd64 && !purego

#include "go_asm.h"
#include "textflag.h"

// The kernels of kernel.go for eight columns at once. Products and sums are rounded one by one, as in plain
// Go. Vectors have a multiple of 64 bytes; AX is the place in them in bytes.

// func productsAVX2(to, across, t *float32, rows, bytes int)
TEXT ·productsAVX2(SB), NOSPLIT, $0-40
	MOVQ to+0(FP), DI
	MOVQ across+8(FP), SI
	MOVQ t+16(FP), DX
	MOVQ rows+24(FP), R8
	MOVQ bytes+32(FP), R9
	XORQ AX, AX

columns:
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	LEAQ   (SI)(AX*1), R11
	MOVQ   DX, R12
	MOVQ   R8, CX

row:
	VBROADCASTSS (R12), Y2
	VMULPS       (R11), Y2, Y3
	VMULPS       32(R11), Y2, Y4
	VADDPS       Y3, Y0, Y0
	VADDPS       Y4, Y1, Y1
	ADDQ         R9, R11
	ADDQ         $4, R12
	DECQ         CX
	JNZ          row

	VMOVUPS Y0, (DI)(AX*1)
	VMOVUPS Y1, 32(DI)(AX*1)
	ADDQ    $64, AX
	CMPQ    AX, R9
	JLT     columns
	VZEROUPPER
	RET

// func fillAVX2(s *residuals, whole, b *float32, n, bytes int)
//
// R9 left, R10 r, R11 the rows of G, R13 n, R14 bytes; SI runs over P and DX over x.
TEXT ·fillAVX2(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), BX
	MOVQ residuals_left(BX), R9
	MOVQ residuals_r(BX), R10
	MOVQ residuals_rows(BX), R11
	MOVQ n+24(FP), R13
	MOVQ bytes+32(FP), R14
	XORQ AX, AX

columns:
	MOVQ    b+16(FP), DX
	VMOVUPS (DX)(AX*1), Y1
	MOVQ    whole+8(FP), DX
	VMOVUPS (DX)(AX*1), Y2
	MOVQ    residuals_inverse(BX), SI
	MOVQ    residuals_weights(BX), DX
	XORQ    R12, R12

coordinate:
	VXORPS Y0, Y0, Y0
	XORQ   CX, CX

support:
	MOVQ         (R11)(CX*8), R15
	VBROADCASTSS (SI), Y3
	VMULPS       (R15)(AX*1), Y3, Y3
	VADDPS       Y3, Y0, Y0
	ADDQ         $4, SI
	INCQ         CX
	CMPQ         CX, R13
	JLT          support

	MOVQ         (R11)(R12*8), R15
	VMOVUPS      (R15)(AX*1), Y3
	VMULPS       Y3, Y0, Y0
	VSUBPS       Y0, Y2, Y2
	VBROADCASTSS (DX)(R12*4), Y4
	VMULPS       Y3, Y4, Y4
	VSUBPS       Y4, Y1, Y1
	INCQ         R12
	CMPQ         R12, R13
	JLT          coordinate

	VMOVUPS Y1, (R10)(AX*1)
	VMOVUPS Y2, (R9)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R14
	JLT     columns
	VZEROUPPER
	RET

// func scanAVX2(s *residuals, bytes int)
//
// SI r, DI left, R13 bytes. Y6 the largest so far, Y5 their places, Y4 the place.
TEXT ·scanAVX2(SB), NOSPLIT, $0-16
	MOVQ     s+0(FP), BX
	MOVQ     bytes+8(FP), R13
	MOVQ     residuals_r(BX), SI
	MOVQ     residuals_left(BX), DI
	VMOVUPS  residuals_least(BX), Y7
	VMOVDQU  residuals_step(BX), Y8
	VXORPS   Y9, Y9, Y9
	VXORPS   Y6, Y6, Y6
	VPCMPEQD Y5, Y5, Y5
	VMOVDQU  ·counting<>(SB), Y4
	XORQ     AX, AX

columns:
	VMOVUPS   (SI)(AX*1), Y1
	VMOVUPS   (DI)(AX*1), Y2
	VMAXPS    Y9, Y1, Y1
	VMULPS    Y1, Y1, Y1
	VCMPPS    $30, Y7, Y2, Y3   // greater
	VANDPS    Y3, Y1, Y1
	VMAXPS    Y7, Y2, Y2
	VDIVPS    Y2, Y1, Y1
	VCMPPS    $30, Y6, Y1, Y3
	VMAXPS    Y6, Y1, Y6
	VBLENDVPS Y3, Y4, Y5, Y5
	VPADDD    Y8, Y4, Y4
	ADDQ      $32, AX
	CMPQ      AX, R13
	JLT       columns

	// The largest of all eight; of the places that have it the first, where −1 is the last of all without sign.
	VEXTRACTF128 $1, Y6, X0
	VMAXPS       X0, X6, X0
	VPSHUFD      $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, residuals_most(BX)
	VBROADCASTSS X0, Y0
	VCMPPS       $4, Y0, Y6, Y0       // not equal
	VORPS        Y0, Y5, Y5
	VEXTRACTI128 $1, Y5, X0
	VPMINUD      X0, X5, X0
	VPSHUFD      $0x4E, X0, X1
	VPMINUD      X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPMINUD      X1, X0, X0
	VMOVD        X0, residuals_col(BX)
	VZEROUPPER
	RET

DATA ·counting<>+0(SB)/4, $0
DATA ·counting<>+4(SB)/4, $1
DATA ·counting<>+8(SB)/4, $2
DATA ·counting<>+12(SB)/4, $3
DATA ·counting<>+16(SB)/4, $4
DATA ·counting<>+20(SB)/4, $5
DATA ·counting<>+24(SB)/4, $6
DATA ·counting<>+28(SB)/4, $7
GLOBL ·counting<>(SB), RODATA|NOPTR, $32
