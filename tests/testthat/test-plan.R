# dp_plan(): the events of the fit, from public numbers; expected errors.

same_events <- function(plan, fit) {
  expect_identical(plan$events, as.data.frame(privacy(fit)))
  expect_identical(privacy(plan)$events, privacy(fit)$events)
}

columns3 <- as.matrix(big[c("x1", "x2", "y")])

test_that("a plan's events are those of the fit: means and quantiles", {
  moment <- moment_bound(1.5, 9)
  calls <- list(
    list(epsilon = 1), list(epsilon = 1, delta = 1e-6), list(epsilon = 1, bound = c(-5, 5)),
    list(epsilon = 1, bound = c(-5, 5), interval = TRUE),
    list(epsilon = 1, delta = 1e-6, na.rm = TRUE),
    list(epsilon = 1, delta = 1e-6, method = "truncated", moment = moment),
    list(epsilon = 0.9, delta = 1e-6, method = "median_of_means", moment = moment,
         control = dp_control("paper")),
    list(epsilon = 0.9, method = "catoni", bound = 3),
    list(epsilon = 1, delta = 1e-6, sparsity = 2)
  )
  for (call in calls) {
    fit <- quiet(do.call(dp_mean, c(list(columns3), call)))
    plan <- do.call(dp_plan, c(list("mean", n = 4000, d = 3), call))
    same_events(plan, fit)
  }
  fit <- quiet(dp_quantile(big$y, c(0.3, 0.5), 1, 1e-6))
  same_events(dp_plan("quantile", n = 4000, epsilon = 1, delta = 1e-6, probs = c(0.3, 0.5)), fit)
})

test_that("a plan's events are those of the fit: regressions", {
  x <- columns3[, 1:2]
  binary <- as.numeric(big$y > 0)
  check <- function(front, fitter, y, ...) {
    fit <- quiet(fitter(x, y, epsilon = 0.9, delta = 1e-6, ...))
    same_events(dp_plan(front, n = 4000, d = 2, epsilon = 0.9, delta = 1e-6, ...), fit)
  }
  known <- list(x = list(center = 0, scale = 2), y = list(center = 0, scale = 3))
  check("lm", dp_lm, big$y)
  check("lm", dp_lm, big$y, target = "robust")
  check("lm", dp_lm, big$y, target = "mean", loss = "biweight")
  check("lm", dp_lm, big$y, target = "mean", intercept = FALSE, gradient = grad_clipped(2))
  check("lm", dp_lm, big$y, intercept = FALSE, loss = "huber", scale = known)
  check("lm", dp_lm, big$y, penalty = ridge(0.1), gradient = grad_clipped(2))
  check("glm", dp_glm, binary)
  check("glm", dp_glm, binary, constraint = l2_ball(2))
  check("lasso", dp_lasso, big$y, radius = 2)
  check("lasso", dp_lasso, big$y, radius = 2, refit = FALSE)
  check("sparse", dp_sparse, big$y, sparsity = 1)
  check("sparse", dp_sparse, big$y, sparsity = 1, solver = "iht")
  check("sco", dp_sco, big$y, gradient = "winsorized", moment = moment_bound(2, 50))
  check("sco", dp_sco, big$y, gradient = grad_mom(), constraint = l2_ball(3), intercept = FALSE,
        moment = moment_bound(2, 50),
        control = dp_control("paper", smoothness = 9, gradient_bound = 9, iterations = 4))
  check("sco", dp_sco, big$y, constraint = unit_simplex())
  fit <- quiet(dp_sco(x, epsilon = 1, delta = 1e-6, loss = "mean"))
  same_events(dp_plan("sco", n = 4000, d = 2, epsilon = 1, delta = 1e-6, loss = "mean"), fit)
  # a formula's columns: two of three levels of a factor are known to lie in [0, 1]
  factors <- data.frame(y = big$y, x1 = big$x1, g = factor(rep_len(c("a", "b", "c"), 4000)))
  fit <- quiet(dp_lm(y ~ x1 + g, factors, epsilon = 1, delta = 1e-6))
  same_events(dp_plan("lm", n = 4000, d = 3, epsilon = 1, delta = 1e-6, indicators = 2), fit)
})

