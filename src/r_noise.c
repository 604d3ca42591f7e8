/* Glue for the generator, the samplers and the private quantile.
 *
 * Each entry checks shapes, allocates its answer, makes the generator, calls
 * the core, wipes, and only then raises. Nothing in between can jump. */
#define R_NO_REMAP
#include <Rinternals.h>
#include <math.h>
#include <string.h>

#include "dph_choose.h"
#include "dph_noise.h"
#include "dph_quantile.h"
#include "dph_threads.h"
#include "r_glue.h"
#include "r_key.h"
#include "r_noise.h"

static double scalar(SEXP x) {
  if (TYPEOF(x) != REALSXP || XLENGTH(x) != 1) {
    r_fail_argument("a number has the wrong type or length");
  }
  return REAL_RO(x)[0];
}

static int64_t whole(SEXP x, double lower, double upper) {
  const double v = scalar(x);
  if (!(v >= lower && v <= upper) || v != floor(v)) {
    r_fail_argument("a whole number is out of range");
  }
  return (int64_t)v;
}

static R_xlen_t count(SEXP x) {
  return (R_xlen_t)whole(x, 0.0, (double)R_XLEN_T_MAX);
}

static void start(SEXP key, dph_rng *rng) {
  dph_error err;
  if (r_key_rng(key, rng, &err) != DPH_OK) {
    r_stop(&err);
  }
}

/* The first nbytes of the key's stream. */
SEXP r_chacha_block(SEXP key, SEXP nbytes) {
  const R_xlen_t n = count(nbytes);
  SEXP out = PROTECT(Rf_allocVector(RAWSXP, n));
  Rbyte *byte = RAW(out);
  dph_rng rng;
  start(key, &rng);
  uint32_t word = 0;
  for (R_xlen_t i = 0; i < n; i++) {
    word = i % 4 == 0 ? dph_rng_u32(&rng) : word >> 8;
    byte[i] = (Rbyte)(word & 0xffu);
  }
  dph_rng_wipe(&rng);
  UNPROTECT(1);
  return out;
}

/* kind 0: discrete Laplace, 1: discrete Gaussian; n draws of scale 2^k. */
SEXP r_draw_noise(SEXP kind, SEXP k, SEXP n, SEXP key) {
  const int gaussian = (int)whole(kind, 0.0, 1.0);
  const int scale = (int)whole(k, 0.0, DPH_NOISE_MAX_K);
  const R_xlen_t length = count(n);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, length));
  double *value = REAL(out);
  dph_rng rng;
  start(key, &rng);
  for (R_xlen_t i = 0; i < length; i++) {
    value[i] = (double)(gaussian ? dph_discrete_gaussian(&rng, scale)
                                 : dph_discrete_laplace(&rng, scale));
  }
  dph_rng_wipe(&rng);
  UNPROTECT(1);
  return out;
}

/* n draws of Bernoulli(exp(-num / 2^k)), as integers. */
SEXP r_bernoulli_exp(SEXP num, SEXP k, SEXP n, SEXP key) {
  const uint64_t numerator = (uint64_t)whole(num, 0.0, 9007199254740992.0);
  const int scale = (int)whole(k, 0.0, 63.0);
  const R_xlen_t length = count(n);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, length));
  int *value = INTEGER(out);
  dph_rng rng;
  start(key, &rng);
  for (R_xlen_t i = 0; i < length; i++) {
    value[i] = dph_bernoulli_exp(&rng, numerator, scale);
  }
  dph_rng_wipe(&rng);
  UNPROTECT(1);
  return out;
}

static int64_t *whole_scores(SEXP scores) {
  const R_xlen_t n = TYPEOF(scores) == REALSXP ? XLENGTH(scores) : 0;
  if (n == 0 || n > INT_MAX) {
    r_fail_argument("scores have the wrong type or length");
  }
  const double *value = REAL_RO(scores);
  int64_t *out = (int64_t *)R_alloc((size_t)n, sizeof(int64_t));
  for (R_xlen_t i = 0; i < n; i++) {
    const double v = value[i];
    if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0) || v != floor(v)) {
      r_fail_argument("scores must be whole numbers below 2^63");
    }
    out[i] = (int64_t)v;
  }
  return out;
}

