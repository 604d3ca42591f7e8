test_that("a path without noise is the twin's", {
  set.seed(241)
  for (o in option_grid()[seq(1, 144, by = 5)]) {
    rows <- made_up_rows(o$n, o$p, o)
    k <- o$p + rows$intercept
    root <- if (o$root) made_up_root(k)
    norm <- row_norms(rows, root)
    law <- list(noise = c(0, 0), step = if (o$other) 1e-4 else 0, limit = 2^30)
    plan <- descent_plan(k, law, 1.5, root, 6, 0.3)
    w <- stats::rnorm(k)
    got <- release_descent(rows, norm, w, plan)
    expect_equal(got, twin_descent(rows, norm, w, plan), tolerance = 1e-10)
  }
})

test_that("without clipping and noise the path ends at least squares", {
  set.seed(242)
  x <- matrix(stats::rnorm(600), 200)
  y <- 1 + x %*% c(1, -2, 0.5) + stats::rnorm(200)
  rows <- new_rows(x, drop(y), intercept = TRUE)
  noisy <- noisy_moments(rows, list(private = FALSE), 200, dp_control())
  pre <- precondition(noisy)
  plan <- descent_plan(4, NO_NOISE[c("noise", "step", "limit")], Inf, pre$root, 20, 1 / pre$size)
  plan$limit <- 1
  path <- release_descent(rows, row_norms(rows, pre$root), rep(0, 4), plan)
  expect_equal(path[, 20], unname(stats::coef(stats::lm(y ~ x))), tolerance = 1e-8)
})

test_that("a step adds the noise of its key, each step fresh noise", {
  # rows of zeros: the exact sum is zero and what is left is noise
  n <- 50
  k <- 20
  steps <- 40
  rows <- new_rows(matrix(0, n, k), rep(0, n))
  law <- gradient_law(n, k, 0.7, 1, NULL)
  plan <- descent_plan(k, law, 1, iterations = steps)
  path <- release_descent(rows, row_norms(rows), rep(0, k), plan, fixed_key(5))
  u <- -diff(t(cbind(0, path))) * n / law$step
  noise <- matrix(key_noise(law, k * steps, fixed_key(5)), steps, byrow = TRUE)
  expect_lt(max(abs(u - noise)) / 2^law$noise[[2L]], 1e-10)
  expect_gt(scale_p(u, 2^law$noise[[2L]]), alarm)
  lag <- stats::cor(as.vector(u[-1L, ]), as.vector(u[-steps, ]))
  expect_lt(abs(lag) * sqrt(length(u) - k), 5)
  expect_gt(min(stats::dist(u)), 2^law$noise[[2L]])
})

test_that("the noise stays the same under a root and is divided by n once", {
  set.seed(243)
  n <- 30
  k <- 3
  root <- made_up_root(k)
  rows <- new_rows(matrix(0, n, k), rep(0, n))
  law <- gradient_law(n, k, 1, 2, root)
  plan <- descent_plan(k, law, 2, root, 500)
  path <- release_descent(rows, row_norms(rows, root), rep(0, k), plan, fixed_key(6))
  u <- backsolve(t(root), -t(diff(t(cbind(0, path))))) # w moves by L' u step / n
  expect_gt(scale_p(u, law$sd), alarm)
  expect_lt(scale_p(u, law$sd * 1.15), alarm)
})

test_that("all rows out of use is noise about zero, and huge starts stay finite", {
  rows <- new_rows(matrix(1, 10, 2), rep(1, 10), use = rep(FALSE, 10))
  law <- gradient_law(10, 2, 1, 1, NULL)
  plan <- descent_plan(2, law, 1)
  zero <- release_descent(rows, row_norms(rows), c(1e300, -1e300), plan, exact = TRUE)
  expect_identical(from_int64(zero), c(0, 0))
  rows$use <- NULL
  for (w in list(c(1e300, -1e300), c(1e308, 1e308), c(Inf, 0), c(NaN, 1), c(-Inf, Inf))) {
    got <- from_int64(release_descent(rows, row_norms(rows), w, plan, exact = TRUE))
    expect_lte(l2(got), 10 * (law$limit - 2) * 1.0001)
  }
})
