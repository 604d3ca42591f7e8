# Audits of whole fits of the general problem on worst neighbours: rows of zeros and one record
# that is as far to the one side as a record can be, or to the other. False-alarm rates are
# `alarm` each; seeds are fixed.

delta <- 1e-5
epsilon <- 8
nominal <- gaussian_mu(epsilon, delta)
rows <- 1000L
unit <- list(center = 0, scale = 1)

# A lower bound on mu from the signs of one coefficient on either side (Clopper-Pearson).
mu_bound <- function(low, high) {
  most <- function(k) stats::qbeta(1 - alarm / 2, k + 1, length(low) - k)
  -stats::qnorm(most(sum(low > 0))) - stats::qnorm(most(sum(high <= 0)))
}

lost <- function(fit, epsilon, runs) {
  set.seed(471)
  low <- replicate(runs, fit(-1e9, epsilon))
  high <- replicate(runs, fit(1e9, epsilon))
  abs(mu_bound(low, high))
}

control <- dp_control(rng = "R", iterations = 6)

mean_fit <- function(gradient) {
  function(v, epsilon) {
    x <- matrix(c(v, numeric(rows - 1L)))
    coef(dp_sco(x, epsilon = epsilon, delta = delta, loss = loss_mean(), gradient = gradient,
                scale = list(x = unit), control = control))[[1L]]
  }
}

# One row with a covariate, and a far response.
line_fit <- function(gradient, loss = loss_squared()) {
  x <- matrix(c(1, numeric(rows - 1L)))
  function(v, epsilon) {
    coef(dp_sco(x, c(v, numeric(rows - 1L)), epsilon, delta, loss = loss, gradient = gradient,
                intercept = FALSE, penalty = ridge(1), scale = list(x = unit, y = unit),
                control = control))[[1L]]
  }
}

test_that("whole fits lose what they claim, and noise of half the size would be seen", {
  skip_on_cran()
  # with twice the mu, which is half the noise
  twice <- gaussian_epsilon(2 * nominal, delta)
  expect_equal(gaussian_mu(twice, delta), 2 * nominal, tolerance = 1e-6)
  user <- loss_user(function(eta, y) eta - y, curvature = 1)
  both <- list(
    list(fit = mean_fit(grad_winsorized(1)), runs = 280L),
    list(fit = line_fit(grad_clipped(1), user), runs = 400L)
  )
  for (case in both) {
    expect_lte(lost(case$fit, epsilon, case$runs), nominal)
    expect_gt(lost(case$fit, twice, case$runs), nominal)
  }
})

test_that("an audit of a fit with split batches finds nothing, and is read off its claim", {
  skip_on_cran()
  x <- matrix(numeric(200))
  fit <- function(x) {
    dp_sco(x, epsilon = 4, delta = delta, loss = loss_mean(), gradient = grad_winsorized(1),
           scale = list(x = unit), control = dp_control(rng = "R", batches = "split"))
  }
  set.seed(472)
  audit <- quiet(dp_audit(fit, replace(x, 7, -1e9), replace(x, 7, 1e9), n = 200,
                          synthetic = TRUE, level = 1 - alarm))
  expect_false(audit$violated)
  expect_identical(audit$claim$epsilon, 4)
  expect_identical(audit$changed, 1L)
  # batches of a hundredth of the claim are seen: every batch shows the record
  loud <- function(x) quiet(dp_sco(
    x, epsilon = 4000, delta = delta, loss = loss_mean(), gradient = grad_winsorized(1),
    scale = list(x = unit),
    control = dp_control(rng = "R", batches = "split", iterations = 1)
  ))
  set.seed(473)
  audit <- dp_audit(loud, replace(x, 7, -1e9), replace(x, 7, 1e9), n = 100,
                    synthetic = TRUE, level = 1 - alarm, claim = c(mu = 1))
  expect_true(audit$violated)
})
