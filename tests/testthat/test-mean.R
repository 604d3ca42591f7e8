# An accuracy that near-noiseless means reach at any place and in any unit: relative to
# the spread of the sample (limits found privately leave a little of the tail out).
expect_near_mean <- function(x, tolerance = 0.02, epsilon = 1e4, ...) {
  set.seed(41)
  fit <- dp_mean(x, epsilon, ..., control = repeatable)
  spread <- stats::IQR(x)
  if (spread == 0) spread <- stats::sd(x)
  testthat::expect_lt(abs(coef(fit)[[1]] - mean(x)), tolerance * spread)
  invisible(fit)
}

test_that("the mean is found at any place and in any unit", {
  set.seed(42)
  base <- list(t = rt(4000, 2.5), pareto = runif(4000)^(-1 / 2.2), normal = rnorm(4000))
  for (x in base) {
    for (unit in c(1e-9, 1, 1e12, -1e3)) {
      expect_near_mean(unit * x)
      expect_near_mean(unit * x, delta = 1e-6)
    }
    for (place in c(-1e6, 10, 1e6)) expect_near_mean(place + x)
  }
})

test_that("a power of two as unit changes nothing but the unit", {
  x <- big$y
  run <- function(x, ...) {
    set.seed(43)
    dp_mean(x, 4, ..., control = repeatable)
  }
  a <- run(x)
  for (k in c(-30, 40)) {
    b <- run(2^k * x)
    expect_equal(coef(b), 2^k * coef(a), tolerance = 1e-3)
    expect_identical(privacy(a), privacy(b))
    expect_identical(coef(run(2^k * x, bound = 2^k * 8)), 2^k * coef(run(x, bound = 8)))
  }
})

test_that("a value that most rows share may be any number", {
  set.seed(50)
  for (v in c(0.1, 1 / 3, -1e-7, 1e8 / 3)) {
    for (share in c(0.55, 0.85, 0.97)) {
      x <- v * (1 + ifelse(runif(4000) < share, 0, rexp(4000)))
      expect_silent(fit <- dp_mean(x, 1e3, control = repeatable))
      expect_equal(coef(fit)[[1]], mean(x), tolerance = 0.05)
    }
  }
})

test_that("ties, zeros, two values and integers are no special case", {
  set.seed(44)
  expect_near_mean(ifelse(runif(4000) < 0.6, 0, rexp(4000)))
  expect_near_mean(rbinom(4000, 1, 0.3))
  expect_near_mean(rbinom(4000, 1, 0.02), tolerance = 0.05)
  expect_near_mean(rpois(4000, 2))
  expect_near_mean(seq_len(4000))
  set.seed(45)
  expect_equal(coef(dp_mean(runif(4000) < 0.3, 1e4)), c(mean = 0.3), tolerance = 0.1)
})

test_that("many zeros do no harm, and rare other values are lost with a warning", {
  set.seed(110)
  for (share in c(0.3, 0.8)) {
    x <- ifelse(runif(2e4) < share, 0, rlnorm(2e4, 3, 1))
    expect_equal(coef(dp_mean(x, 4, control = repeatable)), c(mean = mean(x)), tolerance = 0.2)
    expect_equal(coef(dp_mean(-x, 4, control = repeatable)), c(mean = -mean(x)), tolerance = 0.2)
  }
  rare <- as.double(seq_len(2000) <= 20)
  expect_warning(fit <- dp_mean(rare, 1, control = repeatable), class = "dp_dominated")
  expect_identical(coef(fit), c(mean = 0))
  expect_equal(coef(dp_mean(rare == 1, 100)), c(mean = 0.01), tolerance = 0.1)
})

