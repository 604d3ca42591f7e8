pareto_draws <- function(n, index) stats::runif(n)^(-1 / index)

# The records beyond thresholds of a law, in cells from `from` octaves on, as a side to fit.
exact_side <- function(beyond, n, sub = 4, law = count_law("laplace", n, 1, 2), ...) {
  half <- (OCTAVES$hi - OCTAVES$lo) * sub
  edges <- side_edges(half)
  counts <- n * -diff(beyond(2^edges))
  fit_side(counts, counts, law, edges, sub, ...)
}

test_that("without noise fitted tails are those of the laws they were made from", {
  for (index in c(0.8, 1.2, 2, 3, 5)) {
    # about a point that is not the law's own
    side <- exact_side(function(t) (1 + t / 1.5)^-index, 1e6)
    expect_equal(power_index(side), index, tolerance = 0.02)
    student <- exact_side(function(t) 2 * stats::pt(-t, index), 1e6)
    expect_equal(power_index(student), index, tolerance = 0.1)
    for (s in list(side, student)) {
      expect_false(no_power_tail(s))
      ends <- vapply(c(1e-3, 0.5, 1 - 1e-3), mixture_quantile, 0, parts = index_mixture(s))
      expect_false(is.unsorted(ends))
      expect_equal(mixture_below(index_mixture(s), ends[[2L]]), 0.5, tolerance = 1e-4)
    }
  }
  far <- exact_side(function(t) stats::plnorm(1 + t, 0, 2, lower.tail = FALSE), 1e6)
  expect_true(no_power_tail(far))
  # the hazard of a normal law at the last level
  z <- stats::qnorm(records_beyond(far, last_seen(far)) / 1e6, lower.tail = FALSE)
  hazard <- stats::dnorm(z) / stats::pnorm(z, lower.tail = FALSE)
  expect_equal(lognormal_index(far, last_seen(far)), hazard / 2, tolerance = 0.05)
})

test_that("ranks, records and local indices of a fitted tail agree", {
  side <- exact_side(function(t) (1 + t)^-2, 1e6)
  for (k in c(2, 100, 1e4)) {
    e <- octave_at_rank(list(side), k)
    expect_equal(records_beyond(side, e), k, tolerance = 1e-6)
    expect_equal(2^e, sqrt(1e6 / k) - 1, tolerance = 0.05)
  }
  expect_equal(octave_at_rank(list(side, side), 100), octave_at_rank(list(side), 50))
  e <- octave_at_rank(list(side), 100)
  expect_equal(local_index(side, e), 2 * 2^e / (1 + 2^e), tolerance = 0.02)
  # E(t - L)+ and E(t^2 - L^2)+ per L and L^2, in records, of a pure power law
  pure <- exact_side(function(t) pmin(pmax(t, 1), 1e99)^-3, 1e6)
  expect_equal(tail_beyond(pure, 5, 1), 1e6 * 2^-15 / 2, tolerance = 0.05)
  expect_equal(tail_beyond(pure, 5, 2), 1e6 * 2^-15 * 2, tolerance = 0.1)
  expect_identical(tail_beyond(exact_side(function(t) (1 + t)^-0.8, 1e6), 5, 1), Inf)
})

test_that("indices are found from noisy counts, and intervals hold them", {
  skip_on_cran()
  set.seed(801)
  for (delta in c(0, 1e-6)) for (index in c(1.2, 2, 3)) {
    fit <- dp_tail_index(pareto_draws(1e5, index), 1, delta, control = repeatable)
    # six standard deviations and more
    expect_lt(abs(coef(fit)[["index"]] - index), 0.25 * index)
    ends <- confint(fit, level = 0.999)
    expect_true(ends[[1L]] <= index && index <= ends[[2L]])
    expect_true(ends[[1L]] <= coef(fit) && coef(fit) <= ends[[2L]])
    expect_identical(moment_exists(fit, 1), "yes")
  }
  expect_identical(moment_exists(dp_tail_index(pareto_draws(1e5, 0.7), 1, control = repeatable), 1),
                   "no")
  light <- dp_tail_index(cbind(a = rnorm(2e5), b = exp(2 * rnorm(2e5))), 4, control = repeatable)
  expect_gt(confint(light)[["a", 1L]], 4)
  # no power tail: not a small number
  expect_identical(coef(light)[["b"]], Inf)
  expect_output(print(light), "lognormal law fits clearly better")
})

test_that("place and unit do not matter, and lower tails are upper ones turned round", {
  set.seed(802)
  x <- stats::rt(2e4, 2.5)
  run <- function(...) {
    set.seed(803)
    unname(coef(dp_tail_index(..., epsilon = 20, control = repeatable)))
  }
  plain <- run(x)
  expect_equal(run(2^20 * x), plain, tolerance = 0.1)
  expect_equal(run(1e6 + x), plain, tolerance = 0.1)
  expect_equal(run(-x, tail = "lower"), plain, tolerance = 0.1)
  expect_equal(run(x, tail = "both"), 2.5, tolerance = 0.15)
  expect_equal(run(pareto_draws(2e4, 1.5), center = 0), 1.5, tolerance = 0.1)
  expect_equal(run(replace(x, 1:100, NA), na.rm = TRUE), plain, tolerance = 0.15)
  events <- as.data.frame(privacy(dp_tail_index(x, 1, center = 0, control = repeatable)))
  expect_identical(events$mechanism, "laplace")
  expect_equal(events$cost, 1)
})

test_that("what stands out of no noise is NA, with a warning, and shows so", {
  set.seed(804)
  for (x in list(rep(5, 2000), rep(1 / 3, 2000), numeric(2000), as.double(seq_len(2000) <= 20))) {
    expect_warning(fit <- dp_tail_index(x, 1, control = repeatable), class = "dp_dominated")
    expect_identical(unname(coef(fit)), NA_real_)
    expect_identical(unname(confint(fit)[1L, ]), c(NA_real_, NA_real_))
    expect_output(print(fit), "No tail could be told from noise")
    expect_output(print(summary(fit)), "not known")
    pdf(NULL)
    plot(fit)
    dev.off()
  }
  expect_error(vcov(fit), "confint", class = "dp_error_no_intervals")
})

test_that("an index without end is an arrow, not a point", {
  set.seed(805)
  x <- cbind(a = rt(2e4, 1.5), b = runif(2e4))
  fit <- dp_tail_index(x, 20, control = repeatable)
  expect_identical(is.infinite(coef(fit)), c(a = FALSE, b = TRUE))
  expect_match(drawn_text(plot(fit))$text, "arrow: beyond 12", fixed = TRUE, all = FALSE)
  expect_no_match(drawn_text(plot(dp_tail_index(x[, 1L], 20, control = repeatable)))$text, "arrow")
  skip_if_not_installed("ggplot2")
  picture <- ggplot2::autoplot(fit)
  expect_identical(picture$data$estimate, c(coef(fit)[["a"]], NA))
  expect_match(picture$labels$x, "index; dotted: mean (1), variance (2); bars: 95 %", fixed = TRUE)
})

test_that("arguments of indices are refused by name", {
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_tail_index(big$y, eps, ..., budget = b), naming)
  }
  refused("`tail`", tail = "left")
  refused("`na.rm`", na.rm = NA)
  refused("`tali`", tali = "upper")
  for (center in list(NA, "0", c(1, 2), Inf, numeric())) refused("`center`", center = center)
  expect_refusal(function(b) dp_tail_index(d$y[1:50], eps, budget = b), "too few rows",
                 "dp_error_small_n")
})
