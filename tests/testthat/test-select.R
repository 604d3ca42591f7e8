# The private choice of columns with fits between: plan, sums, choices, the noiseless twin, edges.

select_data <- function(n = 4000, p = 12, seed = 601) {
  set.seed(seed)
  x <- matrix(stats::rt(n * p, 3), n, p, dimnames = list(NULL, paste0("v", seq_len(p))))
  list(x = x, y = 1 + drop(x[, 1:3] %*% c(1, -0.7, 0.5)) + stats::rt(n, 3))
}

unit_scale <- list(center = 0, scale = 1)
every <- list(x = unit_scale, y = unit_scale)

sparse_plan <- function(n, p, epsilon = 1, delta = 1e-6, sparsity = 5, loss = "squared",
                        known = NULL, intercept = TRUE, sparse = FALSE) {
  spec <- sparse_spec(epsilon, delta, sparsity, loss, NULL, NULL, NULL, NULL, dp_control())
  known <- known %||% list(center = rep(NA_real_, p + 1L), scale = rep(NA_real_, p + 1L))
  plan_select(n, p, spec, known, intercept, sparsity, min(p, ceiling(1.5 * sparsity)), sparse)
}

test_that("rounds choose what is asked for, the first ones the most", {
  for (total in 1:40) for (rounds in 1:4) {
    sizes <- select_sizes(total, rounds)
    expect_identical(sum(sizes), as.numeric(total))
    expect_true(all(sizes >= 1) && length(sizes) <= rounds)
    if (total >= 4) expect_gte(sizes[[1L]], sizes[[length(sizes)]])
  }
  expect_identical(select_rounds(1, 1e6, 1), 1)
  expect_identical(select_rounds(10, 100, 0.1), 2)
  expect_identical(select_rounds(10, 1e6, 1), 4)
})

test_that("a plan spends all of its budget and no more", {
  for (n in c(2000, 1e5)) for (p in c(20, 2000)) for (sparsity in c(1, 10)) {
    plan <- sparse_plan(n, p, sparsity = sparsity)
    spent <- total_delta(compose_events(plan$events, ordered = TRUE), 1)
    expect_lte(spent, 1e-6)
    expect_gt(spent, 0.99e-6)
  }
})

test_that("columns are made comparable as the budget allows", {
  how <- function(...) sparse_plan(...)$standardise
  expect_identical(how(1e5, 20), "search")
  expect_identical(how(2e4, 2000), "sizes")
  expect_identical(how(500, 5000), "none")
  expect_identical(how(1e5, 20, sparse = TRUE), "none")
  public <- list(center = rep(0, 21), scale = rep(1, 21))
  expect_identical(how(1e5, 20, known = public), "known")
})

# The rounds in plain R: correlations with the residuals, and lm.fit().
greedy_twin <- function(x, y, sizes, keep) {
  center <- colMeans(x)
  scale <- sqrt(colMeans(sweep(x, 2L, center)^2))
  z <- sweep(sweep(x, 2L, center), 2L, scale, `/`)
  chosen <- integer()
  residual <- y - mean(y)
  fit <- function(s) stats::lm.fit(cbind(1, x[, s, drop = FALSE]), y)
  for (size in sizes) {
    score <- replace(abs(drop(crossprod(z, residual))), chosen, -1)
    chosen <- c(chosen, utils::head(order(-score), size))
    got <- fit(chosen)
    residual <- got$residuals
  }
  kept <- chosen[order(-abs(got$coefficients[-1L] * scale[chosen]))[seq_len(keep)]]
  got <- fit(kept)
  list(chosen = chosen, b = c(got$coefficients[[1L]],
                              replace(numeric(ncol(x)), kept, got$coefficients[-1L])))
}

test_that("without noise the rounds are those of a greedy search, and lm() on a strong signal", {
  z <- select_data(600, 15)
  z$x[, 4:15] <- z$x[, 4:15] * rep(10^seq(-5, 6), each = 600)
  for (keep in c(1, 3, 6)) {
    fit <- dp_sparse(z$x, z$y, Inf, sparsity = keep)
    twin <- greedy_twin(z$x, z$y, select_sizes(keep + ceiling(keep / 2), min(4, keep)), keep)
    expect_identical(fit$path, twin$chosen)
    expect_equal(unname(coef(fit)), twin$b, tolerance = 1e-6)
  }
  fit <- dp_sparse(z$x, z$y, Inf, sparsity = 3)
  expect_identical(fit$selected, c("v1", "v2", "v3"))
  expect_equal(unname(coef(fit)[1:4]), unname(coef(lm(z$y ~ z$x[, 1:3]))), tolerance = 1e-6)
})