test_that("a ledger is read and not charged, and what is spent is what the accountant proves", {
  budget <- privacy_budget(2, 1e-6)
  plan <- dp_plan("lm", n = 4000, d = 2, epsilon = 1, delta = 5e-7, budget = budget)
  expect_identical(nrow(as.data.frame(budget)), 0L)
  fit <- quiet(dp_lm(columns3[, 1:2], big$y, epsilon = 1, delta = 5e-7, budget = budget))
  same_events(plan, fit)
  free <- dp_plan("lm", n = 4000, d = 2, epsilon = 1, delta = 5e-7)
  expect_lte(free$spent, 1)
  expect_gt(free$spent, 0.999)
  events <- privacy(free)$events
  expect_equal(free$spent, events_epsilon(events, 5e-7), tolerance = 1e-6)
  laplace <- dp_plan("mean", n = 4000, d = 2, epsilon = 1)
  expect_equal(laplace$noise$sd[[2L]], sqrt(2) * laplace$events$scale[[2L]])
  expect_true(is.na(laplace$noise$sd[[1L]]))
})

test_that("misuse is refused with the fitter's own sentences", {
  expect_identical(dp_plan("dp_mean", 4000, 2, 1), dp_plan("mean", 4000, 2, 1))
  expect_error(dp_plan("median", n = 10, d = 1, epsilon = 1), "front", class = "dp_error")
  expect_error(dp_plan("mean", n = 100, d = 1, epsilon = 1), "too few", class = "dp_error")
  expect_error(dp_plan("lm", n = 1e4, d = 1, epsilon = 1), "delta", class = "dp_error")
  expect_error(dp_plan("lm", n = 1e4, d = 1, epsilon = Inf, delta = 1e-6), "epsilon")
  expect_error(dp_plan("lm", n = 1e4, d = 1, epsilon = 1, delta = 1e-6, lss = 1), "`lss`")
  expect_error(dp_plan("mean", n = 1e4, d = 1, epsilon = 1, assume = list(tails = "t3")), "assume")
  expect_error(dp_plan("mean", n = 1e4, epsilon = 1), "`d`", class = "dp_error")
  expect_error(dp_plan("mean", n = 1e4, d = 1, epsilon = 1, assume = list(columns = "t")),
               "columns")
  for (law in list("t1", "cauchy", "normal2", 1, NA, function(p) -p, function(p) 0 * p, "t")) {
    expect_error(dp_plan("mean", n = 1e4, d = 1, epsilon = 1, assume = list(tail = law)),
                 "tail", class = "dp_error")
  }
})

test_that("laws are those that their names say", {
  same <- function(law, mean, quantile, p = c(0.01, 0.3, 0.9)) {
    found <- assumed_law(law, "tail")
    expect_equal(found$mean, mean, tolerance = 1e-6)
    expect_equal(law_quantile(found, p), quantile(p) - mean, tolerance = 1e-3)
    expect_equal(law_below(found, quantile(p) - mean), p, tolerance = 1e-3)
    expect_equal(sum(found$weight), 1)
  }
  same("normal", 0, stats::qnorm)
  same(2.5, 0, function(p) stats::qt(p, 2.5))
  same("t4", 0, function(p) stats::qt(p, 4))
  same("lognormal0.5", exp(0.125), function(p) stats::qlnorm(p, 0, 0.5))
  same("pareto3", 1.5, function(p) (1 - p)^(-1 / 3))
  same(function(p) p, 0.5, identity)
  normal <- absolute_law(assumed_law("normal", "tail"))
  expect_equal(share_below(normal, 1), 2 * stats::pnorm(1) - 1, tolerance = 1e-2)
  # E min(Z^2, 1)
  inner <- stats::integrate(function(z) z^2 * stats::dnorm(z), -1, 1)$value
  expect_equal(clipped_square(normal, 1), inner + 2 * stats::pnorm(-1), tolerance = 1e-2)
})

