fixed <- dp_control(rng = "R")

test_that("the Gaussian scale is the analytic one and the noise has it", {
  skip_on_cran()
  for (case in list(c(1, 1e-6, 1), c(0.1, 1e-9, 1e-7), c(8, 1e-5, 1e12))) {
    set.seed(311)
    fit <- dp_gaussian(rep(0, 5000), case[[3L]], case[[1L]], case[[2L]], control = fixed)
    wanted <- calibrate_gaussian(case[[1L]] - 1e-9, case[[2L]], case[[3L]])
    expect_equal(fit$scale, wanted, tolerance = 1e-8)
    expect_gte(fit$scale, wanted)
    expect_gt(scale_p(coef(fit), wanted), alarm)
    expect_lt(scale_p(coef(fit), 1.1 * wanted), alarm)
    expect_lte(epsilon_at(fit$privacy, case[[2L]]), case[[1L]])
    table <- as.data.frame(privacy(fit))
    expect_identical(table$mechanism, "gaussian")
    expect_equal(table$cost, case[[3L]] / fit$scale, tolerance = 1e-8)
  }
})

test_that("the Laplace scale is sensitivity / epsilon and the noise has it", {
  skip_on_cran()
  for (case in list(c(1, 1), c(0.02, 1e-7), c(30, 1e12))) {
    set.seed(312)
    n <- 5000
    fit <- dp_laplace(rep(0, n), case[[2L]], case[[1L]], control = fixed)
    wanted <- case[[2L]] / case[[1L]]
    expect_equal(fit$scale, wanted, tolerance = 1e-6)
    expect_gte(fit$scale, wanted)
    p <- function(b) {
      q <- pchisq(2 * sum(abs(coef(fit))) / b, 2 * n)
      2 * min(q, 1 - q)
    }
    expect_gt(p(wanted), alarm)
    expect_lt(p(1.1 * wanted), alarm)
    expect_identical(epsilon_at(privacy(fit), 0), case[[1L]])
  }
})

test_that("the classical scale is taken in paper mode, and not above epsilon = 1", {
  skip_if(inherits(try(dp_control(calibration = "paper"), silent = TRUE), "try-error"))
  paper <- dp_control(calibration = "paper", rng = "R")
  fit <- dp_gaussian(0, 2, 0.5, 1e-6, control = paper)
  expect_equal(fit$scale, 2 * sqrt(2 * log(1.25e6)) / 0.5, tolerance = 1e-8)
  expect_identical(privacy(fit)$calibration, "paper")
  expect_lt(epsilon_at(new_privacy(NA, NA, privacy(fit)$events), 1e-6), 0.5)
  expect_error(dp_gaussian(0, 2, 1.5, 1e-6, control = paper), "epsilon", class = "dp_error")
  b <- privacy_budget(1, 1e-6)
  dp_gaussian(0, 2, 0.5, 1e-6, budget = b, control = paper)
  expect_lt(spent(b), 0.5)
})

test_that("shape and names of the value are kept", {
  value <- matrix(1:6, 2, dimnames = list(c("a", "b"), NULL))
  for (e in c(1, Inf)) {
    for (fit in list(dp_gaussian(value, 1, e, 1e-6), dp_laplace(value, 1, e))) {
      expect_identical(dim(coef(fit)), dim(value))
      expect_identical(dimnames(coef(fit)), dimnames(value))
    }
    expect_named(coef(dp_laplace(c(a = 1, b = 2), 1, e)), c("a", "b"))
    expect_null(names(coef(dp_gaussian(TRUE, 1, e, 1e-6))))
  }
})

test_that("a value far above its noise comes out right", {
  set.seed(313)
  fit <- dp_gaussian(c(1e12, -1e12), 1, 1, 1e-6, control = fixed)
  expect_lt(max(abs(coef(fit) - c(1e12, -1e12))), 6 * fit$scale)
  expect_true(all(coef(fit) != c(1e12, -1e12)))
  expect_true(all(is.finite(coef(dp_laplace(c(1e308, -1e308), 1, 1)))))
})

test_that("epsilon = Inf gives the value, says so, and cannot be charged", {
  b <- privacy_budget(1, 1e-6)
  for (fit in list(dp_gaussian(c(1, pi), 1, Inf), dp_laplace(c(1, pi), 1, Inf))) {
    expect_identical(coef(fit), c(1, pi))
    expect_output(print(fit), "NOT PRIVATE")
    expect_output(print(summary(fit)), "NOT PRIVATE")
    expect_identical(privacy(fit)$epsilon, Inf)
  }
  expect_error(dp_gaussian(1, 1, Inf, 1e-6, budget = b), "Inf", class = "dp_error_budget")
  expect_error(dp_laplace(1, 1, Inf, budget = b), "Inf", class = "dp_error_budget")
  expect_error(dp_noisy_max(1, 1, Inf, budget = b), "Inf", class = "dp_error_budget")
  expect_error(dp_peel(1, 1, 1, Inf, 1e-6, budget = b), "Inf", class = "dp_error_budget")
  expect_identical(nrow(as.data.frame(b)), 0L)
})

