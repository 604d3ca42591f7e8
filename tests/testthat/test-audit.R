# White-box scale of every release, and audits of whole mechanisms on worst-case
# neighbours. False-alarm rates are `alarm` = 1e-6 an assertion; keys are fixed.

# Both tails of a standardised sample of noise, discrete Gaussian or Laplace; for Laplace
# 2 |x| / scale is chi-squared with 2 degrees of freedom.
noise_p <- function(x, law) {
  scale <- 2^law$noise[[2L]]
  if (law$noise[[1L]] == 2) {
    return(scale_p(x, scale))
  }
  q <- stats::pchisq(2 * sum(abs(x)) / scale, 2 * length(x))
  2 * min(q, 1 - q)
}

# `times` releases of one data set, minus the exact statistic, in integers.
release_noise <- function(release, exact, unit, times, seed) {
  set.seed(seed)
  control <- dp_control(rng = "R")
  replicate(times, as.vector(release(release_key(control))) * unit - exact)
}

expect_noise <- function(noise, law) {
  expect_gt(noise_p(noise, law), alarm)
  # the test would see noise of another scale
  off <- if (length(noise) >= 2000) 1.25 else 2
  expect_lt(noise_p(noise * off, law), alarm)
  expect_lt(noise_p(noise / off, law), alarm)
  # releases do not share their noise
  flat <- matrix(noise, ncol = ncol(noise))
  expect_identical(anyDuplicated(flat, MARGIN = 2L), 0L)
  expect_lt(abs(sum(flat[, -1L] * flat[, -ncol(flat)])) / sum(flat^2) * sqrt(length(flat)), 6)
}

test_that("counts carry the noise of their law", {
  skip_on_cran()
  set.seed(281)
  n <- 300
  rows <- made_up_rows(n, 3)
  rows$which <- c(0, 2)
  norm <- row_norms(rows)
  cells <- octave_cells(-4, 4, 2)
  for (kind in c("laplace", "gaussian")) {
    law <- count_law(kind, n, 0.3, 2)
    key <- fixed_key(4)
    check <- function(release, times = 60) {
      exact <- from_int64(release(key, TRUE))
      noisy <- function(key) release(key, FALSE)
      expect_noise(release_noise(noisy, exact, law$unit, times, 282), law)
      got <- as.vector(release(key, FALSE)) * law$unit - exact
      expect_equal(got, key_noise(law, length(exact), key), tolerance = 1e-9)
    }
    check(function(key, exact) release_octaves(rows, "columns", cells, law, key, exact))
    check(function(key, exact) release_equal_cells(rows, c(0, 0), c(1, 2), 20, law, key, exact))
    check(function(key, exact) release_sizes(rows, norm, NULL, "squared", cells, law, key, exact))
    w <- c(1, 2, 3)
    check(function(key, exact) release_sizes(rows, norm, w, "squared", cells, law, key, exact))
    check(function(key, exact) release_complete(rows, law, key, exact), 400)
    # pairs: the permutation comes first from the same stream, so compare far-off cells only
    far <- octave_cells(1000, 1020)
    pairs <- function(key, exact) release_octaves(rows, "pairs", far, law, key, exact)
    set.seed(283)
    noise <- replicate(60, {
      key <- release_key(dp_control(rng = "R"))
      as.vector(pairs(key, FALSE)) * law$unit - from_int64(pairs(key, TRUE))
    })
    expect_noise(noise, law)
  }
})

