# The papers' calibrations: constants by hand, refusals, and what they cost.

paper <- function(...) dp_control(calibration = "paper", rng = "R", ...)

set.seed(461)
n <- 2003
m <- matrix(stats::rt(2 * n, 3), n, dimnames = list(NULL, c("a", "b")))
y <- drop(m %*% c(0.5, -0.5)) + stats::rt(n, 3)
five <- moment_bound(1.5, 5)

run_paper <- function(..., control = paper(smoothness = 2, gradient_bound = 8), epsilon = 0.8,
                      delta = 1e-5, constraint = l2_ball(2), moment = five, gradient = grad_mom(),
                      intercept = FALSE) {
  dp_sco(m, y, epsilon, delta, gradient = gradient, moment = moment, constraint = constraint,
         control = control, intercept = intercept, ...)
}

# Lemmas 1 and 3 of Tao et al.
sigma_of <- function(epsilon, delta) sqrt(2 * log(1.25 / delta)) / epsilon

test_that("the convex branch has Theorem 6's constants", {
  # tau = (u eps n / d^1.5)^(1/(1+v)), d = 2, v = 1/2, u = 5
  tau <- (5 * 0.8 * 2003 / 2^1.5)^(1 / 1.5)
  steps <- floor(8^2 * 0.8^2 * 2003^2 / (tau^2 * 2^4))
  expect_gt(steps, 100)
  expect_lt(steps, 10000)
  fit <- run_paper()
  event <- as.data.frame(privacy(fit))
  expect_identical(nrow(event), 1L)
  expect_identical(event$count, steps)
  expect_equal(fit$bound, tau, tolerance = 1e-12)
  expect_identical(fit$output, "average")
  # noise of each step, with the smallest of m = ceiling(4 log(2 d T / xi)) groups
  groups <- ceiling(4 * log(2 * 2 * steps / 0.05))
  share <- c(0.8 / (2 * sqrt(2 * steps * log(2 / 1e-5))), 1e-5 / (2 * steps))
  sd <- 2 * tau * sqrt(2) / floor(2003 / groups) * sigma_of(share[[1L]], share[[2L]])
  expect_equal(fit$sd, sd, tolerance = 1e-6)
  expect_equal(event$cost, 1 / sigma_of(share[[1L]], share[[2L]]), tolerance = 1e-12)
  expect_lte(epsilon_at(privacy(fit), 1e-5), 0.8)
  expect_identical(privacy(fit)$calibration, "paper")
  # step min(D / (R sqrt(T)), 1/beta) with D = 4
  spec <- sco_spec(0.8, 1e-5, loss_squared(), grad_mom(), l2_ball(2), "pgd", NULL, five, NULL,
                   paper(smoothness = 2, gradient_bound = 8))
  expect_equal(plan_paper(n, 2, spec, FALSE)$eta, 4 / (8 * sqrt(steps)))
  spec$control <- paper(smoothness = 50, gradient_bound = 8)
  expect_equal(plan_paper(n, 2, spec, FALSE)$eta, 1 / 50)
  spec$control <- paper(smoothness = 50, gradient_bound = 8, iterations = 12)
  expect_identical(plan_paper(n, 2, spec, FALSE)$steps, 12)
  # at least one step, at most 10000
  spec$control <- paper(smoothness = 50, gradient_bound = 1e-6)
  expect_identical(plan_paper(n, 2, spec, FALSE)$steps, 1)
  spec$control <- paper(smoothness = 50, gradient_bound = 1e6)
  expect_identical(plan_paper(n, 2, spec, FALSE)$steps, 10000)
})

