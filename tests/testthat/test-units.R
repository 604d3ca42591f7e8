# Neighbours that differ in one unit: sums over the rows of a unit against their twin, what
# replacing a unit with all its rows moves, and that no release of a fit sees single rows.

test_that("gradients of units are the twin's", {
  set.seed(811)
  for (n in c(1, 7, 300, 1500)) {
    for (p in c(1, 4, 9)) {
      m <- max(1L, n %/% 3L)
      rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE, use = TRUE), FALSE)
      rows$units <- made_up_units(n, m, sample(c(1, 2.5, Inf), 1), sample(c(1, 0.3), 1))
      norm <- row_norms(rows)
      w <- stats::rnorm(p + 1)
      for (loss in c("squared", "huber")) {
        rule <- list(loss = loss, estimator = "clipped", bound = 2, tuning = 0.7)
        got <- unit_gradients(rows, norm, w, rule)
        expect_equal(got, twin_unit_gradients(rows, norm, w, loss, 0.7), tolerance = 1e-12)
      }
      rows$y <- as.numeric(rows$y > 0)
      rows$y_center <- 0
      rows$y_inv_scale <- 1
      rule <- list(loss = "logistic", estimator = "covariate", bound = 2)
      got <- unit_gradients(rows, norm, w, rule)
      expect_equal(got, twin_unit_gradients(rows, norm, w, "logistic", bound = 2),
                   tolerance = 1e-12)
    }
  }
})

test_that("units of one row are rows: the same integers", {
  set.seed(812)
  for (p in c(1, 5)) {
    rows <- made_up_rows(400, p, list(intercept = TRUE, centring = TRUE), special = FALSE)
    k <- p + 1L
    law <- gradient_law(400, k, 1, 2, NULL)
    norm <- row_norms(rows)
    w <- stats::rnorm(k)
    own <- rows
    own$units <- units_of(sample(400), 400)
    plan <- descent_plan(k, law, 2)
    got <- function(r) from_int64(release_descent(r, norm, w, plan, exact = TRUE))
    # a product more may change the last bit, and with it the rounding of a row in a million
    expect_lte(max(abs(got(rows) - got(own))), 2)
    cells <- octave_cells(-80, 80, 4)
    count <- function(r, w) {
      release_sizes(r, norm, w, "squared", cells, list(unit = 1, noise = c(0, 0)), exact = TRUE)
    }
    expect_lte(sum(abs(diff_int64(count(rows, w), count(own, w)))), 2)
    expect_lte(sum(abs(diff_int64(count(rows, NULL), count(own, NULL)))), 2)
  }
})

# Exact statistics with all rows of unit `u` replaced, by many and by few.
replaced_unit <- function(rows, u, records, statistic) {
  units <- rows$units
  own <- units$order[seq(units$start[[u]], units$start[[u + 1L]] - 1L) + 1L] + 1L
  p <- ncol(rows$x)
  lapply(records, function(record) {
    # the first rows alike, the others mixed
    for (i in own) {
      now <- if (stats::runif(1) < 0.7) record else sample(record)
      rows$x[i, ] <- now[seq_len(p)]
      rows$y[[i]] <- now[[p + 1L]]
    }
    statistic(rows)
  })
}

test_that("replacing a unit with all its rows moves a gradient sum by what one row may", {
  set.seed(813)
  worst <- 0
  for (p in c(1, 4)) for (estimator in c("clipped", "covariate")) {
    k <- p + 1L
    for (root in list(NULL, made_up_root(k), hard_root(k, 1e6))) {
      n <- 120
      rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE))
      rows$units <- units_of(c(rep(1L, 40), sample(2:20, 80, TRUE)), 20,
                             sample(c(1, 5, Inf), 1), sample(c(1, 0.2), 1))
      bound <- sample(c(1e-3, 1, 1e6), 1)
      law <- gradient_law(20, k, 1, bound, root)
      plan <- descent_plan(k, law, bound, root)
      plan$estimator <- estimator
      w <- stats::rnorm(k) * sample(c(1, 1e6), 1)
      stats <- replaced_unit(rows, 1L, wild_records(p), function(r) {
        release_descent(r, row_norms(r, root), w, plan, exact = TRUE)
      })
      worst <- max(worst, largest_change(stats, l2) / 2^law$noise[[2L]])
    }
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.9)
})

