# Audits with a false-alarm rate of `alarm` each; seeds are fixed.

repeatable <- dp_control(rng = "R")

audit <- function(..., n = 1500, level = 1 - alarm) {
  set.seed(301)
  dp_audit(..., n = n, level = level, synthetic = TRUE)
}

low <- c(-1, rep(0, 9))
high <- c(1, rep(0, 9))

test_that("Gaussian noise for half the sensitivity is found, the right one passes", {
  skip_on_cran()
  d <- 20L
  x <- unname(rbind(matrix(0, 4L, d), rep(-1, d)))
  x1 <- unname(rbind(matrix(0, 4L, d), rep(1, d)))
  bound <- cbind(rep(-1, d), rep(1, d))
  plan <- plan_mean(5, d, 4, 1e-5, TRUE, FALSE, NULL)
  claim <- new_privacy(4, 1e-5, plan$events)
  mechanism <- function(x, plan) fit_mean(x, plan, bound, repeatable)$coefficients
  right <- audit(mechanism, x, x1, plan = plan, claim = claim)
  expect_false(right$violated)
  expect_gt(right$mu, 0.2)
  expect_identical(right$claim$epsilon, 4)
  expect_equal(right$claim$mu, gaussian_mu(4, 1e-5), tolerance = 1e-6)
  plan$cost[["sums"]] <- 2 * plan$cost[["sums"]]
  wrong <- audit(mechanism, x, x1, plan = plan, claim = claim)
  expect_true(wrong$violated)
  expect_gt(wrong$mu, right$claim$mu)
  expect_lt(wrong$mu, 2 * right$claim$mu)
  # no one column shows it: the projection does
  expect_match(wrong$events$event[[which.max(wrong$events$mu)]], "projection")
})

test_that("a default audit of a Gaussian mean finds a factor of two", {
  noisy_mean <- function(x, sd) mean(x) + stats::rnorm(1, sd = sd)
  sd <- calibrate_gaussian(4, 1e-5, sensitivity = 0.2)
  claim <- event_gaussian(0.2, sd)
  set.seed(302)
  wrong <- dp_audit(noisy_mean, low, high, sd = sd / 2, synthetic = TRUE, claim = claim)
  right <- dp_audit(noisy_mean, low, high, sd = sd, synthetic = TRUE, claim = claim)
  expect_true(wrong$violated)
  expect_false(right$violated)
  expect_identical(c(wrong$delta, wrong$level), c(1e-6, 0.99))
  expect_identical(wrong$epsilon_gaussian, gaussian_epsilon(wrong$mu, 1e-6))
})

test_that("Laplace noise of half the scale is found, the right one passes", {
  skip_on_cran()
  laplace <- function(x, e) dp_mean(x, e, bound = c(-1, 1), control = repeatable)
  right <- audit(laplace, low, high, e = 2, n = 1000)
  expect_identical(right$claim[c("epsilon", "delta")], list(epsilon = 2, delta = 0))
  expect_false(right$violated)
  expect_gt(right$epsilon, 0.8)
  wrong <- audit(laplace, low, high, e = 4, claim = c(epsilon = 2), n = 2000)
  expect_true(wrong$violated)
  expect_gt(wrong$epsilon, 2)
  expect_identical(wrong$epsilon_gaussian, NA_real_)
  # the fit says epsilon = 4, and it is so
  expect_false(audit(laplace, low, high, e = 4, n = 500)$violated)
})

test_that("a selection with half the scale is found, the right one passes", {
  skip_on_cran()
  choose <- function(x, c) {
    scores <- c(a = sum(x == "a"), b = sum(x == "b"), c = sum(x == "c"))
    names(scores)[[sample.int(3, 1, prob = exp(c * scores))]]
  }
  x <- c("a", "a", "b", "c")
  x1 <- c("a", "b", "b", "c")
  # odds move by 2 c
  claim <- event_exponential(1)
  expect_false(audit(choose, x, x1, c = 0.5, claim = claim)$violated)
  expect_true(audit(choose, x, x1, c = 1, claim = claim, n = 4000)$violated)
  as_factor <- function(x, c) factor(choose(x, c))
  as_number <- function(x, c) match(choose(x, c), letters)
  found <- audit(choose, x, x1, c = 1, n = 500)$epsilon
  expect_identical(audit(as_factor, x, x1, c = 1, n = 500)$epsilon, found)
  expect_gt(audit(as_number, x, x1, c = 1, n = 500)$epsilon, 0)
})

