/* Fixed-point sums: integers held in doubles inside a block, in int64 across
 * blocks, so that every sum is exact and does not depend on the order of rows.
 *
 * A grid says how real contributions become integers: value / step, rounded to
 * the nearest integer, clamped to +-limit. limit <= 2^51 and n limit < 2^62,
 * which dph_fixed_check() demands. step = 0 stands for "no grid": plain double
 * sums, for the noiseless mode only. */
#ifndef DPH_FIXED_H_INCLUDED
#define DPH_FIXED_H_INCLUDED

#include "dph_base.h"
#include "dph_rng.h"

typedef enum { DPH_NOISE_NONE = 0, DPH_NOISE_LAPLACE = 1, DPH_NOISE_GAUSSIAN = 2 } dph_noise_kind;

/* Noise of scale (Laplace) or standard deviation (Gaussian) 2^bits steps. */
typedef struct {
  dph_noise_kind kind;
  int bits;
} dph_noise_law;

/* Refuses a grid whose sum over n rows could leave 62 bits. */
dph_status dph_fixed_check(size_t n, double limit, dph_error *err);

/* v[i] += noise, independent over i. */
dph_status dph_add_noise(dph_rng *rng, dph_noise_law law, int64_t *v, size_t m,
                         dph_error *err);

/* Sum over a block of round(clamp(weight[i] z[i])), an exact integer of at most
 * DPH_BLOCK limit. weight and z are finite. Uses eight accumulators; each holds
 * whole numbers below 2^53, so any order gives the same sum. */
double dph_block_fixed_sum(const double *z, const double *weight, double limit);

/* The same numbers one by one: out[i] = round(clamp(weight[i] z[i])). */
void dph_block_fixed(const double *z, const double *weight, double limit, double *out);

/* The plain counterpart for the noiseless mode. */
double dph_block_plain_sum(const double *z, const double *weight);

/* out = round(L s), L m x m lower triangular with entries root_int / 2^20, s
 * exact integers; exact products and sums, then one rounding (half up): each
 * entry is within 1/2 of L s. DPH_ERR_OVERFLOW unless the result fits 2^62. */
dph_status dph_fixed_lower(const int64_t *root_int, size_t m, const int64_t *s,
                           int64_t *out, dph_error *err);

#endif