/* times independent choices by the exponential mechanism, counted from 1. */
SEXP r_choose_exponential(SEXP scores, SEXP k, SEXP times, SEXP key) {
  const int64_t *score = whole_scores(scores);
  const size_t n = (size_t)XLENGTH(scores);
  const int scale = (int)whole(k, 0.0, 63.0);
  const R_xlen_t length = count(times);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, length));
  int *value = INTEGER(out);
  dph_rng rng;
  dph_error err;
  dph_status status = DPH_OK;
  start(key, &rng);
  for (R_xlen_t i = 0; i < length && status == DPH_OK; i++) {
    size_t chosen = 0;
    status = dph_exponential_mechanism(&rng, score, n, scale, &chosen, &err);
    value[i] = (int)chosen + 1;
  }
  dph_rng_wipe(&rng);
  if (status != DPH_OK) {
    r_stop(&err);
  }
  UNPROTECT(1);
  return out;
}

static dph_status quantiles(dph_rng *rng, SEXP x, SEXP probs, double c,
                            const double range[2], double *out, dph_error *err) {
  const size_t draws = (size_t)XLENGTH(probs);
  const double *prob = REAL_RO(probs);
  dph_sorted sorted;
  DPH_TRY(dph_sorted_make(REAL_RO(x), (size_t)XLENGTH(x), range[0], range[1], &sorted,
                          err));
  dph_status status = DPH_OK;
  for (size_t i = 0; i < draws && status == DPH_OK; i++) {
    status = dph_sorted_quantile(rng, &sorted, prob[i], c, &out[i], err);
  }
  dph_sorted_free(&sorted);
  return status;
}

/* One run of the mechanism per probability, each at the same c: each costs
 * epsilon = 2 c + 2^-30. NaN and NA are missing records. */
SEXP r_quantile_release(SEXP x, SEXP probs, SEXP c, SEXP lower, SEXP upper, SEXP key) {
  if (TYPEOF(x) != REALSXP || TYPEOF(probs) != REALSXP) {
    r_fail_argument("a quantile needs vectors of doubles");
  }
  const double range[2] = {scalar(lower), scalar(upper)};
  const double weight = scalar(c);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, XLENGTH(probs)));
  dph_rng rng;
  dph_error err;
  start(key, &rng);
  const dph_status status = quantiles(&rng, x, probs, weight, range, REAL(out), &err);
  dph_rng_wipe(&rng);
  if (status != DPH_OK) {
    r_stop(&err);
  }
  UNPROTECT(1);
  return out;
}

static dph_status look(SEXP x, const double range[2], double prob, double c, SEXP at,
                       double *out, dph_error *err) {
  const size_t n = (size_t)XLENGTH(at);
  const double *point = REAL_RO(at);
  dph_sorted sorted;
  DPH_TRY(dph_sorted_make(REAL_RO(x), (size_t)XLENGTH(x), range[0], range[1], &sorted,
                          err));
  dph_status status = DPH_OK;
  for (size_t i = 0; i < n && status == DPH_OK; i++) {
    dph_quantile_view view = {0, 0, 0, 0, 0};
    status = dph_sorted_look(&sorted, prob, c, point[i], &view, err);
    out[i] = -(double)view.distance / 1073741824.0;
    out[i + n] = (double)view.penalty;
    out[i + 2 * n] = (double)view.score;
    out[i + 3 * n] = (double)view.width;
    out[i + 4 * n] = (double)view.first;
  }
  dph_sorted_free(&sorted);
  return status;
}

/* For tests, no noise: a matrix with a row per point of `at` and the columns
 * utility, penalty and score (units of 2^-32), width and first cell. */
SEXP r_quantile_scores(SEXP x, SEXP prob, SEXP c, SEXP lower, SEXP upper, SEXP at) {
  if (TYPEOF(x) != REALSXP || TYPEOF(at) != REALSXP || XLENGTH(at) > INT_MAX) {
    r_fail_argument("a quantile needs vectors of doubles");
  }
  const double range[2] = {scalar(lower), scalar(upper)};
  const double level = scalar(prob), weight = scalar(c);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)XLENGTH(at), 5));
  dph_error err;
  if (look(x, range, level, weight, at, REAL(out), &err) != DPH_OK) {
    r_stop(&err);
  }
  UNPROTECT(1);
  return out;
}

/* Blocks of memory that the core holds: 0 whenever no call is running. */
SEXP r_core_live(void) { return Rf_ScalarReal((double)dph_live()); }

/* Threads that a pass may use here. */
SEXP r_threads_max(void) { return Rf_ScalarReal((double)dph_threads_max()); }