test_that("without noise other losses find their own minimum on the true columns", {
  z <- select_data(3000, 8)
  b <- z$x[, 1] + z$x[, 2] + stats::rlogis(3000) > 0
  fit <- dp_sparse(z$x, b, Inf, sparsity = 2, loss = "logistic")
  expect_identical(fit$selected, c("v1", "v2"))
  expect_s3_class(fit, "dp_glm")
  plain <- suppressWarnings(stats::glm(b ~ z$x[, 1:2], binomial()))
  expect_equal(unname(coef(fit)[1:3]), unname(coef(plain)), tolerance = 1e-5)
  for (loss in list("huber", "biweight", loss_user(function(eta, y) eta - y))) {
    fit <- dp_sparse(z$x, z$y, Inf, sparsity = 3, loss = loss)
    expect_identical(fit$selected, c("v1", "v2", "v3"))
    expect_lt(max(abs(coef(fit)[2:4] - c(1, -0.7, 0.5))), 0.1)
  }
})

test_that("a replaced record moves no sum of a choice by more than is accounted for", {
  set.seed(602)
  z <- select_data(60, 4)
  known <- list(center = rep(0, 5), scale = rep(1, 5))
  columns <- c(known, list(found = rep(TRUE, 5)))
  losses <- list(loss_squared(), loss_logistic(), loss_huber(sigma = 1),
                 loss_user(function(eta, y) eta - y))
  gradients <- list(grad_winsorized(0.7), grad_truncated(0.7), grad_catoni(0.7),
                    grad_catoni(0.7, 1))
  for (loss in losses) for (g in gradients) {
    spec <- sparse_spec(1, 1e-6, 2, loss, g, NULL, NULL, NULL, dp_control())
    plan <- plan_select(60, 4, spec, known, TRUE, 2, 3)
    sums_of <- function(x, y) {
      y <- if (loss$name == "logistic") pmin(pmax(y, 0), 1) else y
      state <- coordinate_state(list(x = x, y = y), list(n = 60, intercept = TRUE), columns, spec)
      rule <- fw_rule(state, 0.7, plan, fw_tuning(state))
      list(sums = fw_sums(state, c(0.5, 0, -1, 0), 0.2, rule), most = 2 * rule$limit)
    }
    base <- sums_of(z$x, z$y)
    expect_gt(max(abs(base$sums)), 0)
    for (record in wild_records(4, 3L)) {
      x <- z$x
      y <- z$y
      x[5, ] <- record[1:4]
      y[[5]] <- record[[5]]
      expect_lte(max(abs(sums_of(x, y)$sums - base$sums)), base$most)
    }
  }
})

test_that("rough scales are within an octave, in any units, and lost columns get the common one", {
  set.seed(603)
  n <- 4000
  x <- matrix(stats::rt(n * 30, 3), n)
  unit <- 10^seq(-40, 40, length.out = 30)
  counts_of <- function(x) {
    rows <- new_rows(x, which = seq_len(ncol(x)) - 1)
    law <- list(unit = 1, noise = c(0, 0))
    release_octaves(rows, "columns", octave_cells(), law)[-1L, ]
  }
  # columns that have nothing in common need more
  for (case in list(list(unit, n / 25), list(rep(1, 30), n / 16))) {
    counts <- counts_of(x * rep(case[[1L]], each = n))
    scale <- rough_scales(counts + stats::rnorm(length(counts), sd = case[[2L]]), case[[2L]])
    expect_lte(max(abs(log2(scale / case[[1L]]))), 2)
  }
  # zeros in the noise are no column of a size of their own
  noise <- stats::rnorm(length(counts), sd = n / 16)
  expect_identical(rough_scales(0 * counts + noise, n / 16), rep(1, 30))
  counts <- counts_of(x)
  counts[, 7L] <- 0
  scale <- rough_scales(counts, n / 100)
  expect_identical(scale[[7L]], as.numeric(names(which.max(table(scale)))))
  expect_identical(rough_scales(0 * counts, 0), rep(1, 30))
})

