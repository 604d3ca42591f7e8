# error_bound(): values worked by hand from the derivations in its help, rates as orders, and
# empirical errors below the bound.

one <- dp_mean(big$y, 0.8, 1e-6, method = "truncated", moment = moment_bound(1.5, 30),
               control = dp_control(rng = "R", xi = 0.1))

test_that("Theorem 1: bias, Bernstein and the noise, by hand", {
  bound <- error_bound(one)
  level <- one$limits[[1L, "upper"]]
  v <- 0.5
  sd <- one$noise_sd[[1L]]
  t <- log(4 / 0.1)
  # delta > 0 and one column: Laplace noise of scale sd / sqrt(2)
  expect_identical(one$noise, "laplace")
  by_hand <- 30 * level^(-v) + sqrt(2 * 30 * level^(1 - v) * t / 4000) +
    4 * level * t / (3 * 4000) + sd / sqrt(2) * log(2 / 0.1)
  expect_equal(bound$value, by_hand)
  expect_equal(sum(bound$parts), by_hand)
  x <- sqrt(log(1e6)) * log(2 / 0.1) / (4000 * 0.8)
  expect_equal(bound$rate$value, 30^(1 / 1.5) * x^(1 / 3))
  expect_equal(bound$lower$value, 30^(1 / 1.5) * (1 / (4000 * 0.8))^(1 / 3))
  expect_equal(error_bound(one, xi = 0.01)$xi, 0.01)
  expect_gt(error_bound(one, xi = 0.01)$value, by_hand)
  # the published noise is Gaussian: standard deviation times sqrt(2 ln(4 / xi))
  paper <- dp_mean(big$y, 0.8, 1e-6, method = "truncated", moment = moment_bound(1.5, 30),
                   control = dp_control("paper", xi = 0.1))
  level <- (30 * 4000 * 0.8 / sqrt(log(1e6)))^(1 / 1.5)
  sd <- sqrt(8 * log(1.25e6)) * level / (4000 * 0.8)
  by_hand <- 30 * level^(-v) + sqrt(2 * 30 * level^(1 - v) * t / 4000) +
    4 * level * t / (3 * 4000) + sd * sqrt(2 * t)
  expect_equal(error_bound(paper)$value, by_hand, tolerance = 1e-6)
})

test_that("Theorems 3 and 4: a median of means, by hand; Catoni's mean", {
  x <- as.matrix(big[c("x1", "x2", "y")])
  fit <- dp_mean(x, 0.8, 1e-6, method = "median_of_means", moment = moment_bound(1.5, 30),
                 control = dp_control("paper", xi = 0.1))
  # 4 log(2 d / xi) groups: each may fail with the p whose KL(1/2 | p) is log(2 d / xi) / m
  m <- ceiling(4 * log(2 * 3 / 0.1))
  b <- floor(4000 / m)
  p <- stats::uniroot(function(p) -log(4 * p * (1 - p)) / 2 - log(6 / 0.1) / m, c(1e-6, 0.499),
                      tol = 1e-12)$root
  expect_gt(p, 0.18)
  tau <- (30 * 0.8 * 4000 / 3^1.5)^(1 / 1.5)
  deviation <- min((2^2.5 * 30 / (b^0.5 * p))^(1 / 1.5), sqrt(30 * tau^0.5 / (b * p)))
  by_hand <- 30 * tau^-0.5 + deviation + fit$noise_sd[[1L]] * sqrt(2 * log(4 * 3 / 0.1))
  bound <- error_bound(fit)
  expect_equal(bound$value, by_hand, tolerance = 1e-6)
  expect_equal(bound$l2, sqrt(3) * bound$value)
  catoni <- dp_mean(x, 0.8, method = "catoni", moment = moment_bound(2, 90), beta = 2,
                    control = dp_control(xi = 0.1))
  s <- catoni$limits[[1L, "upper"]] / catoni_reach(2)
  by_hand <- 1.5 * 90 / (2 * s) + s / 4000 * log(4 * 3 / 0.1) +
    catoni$noise_sd[[1L]] / sqrt(2) * log(2 * 3 / 0.1)
  expect_equal(error_bound(catoni)$value, by_hand)
  expect_match(error_bound(catoni)$source, "10.1145/3517804.3524144")
})

