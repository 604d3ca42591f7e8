/* A private quantile by the exponential mechanism over all finite doubles.
 *
 * Grid. Doubles map to unsigned 64-bit keys in their own order (a negative
 * double has its bits flipped, -0 counts as 0); a cell is a key without its
 * low 20 bits: 2^32 cells per octave, relative width 2^-32, zero and every
 * double of at most 32 significant bits at the head of its cell. The grid and
 * the range of cells, from that of `lower` to that of `upper`, are public.
 *
 * Utility. Records are clamped to [lower, upper]; NaN is a missing record. With
 * m records present, q = prob and, at a cell g, L = #{x < g}, U = #{x <= g},
 *   u(g) = -max(0, L - q m, q m - U).
 * Sensitivity 1 under replace-one: max() is 1-Lipschitz, so look at its terms.
 *   A record moves: m stays, L and U change by at most 1: so do the terms.
 *   A record goes missing (or comes back): L loses a, U loses b, with a, b in
 *   {0, 1}, and q m loses q: L - q m changes by q - a, q m - U by b - q; both
 *   lie in [-1, 1] because 0 <= q <= 1.
 * In the code q is rounded to a multiple of 2^-30 (public), and the distance
 * D = -2^30 u(g) is an exact integer that moves by at most 2^30.
 *
 * Law. The candidates are the occupied cells and the gaps between them and to
 * the two ends: u is constant on each. With w = number of cells in a candidate,
 *   score   = floor(2^32 log w) - penalty,
 *   penalty = min(2^60, floor(C D / 2^30)),   C = floor(2^32 c),
 * one candidate is drawn with P proportional to exp(score / 2^32), exactly, then
 * a cell in it, exactly uniform: P(g) is proportional to
 * exp(-penalty(g) / 2^32 + r), where r = score's rounding of log w.
 *
 * Privacy. As D moves by at most 2^30, C D / 2^30 moves by at most the integer
 * C, hence so does its floor, hence so does the penalty (min is a contraction):
 * at most c after the division by 2^32. r lies in an interval of length
 * 2^-32 + 2 t if log is right to t, whatever its argument, monotone or not; any
 * library with t < 2^-33 (about 1e-10 absolute) will do. So log P(g), up to its
 * normalising constant, moves by at most c + 2^-31: the draw is
 * (2 c + 2^-30)-DP, with bounded range 2 c + 2^-30 as an exponential mechanism.
 * The value returned depends on the cell and on lower and upper alone.
 *
 * c is capped at 2^20 (more private than asked for), so that c = Inf takes the
 * cells of the best utility in effect. With no record present all cells are
 * equally likely and nothing fails. */
#ifndef DPH_QUANTILE_H_INCLUDED
#define DPH_QUANTILE_H_INCLUDED

#include "dph_base.h"
#include "dph_rng.h"

#define DPH_QUANTILE_SCALE 32

/* The records of one variable, ready for draws: own with dph_sorted_free(). */
typedef struct {
  uint64_t *cell; /* m cells in increasing order */
  size_t m;       /* records present, private */
  uint64_t first, last;
  double lower, upper;
} dph_sorted;

/* x: n doubles, NaN = missing, +-Inf clamped; not changed. lower <= upper, not
 * NaN (infinite ends stand for +-DBL_MAX). Time O(n), memory 16 n bytes during
 * the call and 8 n after it. After a failure there is nothing to free. */
dph_status dph_sorted_make(const double *x, size_t n, double lower, double upper,
                           dph_sorted *out, dph_error *err);
void dph_sorted_free(dph_sorted *sorted);

/* One draw; 0 <= prob <= 1, c > 0. Memory 16 m bytes during the call. */
dph_status dph_sorted_quantile(dph_rng *rng, const dph_sorted *sorted, double prob,
                               double c, double *out, dph_error *err);

/* make, one draw, free. */
dph_status dph_quantile(dph_rng *rng, const double *x, size_t n, double prob, double c,
                        double lower, double upper, double *out, dph_error *err);

/* What the draw sees at the cell of `at` (clamped, not NaN): for tests. */
typedef struct {
  uint64_t first;       /* the candidate's first cell, counted from lower's */
  uint64_t width;       /* its number of cells */
  uint64_t distance;    /* D = -2^30 u */
  int64_t penalty;      /* in units of 2^-32 */
  int64_t score;
} dph_quantile_view;

dph_status dph_sorted_look(const dph_sorted *sorted, double prob, double c, double at,
                           dph_quantile_view *out, dph_error *err);

#endif
