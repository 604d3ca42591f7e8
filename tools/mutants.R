# The mutants of tools/mutate.R: name, file, the text to replace (there exactly once), what
# replaces it, what that breaks, and the test files (a filter) of which one must go red.

mutant <- function(name, file, from, to, breaks, filter) {
  list(name = name, file = file, from = from, to = to, breaks = breaks, filter = filter)
}

mutants <- list(
  # ---- accounting ------------------------------------------------------------------
  mutant(
    "calibrated-sigma-halved", "R/calibrate.R",
    "sensitivity * sqrt(count) / gaussian_mu(epsilon, delta)",
    "sensitivity * sqrt(count) / gaussian_mu(epsilon, delta) / 2",
    "half the standard deviation that (epsilon, delta) needs", "calibrate"
  ),
  mutant(
    "calibrated-sqrt-T-dropped", "R/calibrate.R",
    "sensitivity * sqrt(count) / gaussian_mu(epsilon, delta)",
    "sensitivity / gaussian_mu(epsilon, delta)",
    "many releases calibrated as one", "calibrate"
  ),
  mutant(
    "composed-sqrt-T-dropped", "R/accountant.R",
    "mu2 = sum((count * cost^2)[gaussian])", "mu2 = sum((cost^2)[gaussian])",
    "the count of Gaussian releases is not composed", "accountant"
  ),
  mutant(
    "classical-gaussian", "R/calibrate.R",
    "sensitivity * sqrt(count) / gaussian_mu(epsilon, delta)",
    "sensitivity * sqrt(count) * sqrt(2 * log(1.25 / delta)) / epsilon",
    "the classical scale, not private above epsilon = 1", "calibrate"
  ),
  mutant(
    "pure-as-bounded-range-rho", "R/accountant.R",
    "rho <- ifelse(range, cost^2 / 8, cost^2 / 2)", "rho <- cost^2 / ifelse(gaussian, 2, 8)",
    "eps0^2/8 for permute-and-flip and Laplace: pure events at a quarter of their rho",
    "accountant|ledger"
  ),
  mutant(
    "pure-as-bounded-range-mu", "R/accountant.R",
    "ifelse(range, bounded_range_mu(cost), pure_mu(cost))", "bounded_range_mu(cost)",
    "the same in mu", "accountant|ledger"
  ),
  mutant(
    "bounded-range-halved", "R/accountant.R",
    "bounded_range_mu <- function(epsilon0) pure_mu(epsilon0 / 2)",
    "bounded_range_mu <- function(epsilon0) pure_mu(epsilon0 / 4)",
    "a selection costs half of what is proved", "accountant"
  ),
  mutant(
    "group-as-count", "R/accountant.R",
    "new_event(e$mechanism, group * e$cost, e$count,",
    "new_event(e$mechanism, e$cost, group * e$count,",
    "k rows of one person composed as k releases", "accountant|privacy"
  ),
  mutant(
    "discrete-slack-dropped", "R/accountant.R",
    "DISCRETE_SLACK <- 1e-9", "DISCRETE_SLACK <- 0",
    "discrete noise accounted as if it were continuous", "accountant|calibrate|ledger|privacy"
  ),
  mutant(
    "allowance-rounded-up", "R/accountant.R",
    "MARGIN <- 1e-11", "MARGIN <- -1e-11",
    "allowances rounded up: calibrated events cost more than epsilon", "accountant|ledger"
  ),
  # ---- ledger -----------------------------------------------------------------------
  mutant(
    "ledger-sums-exact", "R/ledger-rules.R",
    "room <- max(rule$room, rule$epsilon * TOLERANCE)", "room <- 0",
    "sums are not forgiven their rounding: three times 0.1 does not fit into 0.3", "ledger"
  ),
  mutant(
    "ledger-tolerance-wide", "R/accountant.R",
    "TOLERANCE <- 1e-12", "TOLERANCE <- 0.11",
    "an eleventh call of 0.1 fits into 1", "ledger"
  ),
  mutant(
    "ledger-two-rules-full-delta", "R/ledger-rules.R",
    "  half <- state$delta / 2\n  fresh <-", "  half <- state$delta\n  fresh <-",
    "two filters joined by `or`, each with the whole delta", "ledger"
  ),
  mutant(
    "ledger-admits-all", "R/ledger.R",
    "if (ledger_admits(state, call$total)) {", "if (TRUE) {",
    "a call that does not fit is admitted", "ledger"
  ),
  mutant(
    "ledger-forgets", "R/ledger.R",
    "assign(\"calls\", c(state$calls, list(call)), envir = budget)", "call",
    "a charge is not kept", "ledger"
  ),
  mutant(
    "ledger-fork-spends", "R/ledger.R",
    "if (!identical(budget$process, Sys.getpid())) {", "if (FALSE) {",
    "a forked copy spends the budget again", "ledger"
  ),
  mutant(
    "charged-after-reading", "R/units.R",
    "  ledger_charge(budget, events, epsilon, delta, booked_as(front, read$members))
  one_value_each(mean_values(read$x, read$schema), read$members, control)",
    "  values <- one_value_each(mean_values(read$x, read$schema), read$members, control)
  ledger_charge(budget, events, epsilon, delta, booked_as(front, read$members))
  values",
    "the values are read before the budget is charged", "quantile|cases"
  ),
  # ---- scales of the releases ---------------------------------------------------------
  mutant(
    "quantile-c-doubled", "R/quantile.R",
    "c = (best - QUANTILE_SLACK) / 2,", "c = best - QUANTILE_SLACK,",
    "a quantile loses 2 epsilon", "booked"
  ),
  mutant(
    "lambda-for-2-lambda", "R/grid.R",
    "ratio <- cost / (2 * if", "ratio <- cost / (1 * if",
    "sums of [-B, B] at sensitivity B instead of 2 B", "audit|grid|sensitivity"
  ),
  mutant(
    "gradient-sensitivity-halved", "R/grid.R",
    "c_int <- min(floor(2^bits * mu / 2), floor(2^room))",
    "c_int <- min(floor(2^bits * mu), floor(2^room))",
    "gradients of norm C at sensitivity C instead of 2 C", "audit|grid|sensitivity"
  ),
  mutant(
    "moments-sensitivity", "R/grid.R",
    "c_int <- floor(sqrt(2^bits * mu / sqrt(2)))", "c_int <- floor(sqrt(2^bits * mu))",
    "second moments at sensitivity c^2 instead of sqrt(2) c^2", "grid|sensitivity|audit"
  ),
  mutant(
    "descent-sqrt-T-dropped", "R/lm-descent.R",
    "mu <- plan$stage_mu[[stage]] / sqrt(plan$steps[[stage]])", "mu <- plan$stage_mu[[stage]]",
    "every step of descent spends what is booked for all", "booked"
  ),
  mutant(
    "clip-count-sensitivity", "R/lm-descent.R",
    "law <- count_law(plan$kind, n, stage_cost(plan, \"clip\", plan$clips), sqrt(2))",
    "law <- count_law(plan$kind, n, stage_cost(plan, \"clip\", plan$clips), 1)",
    "a record that leaves a cell and enters another counted as one change", "booked"
  ),
  mutant(
    "residual-counts-sensitivity", "R/lm-mean.R",
    "law <- count_law(\"gaussian\", n, stage_cost(plan, \"residuals\"), sqrt(2))",
    "law <- count_law(\"gaussian\", n, stage_cost(plan, \"residuals\"), 1)",
    "the same for the residuals of a fit of the mean", "booked"
  ),
  mutant(
    "mean-steps-sqrt-T-dropped", "R/lm-mean.R",
    "law <- gradient_law(n, k, plan$mean$slopes / sqrt(steps), rule$bound, pre$root)",
    "law <- gradient_law(n, k, plan$mean$slopes, rule$bound, pre$root)",
    "every step towards the mean spends what is booked for all", "booked"
  ),
  mutant(
    "mean-residual-not-booked", "R/lm-mean.R",
    "if (plan$mean$intercept) {\n      list(scaled_event", "if (FALSE) {\n      list(scaled_event",
    "the mean residual costs nothing", "booked|lm-mean"
  ),
  mutant(
    "tails-sensitivity", "R/mean-fit.R",
    "if (plan$kind == \"laplace\") 2 * d else sqrt(2 * d)",
    "if (plan$kind == \"laplace\") d else sqrt(d)",
    "the same for the tails of a mean", "booked"
  ),
  mutant(
    "n-plus-1-mean", "R/mean-fit.R",
    "count <- rep(n, d)", "count <- rep(n + 1, d)",
    "n + 1 for n in a mean", "mean|audit"
  ),
  mutant(
    "n-plus-1-gradient", "src/solve_pgd.c",
    "const double n = (double)dph_rows_records(rows);",
    "const double n = (double)dph_rows_records(rows) + 1;",
    "n + 1 for n in a gradient", "descent|audit"
  ),
  mutant(
    "n-plus-1-rank", "src/dph_quantile.c",
    "const int64_t aim = t->prob * (int64_t)m;", "const int64_t aim = t->prob * (int64_t)(m + 1);",
    "n + 1 for n in a rank", "choose|quantile"
  ),
  # ---- mechanisms for users --------------------------------------------------------------
  mutant(
    "flip-as-bounded-range", "R/noisy-max.R",
    "event <- if (mechanism == \"exponential\") exponential_event else pure_event",
    "event <- exponential_event",
    "permute-and-flip booked as the exponential mechanism (eps0^2/8)", "noisy-max"
  ),
  mutant(
    "choice-one-sided", "R/noisy-max.R",
    "steps <- usable_steps(2^GRID_BITS * min(epsilon0, 1e100) / 2, 1)",
    "steps <- usable_steps(2^GRID_BITS * min(epsilon0, 1e100), 1)",
    "scores that move either way taken as monotone: a choice loses 2 epsilon", "booked"
  ),
  mutant(
    "vector-sensitivity-halved", "R/mechanisms.R",
    "steps <- usable_steps(2^GRID_BITS * min(cost, 1e100), rounding)",
    "steps <- usable_steps(2^GRID_BITS * min(cost, 1e100) * 2, rounding)",
    "a vector's noise is half of what is booked", "booked"
  ),
  mutant(
    "peel-values-as-one", "R/peel.R",
    "values <- vector_law(\"gaussian\", s, mu, change)",
    "values <- vector_law(\"gaussian\", s, mu, sensitivity)",
    "the values of s entries have the l2 sensitivity of one", "booked"
  ),
  mutant(
    "thresholding-values-after-choices", "R/iht-plan.R", "    if (paid > 1) values(paid - 1),\n",
    "", "values of all rounds are credited as coming after the last choice", "booked"
  ),
  mutant(
    "peel-selections-as-one", "R/peel.R",
    "exponential_event(epsilon0, s, sensitivity, choice$scale, labels[[1L]]),",
    "exponential_event(epsilon0, 1, sensitivity, choice$scale, labels[[1L]]),",
    "s selections booked as one", "booked"
  ),
  mutant(
    "flip-keeps-the-order", "src/dph_flip.c",
    "const size_t j = i + (size_t)dph_rng_below(rng, (uint64_t)(n - i));",
    "const size_t j = i;",
    "permute-and-flip without the permutation", "rank|noisy-max|peel"
  ),
  mutant(
    "one-choice-by-buckets", "src/dph_rank.c",
    "taken = accepts(rng, gap, zero, j, choice->k);",
    "taken = accepts(rng, gap, gap, 0, choice->k);",
    "a choice of one item takes all of a bucket to be as good as its best", "rank"
  ),
  # ---- clipping -----------------------------------------------------------------------
  mutant(
    "clip-before-nan-check", "src/dph_rule.c",
    "out[i] = psi[i] == psi[i] ? m : 0.0;", "out[i] = m;",
    "a derivative that is NaN adds the largest gradient", "overflow"
  ),
  mutant(
    "nan-through-the-clamp", "src/dph_fixed.c",
    "v = v > -limit ? v : -limit;\n  v = v < limit ? v : limit;",
    "v = v < -limit ? -limit : v;\n  v = v > limit ? limit : v;",
    "a clamp that lets NaN through to the integers", "overflow"
  ),
  mutant(
    "missing-counted", "src/dph_sums.c",
    "return v == v && (!rows->use", "return (!rows->use",
    "a missing value is a value", "sums|missing"
  ),
  mutant(
    "infinite-row-kept", "src/dph_moments.c",
    "factor[i] = norm[start + i] < INFINITY ? clip_factor(norm[start + i], rule) : 0.0;",
    "factor[i] = clip_factor(norm[start + i] < 1e300 ? norm[start + i] : 1.0, rule);",
    "rows of huge norm are not clipped", "moments|sensitivity"
  ),
  mutant(
    "weights-not-clipped", "src/dph_moments.c",
    "weight < most ? weight : most", "weight < 2.0 * most ? weight : most",
    "weighted rows reach twice the bound", "moments|sensitivity"
  ),
  mutant(
    "moments-not-clipped", "src/dph_moments.c",
    "norm <= bound ? 1.0 : bound / norm", "norm <= bound ? 1.0 : 2.0 * bound / norm",
    "clipped rows keep twice the bound", "moments|sensitivity"
  ),
  mutant(
    "cells-off-by-one", "src/dph_cells.c",
    "(zero + (1 - 2 * minus) * (1 + at))", "(zero + (1 - 2 * minus) * (1 + at) + minus)",
    "negative sizes are counted one cell too near to zero", "cells"
  ),
  mutant(
    "excluded-rows-counted", "src/dph_cells.c",
    "v[i] = c->use[from + i] != 0 ? v[i] : NAN;", "v[i] = c->use[from + i] != 2 ? v[i] : NAN;",
    "rows that subset excludes are counted", "cells"
  ),
  # ---- compressed columns -----------------------------------------------------------
  mutant(
    "sparse-twice", "src/dph_sparse.c", "falls |= s->i[e] <= last;", "falls |= s->i[e] < last;",
    "a record may stand in a column more than once", "compressed"
  ),
  mutant(
    "sparse-twice-clamped", "src/dph_sparse.c", "bad |= s->i[e] <= last;",
    "bad |= s->i[e] < last;", "the same where entries are clamped and added at once", "compressed"
  ),
  mutant(
    "sparse-past-the-end", "src/dph_sparse.c",
    "return !bad && (last < 0 || (unsigned)last < rows);", "return !bad;",
    "a row that is not there is taken for the first", "compressed"
  ),
  mutant(
    "sparse-clamp-doubled", "src/dph_sparse.c", "v = v < limit ? v : limit;",
    "v = v < 2.0 * limit ? v : 2.0 * limit;", "a contribution of twice the limit", "compressed"
  ),
  mutant(
    "sparse-nan-through-the-clamp", "src/dph_sparse.c", "v = v == v ? v : 0.0;\n", "",
    "a record that is left out adds the limit", "compressed"
  ),
  mutant(
    "sparse-infinite-row-kept", "src/dph_sparse.c",
    "(unsigned char)(t->valid[r] && norm[r] < INFINITY);", "(unsigned char)t->valid[r];",
    "a record that is not finite, or not in use, is not left out", "compressed"
  ),
  mutant(
    "sparse-zeros-forgotten", "src/dph_sparse.c", "(int64_t)(valid * s->rows.p - there);", "0;",
    "zeros are not counted, so that the level is that of the entries alone", "compressed"
  ),
  # ---- noise ----------------------------------------------------------------------------
  mutant(
    "noise-sigma-halved", "src/dph_fixed.c",
    ": dph_discrete_gaussian(rng, law.bits);", ": dph_discrete_gaussian(rng, law.bits) / 2;",
    "half the noise that is booked", "audit"
  ),
  mutant(
    "noise-laplace-halved", "src/dph_fixed.c",
    "dph_discrete_laplace(rng, law.bits)\n", "dph_discrete_laplace(rng, law.bits) / 2\n",
    "the same for Laplace noise", "audit"
  ),
  mutant(
    "noise-first-coordinate", "src/dph_fixed.c",
    "for (size_t i = 0; i < m; i++) {\n    v[i] += law.kind",
    "for (size_t i = m > 1; i < m; i++) {\n    v[i] += law.kind",
    "no noise on the first of several coordinates", "audit"
  ),
  mutant(
    "noise-off-diagonal", "src/dph_moments.c",
    "off.bits += DPH_MOMENTS_OFF_BITS;", "off.bits += DPH_MOMENTS_OFF_BITS - 1;",
    "half the noise on products of two columns", "audit|moments"
  ),
  mutant(
    "noise-shared", "src/dph_rng.c",
    "if (++rng->state[12] == 0) {",
    "rng->state[12] = (rng->state[12] + 1) & 255;\n  if (rng->state[14] != 0) {",
    "the stream repeats after 256 blocks: the same noise again and again", "noise"
  ),
  mutant(
    "key-constant", "src/r_key.c",
    "return dph_os_key(out, err);", "dph_wipe(out, 32); return DPH_OK;",
    "every secure release has the same key", "noise|rng"
  ),
  mutant(
    "key-reused", "R/mean-fit.R",
    "count <- pmax(release_complete(rows, counts, release_key(control)), 1)",
    "count <- pmax(release_complete(rows, counts, as.raw(1:32)), 1)",
    "a release of a fit has a fixed key", "audit|rng|mean"
  ),
  mutant(
    "laplace-zero-twice", "src/dph_noise.c",
    "if (magnitude != 0) {", "if (magnitude >= 0) {",
    "the negative zero counts: zero comes twice as often", "noise"
  ),
  mutant(
    "laplace-scale", "src/dph_noise.c",
    "while (!dph_bernoulli_exp(rng, low, k));", "while (!dph_bernoulli_exp(rng, low, k + 1));",
    "the low bits of Laplace noise have another scale", "noise"
  ),
  mutant(
    "gaussian-acceptance", "src/dph_noise.c",
    "!bernoulli_exp_product(rng, low, (v << (k + 1)) + low, 2 * k + 1)) {",
    "!bernoulli_exp_product(rng, low, (v << (k + 1)) + low, 2 * k + 2)) {",
    "the Gaussian's acceptance probability is too high", "noise"
  ),
  mutant(
    "gaussian-table", "src/dph_noise.c",
    "{0xea917985u,", "{0xea517985u,",
    "one digit of the Gaussian's table is wrong: a probability is off by 0.001", "noise"
  ),
  mutant(
    "gaussian-zero-twice", "src/dph_noise.c",
    "if ((negative && magnitude == 0) ||", "if ((negative && magnitude < 0) ||",
    "the negative zero counts", "noise"
  ),
  mutant(
    "comparison-ties", "src/dph_noise.c",
    "if (v > u->word[i]) {", "if (v >= u->word[i]) {",
    "<= for < where two uniforms are compared (one draw in 2^32: cannot be seen)", "noise"
  ),
  mutant(
    "choice-scale", "src/dph_choose.c",
    "if (dph_bernoulli_exp(rng, rest, k)) {", "if (dph_bernoulli_exp(rng, rest, k - (k > 0))) {",
    "the exponential mechanism at twice its epsilon", "choose"
  ),
  mutant(
    "choice-first", "src/dph_choose.c",
    "for (size_t i = 0; i < c->n; i++) {\n    c->count",
    "for (size_t i = 0; i + (c->n > 2) < c->n; i++) {\n    c->count",
    "the last candidate is never proposed", "choose"
  ),
  mutant(
    "chunks-by-threads", "src/dph_parallel.c",
    "walk.length = chunk_rows(columns);",
    "walk.length = chunk_rows(columns) / (threads > 1 ? 2 : 1);",
    "sums of doubles that depend on the number of threads", "threads"
  ),
  # ---- logistic regression, order of releases ------------------------------------------
  mutant(
    "covariates-not-clipped", "src/dph_rule.c",
    "const double share = ratio < 1.0 ? ratio : 1.0;", "const double share = 1.0;",
    "a row with long covariates moves a logistic gradient without bound", "sensitivity|glm"
  ),
  mutant(
    "binary-response-not-clamped", "src/dph_loss.c",
    "(p - clamp(y, one - one, one))", "(p - y)",
    "a response beyond 0 and 1 pulls as hard as the clamp of the derivative lets it", "glm"
  ),
  mutant(
    "composed-order-forgotten", "R/privacy.R",
    "ordered <- (ordered || !several) && all(vapply(parts, function(p) p$ordered, NA))",
    "ordered <- ordered || !several",
    "a composition in any order, composed again, counts as one in a known order", "compose"
  ),
  # ---- the general problem ---------------------------------------------------------------
  mutant(
    "median-doubled", "src/dph_groups.c",
    "out[j] = middle(own[(groups - 1) / 2], own[groups / 2]);",
    "out[j] = own[(groups - 1) / 2] + own[groups / 2];",
    "the median of groups moves by twice what its noise is for", "sensitivity|gradients"
  ),
  mutant(
    "group-weights-dropped", "src/dph_gradient.c",
    "work->m[i] = inv_step * rule->group_weight[rule->group[dph_rows_at(rows, start + i)]];",
    "work->m[i] = inv_step * rule->group_weight[0 * start];",
    "a median of sums of groups of unequal sizes, which are no means", "gradients"
  ),
  mutant(
    "nan-derivative-counts", "src/dph_psi.c",
    "const double psi = work->psi[i] == work->psi[i] && work->valid[i] ? work->psi[i] : 0.0;",
    "const double psi = work->valid[i] ? work->psi[i] : 0.0;",
    "a derivative that is no number counts as an infinite one", "gradients"
  ),
  mutant(
    "truncation-forgotten", "src/dph_element.c",
    "z[i] = fabs(g) <= bound ? g : 0.0;", "z[i] = g;",
    "values beyond the level are clamped, not put to zero", "gradients|mean-robust"
  ),
  mutant(
    "psi-unbounded", "src/dph_psi.c",
    "const double most = rule->psi_bound < 1e300 ? rule->psi_bound : 1e300;",
    "const double most = 1e300;",
    "derivatives of shrunken data beyond their bound: sums clamp where none should", "gradients"
  ),
  mutant(
    "limit-not-whole", "src/r_rule.c",
    "if (rule->step > 0.0 && rule->limit != floor(rule->limit)) {",
    "if (rule->step > 0.0 && rule->limit < 0.0) {",
    "a limit that rounds up after the clamp", "gradients"
  ),
  mutant(
    "one-batch-again", "R/sco-descent.R",
    "index <- if (plan$split) state$batches[[step]]",
    "index <- if (plan$split) state$batches[[1L]]",
    "every step reads the same batch, all charged as one", "booked|sco"
  ),
  mutant(
    "steps-not-composed", "R/sco-plan.R",
    "plan$stage_mu[[stage]] / sqrt(max(plan$steps[[stage]], 1))", "plan$stage_mu[[stage]]",
    "the steps of a stage have the noise of one", "booked|sco"
  ),
  mutant(
    "coordinates-as-one-count", "R/sco-descent.R",
    "stage_cost(plan, \"clip\", plan$clips), sqrt(2) * k)",
    "stage_cost(plan, \"clip\", plan$clips), sqrt(2))",
    "a record moves k counts, the noise is for one", "booked"
  ),
  mutant(
    "gradient-key-fixed", "R/sco-descent.R",
    "out <- release_gradient(at$rows, at$norm, at$w, plan, release_key(control))",
    "out <- release_gradient(at$rows, at$norm, at$w, plan, as.raw(1:32))",
    "all gradients have the same noise", "loss-user|sco"
  ),
  mutant(
    "papers-steps-forgotten", "R/sco-paper.R",
    "mu <- 1 / paper_gaussian(spec$epsilon, spec$delta, plan$count)",
    "mu <- 1 / paper_gaussian(spec$epsilon, spec$delta, 1)",
    "each of T steps has the noise of a single release", "paper"
  ),
  mutant(
    "robust-mean-halved", "R/mean-robust.R",
    "coordinate_law(plan$kind, n, plan$d, plan$cost[[\"sums\"]], plan$level * plan$reach)",
    "coordinate_law(plan$kind, n, plan$d, 2 * plan$cost[[\"sums\"]], plan$level * plan$reach)",
    "half the noise in truncated means, medians of means and Catoni's", "booked|mean-robust"
  ),
  mutant(
    "group-sums-halved", "R/mean-by-plan.R",
    "law <- sum_law(kind, n, if (kind == \"laplace\") d else d / 2, cost)",
    "law <- sum_law(kind, n, if (kind == \"laplace\") d / 2 else d / 4, cost)",
    "a row that leaves one group and enters another counts once", "mean-by"
  ),
  mutant(
    "group-grid-of-its-size", "R/mean-by-fit.R",
    "own <- private_limits(x, plan$own, control, center, plan$n)",
    "own <- private_limits(x, plan$own, control, center)",
    "the grid of a group's counts follows its private size", "mean-by"
  ),
  mutant(
    "group-beyond-counted-twice", "R/mean-by-fit.R",
    "out[, at] <- c(out[, at[1:2]] * !(above | below), above, below)",
    "out[, at] <- c(out[, at[1:2]], above, below)",
    "a value beyond limits that are shared adds to two sums in full", "mean-by"
  ),
  mutant(
    "mixing-loss-accepted", "R/loss-user.R",
    "if (!identical(trial(loss$derivative, pairs[rows, ], \"derivative\"), all[rows])) {",
    "if (FALSE) {",
    "a user's derivative may mix the records", "loss-user"
  ),
  mutant(
    "units-clipped-late", "src/dph_gradient.c",
    "clipped->multiplier(unit->psi, unit->eta, bound, unit->m);",
    "clipped->multiplier(unit->psi, unit->eta, 2.0 * bound, unit->m);",
    "a unit adds twice what the noise is for", "units"
  ),
  mutant(
    "units-searched-by-rows", "R/units.R",
    "  if (is.null(units)) {\n    return(v)\n  }\n  v[\"units\"]",
    "  if (TRUE) {\n    v[\"units\"] <- list(NULL)\n    return(v)\n  }\n  v[\"units\"]",
    "centres and scales see all rows of a unit", "units"
  ),
  mutant(
    "units-uncounted", "R/units.R",
    "left <- 1 - (spec$reserve$share %||% 0)", "left <- 1",
    "the counts of rows per unit are spent twice over", "units"
  ),
  mutant(
    "loss-messages-leave", "R/loss-user.R",
    "message = function(m) invokeRestart(\"muffleMessage\")", "message = function(m) NULL",
    "what a user's function says about the data leaves the fit", "loss-user"
  )
)
