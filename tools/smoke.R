# One small call per entry of the compiled code and one per front, for runs under valgrind
# or with a collection at every allocation.
#
#   Rscript tools/smoke.R           every entry and every front once
#   Rscript tools/smoke.R torture [ENTRY]
#                                   every entry (or one) under gctorture2(1), with right and
#                                   with wrong arguments: answers and errors must stay the same
#
# An entry of src/init.c, or an exported dp_*(), without a line here is an error: add its
# arguments to `entries` (`entry`, or `"entry variant"` for one more call) or its call to
# `fronts` (`front`, or `"front variant"`).

library(dpheavy)

# Lines are evaluated where the package's own functions are visible.
smoke <- new.env(parent = asNamespace("dpheavy"))

entries <- local({
  key <- as.raw(1:32)
  set.seed(1)
  n <- 12
  x <- matrix(stats::rt(3 * n, 3), n)
  x[2, 1] <- NA
  use <- rep(c(TRUE, TRUE, FALSE), length.out = n)
  rows <- new_rows(
    x, stats::rt(n, 3), offset = rep(0.1, n), use = use, intercept = TRUE, which = 0:3
  )
  columns <- new_rows(x, use = use, which = 0:2)
  root <- grid_root(rbind(c(1, 0, 0, 0), c(0.5, 2, 0, 0), c(0, 0.25, 1, 0), c(0, 0, 0.5, 1)))
  norm <- row_norms(rows, root)
  counts <- count_law("gaussian", n, 1, 2)
  sums <- sum_law("laplace", n, 3, 1)
  moments <- moment_law(n, 5, 1, 2)
  law <- gradient_law(n, 4, 1, 2, root)
  units <- list(order = c(2L, 0L, 1L, 4L), start = c(0L, 3L, 3L, 4L), most = 2, scale = 0.5)
  plan <- c(law[c("noise", "step", "limit")], list(
    bound = 2, iterations = 3, eta = 1, root = root,
    loss = "squared", estimator = "clipped"
  ))
  logistic <- utils::modifyList(plan, list(loss = "logistic", estimator = "covariate"))
  coordinates <- utils::modifyList(plan, list(
    estimator = "winsorized", limit = 2^20, noise = counts$noise, root = NULL
  ))
  medians <- c(coordinates, list(
    groups = 3, group = rep(0:2, 4), group_weight = rep(1, 3), index = c(5L, 0L, 7L, 2L)
  ))
  with <- function(rule, ...) utils::modifyList(rule, list(...))
  vector <- vector_law("laplace", 3, 1, 1)
  choice <- score_law(1, 1)
  cells <- c(-4, 4, 2, 1)
  none <- c(0, 0)
  sparse <- rows
  sparse$x <- list(x = c(1, NA, -2), i = c(0L, 1L, 11L), p = c(0L, 2L, 2L, 3L), dim = c(12L, 3L))
  w <- rep(0.1, 4)
  element <- list(
    loss = "squared", estimator = "winsorized", bound = 1, step = 2^-9, limit = 2^9, noise = c(1, 9)
  )
  list(
    bernoulli_exp = list(3, 2, 5, key),
    chacha_block = list(key, 70),
    choose_exponential = list(c(0, 3, -2), 1, 5, key),
    column_complete = list(columns, counts$unit, counts$noise, key, FALSE),
    column_sums = list(columns, sums$limit, sums$noise, key, FALSE),
    "column_sums plain" = list(columns, Inf, none, key, FALSE),
    core_live = list(),
    count_coordinates = list(
      rows, norm, rep(0.1, 4), coordinates, cells, counts$unit, key, FALSE
    ),
    "count_coordinates exact" = list(
      rows, norm, rep(0.1, 4), with(coordinates, estimator = "shrunken", psi_bound = 3),
      c(-80, 80, 2, 0), counts$unit, key, TRUE
    ),
    count_equal = list(
      rows, c(-1, -1, -1, -1), c(1, 1, 2, 2), 3, counts$unit, counts$noise, key, FALSE
    ),
    count_octaves = list(rows, "columns", cells, counts$unit, counts$noise, key, FALSE),
    "count_octaves pairs" = list(rows, "pairs", cells, counts$unit, none, key, TRUE),
    count_sizes = list(
      rows, norm, rep(0.1, 4), "squared", NULL, cells, counts$unit, counts$noise, key, FALSE
    ),
    "count_sizes units" = list(
      c(rows, units = list(units)), norm, rep(0.1, 4), "squared", root, cells, counts$unit,
      counts$noise, key, TRUE
    ),
    "count_sizes units' norms" = list(
      c(rows, units = list(units)), norm, NULL, "squared", NULL, cells, counts$unit,
      counts$noise, key, FALSE
    ),
    draw_noise = list(1, 20, 5, key),
    float_check = list(),
    gradient = list(rows, norm, rep(0.1, 4), plan, key, FALSE),
    "gradient medians" = list(rows, norm, rep(0.1, 4), medians, key, TRUE),
    "gradient plain" = list(
      rows, norm, rep(0.1, 4), with(medians, step = 0, limit = 1, noise = none), key, FALSE
    ),
    "gradient psi" = list(
      rows, norm, rep(0.1, 4),
      with(plan, psi = c(NaN, Inf, -1e308, rep(0.5, n - 3)), index = c(1L, 5L, 0L)), key, FALSE
    ),
    "gradient smooth" = list(
      rows, norm, rep(0.1, 4),
      with(coordinates, estimator = "catoni_smooth", table = catoni_table(1, 16)), key, FALSE
    ),
    "gradient units" = list(c(rows, units = list(units)), norm, rep(0.1, 4), plan, key, TRUE),
    "gradient units winsorized" = list(
      c(rows, units = list(units)), norm, rep(0.1, 4), coordinates, key, FALSE
    ),
    "gradient truncated" = list(
      rows, norm, rep(0.1, 4), with(coordinates, estimator = "truncated"), key, TRUE
    ),
    loss = list("logistic", "value", c(-1, 0, 800), c(0, 1, 0.5), NULL),
    "loss derivative" = list("biweight", "derivative", c(-1, 0, 1e308), c(0, 1, NaN), 2),
    margins = list(rows, norm, rep(0.1, 4)),
    moments = list(rows, norm, 2, moments$step, moments$noise, key, FALSE),
    weighted_moments = list(
      rows, rep(c(1, NaN, Inf, -1, 0.2), length.out = n), diag(4), 2, moments$step, moments$noise,
      key, FALSE
    ),
    "weighted_moments plain" = list(rows, rep(1, n), diag(4), 2, 0, none, key, FALSE),
    "moments plain" = list(rows, norm, 2, 0, none, key, FALSE),
    permutation = list(9, key),
    pgd = list(rows, norm, rep(0.1, 4), plan, key, FALSE),
    "pgd exact" = list(rows, norm, rep(0.1, 4), plan, key, TRUE),
    "pgd logistic" = list(
      c(rows, margin_offset = 1), norm, rep(0.1, 4), logistic, key, FALSE
    ),
    range_compose = list(c(1, 1, 0.5, 0.2, 0.1, 0, 0, 0), 0.25, 2, 3),
    release_vector = list(c(1, -2, 0), vector$multiplier, vector$noise, key, FALSE),
    "release_vector exact" = list(c(1, -2, 1e300), vector$multiplier, vector$noise, key, TRUE),
    select_top = list(
      c(1, 9, 3, 9), choice$multiplier, "exponential", choice$bits, 3, TRUE, key, FALSE
    ),
    "select_top one" = list(
      c(1, 9, 3, 9), choice$multiplier, "exponential", choice$bits, 1, TRUE, key, FALSE
    ),
    "select_top flip" = list(
      c(1, 9, 3, 9), choice$multiplier, "permute_and_flip", choice$bits, 3, FALSE, key, FALSE
    ),
    "select_top laplace" = list(
      c(1, 9, 3, 9), choice$multiplier, "laplace", choice$bits, 3, FALSE, key, FALSE
    ),
    "select_top exact" = list(
      c(1, 9, 3, 9), choice$multiplier, "exponential", choice$bits, 3, FALSE, key, TRUE
    ),
    quantile_release = list(x, c(0.2, 0.5), 1, -10, 10, key),
    quantile_scores = list(x, 0.5, 1, -10, 10, c(-1, 0, 1)),
    row_norms = list(rows, root, TRUE),
    sparse_coordinates = list(sparse, norm, w, element, cells, 1, key, FALSE),
    sparse_gradient = list(sparse, norm, w, element, key, FALSE),
    "sparse_gradient plain" = list(
      sparse, norm, w, utils::modifyList(element, list(step = 0, noise = none)), key, FALSE
    ),
    "sparse_gradient exact" = list(
      sparse, norm, w, utils::modifyList(element, list(estimator = "catoni")), key, TRUE
    ),
    sparse_margins = list(sparse, norm, w),
    sparse_norms = list(sparse),
    sparse_sound = list(sparse$x),
    threads_max = list(),
    unit_gradients = list(c(rows, units = list(units)), norm, rep(0.1, 4), plan)
  )
}, envir = smoke)

