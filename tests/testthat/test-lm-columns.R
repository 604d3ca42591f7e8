# Many columns, nothing known.

test_that("noise is taken out of eigenvalues", {
  set.seed(501)
  k <- 80
  sd <- 0.1
  noise <- matrix(stats::rnorm(k^2, sd = sd), k)
  noise <- (noise + t(noise)) / sqrt(2)
  observed <- function(h) eigen(h + noise, symmetric = TRUE)$values
  # all alike: the spread of the noise goes
  one <- observed(diag(k))
  expect_gt(stats::sd(one), 0.8)
  flat <- denoised_values(one, sd)
  expect_lt(stats::sd(flat), 0.2)
  expect_equal(mean(flat), 1, tolerance = 0.1)
  # a large one stays, less what noise added
  spike <- denoised_values(observed(diag(c(30, rep(1, k - 1)))), sd)
  expect_equal(spike[[1L]], 30, tolerance = 0.05)
  expect_lt(stats::sd(spike[-1L]), 0.2)
  # with little noise next to nothing changes
  h <- 0.5^abs(outer(seq_len(k), seq_len(k), `-`))
  exact <- eigen(h, symmetric = TRUE)$values
  expect_equal(denoised_values(exact, 1e-5), exact, tolerance = 1e-4)
  for (values in list(c(-3, -4), 0, rep(0, 5), c(1e5, -1e5))) {
    expect_true(all(denoised_values(values, sd) > 0))
  }
})

test_that("a start of noise alone is near zero, a clear one is kept", {
  set.seed(502)
  values <- seq(3, 0.5, length.out = 60)
  noise <- stats::rnorm(60, sd = 0.1)
  plain <- sum((noise / values)^2)
  expect_lt(sum(shrunken_start(noise, values, 0.1)^2), 0.1 * plain)
  w <- stats::rnorm(60)
  expect_equal(shrunken_start(values * w + noise, values, 0.1), w, tolerance = 0.15)
  expect_identical(shrunken_start(values * w, values, 0), values * w / values)
})

test_that("steps are whole where there are many rows and short where noise is much", {
  plan_at <- function(n, k) {
    finish_plan(plan_lm(n, k, tuned_x(k), 0.2, 1e-6, dp_control(), grad_clipped()))
  }
  steps <- function(n, k) {
    vapply(1:4, function(s) noise_step(plan_at(n, k), s, n, k), 0)
  }
  expect_gt(min(steps(1e6, 10)), 0.95)
  expect_identical(steps(1e6, 10)[[4L]], 1)
  few <- steps(3000, 100)
  expect_true(all(few > 0 & few < 0.5))
  expect_true(all(steps(3000, 50) >= few))
  none <- finish_plan(plan_lm(100, 3, tuned_x(3), Inf, 0, dp_control(), grad_clipped()))
  expect_identical(noise_step(none, 1, 100, 3), 1)
})

test_that("a column that is mostly zero gets the scale of those like it, a constant none", {
  set.seed(503)
  n <- 4000
  p <- 40
  x <- matrix(stats::rexp(n * p), n) * (stats::runif(n * p) < 0.12)
  x[, p] <- 7
  rows <- new_rows(x, which = seq_len(p) - 1)
  law <- count_law("gaussian", n, 0.12, sqrt(2 * p))
  counts <- release_octaves(rows, "pairs", octave_cells(), law, release_key(repeatable))
  size <- column_sizes(counts, law, n / 2)
  alone <- apply(counts[-1L, ], 2L, function(v) sum(occupied_cells(v, law)))
  expect_gt(sum(alone == 0), p / 2)
  expect_lte(sum(is.na(size[-p])), 2)
  expect_true(all(abs(log2(size[-p]) - log2(1.4)) < 1, na.rm = TRUE))
  expect_identical(size[[p]], NA_real_)
  # sizes that are far apart have none in common
  apart <- 2^round(stats::runif(p, -40, 40))
  rows <- new_rows(x * rep(apart, each = n), which = seq_len(p) - 1)
  counts <- release_octaves(rows, "pairs", octave_cells(), law, release_key(repeatable))
  expect_gt(sum(is.na(column_sizes(counts, law, n / 2))), p / 2)
})

test_that("a common size is for columns that are alike", {
  law <- list(kind = "gaussian", sd = 1)
  edges <- octave_edges(octave_cells(0, 40))
  counts <- matrix(0, 40, 2)
  counts[10, ] <- 1000
  expect_equal(pooled_size(counts, law, edges), 9.75)
  counts[, 2L] <- replace(counts[, 2L], c(10, 30), c(0, 1000))
  expect_identical(pooled_size(counts, law, edges), NA_real_)
  expect_identical(pooled_size(0 * counts, law, edges), NA_real_)
  expect_identical(pooled_size(counts[, 0L], law, edges), NA_real_)
})

test_that("columns that are not shifted are searched for once", {
  set.seed(504)
  x <- matrix(1e4 + stats::rt(8000, 3), 4000)
  y <- drop(x %*% c(1, -1)) + stats::rt(4000, 3)
  fit <- dp_lm(x, y, 2, 1e-6, intercept = FALSE, control = repeatable)
  what <- as.data.frame(privacy(fit))$what
  expect_match(what, "^sizes, counts", all = FALSE)
  expect_no_match(what, "^(pair|exponents|location)")
  expect_match(what, "^response: pairs", all = FALSE)
  expect_equal(unname(fit$center), c(0, 0, 0))
  expect_true(all(abs(log2(fit$scale[1:2] / 1e4)) < 1))
})

test_that("many columns and few rows: better than zeros by far", {
  skip_on_cran()
  set.seed(505)
  n <- 10000
  d <- 100
  w <- rep_len(c(1, -1), d) / sqrt(d)
  x <- matrix(stats::rt(n * d, 3), n)
  y <- drop(x %*% w) + stats::rt(n, 2.5)
  fit <- dp_lm(x, y, 1, 1e-5, intercept = FALSE, target = "robust", control = repeatable)
  expect_lt(sum((coef(fit) - w)^2), 0.04)
  at <- dp_lm(x * rep(10^seq(-3, 3, length.out = d), each = n), y, 1, 1e-5, intercept = FALSE,
              target = "robust", control = repeatable)
  expect_lt(sum((coef(at) * 10^seq(-3, 3, length.out = d) - w)^2), 0.04)
})