test_that("sums and second moments carry the noise of their law", {
  skip_on_cran()
  set.seed(284)
  n <- 300
  rows <- made_up_rows(n, 5)
  for (kind in c("laplace", "gaussian")) {
    law <- sum_law(kind, n, 5, 0.4)
    rows$inv_scale <- rep(law$limit / 2, 5)
    exact <- from_int64(release_sums(rows, law, NULL, TRUE))
    expect_noise(release_noise(function(key) release_sums(rows, law, key), exact, 1, 200, 285), law)
  }
  rows$inv_scale <- rep(1, 5)
  m <- 6
  norm <- row_norms(rows, NULL, TRUE)
  law <- moment_law(n, m, 0.5, 2)
  exact <- from_int64(release_moments(rows, norm, 2, law, NULL, TRUE))
  packed <- function(key) {
    out <- release_moments(rows, norm, 2, law, key)
    expect_identical(out, t(out))
    out[upper.tri(out, diag = TRUE)] * n / law$step^2
  }
  diagonal <- (diag(m) == 1)[upper.tri(diag(m), diag = TRUE)]
  noise <- release_noise(packed, exact, 1, 200, 286)
  expect_noise(noise[diagonal, ], law)
  wide <- law
  wide$noise[[2L]] <- wide$noise[[2L]] + 3
  expect_noise(noise[!diagonal, ] * 11, wide)
  spread <- stats::sd(noise[!diagonal, ] * law$step^2 / n)
  expect_equal(spread / (law$sd * 8 / 11), 1, tolerance = 0.1)
})

test_that("descent carries the noise of its law under a root", {
  skip_on_cran()
  set.seed(287)
  n <- 300
  rows <- made_up_rows(n, 4)
  root <- made_up_root(4)
  norm <- row_norms(rows, root)
  law <- gradient_law(n, 4, 0.5, 2, root)
  plan <- descent_plan(4, law, 2, root)
  w <- stats::rnorm(4)
  exact <- from_int64(release_descent(rows, norm, w, plan, NULL, TRUE))
  step <- function(key) {
    move <- release_descent(rows, norm, w, plan, key)[, 1L] - w
    -backsolve(t(root), move) * n / law$step
  }
  expect_noise(release_noise(step, exact, 1, 200, 288), law)
})

test_that("each release of a fit draws a key of its own", {
  draws_of <- function(expr) {
    set.seed(289)
    force(expr)
    after <- stats::runif(1)
    set.seed(289)
    match(after, stats::runif(2000)) - 1L
  }
  x <- matrix(fixture(3000)$x1, 1000)
  y <- x[, 1L] + fixture(1000, 12)$x2
  control <- dp_control(rng = "R")
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  # norms, moments, for each of four stages the level and the steps, and the variances' matrices
  expect_identical(
    draws_of(dp_lm(x, y, 4, 1e-5, target = "robust", scale = known, control = control)), 32L * 12L
  )
  # and pairs, exponents, location, of x and of y
  expect_identical(draws_of(dp_lm(x, y, 8, 1e-5, target = "robust", control = control)), 32L * 18L)
  # and residuals, the rows' level, steps, their mean
  expect_identical(draws_of(dp_lm(x, y, 8, 1e-5, control = control)), 32L * 22L)
  expect_identical(draws_of(dp_mean(x[, 1L], 1, bound = 5, control = control)), 32L)
  expect_identical(draws_of(dp_mean(x[, 1L], 1, bound = 5, na.rm = TRUE, control = control)), 64L)
})

# mu of a Gaussian mechanism that is (epsilon, delta)-private: 0.925 at (4, 1e-5).
mu_of <- function(epsilon, delta) {
  stats::uniroot(function(mu) {
    stats::pnorm(mu / 2 - epsilon / mu) - delta -
      exp(epsilon) * stats::pnorm(-mu / 2 - epsilon / mu)
  }, c(1e-3, 20), tol = 1e-12)$root
}

# Lower bounds on the privacy lost, from the hits of an event under either neighbour.
cp_lo <- function(k, n, a) ifelse(k == 0, 0, stats::qbeta(a, k, n - k + 1))
cp_hi <- function(k, n, a) ifelse(k == n, 1, stats::qbeta(1 - a, k + 1, n - k))
gdp_lb <- function(k1, n1, k0, n0, a) {
  stats::qnorm(1 - cp_hi(k0, n0, a / 2)) - stats::qnorm(cp_hi(n1 - k1, n1, a / 2))
}
eps_lb <- function(k1, n1, k0, n0, a) log(cp_lo(k1, n1, a / 2) / cp_hi(k0, n0, a / 2))

