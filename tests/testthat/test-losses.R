# Losses by calculus.

tunings <- list(squared = NULL, logistic = NULL, huber = 1.3, biweight = 2.1)

loss_at <- function(name, what, eta, y, tuning = tunings[[name]]) {
  y <- rep_len(as.double(y), length(eta))
  .Call(C_loss, name, what, as.double(eta), y, tuning)
}

# Off the corners of the losses.
etas <- seq(-6.03, 6.03, 0.0371)
responses <- c(-1.7, 0, 0.4, 1)

test_that("derivatives are those of the values", {
  h <- 1e-5
  for (name in names(tunings)) for (y in responses) {
    rise <- (loss_at(name, "value", etas + h, y) - loss_at(name, "value", etas - h, y)) / (2 * h)
    expect_lt(max(abs(loss_at(name, "derivative", etas, y) - rise)), 1e-5, label = name)
  }
})

test_that("values are the integrals of the derivatives", {
  for (name in names(tunings)) for (y in responses) {
    f <- function(eta) loss_at(name, "derivative", eta, y)
    for (to in c(-9, -0.3, 0.6, 2, 15)) {
      reach <- if (is.null(tunings[[name]])) 0 else tunings[[name]]
      inner <- y + c(-1, 0, 1) * reach
      corners <- sort(unique(c(0, to, inner[inner * (inner - to) < 0])))
      area <- sum(vapply(seq_along(corners)[-1L], function(i) {
        stats::integrate(f, corners[[i - 1L]], corners[[i]], rel.tol = 1e-10)$value
      }, 0)) * sign(to)
      rise <- diff(loss_at(name, "value", c(0, to), y))
      expect_equal(rise, area, tolerance = 1e-8, label = paste(name, y, to))
    }
  }
})

test_that("values are least at the response and never negative", {
  for (name in c("squared", "huber", "biweight")) for (y in responses) {
    value <- loss_at(name, "value", etas, y)
    expect_true(all(value >= 0))
    expect_identical(loss_at(name, "value", y, y), 0)
    expect_identical(loss_at(name, "derivative", y, y), 0)
    # even in the residual, the derivative odd
    expect_equal(loss_at(name, "value", 2 * y - etas, y), value, tolerance = 1e-12)
    expect_equal(loss_at(name, "derivative", 2 * y - etas, y),
                 -loss_at(name, "derivative", etas, y), tolerance = 1e-12)
  }
  expect_true(all(loss_at("logistic", "value", etas, 1) >= 0))
})

test_that("the curvature that steps go by is the largest second derivative", {
  stated <- c(
    squared = 1, logistic = GLM_CURVATURE, huber = ROBUST_CURVATURE[["huber"]] / 1.3,
    biweight = ROBUST_CURVATURE[["biweight"]] / 2.1
  )
  fine <- seq(-8, 8, 1e-4)
  for (name in names(tunings)) {
    rise <- diff(loss_at(name, "derivative", fine, 0)) / 1e-4
    expect_lte(max(rise), stated[[name]] * (1 + 1e-6))
    expect_gt(max(rise), stated[[name]] * 0.999)
    tuning <- tunings[[name]]
    expect_equal(sco_curvature(list(name = name), tuning, 1), stated[[name]])
  }
})

test_that("bounded derivatives stay within [-1, 1], whatever they are given", {
  wild <- c(etas, 1e308, -1e308, Inf, -Inf, 1e154, 5e-324, 0)
  for (name in c("logistic", "huber", "biweight")) {
    for (tuning in list(tunings[[name]], 1e-100, 1e100)) {
      if (name == "logistic") tuning <- NULL
      for (y in c(0, 1, 0.3, -1e308, 1e308, -5)) {
        psi <- loss_at(name, "derivative", wild, y, tuning)
        expect_lte(max(abs(psi), na.rm = TRUE), 1 + 1e-12)
        expect_false(anyNA(psi[is.finite(wild)]))
      }
    }
  }
  expect_equal(max(loss_at("huber", "derivative", etas, 0)), 1)
  expect_gt(max(loss_at("biweight", "derivative", etas, 0)), 0.999)
  expect_gt(max(loss_at("logistic", "derivative", wild, 0)), 0.999)
})

test_that("extremes give limits, and a NaN is a NaN or zero", {
  far <- c(1e308, Inf)
  expect_identical(loss_at("squared", "derivative", c(1e308, -1e308), 0), c(1e308, -1e308))
  expect_identical(loss_at("squared", "derivative", c(1e308, -Inf), -1e308), c(Inf, -Inf))
  expect_equal(loss_at("logistic", "derivative", far, 0), c(1, 1), tolerance = 1e-15)
  expect_lt(max(abs(loss_at("logistic", "derivative", -far, 0))), 1e-300)
  expect_equal(loss_at("logistic", "derivative", -far, 1), c(-1, -1), tolerance = 1e-15)
  p <- stats::plogis(etas)
  expect_lt(max(abs(loss_at("logistic", "derivative", etas, 0) / p - 1)), 1e-14)
  wide <- seq(-700, 700, 0.7)
  expect_lt(max(abs(loss_at("logistic", "derivative", wide, 0) / stats::plogis(wide) - 1)), 1e-13)
  # a response beyond 0 and 1 counts as the nearer of them
  expect_identical(loss_at("logistic", "derivative", etas, 7),
                   loss_at("logistic", "derivative", etas, 1))
  expect_identical(loss_at("logistic", "value", c(800, -800), 0), c(800, 0))
  expect_identical(loss_at("huber", "derivative", c(far, -far), 0), c(1, 1, -1, -1))
  expect_identical(loss_at("biweight", "derivative", c(far, -far), 0), rep(0, 4))
  for (name in names(tunings)) {
    nan <- loss_at(name, "derivative", NaN, 0)
    expect_true(is.nan(nan) || nan == 0)
    nan <- loss_at(name, "derivative", 1, NaN)
    expect_true(is.nan(nan) || nan == 0)
  }
})

test_that("the mean's derivative is -1, and it has no value", {
  expect_identical(loss_at("mean", "derivative", c(-3, 0, 1e308), 5), rep(-1, 3))
  expect_error(loss_at("mean", "value", 1, 1), "value")
  expect_error(loss_at("huber", "value", 1, 1, NULL), "tuning")
  expect_error(loss_at("absolute", "value", 1, 1), "unknown")
})