x0 <- as.matrix(big[c("x1", "x2")])

test_that("Theorem 7: distance after T steps that shrink by q, by hand", {
  fit <- quiet(dp_sco(x0, epsilon = 0.8, delta = 1e-6, loss = "mean", gradient = grad_mom(),
                      constraint = l2_ball(3), moment = moment_bound(2, 40),
                      control = dp_control("paper", iterations = 5, xi = 0.1)))
  m <- paper_groups(2 * 5, 0.1)
  b <- floor(floor(4000 / 5) / m)
  tau <- (40 * 0.8 * 4000 / (2^1.5 * sqrt(5)))^(1 / 2)
  parts <- medians_error(40, 1, tau, b, m, 10, 0.05)
  error <- sqrt(2) * (sum(parts) + fit$sd[[1L]] * sqrt(2 * log(2 * 10 / 0.05)))
  q <- sqrt(2) / 2
  bound <- error_bound(fit)
  expect_equal(bound$value, q^5 * 6 + error / (2 * (1 - q)))
  expect_equal(bound$risk, bound$value^2 / 2)
  expect_equal(bound$rate$value, 40 * 2^2.5 / (0.8 * 4000))
  expect_match(bound$source, "Theorem 7")
  dimension <- sqrt(2 * log(1e6))
  expect_equal(bound$lower$value, 2 * 40 * dimension / (0.8 * 4000))
})

test_that("Theorem 6: steps, lengths and gradients, by hand; tight fits get one gradient's bound", {
  sco <- function(control, ...) {
    quiet(dp_sco(x0, big$y, epsilon = 0.8, delta = 1e-6, gradient = grad_mom(), intercept = FALSE,
                 constraint = l2_ball(3), moment = moment_bound(2, 400), control = control))
  }
  fit <- sco(dp_control("paper", smoothness = 9, gradient_bound = 30, iterations = 4))
  m <- paper_groups(2 * 4, 0.05)
  tau <- sqrt(400 * 0.8 * 4000 / 2^1.5)
  parts <- medians_error(400, 1, tau, floor(4000 / m), m, 8, 0.025)
  error <- sqrt(2) * (sum(parts) + fit$sd[[1L]] * sqrt(2 * log(2 * 8 / 0.025)))
  eta <- min(6 / (30 * 2), 1 / 9)
  bound <- error_bound(fit)
  expect_equal(bound$value, 36 / (2 * eta * 4) + 6 * 30 / 4 + eta * (30 + error)^2 / 2 +
                 6 * error)
  e <- sqrt(400) * 2^1.25 / sqrt(0.8 * 4000)
  expect_equal(bound$rate$value, e + e^3)
  tight <- sco(dp_control())
  bound <- error_bound(tight)
  expect_match(bound$statement, "private gradient")
  expect_match(bound$status, "preconditioner")
  expect_true(is.finite(bound$value))
})

