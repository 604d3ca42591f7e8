/* Winsorised column sums; see dph_sums.h. */
#include "dph_sums.h"

#include <string.h>

static int is_there(const dph_rows *rows, double v, size_t i) {
  return v == v && (!rows->use || rows->use[i] != 0);
}

static void load_block(const dph_rows *rows, size_t j, size_t start, double *z) {
  const size_t left = rows->n - start;
  const size_t len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const double *x = rows->x + j * rows->n + start;
  memset(z, 0, DPH_BLOCK * sizeof *z);
  for (size_t i = 0; i < len; i++) {
    if (is_there(rows, x[i], start + i)) {
      z[i] = (x[i] - rows->center[j]) * rows->inv_scale[j];
    }
  }
}

dph_status dph_column_sums(const dph_rows *rows, double limit, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err) {
  double z[DPH_BLOCK], one[DPH_BLOCK];
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    one[i] = 1.0;
  }
  if (!plain) {
    DPH_TRY(dph_fixed_check(rows->n, limit, err));
  }
  for (size_t j = 0; j < rows->p; j++) {
    int64_t sum = 0;
    double plain_sum = 0.0;
    DPH_TRY(dph_check_poll(poll, err));
    for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
      load_block(rows, j, start, z);
      if (plain) {
        plain_sum += dph_block_plain_sum(z, one);
      } else {
        sum += (int64_t)dph_block_fixed_sum(z, one, limit);
      }
    }
    if (plain) {
      plain[j] = plain_sum;
    } else {
      exact[j] = sum;
    }
  }
  return DPH_OK;
}

dph_status dph_column_complete(const dph_rows *rows, const dph_poll *poll,
                               int64_t *counts, dph_error *err) {
  for (size_t j = 0; j < rows->p; j++) {
    DPH_TRY(dph_check_poll(poll, err));
    counts[j] = 0;
    for (size_t i = 0; i < rows->n; i++) {
      counts[j] += is_there(rows, rows->x[j * rows->n + i], i);
    }
  }
  return DPH_OK;
}