test_that("noisy steps are those of the recursion", {
  # by the linear map of all noises to iterates
  steps <- 9L
  rho <- 0.3
  weights <- outer(seq_len(steps), seq_len(steps), function(t, s) {
    ifelse(t >= s, (1 - rho)^(t - s), 0)
  })
  got <- noisy_steps(steps, rho, 0.5, 2, skip = 3)
  expect_equal(got$last, 0.5 * sum(weights[steps, ]^2) + 2 * 0.7^18)
  expect_equal(got$average, 0.5 * sum(colMeans(weights[4:9, ])^2))
  expect_equal(got$left, 2 * mean(0.7^(4:9))^2)
})

test_that("targets are met at the n and the epsilon that are said, and not far below", {
  error <- function(...) {
    dp_plan("lm", d = 4, delta = 1e-6, ..., assume = list(tail = "t2.5"))$error[["total"]]
  }
  plan <- dp_plan("lm", n = 8000, d = 4, epsilon = 1, delta = 1e-6, target = 0.03,
                  assume = list(tail = "t2.5"))
  expect_lte(error(n = plan$n_needed, epsilon = 1), 0.03)
  expect_gt(error(n = floor(0.97 * plan$n_needed), epsilon = 1), 0.03)
  tight <- dp_plan("mean", n = 3000, d = 1, epsilon = 1, target = 0.04)
  reached <- dp_plan("mean", n = 3000, d = 1, epsilon = tight$epsilon_needed)
  expect_lte(reached$error[["total"]], 0.04 * 1.001)
  expect_true(is.na(dp_plan("mean", n = 3000, d = 1, epsilon = 1, target = 1e-9)$epsilon_needed))
  # a loose target does not ask for fewer rows than are sensible
  loose <- dp_plan("lm", n = 8000, d = 4, epsilon = 1, delta = 1e-6, target = 10)
  expect_equal(loose$n_needed, loose$n_sensible, tolerance = 0.01)
})

test_that("what a ledger would refuse is no plan, and no epsilon that is needed", {
  budget <- privacy_budget(1, 1e-6)
  expect_error(dp_plan("lm", n = 4000, d = 2, epsilon = 2, delta = 1e-6, budget = budget),
               "does not allow", class = "dp_error_budget")
  plan <- function(...) dp_plan("lm", n = 3000, d = 2, epsilon = 0.9, delta = 1e-6, ...)
  error <- plan()$error
  target <- sqrt(error[["sampling"]]^2 + (0.7 * error[["privacy"]])^2)
  expect_gt(plan(target = target)$epsilon_needed, 1)
  expect_true(is.na(plan(target = target, budget = budget)$epsilon_needed))
  expect_identical(nrow(as.data.frame(budget)), 0L)
  # a ledger of units
  units <- privacy_budget(3, 1e-5)
  z <- transform(big, id = seq_len(nrow(big)))
  quiet(dp_lm(y ~ x1, z, epsilon = 1, delta = 1e-6, unit = ~id, budget = units))
  expect_s3_class(plan(budget = units), "dp_plan")
})

test_that("a plan keeps no function, and draws its law all the same", {
  secret <- "CANARY in a frame"
  law <- function(p) stats::qt(p, 3)
  plan <- dp_plan("lm", n = 4000, d = 2, epsilon = 1, delta = 1e-6, assume = list(tail = law))
  expect_false(leaks(plan, secret))
  named <- dp_plan("lm", n = 4000, d = 2, epsilon = 1, delta = 1e-6, assume = list(tail = "t3"))
  expect_equal(plan$error, named$error, tolerance = 1e-6)
  expect_match(capture.output(print(plan)), "errors 1 x a given law", all = FALSE)
  again <- dp_plan("lm", n = 4000, d = 2, epsilon = 1, delta = 1e-6, assume = plan$assume)
  expect_identical(again$error, plan$error)
  grDevices::pdf(NULL)
  expect_gt(nrow(plot(plan, main = "mine", ylim = c(1e-3, 1))), 3L)
  own <- loss_user(function(eta, y) eta - y)
  plan <- dp_plan("sco", n = 4000, d = 2, epsilon = 1, delta = 1e-6, loss = own)
  expect_false(leaks(plan, secret))
  expect_error(plot(plan), "no expected error", class = "dp_error")
  grDevices::dev.off()
})

