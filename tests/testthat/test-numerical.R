# The numerical bounds: from above, close, and falling back when they are too much work.

one <- function(...) compose_events(list(...), ordered = TRUE)
unordered <- function(...) compose_events(list(...))
gaussian <- function(mu) new_event("gaussian", mu)
laplace <- function(cost, count = 1) new_event("laplace", cost, count)

compose_range <- function(v, h, m, count) .Call(dpheavy:::C_range_compose, v, h, m, count)

test_that("the recursion is an upper bound and close to a naive one", {
  for (case in list(c(0.5, 3, 0.4), c(1.5, 2, 1), c(0.2, 6, 0.3))) {
    total <- one(exponential_event(case[[1]], case[[2]]))
    above <- numerical_delta(total, case[[3]], work = 1e8)
    below <- range_delta_naive(case[[1]], case[[2]], case[[3]])
    expect_gte(above, below)
    expect_equal(above, below, tolerance = 1e-3)
    expect_gte(below * (1 + 1e-3), range_delta_fixed(case[[1]], case[[2]], case[[3]]))
    expect_gte(above, range_delta_fixed(case[[1]], case[[2]], case[[3]]))
    # coarser grids are looser, never lower
    expect_gte(numerical_delta(total, case[[3]], work = 1e3), above)
  }
})

test_that("one selection is known in closed form", {
  e <- 0.8
  for (epsilon in c(0.1, 0.5, 0.75)) {
    t <- seq(epsilon, e, length.out = 1e5)
    exact <- max(range_p(t, e) * -expm1(epsilon - t))
    got <- numerical_delta(one(exponential_event(e)), epsilon)
    expect_gte(got, exact)
    expect_equal(got, exact, tolerance = 1e-3)
  }
})

test_that("steps of the recursion keep what makes it a bound", {
  h <- 0.01
  x <- h * (-200:300)
  v <- pmax(-expm1(x), 0)
  w <- compose_range(v, h, 20, 1)
  expect_true(all(w >= v - 1e-15)) # t = e is no loss at all
  expect_true(all(diff(w) <= 0))
  slope <- diff(w) / diff(exp(x))
  expect_true(all(diff(slope) >= -1e-9)) # convex in e^x
  expect_true(all(compose_range(v, h, 20, 2) >= w - 1e-15))
  expect_equal(compose_range(w, h, 20, 1), compose_range(v, h, 20, 2))
  expect_identical(compose_range(v, h, 20, 0), v)
  # a larger start stays larger
  expect_true(all(compose_range(pmin(v + 0.01, 1), h, 20, 3) >= compose_range(v, h, 20, 3)))
  sticks <- hockey_sticks(w, list(x = x, h = h))
  expect_equal(sum(sticks$mass) + sticks$rest, 1)
  again <- vapply(x, function(e) sum(sticks$mass * pmax(-expm1(e - x), 0)), 0)
  expect_equal(again + sticks$rest * (1 - 0 * x), w, tolerance = 1e-9)
  for (bad in list(list(v, 0, 20, 1), list(v, h, 0, 1), list(v, h, 1e6, 1), list(1, h, 1, 1))) {
    expect_error(do.call(compose_range, bad))
  }
  expect_identical(.Call(dpheavy:::C_core_live), 0)
})

test_that("mixtures lie between convolutions rounded down and up", {
  skip_on_cran()
  mixtures <- list(
    list(c("laplace", 0.3), c("laplace", 0.3), c("pure", 0.2)),
    list(c("pure", 0.4), c("pure", 0.25), c("laplace", 0.1)),
    list(c("laplace", 0.5), c("gaussian", 0.2)),
    list(c("laplace", 0.5), c("laplace", 0.21), c("laplace", 0.34), c("pure", 0.3),
         c("gaussian", 0.15))
  )
  for (mix in mixtures) for (epsilon in c(0.05, 0.5)) {
    losses <- function(up) {
      lapply(mix, function(m) release_loss(m[[1]], as.numeric(m[[2]]), up, 2000))
    }
    total <- compose_events(lapply(mix, function(m) new_event(m[[1]], as.numeric(m[[2]]))))
    got <- numerical_delta(total, epsilon)
    h <- 2e-4
    expect_gte(got, convolved_delta(losses(FALSE), epsilon, h, FALSE) * (1 - 1e-6))
    expect_lte(got, convolved_delta(losses(TRUE), epsilon, h, TRUE) * (1 + 1e-4))
  }
})

test_that("the contour agrees with the binomial sum where both apply", {
  law <- loss_law(one(pure_event(0.1, 30)), 1)
  expect_identical(length(law$other$cost), 0L)
  for (epsilon in c(0.33, 0.85, 1.57)) {
    exact <- atoms_delta(law, epsilon)
    smooth <- list(mu2 = 0, other = list(mechanism = "pure", cost = 0.1, count = 30),
                   atoms = no_atoms, rho = 0.15, apart = FALSE)
    nodes <- contour_nodes(smooth, saddle_at_epsilon(smooth, epsilon), epsilon)
    got <- contour_delta(nodes, epsilon)
    expect_gte(got, exact * (1 - 1e-9))
    expect_equal(got, exact, tolerance = 1e-3)
    direct <- sum(dbinom(0:30, 30, plogis(0.1)) * pmax(-expm1(epsilon - (2 * 0:30 - 30) * 0.1), 0))
    expect_equal(exact, direct, tolerance = 1e-8)
  }
})