test_that("costs enter the ledger, and a call that does not fit is refused", {
  b <- privacy_budget(1, 1e-6)
  dp_gaussian(1:3, 1, 0.5, 1e-6, budget = b)
  dp_gaussian(1:3, 1, remaining(b), 1e-6, budget = b)
  expect_equal(spent(b), 1, tolerance = 1e-6)
  expect_error(dp_gaussian(1, 1, 0.5, 1e-6, budget = b), class = "dp_error_budget")
  expect_error(dp_laplace(1, 1, 0.5, budget = b), class = "dp_error_budget")
  expect_identical(as.data.frame(b)$what, rep("dp_gaussian", 2))
  b <- privacy_budget(1)
  for (i in 1:4) dp_laplace(1:3, 1, 0.25, budget = b)
  expect_error(dp_laplace(1:3, 1, 0.01, budget = b), class = "dp_error_budget")
  expect_error(dp_gaussian(1:3, 1, 0.1, 1e-6, budget = b), "delta", class = "dp_error_budget")
  # pure calls on a ledger with delta, the last with what is left
  b <- privacy_budget(1, 1e-6)
  dp_gaussian(1, 1, 0.5, 1e-6, budget = b)
  fit <- dp_laplace(1, 1, remaining(b, 0), budget = b)
  expect_lte(spent(b), 1 + 1e-9)
  expect_identical(privacy(fit)$delta, 0)
})

# Calls of all four with one argument replaced; value and scores are fine.
call_with <- function(...) {
  given <- list(...)
  lapply(list(
    list(dp_gaussian, list(value = 1:3, sensitivity = 1, epsilon = 1, delta = 1e-6)),
    list(dp_laplace, list(value = 1:3, sensitivity = 1, epsilon = 1)),
    list(dp_noisy_max, list(scores = 1:3, sensitivity = 1, epsilon = 1)),
    list(dp_peel, list(v = 1:3, s = 1, sensitivity = 1, epsilon = 1, delta = 1e-6))
  ), function(call) {
    if (!all(names(given) %in% c(names(call[[2L]]), "budget", "control"))) {
      return(NULL)
    }
    function(budget) {
      do.call(call[[1L]], c(utils::modifyList(call[[2L]], given), list(budget = budget)))
    }
  })
}

expect_refused <- function(calls, pattern, class = "dp_error_input") {
  b <- privacy_budget(10, 1e-5)
  calls <- Filter(Negate(is.null), calls)
  testthat::expect_gt(length(calls), 0)
  for (call in calls) testthat::expect_error(call(b), pattern, class = class)
  testthat::expect_identical(nrow(as.data.frame(b)), 0L)
}

test_that("bad input: a classed error that names the argument, nothing charged", {
  for (bad in list(0, -1, Inf, NaN, NA, NA_real_, c(1, 2), "1", numeric(), TRUE, list(1))) {
    expect_refused(call_with(sensitivity = bad), "`sensitivity`")
  }
  for (bad in list(0, -1, NaN, NA, c(1, 2), "1", numeric(), TRUE)) {
    expect_refused(call_with(epsilon = bad), "`epsilon`")
  }
  for (bad in list(-1e-6, 1, 2, NaN, NA, c(1e-6, 1e-7), "1e-6", numeric())) {
    expect_refused(call_with(delta = bad), "`delta`")
  }
  for (bad in list("a", numeric(), factor(1), list(1), NULL, 1i, data.frame(a = 1))) {
    for (name in c("value", "scores", "v")) {
      given <- stats::setNames(list(bad), name)
      if (is.null(bad)) next
      expect_refused(do.call(call_with, given), sprintf("`%s`", name))
    }
  }
  expect_error(dp_gaussian(1, 1, 1e-13, 1e-6), "`epsilon`", class = "dp_error_input")
  expect_error(dp_laplace(1, 1, 1e-13), "`epsilon`", class = "dp_error_input")
  expect_error(dp_noisy_max(1, 1, 1e-13), "`epsilon`", class = "dp_error_input")
  expect_error(dp_peel(1, 1, 1, 1e-13, 1e-6), "`epsilon`", class = "dp_error_input")
  expect_error(dp_gaussian(1, 1, 1, 0), "`delta`", class = "dp_error_input")
  expect_error(dp_gaussian(1, 1, 1), "`delta`", class = "dp_error_input")
  expect_error(dp_peel(1, 1, 1, 1), "`delta`", class = "dp_error_input")
  for (f in list(dp_gaussian, dp_laplace, dp_noisy_max)) {
    expect_error(f(1), "`sensitivity`", class = "dp_error_input")
    expect_error(f(1, 1), "`epsilon`", class = "dp_error_input")
    expect_error(f(), "value|scores", class = "dp_error_input")
    expect_error(f(1, 1, 1, delt = 1), "delt", class = "dp_error_input")
    expect_error(f(1, 1, 1, control = 3), "control", class = "dp_error_input")
    expect_error(f(1, 1, 1, budget = 3, delta = 1e-6), class = "dp_error_input")
  }
  expect_error(dp_laplace(1, 1, 1, 1e-6), "by name", class = "dp_error_input")
})