test_that("columns of very different units and places are chosen all the same", {
  set.seed(604)
  n <- 6000
  x <- matrix(stats::rt(n * 60, 3), n)
  y <- drop(x[, 1:2] %*% c(1, -1)) + stats::rnorm(n)
  unit <- exp(5 * stats::rnorm(60))
  x <- (x + rep(stats::rnorm(60), each = n)) * rep(unit, each = n)
  fit <- quiet(dp_sparse(x, y, 1, 1e-6, sparsity = 2, control = repeatable))
  expect_identical(fit$selected, c("x1", "x2"))
  expect_equal(unname(coef(fit)[2:3] * unit[1:2]), c(1, -1), tolerance = 0.1)
})

test_that("a second round finds what correlation hides from the first", {
  set.seed(605)
  n <- 2e4
  x <- matrix(stats::rnorm(n * 30), n)
  # the third column's correlation with the response is nothing but for the first two
  x[, 3] <- (x[, 1] + x[, 2] + x[, 3]) / sqrt(3)
  y <- drop(x[, 1:3] %*% c(1, 1, -2 / sqrt(3))) + stats::rnorm(n)
  expect_lt(abs(stats::cor(x[, 3], y)), 0.03)
  fit <- quiet(dp_sparse(x, y, 2, 1e-6, sparsity = 3, control = repeatable))
  expect_identical(fit$selected, c("x1", "x2", "x3"))
})

test_that("fits are near the truth, for every loss, with and without an intercept", {
  skip_on_cran()
  z <- select_data(8000, 40, 606)
  truth <- c(1, -0.7, 0.5, rep(0, 37))
  user <- loss_user(function(e, y) tanh(e - y), bound = 1)
  for (loss in list("squared", "huber", "biweight", user)) {
    for (intercept in c(TRUE, FALSE)) {
      fit <- quiet(dp_sparse(z$x, z$y, 2, 1e-6, sparsity = 3, loss = loss, intercept = intercept,
                             control = repeatable))
      b <- coef(fit)[if (intercept) -1L else TRUE]
      expect_lt(sum((b - truth)^2), 0.02)
    }
  }
  b <- drop(z$x %*% truth) + stats::rlogis(8000) > 1
  fit <- quiet(dp_sparse(z$x, b, 2, 1e-6, sparsity = 3, loss = "logistic", control = repeatable))
  expect_lt(sum((coef(fit) - c(-1, truth))^2), 0.3)
  p <- stats::plogis(drop(cbind(1, z$x[1:5, ]) %*% coef(fit)))
  expect_equal(unname(predict(fit, z$x[1:5, ])), p)
})

test_that("sparsity, losses, solvers and the like are refused before anything is spent", {
  z <- select_data(100)
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_sparse(z$x, z$y, 1, 1e-6, ..., budget = b), naming)
  }
  for (s in list(0, -1, 1.5, NA, "2", c(1, 2), Inf)) refused("`sparsity`", sparsity = s)
  refused("`sparsity` must be at most the number of columns, 12", sparsity = 13)
  refused("loss_mean", sparsity = 2, loss = "mean")
  refused("`solver`", sparsity = 2, solver = "lasso")
  refused("`moment`", sparsity = 2, moment = moment_bound(2, 5), solver = "select")
  refused("grad_winsorized", sparsity = 2, gradient = grad_mom(), solver = "select")
  refused("weights", sparsity = 2, weights = 1)
  refused("sprsity", sprsity = 2)
  refused("solver \"iht\"", sparsity = 2, control = dp_control(batches = "split"),
          solver = "select")
  expect_error(dp_sparse(z$x, z$y, 1, 0, sparsity = 2, solver = "select"), "`delta`",
               class = "dp_error")
  expect_error(dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 2, solver = "select",
                         control = dp_control("paper")), class = "dp_error_calibration")
})

test_that("one slope, all slopes, one column, columns that hold nothing", {
  z <- select_data()
  expect_length(quiet(dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 1))$selected, 1L)
  all <- quiet(dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 12))
  expect_setequal(all$path, 1:12)
  one <- quiet(dp_sparse(z$x[, 1], z$y, 2, 1e-6, sparsity = 1, control = repeatable))
  expect_lt(abs(coef(one)[[2L]] - 1), 0.3)
  for (x in list(unname(cbind(z$x, 0, 5)), 0 * z$x, unname(z$x[, rep(1, 4)]))) {
    expect_true(all(is.finite(coef(quiet(dp_sparse(x, z$y, 1, 1e-6, sparsity = 2))))))
  }
  nothing <- suppressWarnings(dp_sparse(z$x, 0 * z$y, 1, 1e-6, sparsity = 2))
  expect_identical(unname(coef(nothing)[-1L]), numeric(12))
})

