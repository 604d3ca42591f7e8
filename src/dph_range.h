/* Privacy of selections of bounded range, chosen adaptively: the recursion of
 * Dong, Durfee and Rogers (2020), rigorous on a grid. Reads no data.
 *
 * V_0(x) is a delta curve: a mixture of hockey sticks (1 - e^(x - l))_+, hence convex
 * and non-increasing in u = e^x, with V_0(-Inf) = 1. One selection of range e has a
 * loss of t or t - e, for some t in [0, e] that an adversary picks after what was seen:
 *   V_k(x) = sup_t p_t V_{k-1}(x - t) + (1 - p_t) V_{k-1}(x - t + e),
 *   p_t = (1 - e^(t - e)) / (1 - e^-e).
 *
 * v[j] stands for V at x_j = x_0 + j h. Between nodes it is replaced by its chord in
 * u, below x_0 by the chord to V(-Inf) = 1, above the last node by v[n - 1]: each is
 * at least V, and V_k is increasing in V_{k-1}. With e = m h the points x - t and
 * x - t + e lie at the same place of their cells, so over one cell of t the
 * expression is g - b s - c / s in s = e^t, and its supremum is found in closed form. So
 * v stays an upper bound of V_k at every node, up to rounding (relative 1e-13 a step);
 * its excess is of order h^2. */
#ifndef DPH_RANGE_H_INCLUDED
#define DPH_RANGE_H_INCLUDED

#include "dph_base.h"

/* count selections of range m h applied to v[0..n-1], in place. h > 0, m > 0,
 * m h <= 700. Time n m count. */
dph_status dph_range_compose(double *v, size_t n, double h, size_t m, size_t count,
                             const dph_poll *poll, dph_error *err);

#endif