test_that("winsorised coordinates and counts of units move by what one row may", {
  set.seed(814)
  n <- 120
  for (estimator in c("winsorized", "truncated", "catoni", "shrunken")) {
    rows <- made_up_rows(n, 3, list(intercept = TRUE))
    rows$units <- units_of(c(rep(1L, 40), sample(2:20, 80, TRUE)), 20)
    plan <- list(loss = "squared", estimator = estimator, bound = 2, step = 1e-3, limit = 2000,
                 noise = c(0, 0))
    stats <- replaced_unit(rows, 1L, wild_records(3), function(r) {
      release_gradient(r, row_norms(r), stats::setNames(c(1, 0, -1, 2), NULL), plan, exact = TRUE)
    })
    moved <- largest_change(stats, function(v) max(abs(v)))
    expect_lte(moved, 4000)
    expect_gt(moved, if (estimator == "truncated") 0 else 3000)
  }
  law <- list(unit = 1, noise = c(0, 0))
  cells <- octave_cells(-80, 80, 2)
  rows <- made_up_rows(n, 3, list(intercept = TRUE))
  rows$units <- units_of(c(rep(1L, 40), sample(2:20, 80, TRUE)), 20)
  for (w in list(NULL, c(1, 0, -1, 2))) {
    stats <- replaced_unit(rows, 1L, wild_records(3), function(r) {
      release_sizes(r, row_norms(r), w, "squared", cells, law, exact = TRUE)
    })
    expect_lte(largest_change(stats, l1), 2)
    expect_gt(largest_change(stats, l1), 0)
  }
  plan <- list(loss = "squared", estimator = "winsorized", bound = 1, step = 1, limit = 1)
  stats <- replaced_unit(rows, 1L, wild_records(3), function(r) {
    release_coordinates(r, row_norms(r), c(1, 0, -1, 2), plan, cells, law, exact = TRUE)
  })
  expect_lte(largest_change(stats, l1), 2 * 4)
})

test_that("entries for single rows refuse units", {
  rows <- made_up_rows(10, 2)
  rows$units <- units_of(rep(1:5, 2), 5)
  rows$which <- 0
  law <- list(unit = 1, noise = c(0, 0), step = 1, limit = 1)
  expect_error(release_octaves(rows, "columns", octave_cells(), law), "single rows")
  expect_error(release_equal_cells(rows, 0, 1, 4, law), "single rows")
  expect_error(release_moments(rows, rep(1, 10), 1, law), "single rows")
  expect_error(release_weighted_moments(rows, rep(1, 10), diag(2), 1, law), "single rows")
  expect_error(release_sums(rows, law), "single rows")
  expect_error(release_complete(rows, law), "single rows")
  expect_error(release_gradient(rows, rep(1, 10), c(0, 0), list(
    loss = "squared", estimator = "clipped", bound = 1, step = 1, limit = 1, noise = c(0, 0),
    index = 0:4
  )), "no view")
})

# The number of records of every release while `expr` runs.
records_seen <- function(expr) {
  seen <- numeric()
  note <- function(name, frame) {
    rows <- frame$rows
    seen <<- c(seen, if (is.null(rows)) length(frame$x) else if (is.null(rows$units)) {
      nrow(rows$x)
    } else {
      length(rows$units$start) - 1L
    })
  }
  names <- c("release_octaves", "release_equal_cells", "release_sizes", "release_moments",
             "release_weighted_moments", "release_descent", "release_gradient",
             "release_coordinates", "release_sums", "release_complete", "release_quantiles")
  tracing(names, note, expr)
  seen
}

# As expect_booked() of test-booked.R, for what is common to all: the events hold the count.
expect_booked_with_units <- function(call) {
  privacy <- privacy(quiet(call()))
  expect_identical(privacy$neighbours, "replace one unit")
  # of the events alone: epsilon_at() knows the declared one, too
  total <- compose_events(privacy$events, ordered = TRUE)
  if (all(vapply(privacy$events, `[[`, "", "mechanism") != "gaussian")) {
    expect_lte(total_epsilon(total, 0), privacy$epsilon * (1 + 1e-9))
    expect_gt(total_epsilon(total, 0), 0.99 * privacy$epsilon)
  } else {
    expect_lte(total_delta(total, privacy$epsilon), privacy$delta * (1 + 1e-6))
    expect_gt(total_delta(total, privacy$epsilon), 0.9 * privacy$delta)
  }
}

