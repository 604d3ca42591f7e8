/* Entries of r_noise.c, for the registration table. */
#ifndef R_NOISE_H_INCLUDED
#define R_NOISE_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>

SEXP r_chacha_block(SEXP key, SEXP nbytes);
SEXP r_draw_noise(SEXP kind, SEXP k, SEXP n, SEXP key);
SEXP r_bernoulli_exp(SEXP num, SEXP k, SEXP n, SEXP key);
SEXP r_choose_exponential(SEXP scores, SEXP k, SEXP times, SEXP key);
SEXP r_quantile_release(SEXP x, SEXP probs, SEXP c, SEXP lower, SEXP upper, SEXP key);
SEXP r_quantile_scores(SEXP x, SEXP prob, SEXP c, SEXP lower, SEXP upper, SEXP at);
SEXP r_core_live(void);
SEXP r_threads_max(void);

#endif