test_that("Frank-Wolfe: Algorithm 1 and Corollary 1, robust regression, Algorithm 2, by hand", {
  fw <- function(gradient, moment, delta, ..., iterations = 4) {
    quiet(dp_sco(x0, big$y, epsilon = 0.8, delta = delta, constraint = l1_ball(1.5),
                 gradient = gradient, intercept = FALSE, moment = moment, ...,
                 control = dp_control("paper", iterations = iterations, smoothness = 3)))
  }
  fit <- fw(grad_catoni(beta = 1), moment_bound(2, 70), 0)
  size <- 1000
  s <- sqrt(70 * size * 0.8 / log(4 * 2 * 4 / 0.05))
  # alpha = 3, r = 1.5, T = 4, half of xi = 0.05 each
  steps <- 8 * 3 * 1.5^2 / 6
  gradient <- 2 * 1.5 * (2 * 70 / (2 * s) + s / size * log(2 * 2 * 4 / 0.025))
  sensitivity <- 1.5 * 4 * sqrt(2) * s / (3 * size)
  choice <- 2 * sensitivity / 0.8 * log(4 * 4 / 0.025)
  bound <- error_bound(fit)
  expect_equal(bound$value, steps + gradient + choice)
  expect_match(bound$source, "Corollary 1")
  expect_equal(error_bound(fit, smoothness = 6)$value, 2 * steps + gradient + choice)

  robust <- fw(grad_catoni(beta = 1), moment_bound(2, 70), 0, loss = loss_biweight(4, sigma = 2))
  bound <- error_bound(robust)
  expect_match(bound$statement, "gap")
  expect_equal(bound$parts[["steps"]], (64 / 6) / 2 + 4 * 3 * 1.5^2 / 4)

  lasso <- fw(grad_shrunken(), moment_bound(4, 900), 1e-6)
  k <- (900 * 4000 * 0.8 / (sqrt(4 * log(1e6)) * log(2 * 4 / 0.05)))^(1 / 4)
  t <- log(4 * 2 * 3 / 0.05)
  gradient <- 3 * 2.5 * (2 * 900 / k^2 + sqrt(2 * 900 * t / 4000) + 2 * k^2 * t / (3 * 4000))
  epsilon0 <- 0.8 / (2 * sqrt(2 * 4 * log(1e6)))
  choice <- 2 * (2 * k^2 * 1.5 * 2.5 / 4000) / epsilon0 * log(4 * 4 / 0.025)
  bound <- error_bound(lasso)
  expect_equal(bound$value, steps + gradient + choice)
  expect_match(bound$source, "Algorithm 2")

  free <- quiet(dp_sco(x0, big$y, epsilon = 0.8, delta = 0, constraint = l1_ball(1.5),
                       gradient = grad_catoni(), moment = moment_bound(2, 70)))
  expect_error(error_bound(free), "intercept", class = "dp_error_bound")
  open <- quiet(dp_sco(x0, big$y, epsilon = 0.8, delta = 0, constraint = l1_ball(1.5),
                       gradient = grad_catoni(), moment = moment_bound(2, 70), intercept = FALSE))
  expect_error(error_bound(open), "smoothness", class = "dp_error_bound")
  expect_true(is.finite(error_bound(open, smoothness = 3)$value))
})

test_that("sparse fits have orders, peeling the bound of its noise", {
  sparse <- quiet(dp_sparse(x0, big$y, epsilon = 0.8, delta = 1e-6, sparsity = 2, solver = "iht",
                            gradient = grad_truncated(), moment = moment_bound(1.5, 50)))
  bound <- error_bound(sparse)
  expect_true(is.na(bound$value))
  x <- 4000 * 0.8
  expect_equal(bound$rate$value,
               2^(2 / 1.5) * (50^(1 / 1.5) * (log(2) * sqrt(log(1e6)) / x)^(1 / 3))^2)
  expect_match(bound$source, "Theorem 10")
  expect_match(capture.output(print(bound)), "orders only", all = FALSE)
  v <- c(50, -40, rep(0, 18))
  peel <- dp_peel(v, 2, 0.1, 1, 1e-6, calibration = "paper")
  b <- 0.1 * 4 * sqrt(2 * 2 * log(1e6))
  bound <- error_bound(peel, xi = 0.1)
  expect_equal(bound$value, b * log(2 / 0.05), tolerance = 1e-6)
  expect_equal(bound$parts[["choice"]], 2 * b * log(20 * 2 / 0.05), tolerance = 1e-6)
  tight <- error_bound(dp_peel(v, 2, 0.1, 1, 1e-6))
  expect_lt(tight$value, bound$value)
})