test_that("every release of every front is one of units", {
  set.seed(815)
  data <- panel(900)
  x <- as.matrix(data[c("x1", "x2")])
  wide <- cbind(x, matrix(stats::rt(nrow(x) * 4, 3), nrow(x)))
  fits <- list(
    function() dp_lm(x, data$y, 4, 1e-6, unit = data$id),
    function() dp_lm(x, data$y, 4, 1e-6, unit = data$id, unit_weight = "mean", intercept = FALSE),
    function() dp_lm(x, data$y, 4, 1e-6, unit = data$id, loss = "huber", max_rows = 3),
    function() dp_glm(x, data$b, 4, 1e-6, unit = data$id),
    function() dp_lasso(wide, data$y, 4, 1e-6, radius = 3, unit = data$id),
    function() dp_lasso(wide, data$y, 4, 1e-6, radius = 3, unit = data$id, solver = "frank_wolfe"),
    function() dp_lasso(wide, data$y, 4, 0, radius = 3, unit = data$id),
    function() dp_sparse(wide, data$y, 4, 1e-6, sparsity = 2, unit = data$id),
    function() dp_sparse(wide, data$y, 4, 1e-6, sparsity = 2, unit = data$id, solver = "iht"),
    function() dp_sparse(wide, data$y, 4, 0, sparsity = 2, unit = data$id),
    function() dp_sco(x, data$y, 4, 1e-6, unit = data$id, gradient = grad_catoni(2)),
    function() dp_sco(x, data$y, 4, 1e-6, unit = data$id, penalty = ridge(0.1),
                      loss = loss_user(function(eta, y) tanh(eta - y), bound = 1)),
    function() dp_sco(x, epsilon = 4, delta = 1e-6, unit = data$id, loss = loss_mean()),
    function() dp_quantile(data$y, c(0.3, 0.5), 4, unit = data$id),
    function() dp_quantile(data$y, c(0.5, 0.999), 4, unit = data$id),
    function() suppressWarnings(dp_var(x, 4, unit = data$id)),
    function() dp_tail_index(data$y, 4, unit = data$id),
    function() dp_shortfall(data$y, 0.9, 4, unit = data$id)
  )
  for (fit in fits) {
    expect_identical(unique(records_seen(quiet(fit()))), 900)
    expect_booked_with_units(fit)
  }
})

test_that("without noise fits of units are weighted fits of rows", {
  set.seed(816)
  data <- panel(400)
  n_u <- tabulate(data$id)[data$id]
  plain <- lm_coef(y ~ x1 + x2, data)
  fit <- dp_lm(y ~ x1 + x2, data, Inf, unit = ~id)
  expect_equal(coef(fit), plain, tolerance = 1e-7)
  fit <- dp_lm(y ~ x1 + x2, data, Inf, unit = ~id, unit_weight = "mean")
  want <- stats::coef(stats::lm(y ~ x1 + x2, data, weights = 1 / n_u))
  expect_equal(coef(fit), want, tolerance = 1e-7)
  fit <- dp_lm(y ~ x1 + x2, data, Inf, unit = ~id, max_rows = 3)
  want <- stats::coef(stats::lm(y ~ x1 + x2, data, weights = pmin(1, 3 / n_u)))
  expect_equal(coef(fit), want, tolerance = 1e-7)
  # standard errors are those of clusters
  got <- sqrt(diag(vcov(dp_lm(y ~ x1 + x2, data, Inf, unit = ~id))))
  z <- cbind(1, data$x1, data$x2)
  scores <- rowsum(z * drop(data$y - z %*% plain), data$id)
  inverse <- solve(crossprod(z))
  want <- sqrt(diag(inverse %*% crossprod(scores) %*% inverse))
  # the curvature is that of one row of each unit, drawn at random
  expect_equal(unname(got), want, tolerance = 0.25)
  logit <- suppressWarnings(stats::glm(b ~ x1 + x2, stats::binomial(), data))
  expect_equal(coef(dp_glm(b ~ x1 + x2, data, Inf, unit = ~id)), stats::coef(logit),
               tolerance = 1e-8)
})

