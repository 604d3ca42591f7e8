test_that("fits compose by c(), lists and unknown arguments are explained", {
  control <- dp_control(rng = "R")
  a <- dp_mean(c(rep(0, 99), 1), 0.5, bound = 1, control = control)
  b <- dp_quantile(1:500 / 7, 0.5, 0.5, control = control)
  expect_s3_class(c(a, b), "dp_privacy")
  expect_equal(c(a, b)$epsilon, 1)
  expect_identical(c(a, b), privacy_compose(a, b))
  refused <- function(expr, text) expect_error(expr, text, class = "dp_error_input")
  refused(privacy_compose(a, dleta = 1e-6), "`dleta`")
  refused(privacy_compose(list(a, b)), "do.call")
  refused(privacy_compose(), "at least one")
  expect_identical(do.call(privacy_compose, list(a, b)), c(a, b))
})

test_that("Gaussian noise at delta = 0 is refused, not called no noise", {
  p <- event_gaussian(1, 4)
  expect_error(privacy_compose(p, delta = 0), "give a `delta`", class = "dp_error_input")
  expect_error(privacy_compose(dp_gaussian(1, 1, 1, 1e-6), delta = 0), "delta", class = "dp_error")
  expect_identical(privacy_compose(event_pure(0.5), event_laplace(1, 4), delta = 0)$epsilon, 0.75)
  off <- c(dp_mean(1:9, Inf), event_pure(1))
  expect_identical(off$epsilon, Inf)
  expect_output(print(off), "NOT PRIVATE")
})

test_that("an event without a declared point prints one", {
  shown <- "= \\(1.061, 1e-06\\) differential privacy; epsilon_at"
  expect_output(print(event_gaussian(1, 4)), shown)
  expect_output(print(event_pure(0.3, 2, what = "sign")), "sign")
  expect_error(event_pure(1, what = 2), "what", class = "dp_error_input")
  many <- do.call(c, rep(list(event_pure(0.001, what = "x")), 40))
  expect_output(print(many), "and 10 more")
})

test_that("the order of releases counts only where it is known", {
  choice <- event_exponential(0.1, 8)
  value <- event_gaussian(1, 3)
  fixed <- privacy_compose(choice, value, delta = 1e-6, ordered = TRUE)
  free <- privacy_compose(choice, value, delta = 1e-6)
  expect_lt(fixed$epsilon, free$epsilon)
  expect_true(fixed$ordered)
  expect_false(free$ordered)
  # what was free stays free, and composing again changes nothing
  expect_false(c(free)$ordered)
  expect_equal(c(free), free)
  expect_equal(c(c(free)), c(free))
  two <- privacy_compose(event_exponential(1, 3), event_exponential(2, 3), delta = 1e-3)
  expect_equal(c(two, delta = 1e-3), two)
  expect_false(privacy_compose(free, value, delta = 1e-6, ordered = TRUE)$ordered)
  expect_error(privacy_compose(choice, ordered = NA), "ordered", class = "dp_error_input")
})

test_that("missing arguments are named", {
  refused <- function(expr, text) expect_error(expr, text, class = "dp_error_input")
  refused(event_gaussian(1), "`scale`")
  refused(calibrate_gaussian(1), "`delta`")
  refused(epsilon_at(event_pure(1)), "`delta`")
  refused(spent(), "`budget`")
  refused(calibrate_peeling(1, 1e-6), "`s`")
  refused(calibrate_peeling(1, 1e-6, 3, constant = "cai"), "`constant`")
  refused(dp_peel(1:5, 2, 1, 1, 1e-6, constant = "cai"), "`constant`")
  refused(dp_peel(1:5, 2, 1, 1, 0, calibration = "paper"), "`delta`.*paper")
  refused(dp_noisy_max(diag(2), 1, 1), "`scores`")
})

test_that("values that were asked for before are kept", {
  cached <- remember(function(x, y = 0) {
    calls <<- calls + 1
    x + y
  }, size = 2L)
  calls <- 0
  expect_identical(c(cached(1), cached(1), cached(1, y = 2), cached(0.3)), c(1, 1, 3, 0.3))
  expect_identical(calls, 3)
  cached(1) # has been dropped
  expect_identical(calls, 4)
  expect_identical(cached(1:9), as.integer(1:9) + 0)
})

test_that("kept values know their arguments by name", {
  cached <- remember(function(x, y) x - y)
  expect_identical(cached(x = 3, y = 1), 2)
  expect_identical(cached(y = 3, x = 1), -2)
})
