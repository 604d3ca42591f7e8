# Reading noisy counts: post-processing, so this is about usefulness only.

test_that("noise alone is taken for data with about the chance that is meant", {
  # P(sum of w Laplace(1) > t), a difference of two gamma variables
  laplace_tail <- function(w, t) {
    stats::integrate(function(g) {
      stats::dgamma(g, w) * stats::pgamma(t + g, w, lower.tail = FALSE)
    }, 0, Inf, rel.tol = 1e-9)$value
  }
  for (m in c(161, 2099, 4197, 2^20)) {
    laplace <- vapply(WINDOWS, function(w) {
      laplace_tail(w, noise_threshold(list(kind = "laplace", scale = 1), m, w))
    }, 0)
    gaussian <- stats::pnorm(
      vapply(WINDOWS, function(w) noise_threshold(list(kind = "gaussian", sd = 1), m, w), 0),
      sd = sqrt(WINDOWS), lower.tail = FALSE
    )
    expect_lte(m * sum(laplace), 4 * FALSE_CELL)
    expect_lte(m * sum(gaussian), FALSE_CELL)
    expect_gte(m * sum(laplace), FALSE_CELL / 20)
    expect_gte(m * sum(gaussian), FALSE_CELL / 20)
  }
})

test_that("in ten thousand readings of noise nothing is kept", {
  skip_on_cran()
  set.seed(271)
  m <- 300
  times <- 1e4
  noise <- list(
    laplace = (stats::rexp(m * times) - stats::rexp(m * times)) * 3,
    gaussian = stats::rnorm(m * times) * 3
  )
  for (kind in names(noise)) {
    law <- list(kind = kind, scale = 3, sd = 3 * c(laplace = sqrt(2), gaussian = 1)[[kind]])
    z <- matrix(noise[[kind]], m)
    total <- rbind(0, apply(z, 2L, cumsum))
    for (w in WINDOWS) {
      highest <- max(total[(w + 1):(m + 1), ] - total[seq_len(m - w + 1), ])
      expect_lt(highest, noise_threshold(law, m, w))
    }
    expect_identical(occupied_cells(z[, 1L], law), rep(0, m))
    expect_identical(sum(apply(z[, 1:300], 2L, occupied_cells, law)), 0)
  }
})

test_that("what stands out is kept, with its neighbours, and no more", {
  law <- list(kind = "gaussian", scale = 1, sd = 1)
  counts <- rep(0, 100)
  counts[48:52] <- c(1, 3, 50, 3, 1)
  counts[80] <- 3
  kept <- occupied_cells(counts, law)
  expect_identical(kept[50], 50)
  expect_true(all(kept[49:51] > 0))
  expect_identical(kept[80], 0)
  expect_true(all(occupied_cells(-counts, law) == 0))
  expect_identical(occupied_cells(c(-1, 0, 2), list(kind = "none", sd = 0)), c(0, 0, 2))
})

test_that("quantiles read from octaves are those of the data within a cell", {
  set.seed(272)
  for (sub in c(1, 2, 4)) {
    cells <- octave_cells(-80, 80, sub)
    laws <- list(stats::rexp(5000), abs(stats::rcauchy(5000)) * 1e6, stats::rlnorm(5000, -20, 3))
    for (v in laws) {
      counts <- release_octaves(new_rows(matrix(v), which = 0), "columns", cells,
                                list(unit = 1, noise = c(0, 0)))
      got <- vapply(c(0.1, 0.5, 0.75, 0.95), function(p) {
        octave_quantile(counts[-1L], octave_edges(cells), p)
      }, 0)
      want <- stats::quantile(v, c(0.1, 0.5, 0.75, 0.95), names = FALSE)
      expect_lt(max(abs(log2(got / want))), 1 / sub)
    }
  }
  expect_identical(octave_quantile(c(0, 0), 0:2, 0.5), NA_real_)
  expect_equal(octave_quantile(c(0, 8), 0:2, 0.5), 2^1.5)
})

# Centre and scale of one column with an almost boundless budget.
tuned <- function(v, mu = 50, seed = 1) {
  set.seed(seed)
  n <- length(v)
  plan <- finish_plan(plan_lm(n, 2, tuned_x(1), mu, 1e-9, dp_control(), grad_clipped()))
  tune_columns(new_rows(matrix(v), which = 0), plan, n, list(center = NA_real_, scale = NA_real_),
               dp_control(rng = "R"))
}

test_that("location and scale are found for plain, heavy-tailed, far and discrete columns", {
  set.seed(273)
  n <- 4000
  cases <- list(
    list(stats::rnorm(n), 0, 1), list(5 + stats::rcauchy(n), 5, 1.4),
    list(1e4 + stats::rt(n, 3), 1e4, 1.1), list(-1e4 + 0.1 * stats::rnorm(n), -1e4, 0.1),
    list(1e-8 * stats::rt(n, 2), 0, 1e-8), list(stats::rlnorm(n), 1, 1),
    list(1e200 * stats::rnorm(n), 0, 1e200), list(3e300 + 1e299 * stats::rnorm(n), 3e300, 1e299)
  )
  for (case in cases) {
    got <- tuned(case[[1L]])
    expect_true(got$found)
    expect_lt(abs(got$center - case[[2L]]) / case[[3L]], 0.5)
    expect_lt(abs(log2(got$scale / case[[3L]])), 1.5)
  }
  for (share in c(0.05, 0.3, 0.5)) {
    got <- tuned(as.double(seq_len(n) <= share * n))
    expect_true(got$found)
    expect_lt(abs(log2(got$scale)), 1.01)
    expect_true(got$center >= -0.5 && got$center <= 1.5)
  }
})

test_that("a constant column has no scale, and few rows find nothing", {
  for (v in c(0, 3, -1e300, 5e-324)) {
    got <- tuned(rep(v, 1000))
    expect_false(got$found)
    expect_identical(got$scale, 1)
    expect_lte(abs(got$center - v), abs(v) / 1024 + 1e-323)
  }
  set.seed(274)
  expect_false(tuned(stats::rnorm(20), mu = 0.5)$found)
  # whatever is found can be divided by
  for (v in list(1.7e308 * sign(stats::rnorm(500)), 5e-324 * seq_len(500), rep(c(Inf, -Inf), 250),
                 rep(c(Inf, 1), 250))) {
    got <- tuned(v)
    expect_true(is.finite(got$center) && is.finite(got$scale) && is.finite(1 / got$scale))
  }
})