test_that("a constant is found, in both kinds of noise", {
  set.seed(111)
  for (v in c(5, -3e12, 1e-9, 1, 0.1, -1 / 3)) {
    expect_warning(a <- dp_mean(rep(v, 2000), 2, control = repeatable), class = "dp_dominated")
    expect_warning(
      b <- dp_mean(rep(v, 2000), 1e4, 1e-6, control = repeatable), class = "dp_dominated"
    )
    expect_equal(coef(a), c(mean = v), tolerance = 1e-6)
    expect_equal(coef(b), c(mean = v), tolerance = 1e-6)
  }
  expect_identical(coef(quiet(dp_mean(rep(0, 2000), 2))), c(mean = 0))
  expect_equal(coef(dp_mean(rep(TRUE, 2000), 2)), c(mean = 1), tolerance = 0.02)
})

test_that("a bounded mean is the mean of the clamped values", {
  x <- c(-100, -3, 0, 2.5, 7, 1e300)
  clamped <- function(lower, upper) mean(pmin(pmax(x, lower), upper))
  for (delta in c(0, 1e-6)) {
    near <- function(bound, value) {
      expect_equal(coef(dp_mean(x, 1e6, delta, bound = bound)), c(mean = value), tolerance = 1e-3)
    }
    near(c(-5, 5), clamped(-5, 5))
    near(5, clamped(-5, 5))
    near(c(2, 3), clamped(2, 3))
    near(matrix(c(-1, 4), 1), clamped(-1, 4))
  }
  m <- cbind(a = x, b = rev(x), c = 1)
  bound <- rbind(c(-5, 5), c(0, 10), c(-1, 1))
  fit <- dp_mean(m, 1e6, bound = bound)
  want <- c(a = clamped(-5, 5), b = clamped(0, 10), c = 1)
  expect_equal(coef(fit), want, tolerance = 1e-3)
  expect_equal(unname(fit$limits), bound)
  expect_equal(coef(dp_mean(m, Inf, bound = bound)), want)
})

test_that("epsilon = Inf is the plain mean", {
  m <- as.matrix(big[c("x1", "x2", "y")])
  expect_equal(coef(dp_mean(m, Inf)), colMeans(m))
  expect_equal(coef(dp_mean(big[c("x1", "x2", "y")], Inf)), colMeans(m))
  m[1:10, 1] <- NA
  expect_equal(coef(dp_mean(m, Inf, na.rm = TRUE)), colMeans(m, na.rm = TRUE))
  expect_identical(nobs(dp_mean(m, Inf, na.rm = TRUE)), 4000L)
})

test_that("vector, matrix and data frame agree with the same seed, and keep their names", {
  run <- function(x, ...) {
    set.seed(46)
    coef(dp_mean(x, 4, ..., control = repeatable))
  }
  x <- big[c("x1", "y")]
  expect_identical(run(as.matrix(x)), run(x))
  expect_identical(run(x$y), c(mean = unname(run(matrix(x$y)))))
  expect_named(run(x), c("x1", "y"))
  expect_named(run(unname(as.matrix(x))), c("x1", "x2"))
  expect_identical(unname(run(unname(as.matrix(x)))), unname(run(x)))
  expect_identical(run(data.frame(y = I(x$y)), bound = 9), run(data.frame(y = x$y), bound = 9))
})

test_that("with na.rm the missing values add nothing and the count is private", {
  x <- big$y
  x[seq(1, 4000, by = 3)] <- NA
  set.seed(47)
  fit <- dp_mean(x, 1e4, na.rm = TRUE, control = repeatable)
  expect_equal(coef(fit)[[1]], mean(x, na.rm = TRUE), tolerance = 0.02)
  expect_equal(coef(dp_mean(x, 1e5, na.rm = TRUE, bound = c(5, 6)))[[1]],
               mean(pmin(pmax(x, 5), 6), na.rm = TRUE), tolerance = 1e-3)
  table <- as.data.frame(privacy(fit))
  expect_equal(sum(table$cost[grepl("complete", table$what)]) / 1e4, 0.05)
  m <- cbind(a = x, b = big$x1)
  expect_equal(coef(dp_mean(m, 1e6, bound = 3, na.rm = TRUE)),
               colMeans(pmin(pmax(m, -3), 3), na.rm = TRUE), tolerance = 1e-3)
})