test_that("missing and infinite entries are refused by one text, before the charge", {
  texts <- character()
  for (bad in list(NA, NaN, Inf, c(1, 2, -Inf), c(NA, 5, 1e308))) {
    bad <- as.numeric(bad)
    for (name in c("value", "scores", "v")) {
      calls <- Filter(Negate(is.null), do.call(call_with, stats::setNames(list(bad), name)))
      expect_refused(calls, "do not publish", "dp_error_missing")
      for (call in calls) texts <- c(texts, gsub("`[a-z]+`", "", conditions_of(call(NULL))))
    }
  }
  expect_length(unique(texts), 1L)
})

test_that("methods stop or answer as they should", {
  fits <- list(
    dp_gaussian(1:3, 1, 1, 1e-6), dp_laplace(1:3, 1, 1), dp_noisy_max(1:3, 1, 1),
    suppressWarnings(dp_peel(1:3, 1, 1, 1, 1e-6))
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (fit in fits) {
    expect_s3_class(fit, "dp_fit")
    expect_s3_class(privacy(fit), "dp_privacy")
    expect_error(nobs(fit), "rows", class = "dp_error_no_data")
    expect_error(predict(fit, 1), "coef", class = "dp_error")
    expect_error(residuals(fit), class = "dp_error_no_data")
    expect_error(confint(fit), class = "dp_error_no_intervals")
    expect_output(print(fit), "(epsilon, delta) = (1, ", fixed = TRUE)
    expect_output(print(summary(fit)), "Noise scale")
    if (fit$front == "noisy_max") {
      expect_error(plot(fit), "nothing to draw", class = "dp_error")
    } else {
      expect_silent(plot(fit))
    }
  }
  expect_output(print(dp_laplace(1, 1, 1, control = fixed)), "NOT FOR RELEASE")
  expect_output(print(summary(dp_laplace(1, 1, 1, control = fixed))), "NOT FOR RELEASE")
})

test_that("a release holds nothing of what it was given", {
  canary <- 12345.678901
  given <- c(canary, 1e6, 1, -canary)
  for (fit in list(
    dp_gaussian(given, 1, 1, 1e-6), dp_laplace(given, 1, 1), dp_noisy_max(given, 1, 1),
    dp_peel(given, 2, 1, 1, 1e-6), dp_peel(given, 2, 1, 1, 0)
  )) {
    for (x in list(fit, summary(fit))) {
      expect_false(leaks(x, canary))
      expect_false(leaks(x, -canary))
    }
    expect_false(leaks(fit, 1e6))
  }
  expect_true(leaks(dp_laplace(given, 1, Inf), canary)) # the scan sees it
})

test_that("each draw has a key of its own, and set.seed repeats or does nothing", {
  keys_of <- function(expr) {
    set.seed(314)
    force(expr)
    after <- stats::runif(1)
    set.seed(314)
    (match(after, stats::runif(500)) - 1L) / 32L
  }
  expect_identical(keys_of(dp_gaussian(1:3, 1, 1, 1e-6, control = fixed)), 1)
  expect_identical(keys_of(dp_laplace(1:3, 1, 1, control = fixed)), 1)
  expect_identical(keys_of(dp_noisy_max(1:3, 1, 1, control = fixed)), 1)
  expect_identical(keys_of(dp_peel(1:3 * 99, 2, 1, 1, 1e-6, control = fixed)), 2)
  expect_identical(keys_of(dp_laplace(1:3, 1, 1)), 0)
  twice <- function(f) {
    set.seed(1)
    a <- f()
    set.seed(1)
    identical(a, f())
  }
  expect_true(twice(function() dp_gaussian(1:3, 1, 1, 1e-6, control = fixed)))
  expect_false(twice(function() dp_gaussian(1:3, 1, 1, 1e-6)))
})