# Calls, not values: evaluated one by one below.
fronts <- alist(
  dp_audit = dp_audit(function(x) dp_laplace(sum(x), 1, 1), 0, 1, n = 200, synthetic = TRUE),
  dp_control = dp_control(rng = "R"),
  dp_gaussian = dp_gaussian(x[1:3], 1, epsilon = 1, delta = 1e-6),
  dp_laplace = dp_laplace(x[1:3], 1, epsilon = 1),
  dp_glm = dp_glm(y ~ x, list2DF(list(x = x, y = x > 0)), epsilon = 20, delta = 1e-5),
  dp_sparse = dp_sparse(cbind(x), x, epsilon = 20, delta = 1e-5, sparsity = 1),
  "dp_sco sparse" = dp_sco(
    cbind(x), x, epsilon = 20, delta = 1e-5, constraint = sparse_vectors(1)
  ),
  dp_lasso = dp_lasso(cbind(x), x, epsilon = 20, delta = 1e-5, radius = 1),
  dp_lm = dp_lm(y ~ x, list2DF(list(x = x, y = 1 + 2 * x)), epsilon = 20, delta = 1e-5),
  "dp_lm units" = dp_lm(y ~ x, list2DF(list(x = x, y = 1 + 2 * x, i = seq_along(x) %/% 2)),
                        epsilon = 20, delta = 1e-5, unit = ~i),
  dp_mean = dp_mean(x, epsilon = 20, na.rm = TRUE),
  "dp_mean by" = dp_mean(x, epsilon = 20, by = x > 0),
  "dp_mean by bound" = dp_mean(x, epsilon = 20, by = x > 0, bound = 9, interval = TRUE),
  dp_noisy_max = dp_noisy_max(x, 1, epsilon = 1, mechanism = "permute_and_flip"),
  dp_plan = dp_plan("lm", n = 3000, d = 2, epsilon = 1, delta = 1e-5, target = 0.1),
  "dp_mean bound" = error_bound(dp_mean(x, epsilon = 20, method = "truncated",
                                        moment = moment_bound(1.5, 9))),
  dp_peel = dp_peel(x, 3, 1, epsilon = 1, delta = 1e-6),
  dp_sco = dp_sco(y ~ x, list2DF(list(x = x, y = 1 + 2 * x)), epsilon = 20, delta = 1e-5),
  dp_quantile = dp_quantile(x, c(0.1, 0.5), epsilon = 20, bound = c(-9, 9)),
  dp_residuals = dp_residuals(dp_lm(x, x^2, epsilon = 20, delta = 1e-5), x, x^2, epsilon = 20),
  "dp_residuals glm" = dp_residuals(dp_glm(x, x > 0, epsilon = 20, delta = 1e-5), x, x > 0,
                                    epsilon = 20, bins = 2),
  "dp_quantile counts" = dp_quantile(x, c(0.01, 0.5, 0.999), epsilon = 40),
  dp_shortfall = dp_shortfall(x, 0.9, epsilon = 20, na.rm = TRUE),
  "dp_shortfall bound" = dp_shortfall(x, 0.9, epsilon = 20, bound = 9, tail = "lower"),
  dp_tail_index = dp_tail_index(x, epsilon = 20, tail = "both"),
  dp_var = dp_var(x, epsilon = 20, na.rm = TRUE),
  "dp_var bound" = dp_var(cbind(x, x), epsilon = 20, delta = 1e-5, bound = 9),
  dp_tune = dp_tune(
    alist(dp_lm(y ~ x, epsilon = 20, delta = 1e-5), dp_lm(y ~ 1, epsilon = 20, delta = 1e-5)),
    list2DF(list(x = x, y = 1 + 2 * x)), epsilon = 20, holdout = 0.4
  ),
  "dp_mean truncated" = dp_mean(x, epsilon = 20, method = "truncated",
                                moment = moment_bound(2, 9)),
  "dp_mean catoni" = dp_mean(x, epsilon = 20, method = "catoni", bound = 3, beta = 1),
  "dp_sco medians" = dp_sco(x, x^2, epsilon = 20, delta = 1e-5, gradient = grad_mom(groups = 2)),
  "dp_sco split" = dp_sco(x, x^2, epsilon = 20, delta = 1e-5, gradient = grad_catoni(2, beta = 1),
                          control = dp_control(batches = "split", threads = 2)),
  "dp_sco user" = dp_sco(x, x^2, epsilon = 20, delta = 1e-5, constraint = l2_ball(1),
                         loss = loss_user(function(eta, y) tanh(eta - y), bound = 1)),
  "dp_sco mean" = dp_sco(x, epsilon = 1, delta = 1e-5, loss = loss_mean(), gradient = grad_mom(),
                         constraint = l2_ball(2), moment = moment_bound(1.5, 9),
                         control = dp_control("paper", iterations = 1))
)