test_that("missing and infinite values, rows left out", {
  z <- select_data()
  x <- z$x
  x[3, 4] <- NaN
  expect_error(dp_sparse(x, z$y, 1, 1e-6, sparsity = 2), class = "dp_error_missing")
  set.seed(607)
  fit <- quiet(dp_sparse(x, z$y, 2, 1e-6, sparsity = 2, na.action = na.omit, control = repeatable))
  expect_identical(fit$selected, c("v1", "v2"))
  x[3, 4] <- Inf
  fit <- quiet(dp_sparse(x, z$y, 2, 1e-6, sparsity = 2, control = repeatable))
  expect_identical(fit$selected, c("v1", "v2"))
  half <- z$x[, 1] > -5
  fit <- quiet(dp_sparse(z$x, z$y, 2, 1e-6, sparsity = 2, subset = half, control = repeatable))
  expect_identical(fit$selected, c("v1", "v2"))
})

test_that("few rows and many columns: a warning, and finite numbers", {
  set.seed(608)
  x <- matrix(stats::rnorm(71 * 4088), 71)
  y <- stats::rnorm(71)
  expect_warning(
    expect_warning(fit <- dp_sparse(x, y, 1, 1e-3, sparsity = 5), class = "dp_small_n"),
    "no scale could be told"
  )
  expect_true(all(is.finite(coef(fit))))
  expect_lte(sum(coef(fit)[-1L] != 0), 5)
  expect_warning(
    expect_warning(dp_sparse(x, y, 1, 1e-3, sparsity = 5, scale = every, control = repeatable),
                   class = "dp_small_n"),
    "dominated by noise: n = 71 is too small for epsilon = 1", class = "dp_dominated"
  )
})

test_that("the noise of an average of iterates is that of a simulation", {
  set.seed(615)
  steps <- c(3, 12)
  share <- c(0.2, 0.6)
  sd <- c(4, 1)
  runs <- replicate(4000, {
    w <- 3 * stats::rnorm(1)
    sum <- 0
    for (stage in 1:2) for (t in seq_len(steps[[stage]])) {
      w <- (1 - share[[stage]]) * w + share[[stage]] * sd[[stage]] * stats::rnorm(1)
      if (stage == 2L && t > 2L) sum <- sum + w
    }
    sum / 10
  })
  # chi-square bounds at 1e-6
  ratio <- sum(runs^2) / averaged_noise(steps, share, sd, 3)^2
  expect_gt(ratio, stats::qchisq(alarm / 2, 4000))
  expect_lt(ratio, stats::qchisq(1 - alarm / 2, 4000))
})

test_that("without `sparsity` what does not stand out is dropped", {
  z <- select_data(2e4, 40, 609)
  fit <- quiet(dp_sparse(z$x, z$y, 2, 1e-6, control = repeatable))
  expect_true(all(c("v1", "v2", "v3") %in% fit$selected))
  expect_lte(length(fit$selected), 8L)
  expect_gt(length(fit$path), length(fit$selected))
  b <- coef(fit)[-1L] * fit$scale[1:40] / fit$scale[[41L]]
  expect_gte(min(abs(b[b != 0])), 2 * fit$noise)
  expect_lt(abs(coef(fit)[[1L]] - 1), 0.1)
})

test_that("a formula, a data frame and a matrix give the same fit", {
  z <- select_data(3000, 5)
  d <- data.frame(y = z$y, z$x)
  run <- function(expr) {
    set.seed(610)
    coef(quiet(expr))
  }
  matrix <- run(dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 2, control = repeatable))
  expect_identical(run(dp_sparse(y ~ ., d, 1, 1e-6, sparsity = 2, control = repeatable)), matrix)
  expect_identical(run(dp_sparse(d[-1L], d$y, 1, 1e-6, sparsity = 2, control = repeatable)), matrix)
  threads <- dp_control(rng = "R", threads = 2)
  expect_identical(run(dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 2, control = threads)), matrix)
})

test_that("a compressed matrix is chosen from and fitted as a dense one", {
  skip_if_not_installed("Matrix")
  set.seed(611)
  s <- Matrix::rsparsematrix(3000, 80, 0.1)
  y <- drop(as.matrix(s[, 1:2]) %*% c(3, -3)) + 0.5 * stats::rnorm(3000)
  for (loss in list("squared", "huber")) {
    run <- function(x, ...) {
      set.seed(612)
      coef(quiet(dp_sparse(x, y, 2, 1e-6, sparsity = 2, loss = loss, control = repeatable, ...)))
    }
    # in public units both walk over the same integers
    expect_identical(run(s, scale = every), run(as.matrix(s), scale = every))
    b <- run(s)[-1L]
    expect_setequal(which(b != 0), 1:2)
  }
  b <- quiet(dp_sparse(s, y > 0, 2, 1e-6, sparsity = 2, loss = "logistic", control = repeatable))
  expect_setequal(b$path[1:2], 1:2)
  expect_error(dp_sparse(s, y, 1, 1e-6, sparsity = 2, scale = list(x = list(center = 1))),
               "scale\\$x\\$center")
})