test_that("what only one neighbour does is found, whatever it is", {
  only <- function(what) {
    function(x) {
      y <- c(a = stats::runif(1))
      if (x[[1L]] > 0) what(y) else y
    }
  }
  leaks <- list(
    error = function(y) stop("no such value"),
    warning = function(y) {
      warning("no such value")
      y
    },
    message = function(y) {
      message("no such value")
      y
    },
    noisy_warning = function(y) {
      warning(format(y, digits = 15L))
      y
    },
    missing = function(y) replace(y, 1L, NA), infinite = function(y) replace(y, 1L, Inf),
    huge = function(y) y * 1e308, longer = function(y) c(y, b = 0.5), named = function(y) unname(y),
    list = function(y) list(a = y[[1L]], b = "z")
  )
  for (name in names(leaks)) {
    got <- audit(only(leaks[[name]]), low, high, claim = c(epsilon = 1), n = 400)
    expect_true(got$violated, label = name)
    expect_gt(got$epsilon, 2)
  }
  got <- audit(only(leaks$error), low, high, n = 400)
  expect_identical(got$failed, c(x = 0L, x1 = 400L))
  expect_output(print(got), "error: 0 on x, 400 on x1")
  expect_false(audit(only(identity), low, high, claim = c(epsilon = 1), n = 400)$violated)
  # which of two errors it is
  text <- function(x) stop(if (x[[1L]] > 0) "above" else if (stats::runif(1) < 1) "below")
  one <- function(x) if (stats::runif(1) < 0.5) 0 else text(x)
  expect_true(audit(one, low, high, claim = c(epsilon = 1), n = 400)$violated)
})

test_that("a claim, a scale or digits that depend on the data are found", {
  stamp <- function(x) {
    e <- if (x[[1L]] > 0) 1 else 2
    new_dp_fit("mean", stats::runif(1), 10, new_privacy(e, 0, laplace_event(e)))
  }
  expect_true(audit(stamp, low, high, n = 400)$violated)
  scale <- function(x) stats::rnorm(1, sd = 1 + 9 * (x[[1L]] > 0))
  got <- audit(scale, low, high, n = 4000)
  # values on one side of a threshold show no more than 2, those in an interval 2.7
  expect_gt(got$mu, 2)
  expect_match(got$events$event[[which.max(got$events$mu)]], "|value - ", fixed = TRUE)
  digits <- function(x) sample.int(9, 1) + 2^-50 * (x[[1L]] > 0)
  expect_true(audit(digits, low, high, claim = c(epsilon = 1), n = 1000)$violated)
})

test_that("huge and infinite values do not hide a difference of many coordinates", {
  skip_on_cran()
  mechanism <- function(x) {
    y <- stats::rnorm(30) + 0.5 * x[[1L]]
    if (stats::runif(1) < 0.002) y[] <- sample(c(1e308, -1e308, Inf, -Inf), 1)
    c(y, 7)
  }
  # mu = sqrt(30)
  got <- audit(mechanism, low, high)
  expect_gt(got$mu, 3.5)
  expect_lt(got$mu, sqrt(30))
})

test_that("bounds hold for a mechanism whose loss is known", {
  response <- function(x) (x[[1L]] > 0) != (stats::runif(1) < stats::plogis(-1))
  got <- audit(response, low, high, claim = event_pure(1), n = 4000)
  expect_false(got$violated)
  expect_gt(got$epsilon, 0.6)
  expect_lt(got$epsilon, 1)
  expect_equal(got$claim$mu, pure_mu(1))
  same <- audit(function(x) stats::runif(1), low, high, claim = c(epsilon = 0, mu = 0))
  expect_false(same$violated)
  expect_identical(c(same$epsilon, same$mu), c(0, 0))
  constant <- audit(function(x) 1, low, high, n = 50)
  expect_identical(c(constant$epsilon, constant$mu), c(0, 0))
})

test_that("the bounds of an event are Clopper and Pearson's, shared out", {
  got <- event_bounds(c(10, 0), c(90, 100), c("x1", "x1"), 100, 0.01, 0.04)
  expect_equal(stats::pbinom(89, 100, got$p_lower[[1L]], lower.tail = FALSE), 0.01)
  expect_equal(stats::pbinom(10, 100, got$p_upper[[1L]]), 0.01)
  expect_equal(got$p_lower[[2L]]^100, 0.01)
  expect_equal((1 - got$p_upper[[2L]])^100, 0.01)
  expect_equal(got$epsilon, log((got$p_lower - 0.01) / got$p_upper))
  expect_equal(got$mu, stats::qnorm(got$p_lower) - stats::qnorm(got$p_upper))
  other <- event_bounds(90, 10, "x", 100, 0.01, 0.02)
  expect_equal(unlist(other), unlist(got[1L, ]))
  none <- event_bounds(100, 0, "x1", 100, 0, 0.01)
  expect_identical(c(none$p_lower, none$p_upper, none$mu), c(0, 1, -Inf))
})