test_that("quantiles beyond the table of a law have no expected error", {
  plan <- dp_plan("quantile", n = 1e13, epsilon = 1, probs = c(0.5, 1))
  expect_true(is.na(plan$error[["total"]]))
  plan <- dp_plan("quantile", n = 5000, epsilon = 1, probs = c(0, 1), target = 0.1)
  expect_true(is.na(plan$n_needed))
})

test_that("prints, draws and stays small", {
  plan <- dp_plan("mean", n = 3000, d = 1, epsilon = 1, target = 0.04)
  out <- capture.output(print(plan))
  expect_match(out, "Nothing was read or spent", all = FALSE)
  expect_match(out, "Expected error of a column's mean", all = FALSE)
  expect_match(out, "Smallest sensible n: 550", all = FALSE)
  none <- dp_plan("sparse", n = 5000, d = 30, epsilon = 1, delta = 1e-6, sparsity = 2,
                  solver = "iht")
  expect_match(capture.output(print(none)), "No expected error", all = FALSE)
  expect_lt(length(serialize(plan, NULL)), 2e4)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  curve <- plot(plan)
  grDevices::dev.off()
  unlink(file)
  expect_true(all(diff(curve$total) < 0))
  expect_equal(curve$total^2, curve$sampling^2 + curve$privacy^2 + curve$bias^2)
})

test_that("a target that the rows alone miss is said to be out of reach", {
  text <- "no epsilon is enough"
  far <- dp_plan("mean", n = 3000, d = 1, epsilon = 1, target = 1e-3)
  expect_match(capture.output(print(far)), text, all = FALSE)
  near <- dp_plan("mean", n = 3000, d = 1, epsilon = 1, target = 0.04)
  expect_no_match(capture.output(print(near)), text)
})

test_that("a plan that no fit could follow names n, not an argument that plans do not have", {
  expect_error(dp_plan("mean", n = 500, d = 1, epsilon = 0.5), "too few rows, n = 500,",
               class = "dp_error_small_n")
})

test_that("the legend of a plan stands over the picture", {
  drawn <- drawn_text(plot(dp_plan("lm", n = 3e4, d = 8, epsilon = 1, delta = 1e-6, target = 0.02)))
  frame <- 72 * (3.8 - 4.1 * 0.2)
  legend <- drawn$text %in% c("all", "sampling", "privacy", "this n", "target")
  expect_identical(sum(legend), 5L)
  expect_true(all(drawn$y[legend] > frame))
  none <- drawn_text(plot(dp_plan("mean", n = 3000, d = 1, epsilon = 1), main = "own title"))
  expect_false("target" %in% none$text)
  expect_identical(sum(grepl("Plan of|own title", none$text)), 1L)
})

# ---- against simulation -----------------------------------------------------------------

rms <- function(runs) sqrt(mean(runs))

expect_factor <- function(plan, simulated, factor = 1.5) {
  ratio <- plan$error[["total"]] / simulated
  expect_lt(ratio, factor)
  expect_gt(ratio, 1 / factor)
}

test_that("expected errors agree with simulation: means", {
  skip_on_cran()
  draws <- list(normal = stats::rnorm, t3 = function(n) stats::rt(n, 3),
                lognormal1 = function(n) exp(stats::rnorm(n)) - exp(0.5))
  for (tail in names(draws)) {
    set.seed(901)
    errors <- replicate(80, {
      unname(coef(dp_mean(3 + draws[[tail]](4000), 1, control = repeatable))) - 3
    })
    expect_factor(dp_plan("mean", n = 4000, d = 1, epsilon = 1,
                          assume = list(tail = tail, signal = 3)), rms(errors^2))
  }
})

