test_that("delta is accurate where differences of normal probabilities cancel", {
  cases <- rbind(c(20, 1e-9), c(4, 1e-12), c(1, 1e-12), c(0.01, 1e-6), c(1e-3, 1e-6), c(50, 1e-5))
  for (i in seq_len(nrow(cases))) {
    mu <- gaussian_mu(cases[i, 1], cases[i, 2])
    expect_equal(delta_by_quadrature(mu, cases[i, 1]) / cases[i, 2], 1, tolerance = 1e-8)
  }
})

test_that("allowances are never above what delta allows, over a wide range", {
  grid <- expand.grid(e = 10^seq(-6, 6, 0.5), d = c(10^-(1:15), 0.3, 0.9))
  mu <- gaussian_mu(grid$e, grid$d)
  delta <- gaussian_delta(mu, grid$e)
  expect_true(all(mu > 0 & is.finite(mu)))
  expect_true(all(delta <= grid$d))
  expect_true(all(gaussian_delta(mu * (1 + 1e-9), grid$e) > delta))
  ok <- grid$e > 1e-3 & grid$d < 0.1
  expect_true(all(gaussian_epsilon(mu, grid$d)[ok] <= grid$e[ok]))
  expect_equal(gaussian_epsilon(mu, grid$d)[ok], grid$e[ok], tolerance = 1e-8)
  rho <- zcdp_rho(grid$e, grid$d)
  expect_true(all(rho > 0 & is.finite(rho)))
  expect_true(all(zcdp_epsilon(rho, grid$d) <= grid$e * (1 + 1e-13)))
  expect_true(all(zcdp_delta(rho, grid$e)[ok] <= grid$d[ok] * (1 + 1e-9)))
})

test_that("conversions are monotone", {
  mu <- 10^seq(-4, 2, length.out = 200)
  expect_true(all(diff(gaussian_delta(mu, 1)) >= 0))
  expect_true(all(diff(gaussian_epsilon(mu, 1e-6)) >= 0))
  expect_true(all(diff(zcdp_epsilon(mu, 1e-6)) > 0))
  expect_true(all(diff(zcdp_delta(mu, 1)) >= 0))
  expect_true(all(diff(pure_mu(mu)) > 0))
  e <- seq(0, 5, 0.05)
  expect_true(all(diff(gaussian_delta(0.3, e)) < 0))
  expect_true(all(diff(gaussian_mu(e, 1e-6)) > 0))
  expect_true(all(diff(zcdp_rho(e[-1], 1e-6)) > 0))
})

test_that("limits are right", {
  expect_identical(gaussian_delta(c(0, 1, Inf), c(1, Inf, 1)), c(0, 0, 1))
  expect_equal(gaussian_delta(0.5, 0), 2 * pnorm(0.25) - 1)
  expect_equal(gaussian_delta(0.5, -0.2), 1 - exp(-0.2) + exp(-0.2) * gaussian_delta(0.5, 0.2))
  expect_identical(gaussian_epsilon(c(0, 1, 1), c(1e-6, 0, 0.5)), c(0, Inf, 0))
  expect_identical(gaussian_mu(c(Inf, 1), c(1e-6, 0)), c(Inf, 0))
  expect_identical(zcdp_rho(c(Inf, 1), c(1e-6, 0)), c(Inf, 0))
  expect_identical(zcdp_epsilon(c(0, 1), c(1e-6, 0)), c(0, Inf))
  expect_identical(zcdp_delta(0, 1), 0)
})

# Hockey-stick divergence of a pair of laws on two points with losses l and
# probabilities p under the first law.
two_point_delta <- function(p, l, epsilon) {
  vapply(epsilon, function(e) sum(p * pmax(1 - exp(e - l), 0)), 0)
}

test_that("pure and bounded-range steps are no worse than the mu they are booked at", {
  for (e0 in c(5e-4, 1e-3, 0.01, 0.1, 0.5, 1, 3, 10, 30, 35)) {
    e <- seq(-e0, e0, length.out = 401)
    rr <- two_point_delta(stats::plogis(c(e0, -e0)), c(e0, -e0), e)
    expect_true(all(rr <= gaussian_delta(pure_mu(e0), e) * (1 + 1e-9) + 1e-15))
    for (t in e0 * seq(0.001, 0.999, length.out = 41)) {
      p <- -expm1(t - e0) / -expm1(-e0)
      br <- two_point_delta(c(p, 1 - p), c(t, t - e0), e)
      expect_true(all(br <= gaussian_delta(bounded_range_mu(e0), e) * (1 + 1e-9) + 1e-15))
    }
  }
  # and the bound is met, so it could fail
  expect_equal(two_point_delta(plogis(c(1, -1)), c(1, -1), 0), gaussian_delta(pure_mu(1), 0))
  expect_equal(pure_mu(pure_epsilon(c(1e-4, 0.2, 5, 20))), c(1e-4, 0.2, 5, 20), tolerance = 1e-7)
  expect_true(all(pure_mu(pure_epsilon(10^seq(-6, 2, 0.01))) <= 10^seq(-6, 2, 0.01)))
})