test_that("private fits of units come near, and nearer than one row of each", {
  skip_on_cran()
  set.seed(817)
  data <- panel(4000, most = 100L)
  error <- function(fit) sum((coef(fit) - c(1, 1, 2))^2)
  one <- data[!duplicated(data$id), ]
  units <- single <- numeric(8)
  for (r in seq_len(8)) {
    units[[r]] <- error(dp_lm(y ~ x1 + x2, data, 1, 1e-6, unit = ~id, control = repeatable))
    single[[r]] <- error(dp_lm(y ~ x1 + x2, one, 1, 1e-6, control = repeatable))
  }
  # fixed keys: no false alarm
  expect_lt(stats::median(units), stats::median(single))
  expect_lt(max(units), 0.01)
})

test_that("units may be named in many ways, and no others", {
  set.seed(818)
  data <- panel(300)
  data$ward <- factor(data$id %% 3, levels = 0:4)
  data$name <- paste("person", data$id)
  n_of <- function(...) nobs(quiet(dp_lm(y ~ x1, data, 4, 1e-6, ..., max_rows = 2)))
  expect_identical(n_of(unit = ~id), 300L)
  expect_identical(n_of(unit = ~name), 300L)
  expect_identical(n_of(unit = data$id + 0.5), 300L)
  # levels that no row has are units
  expect_identical(n_of(unit = ~ward), 5L)
  expect_identical(n_of(unit = ~ id + ward), 300L)
  elsewhere <- data$id
  expect_identical(n_of(unit = ~elsewhere), 300L)
  # one unit, and as many as rows
  expect_identical(n_of(unit = rep("all", nrow(data))), 1L)
  expect_identical(n_of(unit = seq_len(nrow(data))), nrow(data))
  refused <- function(unit, naming) {
    expect_refusal(function(budget) {
      dp_lm(y ~ x1, data, 0.5, 1e-6, unit = unit, budget = budget)
    }, naming)
  }
  refused(data$id[-1L], "one value per row")
  refused(list(data$id), "factor, numbers or text")
  refused(~ log(id), "names columns")
  refused(~nowhere, "`nowhere`, which is neither a column of the data nor a variable")
  refused(id ~ x1, "names columns")
  refused(replace(data$id, 4L, NA), "missing values")
  refused(rep(NA, nrow(data)), "no unit")
  expect_refusal(function(budget) dp_lm(y ~ x1, data, 0.5, 1e-6, max_rows = 2, budget = budget),
                 "`max_rows` goes with `unit`")
  expect_refusal(function(budget) {
    dp_lm(y ~ x1, data, 0.5, 1e-6, unit = ~id, unit_weight = "mean", max_rows = 2, budget = budget)
  }, "counts once")
  for (control in list(dp_control(batches = "split"), dp_control(calibration = "paper"))) {
    expect_error(dp_sco(y ~ x1, data, 1, 1e-6, unit = ~id, control = control,
                        gradient = grad_winsorized()), "`unit` does not go with")
  }
  expect_error(dp_sco(y ~ x1, data, 1, 1e-6, unit = ~id, gradient = grad_mom()), "single rows")
})

test_that("rows of no unit, or that are left out, count nowhere", {
  set.seed(819)
  data <- panel(400)
  data$id[1:20] <- NA
  fit <- dp_lm(y ~ x1, data, Inf, unit = ~id, na.action = na.omit)
  expect_equal(coef(fit), lm_coef(y ~ x1, data[-(1:20), ]), tolerance = 1e-7)
  some <- dp_lm(y ~ x1, data[-(1:20), ], Inf, unit = ~id, subset = x2 > 0)
  kept <- data[-(1:20), ]
  expect_equal(coef(some), lm_coef(y ~ x1, kept[kept$x2 > 0, ]), tolerance = 1e-7)
  # every row of some units
  gone <- dp_lm(y ~ x1, data[-(1:20), ], Inf, unit = ~id, subset = id > 50)
  expect_equal(coef(gone), lm_coef(y ~ x1, kept[kept$id > 50, ]), tolerance = 1e-7)
})