test_that("the strongly convex branch has Theorem 7's constants, noise of the smallest batch", {
  # alpha = lambda = 0.5, beta = 2: T = ceiling(4 log n)
  steps <- ceiling(2 / 0.5 * log(2003))
  groups <- ceiling(4 * log(2 * 2 * steps / 0.05))
  tau <- (5 * 0.8 * 2003 / (2^1.5 * sqrt(steps)))^(1 / 1.5)
  run <- function(...) run_paper(..., control = paper(smoothness = 2))
  fit <- run(penalty = ridge(0.5))
  event <- as.data.frame(privacy(fit))
  expect_identical(event$count, 1)
  expect_match(event$what, sprintf("%.0f disjoint batches", steps))
  expect_equal(fit$bound, tau, tolerance = 1e-12)
  expect_identical(fit$output, "last")
  # 2003 rows in 31 batches: 64 or 65 each; 32 groups of 2 or 3
  smallest <- floor(floor(2003 / steps) / groups)
  sd <- 2 * tau * sqrt(2) / smallest * sigma_of(0.8, 1e-5)
  expect_equal(fit$sd, sd, tolerance = 1e-6)
  expect_equal(event$cost, 1 / sigma_of(0.8, 1e-5), tolerance = 1e-12)
  expect_lte(epsilon_at(privacy(fit), 1e-5), 0.8)
  # strong convexity may be stated instead of coming from a penalty
  stated <- run_paper(control = paper(smoothness = 2, strong_convexity = 0.5))
  expect_equal(stated$sd, fit$sd)
  spec <- sco_spec(0.8, 1e-5, loss_squared(), grad_mom(), l2_ball(2), "pgd", ridge(0.5), five, NULL,
                   paper(smoothness = 2))
  expect_equal(plan_paper(n, 2, spec, FALSE)$eta, 1 / 2.5)
  # the mean: alpha = beta = 1 (+ lambda)
  mean <- dp_sco(m, epsilon = 0.8, delta = 1e-5, loss = loss_mean(), gradient = grad_mom(),
                 moment = five, constraint = l2_ball(2), control = paper())
  steps <- ceiling(log(2003))
  expect_match(as.data.frame(privacy(mean))$what, sprintf("%.0f disjoint", steps))
  groups <- ceiling(4 * log(2 * 2 * steps / 0.05))
  tau <- (5 * 0.8 * 2003 / (2^1.5 * sqrt(steps)))^(1 / 1.5)
  expect_equal(mean$sd, 2 * tau * sqrt(2) / floor(floor(2003 / steps) / groups) *
                 sigma_of(0.8, 1e-5), tolerance = 1e-6)
  spec <- sco_spec(0.8, 1e-5, loss_mean(), grad_mom(), l2_ball(2), "pgd", ridge(1), five, NULL,
                   paper())
  expect_equal(plan_paper(n, 2, spec, FALSE)$eta, 1 / 4)
})

# A fit of one step over all rows, and what its seed drew: groups, then the key of the noise.
one_step <- function(seed, ...) {
  control <- paper(smoothness = 2, gradient_bound = 8, iterations = 1)
  set.seed(seed)
  fit <- run_paper(..., control = control)
  set.seed(seed)
  order <- random_order(n, release_key(control))
  groups <- ceiling(4 * log(2 * 2 / 0.05))
  list(
    fit = fit, key = release_key(control), groups = groups,
    tau = (5 * 0.8 * 2003 / 2^1.5)^(1 / 1.5), made = partition_groups(n, groups, order)
  )
}

test_that("a step of the paper is its formula, written out", {
  # one step over all rows, and the noise of the same key
  step <- one_step(462)
  fit <- step$fit
  g <- -y * m
  g <- ifelse(abs(g) <= step$tau, g, 0)
  means <- rowsum(g, step$made$group) / tabulate(step$made$group + 1L)
  gradient <- apply(means, 2L, stats::median)
  # one step has all of (epsilon, delta)
  law <- coordinate_law("gaussian", n, 2, 1 / sigma_of(0.8, 1e-5), step$tau)
  smallest <- floor(n / step$groups)
  noise <- key_noise(law, 2, step$key) * law$step / smallest
  w <- -min(4 / 8, 1 / 2) * (gradient + noise)
  w <- w * min(1, 2 / sqrt(sum(w^2)))
  expect_equal(coef(fit), w, tolerance = 1e-6)
})

test_that("a robust loss steps as its own derivative would", {
  # levels and steps are of the derivative in the caller's units, clamp(r, k sigma)
  step <- one_step(463, loss = loss_huber(k = 1.5, sigma = 2), constraint = l2_ball(99))
  fit <- step$fit
  g <- pmin(pmax(-y, -3), 3) * m
  gradient <- apply(rowsum(g, step$made$group) / tabulate(step$made$group + 1L), 2L, stats::median)
  law <- coordinate_law("gaussian", n, 2, 1 / sigma_of(0.8, 1e-5), step$tau)
  noise <- key_noise(law, 2, step$key) * law$step / floor(n / step$groups)
  w <- -min(198 / 8, 1 / 2) * (gradient + noise)
  expect_lt(sum(w^2), 99^2)
  expect_equal(coef(fit), w, tolerance = 1e-6)
})

test_that("what the papers' setting does not have is refused by one sentence, nothing spent", {
  refused <- function(naming, ..., class = "dp_error") {
    expect_refusal(function(b) run_paper(..., budget = b), naming, class)
  }
  good <- paper(smoothness = 2, gradient_bound = 8)
  for (gradient in list(grad_clipped(), grad_winsorized(), grad_truncated(2))) {
    refused("grad_mom", gradient = gradient, moment = NULL, class = "dp_error_calibration")
  }
  refused("tau and the groups", gradient = grad_mom(3))
  refused("tau and the groups", gradient = grad_mom(groups = 3))
  refused("l2_ball", constraint = no_constraint())
  refused("moment", moment = NULL)
  refused("intercept = FALSE", intercept = TRUE)
  refused("`step`", control = paper(smoothness = 2, gradient_bound = 8, step = 0.5))
  refused("`batches`", control = paper(smoothness = 2, gradient_bound = 8, batches = "split"))
  refused("`sigma`", loss = "huber")
  refused("gradient_bound", control = paper(smoothness = 2))
  refused("smoothness", control = paper())
  refused("smoothness", control = paper(gradient_bound = 8))
  refused("must not exceed", control = paper(smoothness = 2, strong_convexity = 3))
  refused("1", epsilon = 1.5)
  strong <- function(steps) paper(smoothness = 2, strong_convexity = 1, iterations = steps)
  refused("number of rows", control = strong(n + 1))
  refused("too few rows", control = strong(90), class = "dp_error_small_n")
  expect_error(run_paper(epsilon = Inf), "finite", class = "dp_error_calibration")
  for (front in list(dp_lm, function(...) dp_glm(...))) {
    expect_refusal(function(b) front(m, y > 0, 1, 1e-5, control = good, budget = b), "dp_sco")
  }
})

