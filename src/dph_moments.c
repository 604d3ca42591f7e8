/* Exact second moments; see dph_moments.h. */
#include "dph_moments.h"

#include <string.h>

/* Sums over one block for columns a and b, b + 1 (two at a time). */
static void dot_two(const double *restrict za, const double *restrict zb,
                    const double *restrict zc, double out[2]) {
  double s[4] = {0.0, 0.0, 0.0, 0.0}, t[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t i = 0; i < DPH_BLOCK; i += 4) {
    for (size_t j = 0; j < 4; j++) {
      s[j] += za[i + j] * zb[i + j];
      t[j] += za[i + j] * zc[i + j];
    }
  }
  out[0] = (s[0] + s[1]) + (s[2] + s[3]);
  out[1] = (t[0] + t[1]) + (t[2] + t[3]);
}

/* Adds the block's products to the packed upper triangle. */
static void add_block(const double *z, size_t m, int64_t *exact, double *plain) {
  size_t at = 0;
  for (size_t b = 0; b < m; b++) {
    size_t a = 0;
    for (; a <= b; a += 2, at += 2) {
      double s[2];
      const size_t next = a + 1 <= b ? a + 1 : a;
      dot_two(z + b * DPH_BLOCK, z + a * DPH_BLOCK, z + next * DPH_BLOCK, s);
      for (size_t j = 0; j < 2 && a + j <= b; j++) {
        if (exact) {
          exact[at + j] += (int64_t)s[j];
        } else {
          plain[at + j] += s[j];
        }
      }
    }
    at -= a - (b + 1);
  }
}

/* Scales, clips and rounds the block's rows in place. */
static void quantise(double *z, size_t m, const double *factor, int round_it) {
  for (size_t j = 0; j < m; j++) {
    double *v = z + j * DPH_BLOCK;
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      const double scaled = v[i] * factor[i];
      v[i] = round_it ? dph_round(scaled) : scaled;
    }
  }
}

static double clip_factor(double norm, const dph_moments_rule *rule) {
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const double factor = norm <= bound ? 1.0 : bound / norm;
  return rule->step > 0.0 ? factor / rule->step : factor;
}

dph_status dph_moments_sum(const dph_rows *rows, const double *norm,
                           const dph_moments_rule *rule, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err) {
  const size_t k = dph_rows_columns(rows), m = k + (rows->y ? 1 : 0);
  const int round_it = rule->step > 0.0;
  double factor[DPH_BLOCK];
  dph_gradient_work work;
  dph_status status = DPH_OK;
  if (round_it) {
    const double c = rule->bound / rule->step + sqrt((double)m) / 2.0;
    if (!(c * c < 4398046511104.0) || !((double)rows->n * c * c < 4611686018427387904.0)) {
      return dph_fail(err, DPH_ERR_OVERFLOW, "the grid of the second moments does not fit");
    }
    memset(exact, 0, m * (m + 1) / 2 * sizeof *exact);
  } else {
    memset(plain, 0, m * (m + 1) / 2 * sizeof *plain);
  }
  DPH_TRY(dph_gradient_work_make(m, &work, err));
  for (size_t start = 0; start < rows->n && status == DPH_OK; start += DPH_BLOCK) {
    double *y = rows->y ? work.z + k * DPH_BLOCK : NULL;
    const size_t len = dph_rows_fill(rows, start, work.z, y, work.valid);
    memset(factor, 0, sizeof factor);
    for (size_t i = 0; i < len; i++) {
      factor[i] = norm[start + i] < INFINITY ? clip_factor(norm[start + i], rule) : 0.0;
    }
    quantise(work.z, m, factor, round_it);
    add_block(work.z, m, round_it ? exact : NULL, plain);
    status = dph_check_poll(poll, err);
  }
  dph_gradient_work_free(&work);
  return status;
}

dph_status dph_moments_noise(dph_rng *rng, dph_noise_law law, size_t m, int64_t *packed,
                             dph_error *err) {
  dph_noise_law off = law;
  size_t at = 0;
  off.bits += DPH_MOMENTS_OFF_BITS;
  for (size_t b = 0; b < m; b++) {
    for (size_t a = 0; a <= b; a++, at++) {
      if (a != b) {
        packed[at] *= DPH_MOMENTS_OFF;
      }
      DPH_TRY(dph_add_noise(rng, a == b ? law : off, &packed[at], 1, err));
    }
  }
  return DPH_OK;
}
