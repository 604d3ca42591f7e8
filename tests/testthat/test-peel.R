fixed <- dp_control(rng = "R")

# A choice that no noise changes: the first half of 2 s entries is far above the rest.
clear <- function(s, size = 1e7) c(rep(c(size, -size), length.out = s), rep(0, s))

# The three ways, by name.
peel_as <- function(way, v, s, sensitivity = 1, epsilon = 1, ...) {
  suppressWarnings(dp_peel(
    v, s, sensitivity, epsilon, if (way == "pure") 0 else 1e-6, ...,
    calibration = if (way == "paper") "paper" else "tight"
  ), classes = "dp_dominated")
}
ways <- c("tight", "pure", "paper")

test_that("the largest entries in absolute value come back with their signs", {
  v <- c(a = 5e6, b = -8e6, c = 1, d = 0, e = 3)
  for (way in ways) {
    fit <- peel_as(way, v, 2)
    expect_identical(fit$selected, c(2L, 1L))
    expect_equal(fit$values, v[c("b", "a")], tolerance = 1e-3)
    expect_named(coef(fit), names(v))
    expect_identical(coef(fit)[c("b", "a")], fit$values)
    expect_identical(unname(coef(fit)[3:5]), c(0, 0, 0))
    expect_output(print(fit), "2 of 5 entries")
  }
  fit <- dp_peel(v, 2, 1, Inf)
  expect_identical(fit$values, v[c("b", "a")])
  expect_output(print(fit), "NOT PRIVATE")
  expect_identical(peel_as("tight", matrix(1e9 * (1:4), 2), 4)$selected, 4:1)
  expect_identical(dim(coef(peel_as("tight", matrix(1e9 * (1:4), 2), 4))), c(2L, 2L))
})

test_that("the values carry the noise that is booked", {
  skip_on_cran()
  s <- 3000
  v <- clear(s, 1e12)
  for (way in ways) {
    set.seed(331)
    fit <- peel_as(way, v, s, 2, 0.5, control = fixed)
    expect_setequal(fit$selected, seq_len(s))
    x <- (fit$values - v[fit$selected]) / fit$scale[["values"]]
    p <- function(x) {
      q <- if (way == "tight") pchisq(sum(x^2), s) else pchisq(2 * sum(abs(x)), 2 * s)
      2 * min(q, 1 - q)
    }
    expect_gt(p(x), alarm)
    expect_lt(p(1.15 * x), alarm)
    expect_lt(p(x / 1.15), alarm)
    table <- as.data.frame(privacy(fit))
    expect_identical(table$what, c("choice", "values"))
    change <- 2 * if (way == "tight") sqrt(s) else 1
    expect_equal(table$cost[[2L]], change / fit$scale[["values"]], tolerance = 1e-4)
    expect_equal(table$cost[[1L]], 2 * 2 / fit$scale[["selection"]], tolerance = 1e-4)
    expect_identical(table$count, c(s, if (way == "tight") 1 else s))
  }
})

test_that("the choice has the law of its way", {
  skip_on_cran()
  v <- c(3, -2, 0)
  for (way in ways) {
    plan <- function(s) {
      delta <- if (way == "pure") 0 else 1e-6
      plan_peel(s, 1, 2, delta, if (way == "paper") way else "tight", "tao", NULL)
    }
    one <- plan(1)
    set.seed(332)
    drawn <- replicate(5000, select_top(abs(v), 1, one$choice, one$how, release_key(fixed)))
    set.seed(5)
    fit <- peel_as(way, v, 3, 1, 2, control = fixed)
    set.seed(5)
    three <- plan(3)
    again <- select_top(abs(v), 3, three$choice, three$how, release_key(fixed))
    expect_identical(fit$selected, again)
    score <- abs(v) / one$choice$scale
    f <- function(i) { # Laplace noisy max by a sum on a fine grid
      x <- seq(-40, 40, by = 1e-3)
      cdf <- function(x) ifelse(x < 0, exp(x) / 2, 1 - exp(-x) / 2)
      j <- setdiff(1:3, i)
      sum(exp(-abs(x - score[[i]])) / 2 * cdf(x - score[j[[1L]]]) * cdf(x - score[j[[2L]]])) * 1e-3
    }
    q <- exp(score - max(score))
    flip <- function(i) {
      j <- setdiff(1:3, i)
      q[[i]] * mean(c(1, 1 - sum(q[j]) / 2, prod(1 - q[j])))
    }
    p <- switch(way, tight = exponential_pmf(score), pure = vapply(1:3, flip, 0),
                paper = vapply(1:3, f, 0))
    expect_equal(sum(p), 1, tolerance = 1e-6)
    expect_gt(gof_draws_p(drawn, 1:3, p), alarm)
    expect_lt(gof_draws_p(drawn, 1:3, exponential_pmf(2 * score)), alarm)
  }
})

test_that("the events spend what was declared and no more", {
  for (s in c(1, 5, 40)) {
    for (e in c(0.1, 1, 4)) {
      v <- clear(s)
      tight <- dp_peel(v, s, 1, e, 1e-5)
      expect_identical(as.data.frame(privacy(tight))$mechanism, c("exponential", "gaussian"))
      events <- new_privacy(NA, NA, privacy(tight)$events)
      expect_lte(delta_at(events, e), 1e-5 * (1 + 1e-9))
      expect_gt(epsilon_at(events, 1e-5), 0.99 * e)
      pure <- dp_peel(v, s, 1, e, 0)
      expect_identical(as.data.frame(privacy(pure))$mechanism, c("pure", "laplace"))
      expect_equal(compose_events(privacy(pure)$events)$epsilon, e, tolerance = 1e-12)
      expect_equal(pure$scale, c(selection = 3 * s / e, values = 3 * s / e), tolerance = 1e-6)
      for (constant in c("tao", "cai")) {
        paper <- dp_peel(v, s, 1, e, 1e-5, calibration = "paper", constant = constant)
        b <- if (constant == "tao") 4 * sqrt(2 * s * log(1e5)) / e
             else 2 * sqrt(3 * s * log(1e5)) / e
        expect_equal(paper$scale, c(selection = b, values = b), tolerance = 1e-5)
        expect_identical(as.data.frame(privacy(paper))$mechanism, c("pure", "laplace"))
        expect_identical(privacy(paper)$calibration, "paper")
        events <- new_privacy(NA, NA, privacy(paper)$events)
        expect_lte(epsilon_at(events, 1e-5), e)
      }
    }
  }
})