test_that("scores and hits are what they are said to be", {
  expect_identical(count_hits(c(3, 1, 2, 2, NA), ">=", c(0, 2, 2.5, 4)), c(4L, 3L, 1L, 0L))
  expect_identical(count_hits(c(3, 1, 2, 2, NA), "<=", c(0, 2, 2.5, 4)), c(0L, 3L, 3L, 4L))
  a <- rep(c("u", "v"), c(30, 10))
  b <- rep(c("u", "v", "new"), c(10, 25, 5))
  got <- label_statistic(a, b, 1:35, "m")
  expect_equal(unique(got$x), log(c(10.5 / 30.5, 25.5 / 5.5)))
  expect_identical(got$x1[40], 0)
  expect_identical(got$say(">=", 1), "m: \"v\"")
  # missing values are told apart by where they are
  shape <- function(y) read_output(list(value = y, failed = FALSE, noted = FALSE), NULL)
  expect_false(identical(shape(c(1, NA))$labels, shape(c(NA, 1))$labels))
  expect_identical(exact_text(c(0.1, 1 / 3, NA, 1 + 2^-50)),
                   c("0.1", "0.33333333333333331", NA, "1.0000000000000009"))
})

test_that("pilot and test runs are disjoint", {
  # the two halves differ: what the pilot saw is not there in the second
  count <- 0
  mechanism <- function(x) {
    count <<- count + 1
    if (count <= 200 && x[[1L]] > 0) "seen" else "usual"
  }
  got <- audit(mechanism, low, high, n = 200, claim = c(epsilon = 1))
  expect_false(got$violated)
  expect_identical(unique(got$events$runs), 100)
})

test_that("real data are refused before anything is run or read", {
  run <- function(x) stop("was run")
  for (given in list(list(), list(synthetic = FALSE))) {
    error <- tryCatch(
      do.call(dp_audit, c(list(run, quote(stop("was read")), quote(stop("was read"))), given)),
      error = identity
    )
    expect_s3_class(error, "dp_error_synthetic")
    expect_match(conditionMessage(error), "unpaid release.*synthetic = TRUE")
  }
})

test_that("bad input is named", {
  bad <- function(.naming, ..., mechanism = function(x) 0, x = low, x1 = high, synthetic = TRUE) {
    expect_error(dp_audit(mechanism, x, x1, ..., synthetic = synthetic), .naming,
                 class = "dp_error_input")
  }
  bad("`synthetic`", synthetic = NA)
  bad("`mechanism`", mechanism = 1)
  bad("`mechanism`.*stopped.*not so", mechanism = function(x) stop("not so"))
  bad("`mechanism`.*statistic", mechanism = function(x) quote(a + b))
  bad("`statistic`", statistic = 1)
  for (n in list(10, NA, "a", c(100, 200))) bad("`n`", n = n)
  for (level in list(1, 0, NA, "a")) bad("`level`", level = level)
  for (claim in list(1, c(eps = 1), c(epsilon = NA), c(epsilon = -1), "a", list())) {
    bad("`claim`", claim = claim)
  }
  bad("`delta`", claim = c(epsilon = 1, delta = 1))
})

test_that("neighbours are checked where they can be", {
  d <- fixture(20)
  d1 <- d
  d1[3, ] <- d[7, ]
  expect_identical(check_neighbours(d, d1), 1L)
  expect_identical(check_neighbours(as.matrix(d[c("x1", "y")]), as.matrix(d1[c("x1", "y")])), 1L)
  parts <- function(d) list(x = as.matrix(d["x1"]), y = d$y)
  expect_identical(check_neighbours(parts(d), parts(d1)), 1L)
  expect_identical(check_neighbours(list(1, "a"), list(1, "b")), 1L)
  expect_identical(check_neighbours(c(1, NA), c(1, 2)), 1L)
  expect_identical(check_neighbours(quote(a), quote(b)), NA_real_)
  expect_error(check_neighbours(d, d), "same", class = "dp_error_input")
  expect_error(check_neighbours(c(1, NA), c(1, NA)), "same", class = "dp_error_input")
  shapes <- list(
    list(d, d[-1, ]), list(d, d[-1]), list(low, as.integer(high)), list(low, high[-1]),
    list(factor("a"), factor("b")), list(matrix(1:4, 2), matrix(1:4, 1)), list(d, as.list(d))
  )
  for (pair in shapes) {
    expect_error(check_neighbours(pair[[1L]], pair[[2L]]), "same class", class = "dp_error_input")
  }
  expect_warning(
    got <- dp_audit(mean, low, high + 1, synthetic = TRUE, n = 50), "10 rows",
    class = "dp_not_neighbours"
  )
  expect_output(print(got), "differ in 10 rows")
})