test_that("selections with other releases: order, and what is left out", {
  sel <- exponential_event(0.1, 8)
  value <- gaussian(0.3)
  last <- numerical_delta(one(sel, value), 1)
  first <- numerical_delta(one(value, sel), 1)
  any <- numerical_delta(unordered(sel, value), 1)
  expect_lt(last, first)
  expect_equal(first, any)
  expect_gt(last, gaussian_delta(0.3, 1))
  expect_gt(last, numerical_delta(one(sel), 1))
  # several kinds, with Laplace and pure steps between
  many <- list(sel, laplace(0.05, 3), exponential_event(0.03, 4), pure_event(0.02), value)
  for (ordered in c(TRUE, FALSE)) {
    whole <- numerical_delta(compose_events(many, ordered), 1)
    expect_lt(whole, zcdp_delta(compose_events(many)$rho, 1))
    for (i in seq_along(many)) {
      expect_lt(numerical_delta(compose_events(many[-i], ordered), 1), whole)
    }
  }
  expect_lt(numerical_delta(compose_events(many, TRUE), 1),
            numerical_delta(compose_events(many, FALSE), 1))
  # in pure parts the contour and the recursion meet: E V(epsilon - L) by hand
  atoms <- loss_law(one(sel), 1)$atoms
  by_hand <- function(x) sum(atoms$mass * pmax(-expm1(x - atoms$x), 0)) + atoms$rest
  p <- plogis(0.2)
  want <- p * by_hand(0.6 - 0.2) + (1 - p) * by_hand(0.6 + 0.2)
  expect_equal(numerical_delta(one(pure_event(0.2), sel), 0.6), want, tolerance = 1e-3)
  expect_gte(numerical_delta(one(pure_event(0.2), sel), 0.6), want * (1 - 1e-3))
})

test_that("what is too much work falls back on the other bounds", {
  huge <- one(exponential_event(0.001, 1e6))
  expect_null(loss_law(huge, 1))
  expect_identical(numerical_delta(huge, 1), 1)
  expect_identical(numerical_epsilon(huge, 1e-6, 5), Inf)
  expect_equal(total_epsilon(huge, 1e-6), zcdp_epsilon(huge$rho, 1e-6))
  expect_identical(numerical_delta(one(laplace(1)), 0), 1)
  wide <- one(exponential_event(800), gaussian(0.1))
  expect_equal(total_epsilon(wide, 1e-6), 800 + gaussian_epsilon(0.1, 1e-6), tolerance = 1e-6)
})

test_that("extreme arguments give a bound, not an error", {
  set.seed(1)
  for (i in 1:20) {
    cost <- 10^runif(3, -6, 1.5)
    count <- ceiling(10^runif(3, 0, 2))
    total <- one(new_event("laplace", cost[[1]], count[[1]]), pure_event(cost[[2]], count[[2]]),
                 if (i %% 2 == 0) exponential_event(cost[[3]], count[[3]]) else gaussian(cost[[3]]))
    delta <- 10^runif(1, -15, -1)
    epsilon <- total_epsilon(total, delta)
    expect_true(is.finite(epsilon) && epsilon >= 0)
    expect_lte(total_delta(total, epsilon * (1 + 1e-9) + 1e-9), delta * (1 + 0.02))
    expect_lte(epsilon, zcdp_epsilon(total$rho, delta))
  }
})

test_that("many Laplace releases do not overflow, and a Gaussian more costs more", {
  many <- one(laplace(3, 2000))
  expect_silent(epsilon <- total_epsilon(many, 1e-6))
  expect_lt(epsilon, 4420)
  expect_gte(total_epsilon(one(laplace(3, 2000), gaussian(1 / 3)), 1e-6), epsilon * (1 - 1e-4))
  # sums of unit-rate losses are about normal: mean and variance from the moments
  expect_lt(total_delta(one(laplace(1, 3000)), 2000), 1e-6)
})

test_that("selections that swamp or hardly touch the rest give a bound, quickly", {
  expect_equal(numerical_delta(one(exponential_event(10, 100), laplace(1e-3)), 1), 1)
  expect_equal(delta_at(c(event_exponential(10, 100), event_laplace(1, 1000)), 1), 1)
  tiny <- one(exponential_event(1e-6), laplace(10))
  expect_lte(total_delta(tiny, 5), total_delta(one(laplace(10), gaussian(1e-6)), 5) * (1 + 1e-6))
  several <- one(pure_event(2.2e-4, 10), pure_event(1.6e-2, 4), pure_event(5.8, 4),
                 exponential_event(1.7e-6, 5))
  expect_gte(total_delta(several, 5.575), total_delta(one(pure_event(5.8, 4)), 5.575) * (1 - 1e-6))
  # a Fourier sum that would be too long
  fine <- list(mu2 = 0, other = list(mechanism = "laplace", cost = 10, count = 1), rho = 50,
               atoms = list(x = 1e-7 * 1:3, mass = rep(1 / 3, 3), rest = 0, h = 1e-7),
               apart = FALSE)
  expect_null(contour_nodes(fine, 1, 5))
})