test_that("the paper's scales are refused where nothing is proved", {
  most <- log(1e5)
  paper <- function(e, constant, delta = 1e-5) {
    dp_peel(1:3, 1, 1e-6, e, delta, calibration = "paper", constant = constant)
  }
  expect_s3_class(paper(1.99 * most, "tao"), "dp_peel")
  expect_error(paper(2.01 * most, "tao"), "`epsilon`", class = "dp_error")
  expect_s3_class(paper(0.41 * most, "cai"), "dp_peel")
  expect_error(paper(0.43 * most, "cai"), "`epsilon`", class = "dp_error")
  expect_error(paper(1, "tao", 0), "`delta`", class = "dp_error_input")
  expect_error(paper(1, "dwork"), "`constant`", class = "dp_error_input")
  expect_error(dp_peel(1:3, 1, 1, 1, 1e-5, calibration = "loose"), "`calibration`",
               class = "dp_error_input")
})

test_that("paper noise is several times that of the default", {
  for (s in c(5, 20, 100)) {
    v <- clear(s)
    tight <- dp_peel(v, s, 1, 1, 1e-5)$scale
    paper <- dp_peel(v, s, 1, 1, 1e-5, calibration = "paper")$scale
    expect_gt(sqrt(2) * paper[["values"]] / tight[["values"]], 5.1)
    expect_gt(paper[["selection"]] / tight[["selection"]], 3.6)
  }
})

test_that("costs enter the ledger; what is left fits; nothing else does", {
  b <- privacy_budget(2, 1e-5)
  dp_peel(clear(5), 5, 1, 1, 1e-5, budget = b)
  dp_peel(clear(5), 5, 1, remaining(b), 1e-5, budget = b)
  expect_lte(spent(b), 2 * (1 + 1e-9))
  expect_error(dp_peel(clear(5), 5, 1, 0.5, 1e-5, budget = b), class = "dp_error_budget")
  expect_identical(as.data.frame(b)$releases, c(6, 6))
  b <- privacy_budget(1, 1e-5)
  dp_peel(clear(5), 5, 1, 0.5, 1e-5, calibration = "paper", budget = b)
  expect_lt(spent(b), 0.5)
  b <- privacy_budget(1)
  dp_peel(clear(5), 5, 1, 0.6, 0, budget = b)
  expect_error(dp_peel(clear(5), 5, 1, 0.6, 0, budget = b), class = "dp_error_budget")
  expect_error(dp_peel(clear(5), 5, 1, 0.1, 1e-5, budget = b), "delta", class = "dp_error_budget")
  expect_error(dp_peel(clear(5), 5, 1, 0.1, 1e-5, calibration = "paper", budget = b), "delta",
               class = "dp_error_budget")
  expect_identical(nrow(as.data.frame(b)), 1L)
})

test_that("s is checked, and all entries may be taken", {
  b <- privacy_budget(1, 1e-5)
  for (bad in list(0, 4, 1.5, -1, NA, Inf, "1", c(1, 2), numeric(), NULL)) {
    expect_error(dp_peel(1:3, bad, 1, 1, 1e-5, budget = b), "`s`", class = "dp_error_input")
  }
  expect_error(dp_peel(1:3, sensitivity = 1, epsilon = 1, delta = 1e-5, budget = b), "`s`",
               class = "dp_error_input")
  expect_error(dp_peel(1:3, 2, 1.7e308, 1, 1e-5, budget = b), "`sensitivity`",
               class = "dp_error_input")
  expect_identical(nrow(as.data.frame(b)), 0L)
  for (way in ways) expect_setequal(peel_as(way, 1:7, 7)$selected, 1:7)
})

test_that("noise above every released value is told", {
  set.seed(333)
  warned <- replicate(40, length(conditions_of(
    dp_peel(rep(0, 50), 10, 1, 1e-3, 0, control = fixed)
  )))
  expect_gt(sum(warned), 8)
  law <- list(kind = "gaussian", scale = 2)
  expect_warning(warn_peel_dominated(c(-1.9, 1), law), class = "dp_dominated")
  expect_silent(warn_peel_dominated(c(-3, 1), law))
  law <- list(kind = "laplace", scale = 2)
  expect_warning(warn_peel_dominated(-2.8, law), class = "dp_dominated")
  expect_silent(warn_peel_dominated(-2.9, law))
  expect_silent(dp_peel(clear(3), 3, 1, 1, 1e-5))
  expect_silent(dp_peel(c(0, 0), 1, 1, Inf))
})

test_that("paper mode comes from control, too, and the argument wins", {
  skip_if(inherits(try(dp_control(calibration = "paper"), silent = TRUE), "try-error"))
  paper <- dp_control(calibration = "paper")
  one <- function(...) privacy(dp_peel(clear(2), 2, 1, 1, 1e-5, control = paper, ...))$calibration
  expect_identical(one(), "paper")
  expect_identical(one(calibration = "tight"), "tight")
})
