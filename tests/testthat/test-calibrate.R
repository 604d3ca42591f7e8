test_that("calibrators invert the accountant", {
  for (e in c(0.1, 1, 8)) for (d in c(1e-9, 1e-5)) for (k in c(1, 10, if (e == 1) 300)) {
    sigma <- calibrate_gaussian(e, d, sensitivity = 3, count = k)
    at <- epsilon_at(event_gaussian(3, sigma, k), d)
    expect_lte(at, e)
    expect_equal(at, e, tolerance = 1e-8)
    e0 <- calibrate_exponential(e, d, count = k)
    at <- epsilon_at(event_exponential(e0, k), d)
    expect_lte(at, e * (1 + 1e-3))
    expect_equal(at, e, tolerance = 1e-3)
    expect_lte(delta_at(event_exponential(e0, k), e), d)
    expect_gt(delta_at(event_exponential(e0 * (1 + 1e-5), k), e), d)
  }
})

test_that("the package's own noise is calibrated within its slack", {
  mu <- discrete_gaussian_mu(1, 1e-6)
  expect_lte(events_epsilon(gaussian_event(mu), 1e-6), 1)
  expect_gt(events_epsilon(gaussian_event(mu), 1e-6), 1 - 1e-8)
  expect_lt(mu, gaussian_mu(1, 1e-6))
  expect_identical(discrete_gaussian_mu(c(1e-10, 1), c(1e-6, 0)), c(0, 0))
})

test_that("calibrators are vectorised and scale with the sensitivity", {
  s <- calibrate_gaussian(c(0.5, 1), 1e-6, count = c(1, 4))
  expect_equal(s, c(calibrate_gaussian(0.5, 1e-6), 2 * calibrate_gaussian(1, 1e-6)))
  expect_equal(calibrate_gaussian(1, 1e-6, sensitivity = 2), 2 * calibrate_gaussian(1, 1e-6))
  expect_identical(calibrate_exponential(1, 0, count = 8), 1 / 8)
  # one selection: the largest (e - t)(t - 1) over t is about delta (1 - e^-1)
  expect_equal(calibrate_exponential(1, 1e-6), 1 + 2 * sqrt(1e-6 * (1 - exp(-1))), tolerance = 1e-3)
  expect_gte(calibrate_exponential(1, 1e-6), 1)
  expect_gt(calibrate_exponential(1, 1e-6, 1000), 0.01)
})

test_that("arguments are refused by name", {
  for (e in list(0, -1, NA_real_, NaN, "1", NULL, TRUE, numeric(0), Inf)) {
    expect_error(calibrate_gaussian(e, 1e-6), "epsilon", class = "dp_error_input")
    expect_error(calibrate_exponential(e, 1e-6), "epsilon", class = "dp_error_input")
  }
  for (d in list(0, -1e-9, 1, 2, NA_real_, "0", NULL)) {
    expect_error(calibrate_gaussian(1, d), "delta", class = "dp_error_input")
  }
  for (s in list(0, Inf, NA_real_, "1")) {
    expect_error(calibrate_gaussian(1, 1e-6, s), "sensitivity", class = "dp_error_input")
  }
  expect_error(calibrate_gaussian(1, 1e-6, count = 1.5), "count", class = "dp_error_input")
  expect_error(calibrate_exponential(1, 1e-6, count = 0), "count", class = "dp_error_input")
})

test_that("peeling spends what it is given", {
  for (s in c(1, 7)) {
    scale <- calibrate_peeling(2, 1e-6, s, sensitivity = 3)
    expect_identical(scale$selection, scale$values)
    p <- privacy_compose(event_exponential(6 / scale$selection, s),
                         event_gaussian(3 * sqrt(s), scale$values), ordered = TRUE, delta = 1e-6)
    expect_lte(delta_at(p, 2), 1e-6)
    expect_equal(p$epsilon, 2, tolerance = 1e-3)
    # in any other order it might cost more
    q <- c(event_exponential(6 / scale$selection, s), event_gaussian(3 * sqrt(s), scale$values))
    expect_gt(delta_at(q, 2), 1e-6)
  }
  expect_identical(calibrate_peeling(2, 0, 4), list(selection = 6, values = 6))
  expect_identical(calibrate_peeling(1, 1e-5, 4, 2, "paper")$values,
                   2 * calibrate_peeling(1, 1e-5, 4, 1, "paper")$values)
  cai <- calibrate_peeling(1, 1e-5, 5, calibration = "paper", constant = "cai")$values
  expect_equal(cai, 2 * sqrt(15 * log(1e5)))
  # the published scales are private where they are not refused
  for (s in c(1, 5, 50)) for (constant in c("tao", "cai")) for (e in c(0.3, 1, 4)) {
    b <- calibrate_peeling(e, 1e-5, s, calibration = "paper", constant = constant)$values
    p <- c(event_pure(2 / b, s), event_laplace(1, b, s))
    expect_lte(delta_at(p, e), 1e-5)
  }
})

test_that("published constants are refused where they prove nothing", {
  expect_equal(calibrate_gaussian(1, 1e-5, 2, calibration = "paper"), 2 * sqrt(2 * log(1.25e5)))
  ten <- calibrate_gaussian(0.5, 1e-5, count = 10, calibration = "paper")
  expect_gt(ten, 10 * calibrate_gaussian(0.5, 1e-5, count = 10))
  expect_lte(delta_at(event_gaussian(1, ten, 10), 0.5), 1e-5)
  expect_equal(calibrate_exponential(1, 1e-5, 10, "paper"), 1 / (2 * sqrt(20 * log(2e5))))
  expect_identical(calibrate_exponential(3, 0, 1, "paper"), 3)
  refused <- function(expr, arg) expect_error(expr, arg, class = "dp_error")
  refused(calibrate_gaussian(1.01, 1e-5, calibration = "paper"), "epsilon.*at most 1")
  refused(calibrate_gaussian(c(0.5, 2), 1e-5, count = 3, calibration = "paper"), "epsilon")
  refused(calibrate_exponential(2, 1e-5, 10, "paper"), "epsilon")
  refused(calibrate_exponential(1, 0, 10, "paper"), "delta")
  refused(calibrate_peeling(24, 1e-5, 5, calibration = "paper"), "epsilon")
  refused(calibrate_peeling(5, 1e-5, 5, calibration = "paper", constant = "cai"), "epsilon")
  refused(calibrate_peeling(1, 0, 5, calibration = "paper"), "delta")
  refused(calibrate_peeling(1, 1e-5, 0), "`s`")
  refused(calibrate_peeling(1, 1e-5, 2, sensitivity = 0), "sensitivity")
  refused(calibrate_peeling(c(1, 2), 1e-5, 2), "epsilon")
  refused(calibrate_gaussian(1, 1e-5, calibration = "loose"), "calibration")
})