test_that("an audit is repeatable if its mechanism is, and draws nothing itself", {
  run <- function() audit(dp_mean, low, high, epsilon = 2, bound = c(-1, 1), control = repeatable,
                          n = 100)
  expect_identical(run(), run())
  set.seed(303)
  before <- .Random.seed
  dp_audit(function(x) x[[1L]], low, high, synthetic = TRUE, n = 50)
  dp_audit(dp_mean, low, high, epsilon = 2, bound = c(-1, 1), synthetic = TRUE, n = 50)
  expect_identical(.Random.seed, before)
})

test_that("fits, lists and a statistic are read; arguments reach the mechanism", {
  fit <- function(x, ...) {
    fit <- dp_mean(x, ..., bound = c(-1, 1), control = repeatable)
    fit$selected <- "m"
    fit
  }
  got <- audit(fit, low, high, epsilon = 2, delta = 1e-5, n = 100)
  expect_identical(got$claim$epsilon, 2)
  expect_match(got$events$event[[1L]], "mean")
  parts <- outcome_parts(list(1:2, list(u = factor("a"), TRUE), c(v = 3), NULL, 1i))
  expect_identical(unname(parts$numbers), c(1, 2, 3, 0, 1))
  expect_identical(unname(parts$labels), c("a", "TRUE"))
  got <- audit(function(x) list(quote(z), x[[1L]] + stats::rnorm(1)), low, high, n = 500,
               statistic = function(value) c(s = value[[2L]]))
  expect_gt(got$mu, 0.5)
  expect_match(got$events$event[[1L]], "^s ")
})

test_that("print, summary, plot and as.data.frame", {
  noisy <- function(x, sd = 1) x[[1L]] + stats::rnorm(1, sd = sd)
  right <- audit(noisy, low, high, claim = event_gaussian(2, 1), level = 0.99)
  wrong <- audit(noisy, low, high, claim = c(mu = 1), level = 0.99)
  bare <- audit(noisy, low, high)
  constant <- audit(function(x) "a", low, high, n = 50)
  expect_output(print(right), "claimed +at least.*mu .Gaussian privacy. +2 .*0.99.*cannot prove")
  expect_output(print(wrong), "VIOLATED")
  expect_output(print(bare), "No claim")
  expect_identical(list(right$violated, wrong$violated, bare$violated), list(FALSE, TRUE, NA))
  expect_output(print(summary(right)), "favours")
  expect_output(print(summary(constant)), "No output told")
  table <- as.data.frame(wrong)
  expect_identical(names(table), c("event", "favours", "hits_x", "hits_x1", "runs", "p_lower",
                                   "p_upper", "epsilon", "mu"))
  expect_identical(max(table$mu), wrong$mu)
  expect_identical(max(table$epsilon), wrong$epsilon)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (a in list(right, wrong, bare, constant)) expect_identical(plot(a), a)
})

test_that("the curve is that of error rates, and a claim's that of its trade-off", {
  got <- audit(function(x) x[[1L]] + stats::rnorm(1), low, high, n = 2000)
  curve <- got$curve
  expect_false(is.unsorted(curve$false_positive))
  expect_false(is.unsorted(rev(curve$false_negative)))
  true <- stats::pnorm(stats::qnorm(1 - curve$false_positive) - 2)
  inside <- curve$false_positive > 0.01
  expect_gt(sum(inside), 100)
  expect_lt(max(abs(true - curve$false_negative)[inside]), 0.1)
  rate <- c(0, 0.1, 0.5, 1)
  expect_equal(claimed_curve(list(epsilon = NA, delta = 0, mu = 1), rate),
               stats::pnorm(stats::qnorm(1 - rate) - 1))
  expect_equal(claimed_curve(list(epsilon = log(2), delta = 0.1, mu = NA), rate),
               c(0.9, 0.7, 0.2, 0))
})