test_that("infinite values are winsorised", {
  x <- big$y
  x[1:3] <- c(Inf, Inf, -Inf)
  set.seed(48)
  expect_silent(fit <- dp_mean(x, 8, control = repeatable))
  expect_true(all(is.finite(fit$limits)))
  clamped <- mean(pmin(pmax(x, fit$limits[[1]]), fit$limits[[2]]))
  expect_lt(abs(coef(fit) - clamped), 25 * fit$noise_sd) # exp(-25 sqrt(2)) < 1e-15
})

test_that("one column takes Laplace noise, many take Gaussian noise", {
  set.seed(112)
  kinds <- function(d, ...) {
    m <- matrix(rt(2000 * d, 3), 2000)
    table <- as.data.frame(privacy(dp_mean(m, 8, 1e-6, ...)))
    table$mechanism[nrow(table)]
  }
  expect_identical(kinds(1), "laplace")
  expect_identical(kinds(1, bound = 5), "laplace")
  expect_identical(kinds(30, bound = 5), "gaussian")
  expect_identical(kinds(30), "gaussian")
  pure <- as.data.frame(privacy(dp_mean(matrix(0, 2000, 30), 8, bound = 5)))
  expect_identical(pure$mechanism, "laplace")
})

test_that("the events spend all of epsilon and no more", {
  set.seed(113)
  for (e in c(0.5, 4)) {
    for (run in list(
      function(e) dp_mean(big$y, e), function(e) dp_mean(big$y, e, na.rm = TRUE),
      function(e) dp_mean(big$y, e, bound = 9), function(e) dp_mean(big[1:2], e, bound = 9)
    )) {
      p <- privacy(quiet(run(e)))
      table <- as.data.frame(p)
      expect_equal(sum(table$count * table$cost), e, tolerance = 1e-12)
      expect_lte(epsilon_at(p, 0), e)
    }
    m <- matrix(rt(4000 * 30, 3), 4000)
    p <- privacy(dp_mean(m, e, 1e-6, bound = 9, na.rm = TRUE))
    table <- as.data.frame(p)
    expect_true(all(table$mechanism == "gaussian"))
    expect_equal(sum(table$count * table$cost^2), discrete_gaussian_mu(e, 1e-6)^2,
                 tolerance = 1e-12)
    expect_lte(events_epsilon(p$events, 1e-6), e * (1 + 1e-9))
    expect_gte(events_epsilon(p$events, 1e-6), e * (1 - 1e-6))
  }
  p <- privacy(quiet(dp_mean(matrix(rt(4000 * 30, 3), 4000), 8, 1e-6)))
  # medians and Gaussians: the accountant allows more than their rho would
  expect_gt(compose_events(p$events)$rho, 1.05 * zcdp_rho(8, 1e-6))
  expect_lte(delta_at(p, 8 - 1e-9), 1e-6)
  expect_lte(total_delta(compose_events(p$events, ordered = TRUE), 8), 1e-6)
  expect_gt(total_delta(compose_events(p$events, ordered = TRUE), 8 * (1 - 1e-3)), 1e-6)
})

test_that("few rows are refused before anything is spent", {
  few <- function(call) expect_refusal(call, "too few rows", "dp_error_small_n")
  few(function(b) dp_mean(d$y[1:10], eps, budget = b))
  few(function(b) dp_mean(d[rep("y", 1)][1:20, , drop = FALSE], eps, del, budget = b))
  few(function(b) dp_mean(matrix(0, 100, 30), eps, budget = b))
  few(function(b) dp_mean(1, eps, budget = b))
  expect_identical(error_text(dp_mean(rep(0, 10), eps)), error_text(dp_mean(d$y[1:10], eps)))
  expect_true(is.finite(coef(dp_mean(d$y[1], eps, bound = 5))))
})