test_that("rows per unit are read from noisy counts", {
  cells <- octave_cells(0, 31, 4)
  count <- function(rows) {
    law <- list(unit = 1, noise = c(0, 0))
    release_octaves(new_rows(matrix(as.double(rows)), which = 0), "columns", cells, law)[-1L, 1L]
  }
  rows <- c(rep(1, 60), rep(2, 30), rep(7, 10))
  got <- unit_weights_from_counts(count(rows), cells, 100, NULL)
  expect_identical(got$most, 2)
  expect_equal(1 / got$scale, mean(pmin(rows, 2)))
  got <- unit_weights_from_counts(count(rows), cells, 100, 7)
  expect_equal(1 / got$scale, mean(rows), tolerance = 1e-12)
  # of those that have rows
  empty <- unit_weights_from_counts(count(c(rows, rep(0, 200))), cells, 300, 7)
  expect_equal(empty$scale, got$scale)
  # noise hides them all
  expect_identical(unit_weights_from_counts(0 * count(rows), cells, 100, NULL),
                   list(most = 1, scale = 1))
})

test_that("a budget is for units or for rows", {
  set.seed(820)
  data <- panel(300)
  budget <- privacy_budget(4, 1e-5)
  quiet(dp_lm(y ~ x1, data, 1, 1e-6, unit = ~id, budget = budget))
  expect_match(summary(budget)$what, "dp_lm, per unit", fixed = TRUE)
  before <- spent(budget)
  expect_error(quiet(dp_lm(y ~ x1, data, 1, 1e-6, budget = budget)), "protect a unit")
  expect_error(dp_quantile(data$y, 0.5, 0.5, budget = budget), "protect a unit")
  expect_identical(spent(budget), before)
  quiet(dp_lm(y ~ x1, data, 1, 1e-6, unit = ~id, budget = budget))
  expect_gt(spent(budget), before)
  file <- tempfile(fileext = ".ledger")
  on.exit(unlink(file))
  kept <- suppressMessages(privacy_budget(4, 1e-5, path = file))
  dp_quantile(data$y, 0.5, 0.5, budget = kept)
  again <- privacy_budget(path = file)
  expect_error(quiet(dp_lm(y ~ x1, data, 1, 1e-6, unit = ~id, budget = again)),
               "protect one row")
})

test_that("prints and updates say what is protected, and a fit keeps no unit", {
  set.seed(821)
  data <- panel(400)
  data$id <- data$id + 0.12345
  fit <- quiet(dp_lm(y ~ x1, data, 4, 1e-6, unit = ~id))
  expect_output(print(fit), "protects one unit")
  expect_output(print(privacy(fit)), "with as many units that differ in one unit", fixed = TRUE)
  expect_output(print(summary(fit)), "Units: 400 (public)", fixed = TRUE)
  expect_message(again <- quiet(update(fit, data = data, epsilon = 5)), "of the units of `data`")
  expect_identical(again$privacy$neighbours, "replace one unit")
  vector <- quiet(dp_lm(y ~ x1, data, 4, 1e-6, unit = data$id))
  expect_error(update(vector, data = data), "unit")
  expect_false(any(grepl("12345", c(deparse(fit), deparse(vector)))))
  expect_lt(as.numeric(object.size(vector)), 60000)
})

test_that("means of units: weighted means without noise, and what is spent is booked", {
  set.seed(822)
  data <- panel(900)
  x <- as.matrix(data[c("x1", "y")])
  size <- tabulate(data$id)[data$id]
  expect_equal(coef(dp_mean(x, Inf, unit = data$id)), colMeans(x))
  expect_equal(coef(dp_mean(x, Inf, unit = data$id, unit_weight = "mean")),
               colSums(x / size) / 900)
  weight <- pmin(1, 3 / size)
  expect_equal(coef(dp_mean(x, Inf, unit = data$id, max_rows = 3)),
               colSums(x * weight) / sum(weight))
  holes <- replace(x, cbind(1:30, 2), NA)
  expect_equal(coef(dp_mean(holes, Inf, unit = data$id, na.rm = TRUE)), colMeans(x[-(1:30), ]))
  fits <- list(
    function() dp_mean(x, 4, unit = data$id),
    function() dp_mean(x, 4, 1e-6, unit = data$id, max_rows = 2),
    function() dp_mean(x, 4, 1e-6, unit = data$id, unit_weight = "mean", na.rm = TRUE),
    function() dp_mean(x, 4, unit = data$id, bound = c(-9, 9), interval = TRUE),
    function() dp_mean(x, 4, 1e-6, unit = data$id, unit_weight = "mean", sparsity = 1),
    function() dp_mean(x, 4, unit = data$id, unit_weight = "mean", method = "catoni", bound = 9)
  )
  for (fit in fits) {
    expect_identical(unique(records_seen(quiet(fit()))), 900)
    expect_booked_with_units(fit)
  }
})