test_that("means by the papers have their constants", {
  mean_of <- function(method, epsilon, delta, moment, ...) {
    dp_mean(m, epsilon, delta, method = method, moment = moment, control = paper(...))
  }
  # Algorithm 1: d = 2 columns
  level <- (5 * n * 0.8 / sqrt(2 * log(1e5)))^(1 / 1.5)
  fit <- mean_of("truncated", 0.8, 1e-5, five)
  expect_equal(unname(fit$limits[1L, ]), c(-level, level), tolerance = 1e-12)
  # N(0, 8 d B^2 log(1.25 / delta) / (n epsilon)^2)
  expect_equal(unname(fit$noise_sd), rep(sqrt(8 * 2 * log(1.25e5)) * level / (n * 0.8), 2),
               tolerance = 1e-6)
  # Algorithm 3: noise of the smallest group, not of n / m
  tau <- (5 * n * 0.8 / 2^1.5)^(1 / 1.5)
  groups <- ceiling(4 * log(2 * 2 / 0.01))
  fit <- mean_of("median_of_means", 0.8, 1e-5, five, xi = 0.01)
  expect_equal(unname(fit$limits[1L, 2L]), tau, tolerance = 1e-12)
  expect_equal(unname(fit$noise_sd[[1L]]),
               2 * tau * sqrt(2) / floor(n / groups) * sigma_of(0.8, 1e-5), tolerance = 1e-6)
  expect_gt(n %% groups, 0)
  # Hu et al.: s = sqrt(u n epsilon / log(d / xi)), Laplace noise for 4 sqrt(2) s / (3 n)
  s <- sqrt(5 * n * 0.8 / log(2 / 0.05))
  for (beta in c(Inf, 1)) {
    fit <- dp_mean(m, 0.8, method = "catoni", moment = moment_bound(2, 5), beta = beta,
                   control = paper())
    expect_equal(unname(fit$limits[1L, 2L]), 2 * sqrt(2) / 3 * s, tolerance = 1e-12)
    expect_equal(unname(fit$noise_sd[[1L]]), sqrt(2) * 2 * (4 * sqrt(2) / 3) * s / (n * 0.8),
                 tolerance = 1e-6)
    expect_identical(epsilon_at(privacy(fit), 0), 0.8)
  }
  refused <- function(naming, method, epsilon, delta, moment, ...) {
    expect_refusal(function(b) dp_mean(m, epsilon, delta, method = method, moment = moment,
                                       control = paper(), budget = b, ...), naming)
  }
  refused("delta = 0", "catoni", 1, 1e-6, moment_bound(2, 5))
  refused("`delta` above 0", "truncated", 1, 0, five)
  refused("`delta` above 0", "median_of_means", 1, 0, five)
  refused("na.rm", "truncated", 1, 1e-6, five, na.rm = TRUE)
  refused("1", "truncated", 2, 1e-6, five)
  expect_error(dp_mean(m, 1, control = paper()), "dp_mean", class = "dp_error_input")
  expect_error(dp_mean(m, Inf, method = "truncated", moment = five, control = paper()), "finite")
})

test_that("events of the papers' calibration are never above what was asked for", {
  for (epsilon in c(0.01, 0.3, 1)) for (delta in c(1e-8, 1e-4)) {
    for (control in list(paper(smoothness = 2, gradient_bound = 2),
                         paper(smoothness = 2, strong_convexity = 1))) {
      fit <- quiet(run_paper(epsilon = epsilon, delta = delta, control = control))
      spent <- epsilon_at(privacy(fit), delta)
      expect_lte(spent, epsilon)
      # about half of it in the convex branch: the price of the lemmas
      if (is.null(control$strong_convexity)) expect_lt(spent, 0.7 * epsilon)
    }
  }
  budget <- privacy_budget(1, 1e-4)
  fit <- run_paper(budget = budget)
  expect_gt(spent(budget), 0)
  expect_lte(spent(budget), 0.8 * (1 + 1e-6))
})
