/* Reading the rule of a gradient release from a list. */
#ifndef R_RULE_H_INCLUDED
#define R_RULE_H_INCLUDED

#include "dph_gradient.h"
#include "r_glue.h"

/* plan: a list with loss (or psi, one derivative per row of storage), tuning, estimator,
 * bound, step, limit; where needed psi_bound, table, groups (the number), group (integers
 * from 0, one per row) and group_weight. */
dph_gradient_rule r_rule(SEXP plan, const dph_rows *rows);

/* Element root, k x k or NULL, and the same times 2^20. */
const double *r_root(SEXP plan, size_t k, const int64_t **root_int);

/* Element index: integers from 0 below n, a view of the rows; or NULL. */
void r_view(SEXP plan, dph_rows *rows);

#endif
