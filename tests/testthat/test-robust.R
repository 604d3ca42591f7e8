# Bounded losses of a linear regression.

losses <- list(
  huber = list(tuning = 1.3, peak = 1, value = function(r, k) {
    ifelse(abs(r) < k, r^2 / 2, k * abs(r) - k^2 / 2) / k
  }),
  biweight = list(tuning = 2.1, peak = 25 * sqrt(5) / 16, value = function(r, k) {
    25 * sqrt(5) / 16 * k / 6 * (1 - pmax(1 - (r / k)^2, 0)^3)
  })
)

test_that("derivatives are those of the losses and stay within [-1, 1]", {
  rows <- new_rows(matrix(1), 0)
  derivative <- function(name, r) {
    law <- list(noise = c(0, 0), step = 0, limit = 1)
    plan <- robust_plan(1, law, Inf, name, losses[[name]]$tuning)
    r - release_descent(rows, row_norms(rows), r, plan)[[1L]]
  }
  for (name in names(losses)) {
    k <- losses[[name]]$tuning
    value <- losses[[name]]$value
    for (r in c(-5, -1.31, -0.4, 0, 0.2, 0.9, 1.2, 2, 2.2, 7)) {
      slope <- (value(r + 1e-5, k) - value(r - 1e-5, k)) / 2e-5
      expect_equal(derivative(name, r), slope, tolerance = 1e-5)
    }
    all <- vapply(seq(-4, 4, 0.01), function(r) derivative(name, r), 0)
    expect_lte(max(abs(all)), 1 + 1e-12)
    expect_gt(max(all), 0.999)
    expect_equal(max(diff(all) / 0.01), losses[[name]]$peak / k, tolerance = 0.02)
    expect_equal(derivative(name, 1e6), if (name == "huber") 1 else 0)
  }
})

test_that("robust gradients move by at most what gradient_law() is for", {
  set.seed(311)
  worst <- 0
  for (name in names(losses)) for (bound in c(1e-3, 1, 1e6)) for (tuning in c(1e-6, 1, 1e6)) {
    n <- sample(c(2, 5, 300), 1)
    rows <- made_up_rows(n, 3, list(centring = TRUE, offset = TRUE))
    root <- made_up_root(3)
    law <- gradient_law(n, 3, 0.3, bound, root)
    plan <- robust_plan(3, law, bound, name, tuning, root)
    stats <- replaced(rows, wild_records(3), n, function(r) {
      release_descent(r, row_norms(r, root), c(0.1, -2, 3), plan, exact = TRUE)
    })
    worst <- max(worst, largest_change(stats, l2) / (2^law$noise[[2L]] * 0.3))
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.9) # a far response against its opposite
})

test_that("a loss without its tuning is refused", {
  rows <- made_up_rows(5, 2, special = FALSE)
  law <- list(noise = c(0, 0), step = 0, limit = 1)
  for (tuning in list(NULL, 0, -1, Inf, NaN, c(1, 2))) {
    plan <- robust_plan(2, law, Inf, "huber", 1)
    plan$tuning <- tuning
    expect_error(release_descent(rows, row_norms(rows), c(0, 0), plan), "tuning")
  }
  expect_error(release_sizes(rows, row_norms(rows), c(0, 0), "huber", octave_cells(), NO_NOISE),
               "without tuning")
  expect_identical(.Call(C_core_live), 0)
})

test_that("without noise the fits are those of rlm()", {
  skip_if_not_installed("MASS")
  b <- fixture(3000, 31)
  huber <- MASS::rlm(y ~ x1 + x2 + f, b, maxit = 200, acc = 1e-10)
  fit <- dp_lm(y ~ x1 + x2 + f, b, Inf, loss = loss_huber(sigma = huber$s))
  expect_equal(coef(fit), coef(huber), tolerance = 1e-5)
  found <- dp_lm(y ~ x1 + x2 + f, b, Inf, loss = "huber")
  expect_equal(coef(found), coef(huber), tolerance = 1e-3)
  bi <- MASS::rlm(y ~ x1 + x2 + f, b, psi = MASS::psi.bisquare, maxit = 200, acc = 1e-10)
  fit <- dp_lm(y ~ x1 + x2 + f, b, Inf, loss = loss_biweight(sigma = bi$s))
  expect_equal(coef(fit), coef(bi), tolerance = 1e-4)
})

test_that("they spend their budget exactly and say what they released", {
  b <- fixture(20000, 32)
  spent_mu2 <- function(...) {
    table <- as.data.frame(privacy(dp_lm(y ~ x1 + x2, b, 2, 1e-6, ...)))
    expect_identical(unique(table$mechanism), "gaussian")
    c(mu2 = sum(table$count * table$cost^2), clips = sum(table$count[grepl("sizes", table$what)]))
  }
  limit <- discrete_gaussian_mu(2, 1e-6)^2
  for (case in list(
    list(5, loss = "huber"), list(4, loss = loss_huber(sigma = 1)),
    list(3, loss = loss_biweight(sigma = 1), gradient = grad_clipped(2)),
    list(4, loss = loss_biweight(), gradient = grad_clipped(2)),
    list(4, loss = "squared", target = "robust"), list(5, loss = "squared"),
    list(6, loss = "huber", target = "mean"),
    list(1, loss = "squared", target = "mean", gradient = grad_clipped(2))
  )) {
    got <- do.call(spent_mu2, case[-1L])
    expect_equal(got[["mu2"]], limit, tolerance = 1e-9)
    expect_identical(got[["clips"]], case[[1L]])
  }
  expect_error(loss_huber(0), "`k`", class = "dp_error_input")
  expect_error(loss_biweight(4, sigma = -1), "sigma", class = "dp_error_input")
  expect_output(print(loss_huber()), "huber.*1.345")
})

test_that("a robust private fit is near the truth", {
  skip_on_cran()
  set.seed(312)
  n <- 20000
  x <- cbind(stats::rt(n, 3), exp(0.6 * stats::rnorm(n)))
  y <- drop(3 + x %*% c(1, -2)) + 0.5 * stats::rt(n, 1.5)
  for (loss in c("huber", "biweight")) {
    fit <- dp_lm(x, y, 2, 1e-6, loss = loss, control = dp_control(rng = "R"))
    expect_lt(max(abs(coef(fit) - c(3, 1, -2))), 0.05)
    expect_identical(fit$loss, loss)
  }
})

test_that("without noise gross errors do no harm, nor does a constant response", {
  skip_if_not_installed("MASS")
  set.seed(313)
  x <- matrix(stats::rnorm(4000), 2000)
  y <- drop(1 + x %*% c(1, 1)) + 0.1 * stats::rt(2000, 3)
  y[1:300] <- 30
  plain <- MASS::rlm(y ~ x, psi = MASS::psi.bisquare, maxit = 100)
  expect_equal(unname(coef(dp_lm(x, y, Inf, loss = "biweight"))), unname(coef(plain)),
               tolerance = 1e-2)
  for (loss in c("huber", "biweight")) {
    fit <- dp_lm(x, rep(5, 2000), Inf, loss = loss)
    expect_equal(unname(coef(fit)), c(5, 0, 0))
  }
})

test_that("a scale that is far off stops nothing after the charge", {
  set.seed(314)
  b <- fixture(3000, 33)
  budget <- privacy_budget(8, 1e-6)
  off <- list(y = list(center = 0, scale = 1e-290))
  fit <- suppressWarnings(dp_lm(y ~ x1, b, 4, 1e-6, loss = loss_huber(k = 1e3, sigma = 1e100),
                                scale = off, budget = budget))
  expect_true(all(is.finite(coef(fit))))
})

