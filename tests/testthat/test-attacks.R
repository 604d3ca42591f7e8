# Two attacks that break noise drawn in floating point, on the package's own releases.

# Is y what the grid of a law gives for some whole number? An attacker knows the law.
on_grid <- function(y, law) {
  m <- law$multiplier[[1L]]
  p <- law$multiplier[[2L]]
  k <- round(y * m * 2^-p)
  abs(k) < 2^53 & (k / m) * 2^p == y
}

releases <- function(kind, value, n, seed) {
  set.seed(seed)
  control <- dp_control(rng = "R")
  one <- if (kind == "laplace") {
    function() dp_laplace(rep(value, 500), 1, 1, control = control)
  } else {
    function() dp_gaussian(rep(value, 500), 1, 4, 1e-6, control = control)
  }
  unlist(lapply(seq_len(n), function(i) coef(one())))
}

laws <- list(
  laplace = vector_law("laplace", 500, 1, 1),
  gaussian = vector_law("gaussian", 500, discrete_gaussian_mu(4, 1e-6), 1)
)

test_that("the support of a release does not depend on the value (Mironov 2012)", {
  # noise by inverse distribution function of a 32-bit uniform can be told from its support
  naive <- function(f, u) f - sign(u - 0.5) * log(1 - 2 * abs(u - 0.5))
  u <- (seq(0.1, 0.9, length.out = 2000) * 2^32) %/% 1 / 2^32
  fits <- function(y, f) vapply(y, function(v) {
    p <- stats::pexp(abs(v - f)) / 2
    at <- round((0.5 + sign(v - f) * p) * 2^32) + -2:2
    any(naive(f, at / 2^32) == v)
  }, NA)
  y <- naive(1 / 3, u)
  expect_gt(mean(fits(y, 1 / 3)), 0.9) # the attack works where it should
  expect_lt(mean(fits(y, 1 / 3 + 0.1)), 0.2)
  for (kind in names(laws)) for (value in c(1 / 3, 1 / 3 + 0.1, 0)) {
    expect_true(all(on_grid(releases(kind, value, 4, 321), laws[[kind]])))
  }
})

test_that("the precision of a release does not depend on the value (Haney and others 2022)", {
  skip_on_cran()
  coarse <- function(y) y * 2^53 == round(y * 2^53)
  # a perfect normal, added in floating point: 1 + z is always a multiple of 2^-53
  set.seed(322)
  z <- stats::rnorm(4000)
  near <- function(y) y[abs(y) < 0.4]
  expect_true(all(coarse(1 + z)))
  expect_lt(mean(coarse(near(0 + z))), 0.9)
  for (kind in names(laws)) {
    from_zero <- coarse(near(releases(kind, 0, 16, 323)))
    from_one <- coarse(near(releases(kind, 1, 16, 324)))
    expect_gt(length(from_one), 100)
    expect_lt(mean(from_one), 1)
    both <- stats::fisher.test(rbind(c(sum(from_zero), sum(!from_zero)),
                                     c(sum(from_one), sum(!from_one))))
    expect_gt(both$p.value, alarm)
  }
})