# ---- running them ----------------------------------------------------------------

routines <- getDLLRegisteredRoutines("dpheavy")$.Call

entry_of <- function(name) sub(" .*", "", name)

call_entry <- function(name, arguments) {
  do.call(.Call, c(list(routines[[entry_of(name)]]), arguments))
}

# The answer, or the text of the error; with `torture` a collection at every allocation.
outcome <- function(name, arguments, torture = FALSE) {
  force(arguments)
  on.exit(gctorture2(0))
  tryCatch(
    {
      if (torture) gctorture2(1)
      answer <- call_entry(name, arguments)
      gctorture2(0)
      list(answer)
    },
    error = function(e) {
      gctorture2(0)
      conditionMessage(e)
    }
  )
}

check_names <- function(what, wanted, listed) {
  missing <- setdiff(wanted, listed)
  extra <- setdiff(listed, wanted)
  if (length(missing) > 0L || length(extra) > 0L) {
    stop(what, ": no line in tools/smoke.R for {", toString(missing), "}, needless lines for {",
      toString(extra), "}", call. = FALSE)
  }
}

check_live <- function(name) {
  live <- call_entry("core_live", list())
  if (live != 0) stop("the core holds ", live, " blocks after ", name, call. = FALSE)
}

check_entry <- function(name, torture) {
  arguments <- entries[[name]]
  answer <- outcome(name, arguments)
  if (is.character(answer)) stop(name, " failed: ", answer, call. = FALSE)
  if (torture && !identical(outcome(name, arguments, TRUE), answer)) {
    stop(name, " has another answer under gctorture2(1)", call. = FALSE)
  }
  check_live(name)
  for (i in seq_along(arguments)) {
    wrong <- arguments
    wrong[[i]] <- complex(2L)
    refused <- outcome(name, wrong)
    if (torture && !identical(outcome(name, wrong, TRUE), refused)) {
      stop(name, " behaves otherwise under gctorture2(1) if argument ", i, " is wrong",
        call. = FALSE)
    }
    check_live(name)
  }
  cat("ok ", name, "\n", sep = "")
}

options <- commandArgs(trailingOnly = TRUE)
torture <- "torture" %in% options
only <- setdiff(options, "torture")
check_names("entries", names(routines), unique(entry_of(names(entries))))
if (length(only) > 0L) entries <- entries[entry_of(names(entries)) %in% only]
for (name in names(entries)) check_entry(name, torture)

exported <- grep("^dp_", getNamespaceExports("dpheavy"), value = TRUE)
check_names("fronts", exported, unique(entry_of(names(fronts))))
if (!torture) {
  set.seed(2)
  smoke$x <- c(stats::rt(80, 3))
  for (name in names(fronts)) {
    invisible(suppressWarnings(eval(fronts[[name]], smoke)))
    check_live(name)
    cat("ok ", name, "\n", sep = "")
  }
}
cat(length(entries), "calls of entries", if (torture) "under gctorture2(1)", "\n")
