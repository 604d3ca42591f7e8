#include "dph_range.h"

#include <string.h>

/* What depends on the cell of t alone: t = i h at its lower end. */
typedef struct {
  double p;     /* p_t at the lower end */
  double kappa; /* e^(t - e) / (1 - e^-e) */
} range_cell;

typedef struct {
  double by_eta;   /* 1 / (1 - e^-h) */
  double by_total; /* 1 / (1 - e^-e) */
  double last;     /* e^(2 h) */
  size_t m;
  const range_cell *cell; /* 0, ..., m */
} range_step;

static void fill_cells(range_cell *cell, double h, size_t m, double by_total) {
  for (size_t i = 0; i <= m; i++) {
    const double back = -h * (double)(m - i);
    cell[i].p = -expm1(back) * by_total;
    cell[i].kappa = exp(back) * by_total;
  }
}

/* wide[j + m] = v[j], with m nodes more at both ends. */
static void extend(const double *v, size_t n, double h, size_t m, double *wide) {
  for (size_t i = 0; i < m; i++) {
    wide[i] = 1.0 - (1.0 - v[0]) * exp(-h * (double)(m - i));
    wide[m + n + i] = v[n - 1];
  }
  memcpy(wide + m, v, n * sizeof(double));
}

/* The largest of the values over all t at one node: x[-i] and x[m - i] are V at x - t and
 * x - t + e for t = i h. Inside a cell the value is g - b s - c / s, 1 < s < e^h, with
 * its top at s = sqrt(c / b); at s = 1 it is c0 + p d0. */
static double supremum(const range_step *step, const double *x) {
  const double *up = x + step->m;
  double c0 = *up, d0 = *x - c0;
  double best = c0 + step->cell[0].p * d0;
  for (size_t i = 0; i < step->m; i++) {
    const range_cell *cell = &step->cell[i];
    const double c1 = *(up - i - 1), d1 = *(x - i - 1) - c1;
    const double rise = (d1 - d0) * step->by_total;
    const double b = cell->kappa * (d0 + (d1 - d0) * step->by_eta);
    const double c = ((c1 - c0) + rise) * step->by_eta;
    if (c > b && c < b * step->last) {
      const double root = sqrt(c) - sqrt(b);
      const double top = c0 + cell->p * d0 + root * root;
      best = top > best ? top : best;
    }
    const double end = c1 + cell[1].p * d1;
    best = end > best ? end : best;
    c0 = c1;
    d0 = d1;
  }
  return best < 1.0 ? best : 1.0;
}

dph_status dph_range_compose(double *v, size_t n, double h, size_t m, size_t count,
                             const dph_poll *poll, dph_error *err) {
  if (n < 2 || m == 0 || n > ((size_t)1 << 28) || m > ((size_t)1 << 24) || !(h > 0.0) ||
      !(h * (double)m <= 700.0)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "the grid of a recursion is out of range");
  }
  void *wide = NULL, *cells = NULL;
  DPH_TRY(dph_alloc(&wide, n + 2 * m, sizeof(double), err));
  dph_status status = dph_alloc(&cells, m + 1, sizeof(range_cell), err);
  const range_step step = {-1.0 / expm1(-h), -1.0 / expm1(-h * (double)m), exp(2.0 * h), m,
                           (const range_cell *)cells};
  if (status == DPH_OK) {
    fill_cells((range_cell *)cells, h, m, step.by_total);
  }
  for (size_t k = 0; k < count && status == DPH_OK; k++) {
    extend(v, n, h, m, (double *)wide);
    for (size_t j = 0; j < n; j++) {
      v[j] = supremum(&step, (const double *)wide + m + j);
    }
    status = dph_check_poll(poll, err);
  }
  dph_free(cells);
  dph_free(wide);
  return status;
}