test_that("replacing a unit moves the sums of its rows by one range", {
  set.seed(823)
  rows <- c(30, 1, 4, 1)
  code <- rep(1:4, rows)
  records <- unlist(lapply(wild_records(1), function(v) v[[1L]]))
  law <- sum_law("gaussian", 4, 1, 1)
  others <- stats::rt(6, 3)
  stats <- lapply(records, function(v) {
    x <- matrix(c(ifelse(stats::runif(30) < 0.8, v, -v), others))
    sums <- weighted_sums(x, code, 4, rows, 5, 0.5)
    release_sums(new_rows(sums, inv_scale = law$limit / 2), law, exact = TRUE)
  })
  expect_lte(largest_change(stats, l1), 2 * law$limit)
  expect_gt(largest_change(stats, l1), 1.9 * law$limit)
  # no unit's sum sees another's rows
  expect_identical(unit_sums(c(1e300, 1, 2), c(1L, 2L, 2L), 3), c(1e300, 3, 0))
})

test_that("means of units come near, and say what is protected", {
  skip_on_cran()
  set.seed(824)
  data <- panel(4000, most = 60L)
  fit <- dp_mean(data$y, 1, unit = data$id, control = repeatable)
  # seven standard errors
  expect_lt(abs(coef(fit) - 1), 7 * sqrt(vcov(fit)[[1L]]))
  expect_lt(sqrt(vcov(fit)[[1L]]), 0.2)
  expect_output(print(summary(fit)), "replace one unit; units: 4000", fixed = TRUE)
  refused <- function(naming, ...) {
    expect_refusal(function(budget) dp_mean(data$y, 0.5, ..., budget = budget), naming)
  }
  refused("unit_weight = \"mean\"", unit = data$id, method = "catoni", bound = 9)
  refused("`by`", unit = data$id, by = data$b > 0)
  refused("missing values", unit = replace(data$id, 3, NA))
  refused("one value per row", unit = 1:3)
})

test_that("a choice among fits keeps the rows of a unit in one part", {
  set.seed(825)
  data <- panel(1500)
  calls <- alist(a = dp_lm(y ~ x1 + x2, epsilon = 4, delta = 1e-6),
                 b = dp_lm(y ~ x1, epsilon = 4, delta = 1e-6))
  control <- dp_control()
  split <- split_rows(data, 0.2, control, ~id, environment())
  expect_identical(split$held_records, 300L)
  expect_identical(length(intersect(split$fit$id, split$held$id)), 0L)
  expect_identical(sort(c(split$fit$id, split$held$id)), sort(data$id))
  expect_identical(nlevels(split$unit), 1200L)
  seen <- records_seen(fit <- quiet(dp_tune(calls, data, 4, unit = ~id)))
  expect_identical(sort(unique(seen)), c(300, 1200))
  expect_identical(fit$privacy$neighbours, "replace one unit")
  expect_identical(unname(c(fit$n, fit$holdout)), c(1500L, 300L))
  expect_output(print(fit), "on 300 of 1500 units")
  # a unit counts as the mean of its rows
  losses <- matrix(c(1, 3, 10, NaN, 2, 2, 4, NaN), 4)
  by_unit <- list(held_unit = factor(c(1, 1, 2, 3)))
  got <- unit_means(losses, list(code = as.integer(by_unit$held_unit), count = 3L))
  expect_equal(unname(got), cbind(c(2, 10, NaN), c(2, 4, NaN)))
  own <- alist(a = dp_lm(y ~ x1, epsilon = 1, delta = 1e-6, unit = ~id))
  expect_error(dp_tune(own, data, 1), "give it to dp_tune()", fixed = TRUE)
  expect_error(dp_tune(calls, data, 1, unit = replace(data$id, 1, NA)), "missing values")
})