test_that("expected errors agree with simulation: regressions", {
  skip_on_cran()
  slopes <- c(1, -1, 1, -1) / 2
  runs <- function(fitter, response) {
    set.seed(902)
    rms(replicate(8, {
      x <- matrix(stats::rt(4 * 8000, 3), 8000) / sqrt(3)
      sum((coef(fitter(x, response(drop(x %*% slopes)), epsilon = 1, delta = 1e-6,
                       control = repeatable))[-1] - slopes)^2)
    }))
  }
  linear <- dp_plan("lm", n = 8000, d = 4, epsilon = 1, delta = 1e-6)
  expect_factor(linear, runs(dp_lm, function(eta) eta + stats::rt(8000, 3)))
  skewed <- dp_plan("lm", n = 8000, d = 4, epsilon = 1, delta = 1e-6,
                    assume = list(tail = "lognormal1"))
  expect_factor(skewed, runs(dp_lm, function(eta) eta + exp(stats::rnorm(8000))))
  logistic <- dp_plan("glm", n = 8000, d = 4, epsilon = 1, delta = 1e-6)
  expect_factor(logistic, runs(dp_glm, function(eta) {
    stats::rbinom(8000, 1, stats::plogis(eta))
  }))
})

test_that("a noisy number of complete values is a part of the error", {
  skip_on_cran()
  set.seed(21)
  squares <- replicate(60, {
    quiet(dp_mean(stats::rt(4000, 3) + 1, 1, na.rm = TRUE, control = repeatable))$coefficients - 1
  })^2
  plan <- dp_plan("mean", n = 4000, d = 1, epsilon = 1, na.rm = TRUE)
  expect_factor(plan, rms(squares), 1.6)
  # the middle of these bounds is far from the mean
  squares <- replicate(60, {
    x <- stats::rt(4000, 3)
    dp_mean(x, 1, na.rm = TRUE, bound = c(-5, 45), control = repeatable)$coefficients
  })^2
  plan <- dp_plan("mean", n = 4000, d = 1, epsilon = 1, na.rm = TRUE, bound = c(-5, 45),
                  assume = list(signal = 0))
  expect_factor(plan, rms(squares), 1.5)
})

test_that("given scales far from those assumed have no model", {
  error <- function(front, x, y, ...) {
    scale <- list(x = list(center = c(0, 0), scale = x))
    if (!is.null(y)) scale$y <- list(center = 0, scale = y)
    dp_plan(front, n = 5000, d = 2, epsilon = 1, delta = 1e-6, scale = scale,
            ...)$error[["total"]]
  }
  expect_gt(error("lm", c(1, 1.5), 2), 0)
  expect_true(is.na(error("lm", c(1, 10), 2)))
  expect_true(is.na(error("lm", c(1, 1), 0.1)))
  expect_gt(error("glm", c(1, 1), NULL), 0)
  expect_true(is.na(error("glm", c(0.1, 1), NULL)))
  expect_true(is.na(error("lasso", c(1, 10), 2, radius = 2)))
})

test_that("a fit worse than zero has the chance that is said, and its noise the size", {
  skip_on_cran()
  # hardly any signal: about half of the fits are worse
  set.seed(903)
  slope <- 0.035
  worse <- mean(replicate(40, {
    x <- stats::rnorm(3000)
    y <- slope * x + stats::rnorm(3000)
    fit <- dp_lm(x, y, epsilon = 1, delta = 1e-6, control = repeatable)
    abs(coef(fit)[[2L]] - slope) > slope
  }))
  plan <- dp_plan("lm", n = 3000, d = 1, epsilon = 1, delta = 1e-6,
                  assume = list(tail = "normal", columns = "normal", signal = slope))
  expect_gt(plan$worse, 0.1)
  expect_lt(abs(worse - plan$worse), 5 * sqrt(0.25 / 40))
  set.seed(904)
  x <- matrix(stats::rt(3 * 8000, 3), 8000) / sqrt(3)
  fit <- dp_lm(x, rowSums(x) / sqrt(3) + stats::rt(8000, 3), epsilon = 1, delta = 1e-6,
               control = repeatable)
  plan <- dp_plan("lm", n = 8000, d = 3, epsilon = 1, delta = 1e-6)
  gradients <- grepl("^gradient in", plan$noise$what)
  expect_lt(max(abs(log(plan$noise$expected[gradients] / fit$sd))), log(1.5))
})
