/* Counts of records in cells that do not depend on the data: binary exponents
 * about a centre ("octaves"), octaves of the differences of randomly paired
 * records, and equal cells of an interval.
 *
 * Octaves. |v| in [2^e, 2^(e+1)) for e = lo, ..., hi - 1, each cut into `sub`
 * equal parts on the log scale; smaller |v| go to the first, larger ones (and
 * +-Inf) to the last; 0 has a cell of its own, NaN none. Order of the cells:
 * unsigned 0, then rising; signed from the most negative to the most positive
 * with 0 in the middle.
 *
 * Sensitivity (replace one record, one column): one count falls by 1 and one
 * rises by 1, whatever the record holds: 2 in l1, sqrt(2) in l2. A record is in
 * one pair, so that this also holds for paired differences. With several columns
 * the changes add in l1 and in squares in l2. */
#ifndef DPH_CELLS_H_INCLUDED
#define DPH_CELLS_H_INCLUDED

#include "dph_rng.h"
#include "dph_rows.h"

typedef struct {
  int lo, hi, sub; /* sub in 1, 2, 4 */
  int has_sign;
} dph_octaves;

dph_status dph_octaves_check(const dph_octaves *cells, dph_error *err);
size_t dph_octaves_count(const dph_octaves *cells);
size_t dph_octaves_index(const dph_octaves *cells, double v); /* v not NaN */

/* Which columns are counted: index[0], ..., index[size - 1] in 0, ..., p, where p
 * stands for the response. Values are centred and scaled as rows says; each
 * column on its own, no row test across columns. */
typedef struct {
  const size_t *index;
  size_t size;
} dph_which;

/* counts: cells x columns. */
dph_status dph_count_columns(const dph_rows *rows, dph_which which,
                             const dph_octaves *cells, const dph_poll *poll,
                             int64_t *counts, dph_error *err);

/* Differences of the records perm[2 h], perm[2 h + 1]; cells unsigned. */
dph_status dph_count_pairs(const dph_rows *rows, dph_which which, const uint32_t *perm,
                           const dph_octaves *cells, const dph_poll *poll,
                           int64_t *counts, dph_error *err);

/* Column j: m equal cells from lower[j] on, each of width[j] > 0, with one more
 * cell below and one above; counts: (m + 2) x columns. */
dph_status dph_count_equal(const dph_rows *rows, dph_which which, const double *lower,
                           const double *width, size_t m, const dph_poll *poll,
                           int64_t *counts, dph_error *err);

/* Adds the numbers of v but NaN to the counts; +-Inf to the outermost cells. */
void dph_octaves_add(const dph_octaves *cells, const double *v, size_t len,
                     int64_t *counts);

/* n numbers, of which NaN and Inf are left out; cells unsigned. */
dph_status dph_count_values(const double *v, size_t n, int threads,
                            const dph_octaves *cells, const dph_poll *poll,
                            int64_t *counts, dph_error *err);

#endif