test_that("residuals of units are those of one row of each", {
  set.seed(826)
  data <- panel(1500)
  fit <- quiet(dp_lm(y ~ x1 + x2, data, 4, 1e-6, unit = ~id))
  seen <- records_seen(found <- quiet(dp_residuals(fit, data, epsilon = 4, unit = ~id)))
  # the predictor is not a release
  expect_identical(unique(seen), 1500)
  expect_identical(found$privacy$neighbours, "replace one unit")
  expect_identical(nobs(found), 1500L)
  logit <- quiet(dp_glm(b ~ x1 + x2, data, 4, 1e-6, unit = ~id))
  table <- quiet(dp_residuals(logit, data, epsilon = 4, unit = ~id, bins = 3))$table
  expect_lt(abs(sum(table$count) - 1500), 60)
  expect_error(dp_residuals(fit, data, epsilon = 1, unit = 1:3), "one value per row")
})

test_that("values of units are those of one row of each", {
  set.seed(827)
  code <- c(1L, 1L, 2L, NA, 4L)
  members <- list(code = code, count = 4L)
  x <- matrix(c(1, 1, 5, 9, 7))
  expect_identical(one_value_each(x, members, dp_control()), matrix(c(1, 5, NA, 7)))
  expect_identical(one_value_each(x, NULL, dp_control()), x)
  two <- list(code = c(1L, 1L), count = 1L)
  draws <- replicate(200, one_value_each(c(1, 2), two, repeatable))
  # each of the two has a chance of 1/2: 2 binomial tails, alarm below 1e-6
  expect_lt(abs(sum(draws == 1) - 100), 36)
  data <- panel(1500)
  for (fit in list(quiet(dp_quantile(data$y, 0.5, 4, unit = data$id)),
                   suppressWarnings(dp_var(data$y, 4, unit = data$id)))) {
    expect_identical(fit$privacy$neighbours, "replace one unit")
    expect_identical(nobs(fit), 1500L)
  }
  expect_error(dp_var(data$y, 4, unit = 1:2), "one value per row")
  expect_error(dp_shortfall(data$y, 0.9, 4, unit = replace(data$id, 1, NA)), "missing values")
})

test_that("a plan of units is that of the fit", {
  set.seed(828)
  data <- panel(2000)
  x <- as.matrix(data[c("x1", "x2")])
  same <- function(plan, fit) {
    booked <- as.data.frame(privacy(quiet(fit)))
    expect_equal(plan$events[names(booked)], booked)
    expect_identical(plan$privacy$neighbours, "replace one unit")
  }
  same(dp_plan("lm", 2000, 2, 4, 1e-6, unit = TRUE), dp_lm(x, data$y, 4, 1e-6, unit = data$id))
  same(dp_plan("glm", 2000, 2, 4, 1e-6, unit = TRUE, max_rows = 2),
       dp_glm(x, data$b, 4, 1e-6, unit = data$id, max_rows = 2))
  same(dp_plan("lasso", 2000, 2, 4, 1e-6, radius = 3, unit = TRUE),
       dp_lasso(x, data$y, 4, 1e-6, radius = 3, unit = data$id))
  same(dp_plan("sparse", 2000, 2, 4, 0, sparsity = 1, unit = TRUE),
       dp_sparse(x, data$y, 4, 0, sparsity = 1, unit = data$id))
  same(dp_plan("mean", 2000, 2, 4, unit = TRUE), dp_mean(x, 4, unit = data$id))
  same(dp_plan("mean", 2000, 2, 4, 1e-6, unit = TRUE, unit_weight = "mean"),
       dp_mean(x, 4, 1e-6, unit = data$id, unit_weight = "mean"))
  expect_output(print(dp_plan("quantile", 2000, 1, 4, probs = 0.5, unit = TRUE)), "counts units")
  expect_error(dp_plan("lm", 2000, 2, 1, 1e-6, unit = ~id), "TRUE or FALSE")
})
