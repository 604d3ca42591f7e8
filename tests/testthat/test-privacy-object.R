sample_privacy <- function(...) {
  new_privacy(1, 1e-6, list(gaussian_event(0.1, 5, 2, 20, "gradient"),
                            exponential_event(0.05, what = "clip level")), ...)
}

test_that("print says what is guaranteed, for whom, from which source", {
  out <- capture.output(print(sample_privacy()))
  expect_identical(out[1], "(epsilon, delta) = (1, 1e-06) differential privacy")
  expect_match(out[2], "same size that differ in one row \\(protects one row\\)")
  expect_true(any(grepl("gradient +gaussian +5 +2 +20 +mu = 0.1", out)))
  expect_true(any(grepl("clip level +exponential +1 +- +- +epsilon0 = 0.05", out)))
  expect_false(any(grepl("NOT", out)))
  expect_true(any(grepl("NOT FOR RELEASE", capture.output(print(sample_privacy(rng = "R"))))))
  expect_match(capture.output(print(new_privacy(Inf, 0, list())))[1], "NOT PRIVATE")
  expect_match(format(event_gaussian(1, 2)), "epsilon_at")
  expect_output(print(summary(sample_privacy())), "rho = ")
})

test_that("the event table has one row per event", {
  d <- as.data.frame(sample_privacy())
  expect_identical(names(d), c("what", "mechanism", "count", "sensitivity", "scale", "cost"))
  expect_identical(d$count, c(5, 1))
  expect_identical(nrow(as.data.frame(new_privacy(Inf, 0, list()))), 0L)
})

test_that("privacy() reads fits and objects and refuses the rest", {
  p <- sample_privacy()
  expect_identical(privacy(p), p)
  expect_identical(privacy(structure(list(privacy = p), class = c("dp_lm", "dp_fit"))), p)
  expect_error(privacy(1), class = "dp_error_input")
})

test_that("epsilon_at and delta_at agree and respect the declared guarantee", {
  p <- sample_privacy()
  e <- epsilon_at(p, c(1e-9, 1e-6))
  expect_identical(length(e), 2L)
  expect_lte(e[2], 1)
  expect_gt(e[1], e[2])
  expect_equal(delta_at(p, e[2]), 1e-6, tolerance = 1e-6)
  declared <- new_privacy(0.2, 1e-6, pure_event(0.5))
  expect_identical(epsilon_at(declared, c(0, 1e-6)), c(0.5, 0.2))
  expect_identical(delta_at(declared, c(0.3, 0.5)), c(1e-6, 0))
  none <- new_privacy(Inf, 0, list())
  expect_identical(epsilon_at(none, 1e-6), Inf)
  expect_identical(delta_at(none, 5), 1)
  expect_error(epsilon_at(p, 1), "delta", class = "dp_error_input")
  expect_error(delta_at(p, -1), "epsilon", class = "dp_error_input")
})

test_that("group privacy multiplies mu and epsilon by k", {
  expect_identical(epsilon_at(event_pure(0.5, 2), 0, group = 3), 3)
  g <- event_gaussian(1, 10)
  expect_equal(epsilon_at(g, 1e-6, group = 3), epsilon_at(event_gaussian(3, 10), 1e-6))
  expect_equal(compose_events(group_events(exponential_event(0.1, 4), 3))$rho, 9 * 4 * 0.01 / 8)
  expect_identical(epsilon_at(g, 1e-6, group = 1), epsilon_at(g, 1e-6))
  expect_error(epsilon_at(g, 1e-6, group = 0), "group", class = "dp_error_input")
})

test_that("composition adds the events and never exceeds the plain sum", {
  p <- sample_privacy()
  both <- c(p, p)
  expect_identical(both$delta, 2e-6)
  expect_lt(both$epsilon, 2)
  expect_identical(length(both$events), 4L)
  expect_identical(both$epsilon, events_epsilon(c(p$events, p$events), 2e-6))
  expect_identical(privacy_compose(p)$epsilon, epsilon_at(p, 1e-6))
  expect_identical(privacy_compose(event_pure(0.1, 3), event_laplace(1, 2))$epsilon, 0.8)
  expect_identical(privacy_compose(p, new_privacy(Inf, 0, list()))$epsilon, Inf)
  free <- c(event_gaussian(1, 10), event_pure(0.1))
  expect_true(is.na(free$epsilon))
  at <- privacy_compose(event_gaussian(1, 10), event_pure(0.1), delta = 1e-6)
  expect_identical(at$epsilon, epsilon_at(free, 1e-6))
})

test_that("composition keeps the weaker stamp and refuses to mix neighbours", {
  expect_identical(c(sample_privacy(), sample_privacy(rng = "R"))$rng, "R")
  expect_identical(c(sample_privacy(), sample_privacy(calibration = "paper"))$calibration, "mixed")
  expect_error(c(sample_privacy(), sample_privacy(unit = "group")), "neighbour")
  expect_error(privacy_compose(), "at least one", class = "dp_error_input")
  half <- new_privacy(1, 0.6, pure_event(1))
  expect_error(c(half, half), "add up to 1", class = "dp_error_input")
})

test_that("events without a fit check their arguments by name", {
  for (s in list(0, -1, NA_real_, Inf, "1", c(1, 2), NULL)) {
    expect_error(event_gaussian(s, 1), "sensitivity", class = "dp_error_input")
    expect_error(event_laplace(1, s), "scale", class = "dp_error_input")
    expect_error(event_pure(s), "epsilon0", class = "dp_error_input")
    expect_error(event_exponential(s), "epsilon0", class = "dp_error_input")
  }
  expect_error(event_pure(1, count = 0), "count", class = "dp_error_input")
  expect_identical(event_laplace(2, 8, 3)$epsilon, 0.75)
})

test_that("a large delta warns, and only then", {
  expect_warning(warn_large_delta(0.01, 100), class = "dp_large_delta")
  expect_silent(warn_large_delta(1e-6, 100))
  expect_silent(warn_large_delta(0, 100))
})
