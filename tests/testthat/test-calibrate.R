test_that("calibrators invert the accountant", {
  for (e in c(0.1, 1, 8)) for (d in c(1e-9, 1e-5)) for (k in c(1, 10, 1000)) {
    sigma <- calibrate_gaussian(e, d, sensitivity = 3, count = k)
    at <- epsilon_at(event_gaussian(3, sigma, k), d)
    expect_lte(at, e)
    expect_equal(at, e, tolerance = 1e-8)
    e0 <- calibrate_exponential(e, d, count = k)
    at <- epsilon_at(event_exponential(e0, k), d)
    expect_lte(at, e * (1 + 1e-12))
    expect_equal(at, e, tolerance = 1e-7)
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
  expect_identical(calibrate_exponential(1, 1e-6), 1)
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