test_that("the unit of a compressed matrix changes nothing but the unit", {
  skip_if_not_installed("Matrix")
  set.seed(616)
  s <- Matrix::rsparsematrix(4000, 60, 0.1)
  y <- drop(as.matrix(s[, 1:2]) %*% c(3, -3)) + 0.5 * stats::rnorm(4000)
  for (solver in c("select", "iht")) {
    run <- function(unit) {
      set.seed(617)
      coef(quiet(dp_sparse(s * unit, y, 2, 1e-6, sparsity = 2, solver = solver,
                           control = repeatable)))[-1L] * unit
    }
    for (unit in 2^c(-20, -7, 0, 7, 20)) {
      b <- run(unit)
      expect_setequal(which(b != 0), 1:2)
      expect_lt(sum((b[1:2] - c(3, -3))^2), 0.2)
    }
  }
  # a row's size is its own
  x <- sparse_columns(s)
  sizes <- row_sizes(x)
  expect_equal(sizes, sqrt(rowMeans(as.matrix(s)^2)))
  other <- s
  other[7L, 5L] <- 1e308
  expect_identical(row_sizes(sparse_columns(other))[-7L], sizes[-7L])
})

test_that("fits print what was chosen, draw, predict, and are sparse where asked", {
  z <- select_data()
  set.seed(613)
  fit <- quiet(dp_sparse(z$x, z$y, 2, 1e-6, sparsity = 2, control = repeatable))
  expect_output(print(fit), "at most 2 slopes.*v1.*itself noisy")
  expect_output(print(summary(fit)), "Private sparse regression.*v1")
  expect_length(predict(fit, z$x[1:3, ]), 3L)
  file <- tempfile(fileext = ".png")
  grDevices::png(file)
  expect_identical(plot(fit), fit)
  nothing <- suppressWarnings(dp_sparse(z$x, 0 * z$y, 2, 1e-6, sparsity = 2))
  expect_identical(plot(nothing), nothing)
  expect_output(print(nothing), "not zero \\(0 of 12\\)")
  expect_output(print(summary(nothing)), "Intercept")
  grDevices::dev.off()
  unlink(file)
  skip_if_not_installed("Matrix")
  expect_equal(as.numeric(coef(fit, sparse = TRUE)), unname(coef(fit)))
})

test_that("a choice loses what it claims, and one of a twelfth of the scale would be seen", {
  skip_on_cran()
  n <- 40L
  # one record with a gradient of full size in the first column or in the second, of many
  p <- 30L
  known <- list(center = rep(0, p + 1L), scale = rep(1, p + 1L))
  spec <- sparse_spec(3, 0.05, 1, "squared", grad_winsorized(1), NULL, NULL, NULL, dp_control())
  plan <- plan_select(n, p, spec, known, FALSE, 1, 2)
  columns <- c(known, list(found = rep(TRUE, p + 1L)))
  share_of_first <- function(v, by, runs = 2000L) {
    x <- matrix(0, n, p)
    x[1L, v] <- 1e6
    state <- coordinate_state(list(x = x, y = c(1e6, numeric(n - 1L))),
                              list(n = n, intercept = FALSE), columns, spec)
    plan$cost[["choice"]] <- by * plan$cost[["choice"]]
    fit <- list(b = numeric(p), w0 = 0)
    chosen <- replicate(runs, choose_columns(state, fit, integer(), plan, 1, repeatable)$columns)
    c(sum(chosen == 1), runs)
  }
  set.seed(614)
  bound <- function(by) {
    high <- share_of_first(1L, by)
    low <- share_of_first(2L, by)
    log(stats::qbeta(alarm / 2, high[[1L]], high[[2L]] - high[[1L]] + 1)) -
      log(stats::qbeta(1 - alarm / 2, low[[1L]] + 1, low[[2L]] - low[[1L]]))
  }
  cost <- plan$cost[["choice"]]
  expect_lte(bound(1), cost)
  expect_gt(bound(12), cost)
})