test_that("GDP audit: a stage of descent on opposite records loses what it claims", {
  skip_on_cran()
  mu <- mu_of(4, 1e-5)
  steps <- 5
  runs <- 1500
  audit <- function(root) {
    law <- gradient_law(3, 2, mu / sqrt(steps), 1, root)
    plan <- descent_plan(2, law, 1, root, steps)
    direction <- if (is.null(root)) c(1, 0) else drop(root %*% c(1, 0))
    one_side <- function(y) {
      rows <- new_rows(matrix(c(1, 0, 0, 0, 0, 0), 3L), c(y, 0, 0))
      norm <- row_norms(rows, root)
      replicate(runs, {
        w <- release_descent(rows, norm, c(0, 0), plan, release_key(dp_control(rng = "R")))[, steps]
        u <- if (is.null(root)) -w else -backsolve(t(root), w)
        sum(u * direction)
      })
    }
    set.seed(290)
    low <- one_side(1e9)
    high <- one_side(-1e9)
    gdp_lb(sum(high > 0), runs, sum(low > 0), runs, alarm)
  }
  for (root in list(NULL, grid_root(matrix(c(1, 0.5, 0, 2), 2L)))) {
    lost <- audit(root)
    expect_lte(lost, mu)
    expect_gt(lost, mu / 2) # noise of half the size would be seen
  }
})

test_that("GDP audit: the mean of many columns", {
  skip_on_cran()
  mu <- mu_of(4, 1e-5)
  d <- 20L
  runs <- 1500
  plan <- plan_mean(5, d, 4, 1e-5, TRUE, FALSE, NULL)
  expect_identical(plan$kind, "gaussian")
  bound <- cbind(rep(-1, d), rep(1, d))
  one_side <- function(v) {
    x <- unname(rbind(matrix(0, 4L, d), v))
    replicate(runs, sum(fit_mean(x, plan, bound, dp_control(rng = "R"))$coefficients))
  }
  set.seed(291)
  low <- one_side(-1)
  high <- one_side(1)
  lost <- gdp_lb(sum(high > 0), runs, sum(low > 0), runs, alarm)
  expect_lte(lost, mu)
  expect_gt(lost, mu / 2)
})

test_that("pure audit: the mean with bounds", {
  skip_on_cran()
  runs <- 2500
  one_side <- function(v, na.rm = FALSE) {
    x <- c(v, rep(0, 9))
    replicate(runs, coef(dp_mean(x, 2, bound = c(-1, 1), na.rm = na.rm,
                                 control = dp_control(rng = "R"))))
  }
  set.seed(292)
  low <- one_side(-1)
  high <- one_side(1)
  lost <- eps_lb(sum(high >= 0.1 - 1e-9), runs, sum(low >= 0.1 - 1e-9), runs, alarm)
  expect_lte(lost, 2)
  expect_gt(lost, 1)
})

test_that("what is released lies on a public grid for both neighbours", {
  # the value is a fixed function of an integer that the neighbours share: nothing of the
  # true sum is left in its last bits
  n <- 100
  limit <- sum_law("laplace", n, 1, 1)$limit
  for (v in c(0, 1, 1 / 3, 5e-324)) {
    x <- c(v, rep(1 / 7, n - 1))
    set.seed(293)
    got <- replicate(200, unname(coef(dp_mean(x, 1, bound = 3, control = dp_control(rng = "R")))))
    whole <- round(got * n * limit / 3)
    inside <- abs(got) < 3
    expect_gt(sum(inside), 150)
    expect_identical((whole / n * (3 / limit))[inside], got[inside])
  }
  # neighbours can give the same release: supports overlap
  rows <- new_rows(matrix(c(0, 0)), which = 0)
  law <- list(limit = 2, noise = c(1, 2), unit = 1)
  set.seed(294)
  seen <- function(v) {
    rows$x[[1L]] <- v
    unique(replicate(2000, release_sums(rows, law, release_key(dp_control(rng = "R")))))
  }
  expect_true(all(-8:8 %in% intersect(seen(0), seen(1))))
  expect_true(all(seen(0.3) %% 1 == 0))
})