test_that("the charge comes before the values are read, and is kept", {
  b <- privacy_budget(1, 1e-6)
  front <- with_replaced(dp_mean, mean_values = function(...) stop("planted"))
  expect_error(front(d$y, 0.4, bound = 9, budget = b), "planted")
  expect_equal(spent(b), 0.4, tolerance = 1e-9)
  dp_mean(d$y, remaining(b, 0), bound = 9, budget = b)
  expect_equal(spent(b), 1, tolerance = 1e-9)
  expect_error(dp_mean(d$y, 0.01, bound = 9, budget = b), class = "dp_error_budget")
  expect_identical(nrow(as.data.frame(b)), 2L)
})

test_that("what is not numbers is refused by name", {
  refused <- function(x, naming = "`x`") {
    expect_refusal(function(b) dp_mean(x, eps, bound = 5, budget = b), naming)
  }
  for (x in list("a", factor("CANARY"), list(1, 2), NULL, 1i, quote(a), Sys.Date(),
                 array(1, c(2, 2, 2)), structure(1, class = "integer64"))) {
    refused(x)
  }
  refused(data.frame(ok = 1, bad = "CANARY"), "`bad`")
  refused(data.frame(ok = 1:2, bad = I(matrix(1:4, 2))), "`bad`")
  expect_refusal(function(b) dp_mean(d$y, eps, method = "huber", bound = 5, budget = b),
                 "`method`")
  expect_refusal(function(b) dp_mean(d$y, eps, moment = 2, bound = 5, budget = b), "`moment`")
  expect_refusal(function(b) dp_mean(d$y, eps, na.rm = NA, bound = 5, budget = b), "`na.rm`")
  expect_refusal(function(b) dp_mean(d$y, eps, control = list(), bound = 5, budget = b),
                 "`control`")
  expect_refusal(function(b) dp_mean(d$y, eps, bound = 5, budget = list()), "`budget`")
})

test_that("fits on neighbouring data sets differ in numbers only", {
  set.seed(114)
  for (v in c(0, 1e308, -1e308, Inf, -Inf, 5e-324)) {
    x <- replace(big$y, 1, v)
    for (run in list(
      function(x) dp_mean(x, 2, control = repeatable),
      function(x) dp_mean(x, 2, na.rm = TRUE, control = repeatable),
      function(x) dp_mean(x, eps, bound = c(0, 3), control = repeatable),
      function(x) dp_mean(cbind(x, big$x1), 4, 1e-6, control = repeatable)
    )) {
      expect_silent(a <- run(big$y))
      expect_silent(b <- run(x))
      expect_identical(lapply(a, attributes), lapply(b, attributes))
      expect_identical(lengths(a), lengths(b))
      expect_identical(privacy(a), privacy(b))
      expect_identical(a[c("front", "n", "schema", "method", "noise")],
                       b[c("front", "n", "schema", "method", "noise")])
      expect_true(all(is.finite(coef(b))))
    }
  }
})

test_that("the noise of a bounded mean has the standard deviation it states", {
  skip_on_cran()
  set.seed(49)
  for (delta in c(0, 1e-6)) {
    m <- matrix(0, 1000, if (delta == 0) 1 else 40)
    runs <- replicate(if (delta == 0) 200 else 20, {
      coef(dp_mean(m, eps, delta, bound = 3, control = repeatable))
    })
    sd <- dp_mean(m, eps, delta, bound = 3, control = repeatable)$noise_sd[[1]]
    wide <- max(abs(runs)) < 3 # no value clamped to the limits
    expect_true(wide)
    # Laplace noise: the squares have a kurtosis of 6 and a heavy tail; 8 sd of their mean
    ratio <- mean(runs^2) / sd^2
    expect_lt(abs(ratio - 1), 8 * sqrt(5 / length(runs)))
  }
})
