/* base/erf_terms.h - polynomials of the error function, fitted at Chebyshev nodes in 40 digits;
 * what they leave out is below 3e-18 of the result. */
#ifndef HU_BASE_ERF_TERMS_H
#define HU_BASE_ERF_TERMS_H

enum { HU_ERF_TERMS = 14, HU_ERFC_TERMS = 25 };

/* erf(x) = x + x (sum of TERM_i x^(2 i)), 0 <= x <= 1. */
static const double hu_erf_terms[HU_ERF_TERMS] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889bap-6,
    0x1.565bcd0e6502dp-8,  -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
    0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
    0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38,
};

/* (1 + 2 x) e^(x^2) erfc(x) = HEAD + sum of TERM_i t^i, t = (x - 4) / (x + 4), 0 <= x <= 27.3.
 * TERM_0 is what HEAD has lost. Variable: Shepherd and Laframboise (1981). */
#define HU_ERFC_HEAD 0x1.3ba5916e9fd7fp+0
static const double hu_erfc_terms[HU_ERFC_TERMS] = {
    -0x1.ac5261baead72p-55, -0x1.1df1ad154a28fp-3,  0x1.f7f5df66fd7eap-7,   0x1.16ecefcfa53f4p-4,
    -0x1.9ddb23c3e9273p-4,  0x1.7fee004e1157dp-4,   -0x1.0fb06dfe468c1p-4,  0x1.3079edf6aa43bp-5,
    -0x1.09623885a9636p-6,  0x1.49c672782cfecp-8,   -0x1.8d4a994fb1a84p-11, -0x1.a1df1929fde2bp-13,
    0x1.3be0316a8b48ap-13,  -0x1.995b04c881240p-16, -0x1.788257cc93775p-17, 0x1.7f3e064003881p-18,
    0x1.39040b4e73deep-22,  -0x1.bc69aa9ce0790p-21, 0x1.4b989efd167c7p-24,  0x1.e6f0743b8e902p-24,
    -0x1.4a48809d1a414p-26, -0x1.1f3f36b5645a5p-26, 0x1.d503b0f2464e1p-30,  0x1.27a1725e2c9e8p-29,
    0x1.4f136313eb796p-32,
};

#endif
