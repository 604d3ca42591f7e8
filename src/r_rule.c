/* Reading rules; see r_rule.h. */
#include "r_rule.h"

#include <string.h>

static const int64_t *root_integers(const double *root, size_t cells) {
  int64_t *out = (int64_t *)(void *)R_alloc(cells, sizeof(int64_t));
  for (size_t i = 0; i < cells; i++) {
    const double v = root[i] * 1048576.0;
    if (v != floor(v) || !(fabs(v) < 1099511627776.0)) {
      r_fail_argument("the root must hold multiples of 2^-20 below 2^20");
    }
    out[i] = (int64_t)v;
  }
  return out;
}

const double *r_root(SEXP plan, size_t k, const int64_t **root_int) {
  const double *root = r_doubles(r_element(plan, "root"), k * k, 1, "root");
  *root_int = root ? root_integers(root, k * k) : NULL;
  return root;
}

void r_view(SEXP plan, dph_rows *rows) {
  SEXP index = r_element(plan, "index");
  if (index != R_NilValue && rows->units) {
    r_fail_argument("no view of units");
  }
  if (index != R_NilValue) {
    const size_t n = (size_t)Rf_xlength(index);
    rows->index = r_indices(index, n, rows->stride, "index");
    rows->n = n;
    if (n == 0) {
      r_fail_argument("`index` must hold rows");
    }
  }
}

static void r_groups(SEXP plan, const dph_rows *rows, dph_gradient_rule *rule) {
  SEXP group = r_element(plan, "group");
  if (group == R_NilValue) {
    return;
  }
  const int groups = r_integer(r_element(plan, "groups"), "groups");
  if (groups < 1) {
    r_fail_argument("`groups` must be positive");
  }
  rule->groups = (size_t)groups;
  rule->group = r_indices(group, rows->stride, rule->groups, "group");
  rule->group_weight =
      r_doubles(r_element(plan, "group_weight"), rule->groups, 0, "group_weight");
  for (size_t g = 0; g < rule->groups; g++) {
    if (!(rule->group_weight[g] >= 0.0 && rule->group_weight[g] <= 1.0)) {
      r_fail_argument("`group_weight` must lie in [0, 1]");
    }
  }
}

static void r_element_rule(SEXP plan, dph_gradient_rule *rule) {
  SEXP table = r_element(plan, "table"), psi_bound = r_element(plan, "psi_bound");
  rule->psi_bound = psi_bound == R_NilValue ? INFINITY : r_number(psi_bound, "psi_bound");
  rule->element.bound = rule->bound;
  if (table != R_NilValue) {
    rule->element.nodes = (size_t)Rf_xlength(table);
    rule->element.table = r_doubles(table, rule->element.nodes, 0, "table");
  }
  if (rule->estimator->element == dph_element_catoni_smooth && rule->element.nodes < 4) {
    r_fail_argument("this estimator needs a `table`");
  }
  if (rule->step > 0.0 && rule->limit != floor(rule->limit)) {
    r_fail_argument("`limit` must be a whole number");
  }
}

dph_gradient_rule r_rule(SEXP plan, const dph_rows *rows) {
  dph_gradient_rule rule;
  memset(&rule, 0, sizeof rule);
  rule.psi = r_doubles(r_element(plan, "psi"), rows->stride, 1, "psi");
  if (!rule.psi) {
    rule.loss = dph_loss_find(r_text(r_element(plan, "loss"), "loss"));
  }
  rule.tuning = r_doubles(r_element(plan, "tuning"), 1, 1, "tuning");
  rule.estimator = dph_estimator_find(r_text(r_element(plan, "estimator"), "estimator"));
  rule.bound = r_number(r_element(plan, "bound"), "bound");
  rule.step = r_number(r_element(plan, "step"), "step");
  rule.limit = r_number(r_element(plan, "limit"), "limit");
  if (!rule.estimator || !(rule.loss || rule.psi)) {
    r_fail_argument("unknown loss or estimator");
  }
  if (rule.psi && rule.estimator->shrinks) {
    r_fail_argument("shrunken data need a loss of the package");
  }
  const double *tuning = rule.tuning;
  if (rule.loss && rule.loss->tuned && !(tuning && tuning[0] > 0.0 && tuning[0] < INFINITY)) {
    r_fail_argument("this loss needs a positive `tuning`");
  }
  if (rule.loss && !rule.loss->rows_only && !rows->y) {
    r_fail_argument("no response");
  }
  if (!rule.estimator->multiplier) {
    r_element_rule(plan, &rule);
  }
  r_groups(plan, rows, &rule);
  return rule;
}
