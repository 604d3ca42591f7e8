/* Glue for the mechanisms open to users: a noisy vector, a private choice.
 *
 * Both scale doubles to wide integers first (dph_scale.h). exact = TRUE, for tests,
 * returns these integers as a matrix with four columns of base 2^32, the highest
 * first and signed, and draws nothing. */
#include "r_mechanism.h"

#include <string.h>

#include "dph_flip.h"
#include "dph_noise.h"
#include "dph_rank.h"
#include "r_glue.h"
#include "r_key.h"

static const double *finite_doubles(SEXP x) {
  if (TYPEOF(x) != REALSXP || XLENGTH(x) == 0 || XLENGTH(x) > INT32_MAX) {
    r_fail_argument("values have the wrong type or length");
  }
  const double *v = REAL_RO(x);
  const size_t m = (size_t)XLENGTH(x);
  int odd = 0;
  for (size_t i = 0; i < m; i++) {
    odd |= v[i] * 0.0 != 0.0;
  }
  if (odd) {
    r_fail_argument("values must be finite");
  }
  return v;
}

/* c(m, p) */
static dph_multiplier multiplier_of(SEXP x) {
  const double *v = r_doubles(x, 2, 0, "multiplier");
  dph_multiplier by = {0, 0};
  dph_error err;
  if (v[0] >= 0.0 && v[0] < 4503599627370496.0 && v[1] >= -1e6 && v[1] <= 1e6) {
    by.m = (uint64_t)v[0];
    by.p = (int)v[1];
  }
  if (dph_multiplier_check(&by, &err) != DPH_OK) {
    r_stop(&err);
  }
  return by;
}

static dph_wide *scaled(const double *v, size_t m, const dph_multiplier *by) {
  dph_wide *out = (dph_wide *)(void *)R_alloc(m, sizeof(dph_wide));
  for (size_t i = 0; i < m; i++) {
    out[i] = dph_scale(v[i], by);
  }
  return out;
}

static SEXP as_digits(const dph_wide *x, size_t m) {
  const uint64_t low = UINT64_C(0xffffffff);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)m, 4));
  double *digit = REAL(out);
  for (size_t i = 0; i < m; i++) {
    const int64_t below = (int64_t)((uint64_t)x[i].hi & low);
    digit[i] = (double)((x[i].hi - below) / INT64_C(4294967296));
    digit[m + i] = (double)below;
    digit[2 * m + i] = (double)(x[i].lo >> 32);
    digit[3 * m + i] = (double)(x[i].lo & low);
  }
  UNPROTECT(1);
  return out;
}

static void start(SEXP key, dph_rng *rng) {
  dph_error err;
  if (dph_float_check(&err) != DPH_OK || r_key_rng(key, rng, &err) != DPH_OK) {
    r_stop(&err);
  }
}

static int64_t draw_noise(dph_rng *rng, dph_noise_law law) {
  return law.kind == DPH_NOISE_GAUSSIAN ? dph_discrete_gaussian(rng, law.bits)
                                        : dph_discrete_laplace(rng, law.bits);
}

/* value plus noise of 2^bits steps of the grid, back in the units of value. */
SEXP r_release_vector(SEXP value, SEXP multiplier, SEXP noise, SEXP key, SEXP exact) {
  const double *v = finite_doubles(value);
  const size_t m = (size_t)XLENGTH(value);
  const dph_multiplier by = multiplier_of(multiplier);
  const dph_noise_law law = r_noise_law(noise);
  if (law.kind == DPH_NOISE_NONE) {
    r_fail_argument("a release needs noise");
  }
  dph_wide *x = scaled(v, m, &by);
  if (Rf_asLogical(exact) == TRUE) {
    return as_digits(x, m);
  }
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)m));
  double *noisy = REAL(out);
  dph_rng rng;
  start(key, &rng);
  for (size_t i = 0; i < m; i++) {
    noisy[i] = dph_unscale(dph_wide_add(x[i], draw_noise(&rng, law)), &by);
  }
  dph_rng_wipe(&rng);
  UNPROTECT(1);
  return out;
}

typedef dph_status selection(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                             const dph_poll *poll, dph_error *err);

static selection *selection_of(SEXP how) {
  static const struct {
    const char *name;
    selection *run;
  } table[] = {{"exponential", dph_rank_top},
               {"permute_and_flip", dph_flip_top},
               {"laplace", dph_noisy_top}};
  const char *name = r_text(how, "how");
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    if (strcmp(table[i].name, name) == 0) {
      return table[i].run;
    }
  }
  r_fail_argument("unknown selection");
  return NULL;
}

/* The indices, from 1, of s items in the order of selection. mirrored = TRUE: the
 * negatives of the scores follow them. */
SEXP r_select_top(SEXP scores, SEXP multiplier, SEXP how, SEXP bits, SEXP s,
                  SEXP mirrored, SEXP key, SEXP exact) {
  const double *v = finite_doubles(scores);
  const size_t stored = (size_t)XLENGTH(scores);
  const size_t m = Rf_asLogical(mirrored) == TRUE ? 2 * stored : stored;
  const dph_multiplier by = multiplier_of(multiplier);
  selection *run = selection_of(how);
  const int size = r_integer(s, "s");
  const dph_choice choice = {v, stored, by, m, size > 0 ? (size_t)size : 0,
                             r_integer(bits, "bits")};
  dph_error err;
  if (Rf_asLogical(exact) == TRUE) {
    return as_digits(scaled(v, stored, &by), stored);
  }
  if (dph_choice_check(&choice, &err) != DPH_OK) {
    r_stop(&err);
  }
  SEXP out = PROTECT(Rf_allocVector(INTSXP, size));
  int *index = INTEGER(out);
  uint32_t *chosen = (uint32_t *)(void *)R_alloc(choice.s, sizeof(uint32_t));
  r_guard guard;
  r_guard_make(&guard);
  const dph_poll poll = {r_guard_poll, &guard};
  dph_rng rng;
  start(key, &rng);
  const dph_status status = run(&rng, &choice, chosen, &poll, &err);
  dph_rng_wipe(&rng);
  r_guard_raise(&guard, status, &err);
  for (size_t i = 0; i < choice.s; i++) {
    index[i] = (int)chosen[i] + 1;
  }
  UNPROTECT(2);
  return out;
}