random_events <- function(n) {
  make <- list(
    function() gaussian_event(runif(1, 0.001, 0.3), sample(5, 1)),
    function() exponential_event(runif(1, 0.001, 0.3), sample(5, 1)),
    function() pure_event(runif(1, 0.001, 0.3), sample(5, 1)),
    function() laplace_event(runif(1, 0.001, 0.3), sample(5, 1))
  )
  lapply(seq_len(n), function(i) make[[sample(4L, 1L)]]())
}

test_that("composition: order is free, counts are sums, more costs more, nothing costs nothing", {
  set.seed(1)
  for (i in 1:20) {
    ev <- random_events(6)
    expect_equal(events_epsilon(ev, 1e-6), events_epsilon(ev[sample(6)], 1e-6))
    single <- do.call(c, lapply(ev, function(e) {
      rep(list(new_event(e$mechanism, e$cost, slack = e$slack)), e$count)
    }))
    expect_equal(events_epsilon(single, 1e-6), events_epsilon(ev, 1e-6))
    expect_equal(events_delta(single, 1), events_delta(ev, 1))
    expect_lte(events_epsilon(ev[-1], 1e-6), events_epsilon(ev, 1e-6))
    expect_lte(events_delta(ev[-1], 1), events_delta(ev, 1))
    expect_equal(events_epsilon(c(ev, list(pure_event(0), gaussian_event(0.1, 0))), 1e-6),
                 events_epsilon(ev, 1e-6))
    expect_lte(events_epsilon(ev, 1e-5), events_epsilon(ev, 1e-6))
    expect_lte(events_epsilon(ev, 1e-6),
               sum(vapply(ev, function(e) events_epsilon(e, 1e-6 / 6), 0)))
    e <- events_epsilon(ev, 1e-6)
    expect_lte(events_delta(ev, e * (1 + 1e-9)), 1e-6 * (1 + 1e-3))
  }
  expect_identical(events_epsilon(list(), 1e-6), 0)
  expect_identical(events_epsilon(list(), 0), 0)
  expect_identical(events_delta(list(), 0), 0)
})

test_that("Gaussians compose exactly and pure steps by their sum where that is smaller", {
  ev <- list(gaussian_event(0.1, 3), gaussian_event(0.2))
  expect_equal(events_epsilon(ev, 1e-6), gaussian_epsilon(sqrt(0.07), 1e-6) + DISCRETE_SLACK)
  # randomised response: (1 - e^(epsilon - 0.5)) / (1 + e^-0.5) = delta
  expect_equal(events_epsilon(pure_event(0.5), 1e-6), 0.5 + log1p(-1e-6 * (1 + exp(-0.5))),
               tolerance = 1e-9)
  expect_identical(events_epsilon(pure_event(0.5), 0), 0.5)
  expect_identical(events_epsilon(gaussian_event(0.5), 0), Inf)
  mixed <- list(gaussian_event(0.1), pure_event(0.5))
  expect_lt(events_epsilon(mixed, 1e-6), 0.5 + gaussian_epsilon(0.1, 1e-6) + DISCRETE_SLACK)
  expect_gt(events_epsilon(mixed, 1e-6), 0.5 + gaussian_epsilon(0.1, 2e-6))
  expect_lt(events_epsilon(laplace_event(0.01, 1000), 1e-6), 2)
})

test_that("a mixture is at least its true cost", {
  # delta of 10 Laplace releases of 0.1 with a total mu of 0.3 at epsilon = 1, known exactly
  ev <- list(laplace_event(0.1, 10), new_event("gaussian", 0.3))
  expect_gt(events_delta(ev, 1), 0.00227190934)
})

test_that("unknown events are refused and events are frozen", {
  expect_error(new_event("cauchy", 1), class = "dp_error_event")
  fake <- list(mechanism = "gaussian", cost = 1, count = 1, slack = 0)
  expect_error(compose_events(list(fake)), class = "dp_error_event")
  expect_error(new_event("pure", Inf), "cost")
  expect_error(new_event("pure", -1), "cost")
  e <- pure_event(1)
  expect_error(e$cost <- 0.1, class = "dp_error_event")
  expect_error(e[["cost"]] <- 0.1, class = "dp_error_event")
  expect_error(e["cost"] <- 0.1, class = "dp_error_event")
  expect_identical(e$cost, 1)
})