test_that("bounds shrink with n and epsilon", {
  value <- function(n, epsilon, method) {
    fit <- dp_mean(rep_len(big$y, n), epsilon, 1e-6, method = method,
                   moment = moment_bound(2, 40))
    error_bound(fit)$value
  }
  for (method in c("truncated", "median_of_means", "catoni")) {
    values <- c(value(1000, 0.5, method), value(4000, 0.5, method), value(16000, 0.5, method))
    expect_true(all(diff(values) < 0))
    expect_lt(value(4000, 2, method), value(4000, 0.5, method))
  }
})

test_that("other fits are refused with the theorem that is closest", {
  refused <- function(fit, naming) {
    expect_error(error_bound(fit), naming, class = "dp_error_bound")
  }
  refused(dp_mean(big$y, 1), "Theorem 1")
  refused(dp_mean(big$y, 1, method = "catoni", bound = 3), "moment")
  refused(quiet(dp_lm(x0, big$y, epsilon = 1, delta = 1e-6)), "Theorems 6 and 7")
  refused(quiet(dp_lasso(x0, big$y, epsilon = 1, delta = 1e-6, radius = 1)), "Algorithms 1 and 2")
  refused(dp_quantile(big$y, 0.5, 1), "quantiles")
  refused(dp_mean(big$y, Inf, method = "catoni", moment = moment_bound(2, 9)), "not private")
  refused(dp_mean(cbind(big$y, NA), 1, method = "catoni", moment = moment_bound(2, 9),
                  na.rm = TRUE), "na.rm")
  expect_error(error_bound(1), "fit", class = "dp_error")
  expect_error(error_bound(one, xi = 2), "xi", class = "dp_error")
  expect_error(error_bound(one, si = 2), "si", class = "dp_error")
})

test_that("what no theorem is about is told so, by what it is", {
  why <- function(fit, text) expect_error(error_bound(fit), text, class = "dp_error_bound")
  why(dp_gaussian(1:3, epsilon = 1, delta = 1e-6, sensitivity = 1), "errs by its noise alone")
  why(dp_mean(big$x1, 1, bound = c(-5, 5)), "do not come from a moment")
  fit <- quiet(dp_lm(y ~ x1, big, epsilon = 1, delta = 1e-6))
  why(quiet(dp_residuals(fit, big, epsilon = 1)), "about residuals")
  tuned <- quiet(dp_tune(alist(dp_lm(y ~ x1, epsilon = 1, delta = 1e-6)), big, epsilon = 1))
  why(tuned, "chosen by dp_tune")
  expect_error(error_bound(), "`fit`", class = "dp_error_input")
})

test_that("a bound prints what is proved, from where, and what it assumes", {
  out <- paste(capture.output(print(error_bound(one))), collapse = "\n")
  for (said in c("at most", "probability at least 0.9", "Theorem 1", "inferred", "derived",
                 "independent", "E\\|x_j\\|\\^1.5 <= 30", "Lower bound", "constants of one")) {
    expect_match(out, said)
  }
})

test_that("errors stay below the bound: Theorems 1 and 3 and Catoni's mean", {
  skip_on_cran()
  # Student's t with 3 degrees of freedom about 0.5: E x^2 = 3.25
  for (method in c("truncated", "median_of_means", "catoni")) {
    set.seed(911)
    for (xi in c(0.05, 0.3)) {
      over <- replicate(60, {
        x <- matrix(stats::rt(2 * 2000, 3) + 0.5, 2000)
        fit <- dp_mean(x, 1, 1e-6, method = method, moment = moment_bound(2, 3.25),
                       control = dp_control(rng = "R", xi = xi))
        max(abs(coef(fit) - 0.5)) > error_bound(fit)$value
      })
      # below xi, but for chance
      expect_lte(sum(over), stats::qbinom(1e-6, 60, xi, lower.tail = FALSE))
    }
    x <- matrix(stats::rt(2 * 2000, 3) + 0.5, 2000)
    fit <- dp_mean(x, 1, 1e-6, method = method, moment = moment_bound(2, 3.25))
    expect_lt(error_bound(fit)$value, 5)
  }
})
