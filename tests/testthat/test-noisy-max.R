fixed <- dp_control(rng = "R")

test_that("the choice has the law of its mechanism at the epsilon asked for", {
  skip_on_cran()
  score <- c(a = 30, b = 27, c = 20)
  # scale 2 * 3 / 1.5 = 4
  expect_equal(dp_noisy_max(score, 3, 1.5)$scale, 4, tolerance = 1e-8)
  p <- list(exponential = exponential_pmf(score, 4))
  # permute-and-flip: inclusion and exclusion over those taken before
  q <- exp((score - 30) / 4)
  third <- function(i, j, k) q[[i]] * (1 / 3 * (1 - q[[j]]) / 2 + 1 / 3 * (1 - q[[k]]) / 2 +
    1 / 3 * (1 - q[[j]]) * (1 - q[[k]]) + 1 / 3)
  p$permute_and_flip <- c(third(1, 2, 3), third(2, 1, 3), third(3, 1, 2))
  expect_equal(sum(p$permute_and_flip), 1)
  for (mechanism in names(p)) {
    set.seed(321)
    drawn <- replicate(5000, dp_noisy_max(score, 3, 1.5, mechanism = mechanism,
                                          control = fixed)$selected)
    expect_gt(gof_draws_p(drawn, 1:3, unname(p[[mechanism]])), alarm)
    other <- exponential_pmf(score, 2) # half the scale
    expect_lt(gof_draws_p(drawn, 1:3, other), alarm)
  }
})

test_that("the result says which item, and nothing more", {
  fit <- dp_noisy_max(c(x = 1, big = 1e6, y = 2), 1, 1)
  expect_identical(fit$selected, 2L)
  expect_identical(fit$name, "big")
  expect_identical(coef(fit), c(big = 2L))
  expect_output(print(fit), "item 2 (big)", fixed = TRUE)
  fit <- dp_noisy_max(c(1, 1e6), 1, 1, mechanism = "permute_and_flip")
  expect_identical(coef(fit), 2L)
  expect_null(fit$name)
  expect_output(print(fit), "item 2$")
  expect_identical(coef(dp_noisy_max(5, 1, 1)), 1L)
})

test_that("epsilon = Inf takes the first of the largest", {
  for (mechanism in c("exponential", "permute_and_flip")) {
    fit <- dp_noisy_max(c(1, 3, 3, 2), 1, Inf, mechanism = mechanism)
    expect_identical(fit$selected, 2L)
    expect_output(print(fit), "NOT PRIVATE")
  }
})

test_that("bounded range and pure are booked as what they are", {
  b <- privacy_budget(1)
  for (mechanism in c("exponential", "permute_and_flip")) {
    fit <- dp_noisy_max(1:3, 2, 0.5, mechanism = mechanism, budget = b)
    table <- as.data.frame(privacy(fit))
    expect_identical(table$mechanism, if (mechanism == "exponential") "exponential" else "pure")
    expect_identical(table$cost, 0.5)
    expect_identical(table$sensitivity, 2)
    expect_identical(epsilon_at(fit$privacy, 0), 0.5)
  }
  expect_error(dp_noisy_max(1:3, 2, 0.1, budget = b), class = "dp_error_budget")
  expect_identical(as.data.frame(b)$what, rep("dp_noisy_max", 2))
  # many choices: bounded range is cheaper
  range <- event_exponential(0.1, 100)
  pure <- event_pure(0.1, 100)
  expect_lt(epsilon_at(range, 1e-6), 0.6 * epsilon_at(pure, 1e-6))
})

test_that("worst-case neighbours lose at most epsilon, and nearly that", {
  # all scores move by the sensitivity, half of them up and half down
  skip_on_cran()
  epsilon <- 2
  for (mechanism in c("exponential", "permute_and_flip")) {
    runs <- 4000
    hits <- vapply(list(c(0, 0), c(1, -1)), function(move) {
      set.seed(322)
      sum(replicate(runs, dp_noisy_max(move, 1, epsilon, mechanism = mechanism,
                                       control = fixed)$selected) == 2L)
    }, 0)
    upper <- qbeta(1 - alarm, hits[[2L]] + 1, runs - hits[[2L]])
    lower <- qbeta(alarm, hits[[1L]], runs - hits[[1L]] + 1)
    lost <- log(lower / upper)
    expect_lte(lost, epsilon)
    expect_gt(lost, epsilon / 4)
  }
})

test_that("mechanism is checked", {
  b <- privacy_budget(1)
  for (bad in list("gumbel", 1, NA_character_, c("exponential", "laplace"))) {
    expect_error(dp_noisy_max(1:3, 1, 1, mechanism = bad, budget = b), "`mechanism`",
                 class = "dp_error_input")
  }
  expect_error(dp_noisy_max(1:3, 1, 1, "exponential", budget = b), "by name",
               class = "dp_error_input")
  expect_identical(nrow(as.data.frame(b)), 0L)
})
