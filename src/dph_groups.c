/* Medians over groups; see dph_groups.h. */
#include "dph_groups.h"

#include <stdlib.h>

static int compare_int64(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int compare_double(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* floor((a + b) / 2) of a <= b. */
static int64_t middle(int64_t a, int64_t b) {
  const int64_t sum = a + b;
  return sum / 2 - (sum % 2 < 0);
}

void dph_group_median(int64_t *sums, size_t groups, size_t k, int64_t *out) {
  for (size_t j = 0; j < k; j++) {
    int64_t *own = sums + j * groups;
    qsort(own, groups, sizeof *own, compare_int64);
    out[j] = middle(own[(groups - 1) / 2], own[groups / 2]);
  }
}

void dph_group_median_plain(double *sums, size_t groups, size_t k, double *out) {
  for (size_t j = 0; j < k; j++) {
    double *own = sums + j * groups;
    qsort(own, groups, sizeof *own, compare_double);
    out[j] = 0.5 * own[(groups - 1) / 2] + 0.5 * own[groups / 2];
  }
}
