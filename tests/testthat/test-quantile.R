test_that("with little noise quantiles are those of the sample, at any place and in any unit", {
  set.seed(51)
  probs <- c(0.1, 0.5, 0.9)
  for (x in list(big$y, 1e12 * big$y, 1e-9 * big$y, 1e6 + big$y, -exp(big$x2))) {
    fit <- dp_quantile(x, probs, 1e4, control = repeatable)
    # within three ranks of the sample quantile
    rank <- ecdf(x)(coef(fit))
    expect_true(all(abs(rank - probs) < 4 / 4000))
    expect_identical(nobs(fit), 4000L)
  }
  expect_equal(unname(coef(dp_quantile(big$y, probs, Inf))),
               unname(quantile(big$y, probs, type = 1)), tolerance = 0.01)
})

test_that("names, order and duplicates of probs are kept", {
  fit <- dp_quantile(big$y, c(0.9, 0.1, 0.5, 0.5), 8)
  expect_named(coef(fit), c("90%", "10%", "50%", "50%"))
  q <- unname(coef(fit))
  expect_true(q[[1]] >= q[[3]] && q[[3]] >= q[[2]])
  expect_identical(fit$probs, c(0.9, 0.1, 0.5, 0.5))
})

test_that("ties, constants, integers and logical values are no special case", {
  expect_equal(coef(dp_quantile(rep(7, 500), 0.5, 4)), c(`50%` = 7), tolerance = 1e-6)
  expect_lt(abs(coef(dp_quantile(rep(0, 500), 0.5, 4))), 1e-300)
  expect_equal(coef(dp_quantile(rep(3L, 500), 0.5, 4)), c(`50%` = 3), tolerance = 1e-6)
  expect_equal(coef(dp_quantile(rep(TRUE, 500), 0.5, 4)), c(`50%` = 1), tolerance = 1e-6)
  expect_equal(coef(dp_quantile(c(rep(0, 300), 1:200), 0.8, 100)), c(`80%` = 100), tolerance = 0.1)
})

test_that("the answer is finite, and within the bound if there is one", {
  set.seed(115)
  for (x in list(rep(Inf, 50), rep(-Inf, 50), c(-1e308, 1e308), 5e-324, c(0, -0))) {
    expect_warning(fit <- dp_quantile(x, c(0, 0.5, 1), eps), class = "dp_small_n")
    expect_true(all(is.finite(coef(fit))))
    q <- coef(dp_quantile(x, c(0, 0.5, 1), eps, bound = c(2, 3)))
    expect_true(all(q >= 2 & q <= 3))
  }
  expect_true(abs(coef(dp_quantile(d$y, 1, eps, bound = 5))) <= 5)
})

test_that("with na.rm the rank is a share of what is there", {
  x <- c(rep(NA, 200), seq_len(400))
  set.seed(52)
  expect_equal(coef(dp_quantile(x, 0.5, 1e4, na.rm = TRUE, control = repeatable))[[1]], 200,
               tolerance = 0.02)
  expect_identical(nobs(dp_quantile(x, 0.5, 1, na.rm = TRUE)), 600L)
})

test_that("quantiles of whole numbers are whole", {
  set.seed(5)
  control <- dp_control(rng = "R")
  logical <- dp_quantile(big$y > 2, c(0.01, 0.5), 0.5, control = control)
  expect_true(all(coef(logical) %in% c(0, 1)))
  count <- dp_quantile(rep(0:3, c(90, 5, 4, 1) * 40L), c(0.3, 0.92), 0.5, control = control)
  expect_true(all(coef(count) == round(coef(count))))
})

test_that("a bound that reaches zero does not silence the warning", {
  x <- rexp(500)
  warned <- function(bound, probs) {
    expect_warning(dp_quantile(x, probs, 1, bound = bound), "above zero", class = "dp_small_n")
  }
  warned(c(0, 300), 0.001)
  warned(c(-1, 300), 0.001)
  expect_silent(dp_quantile(x, 0.001, 1, bound = c(0.1, 300)))
})

test_that("the events spend epsilon, by the sum or better", {
  for (e in c(0.5, 4)) {
    p <- privacy(dp_quantile(big$y, c(0.1, 0.5, 0.9), e))
    table <- as.data.frame(p)
    expect_identical(table$mechanism, "exponential")
    expect_equal(table$count * table$cost, e)
    expect_lte(epsilon_at(p, 0), e)
  }
  many <- privacy(quiet(dp_quantile(big$y, seq(0.01, 0.99, by = 0.01), 1, 1e-6, bound = 99)))
  expect_gt(as.data.frame(many)$cost, 2 / 99)
  expect_lte(delta_at(many, 1 - 1e-12), 1e-6)
  expect_gt(events_delta(many$events, 1), 0.99e-6)
  one <- privacy(dp_quantile(big$y, 0.5, 1, 1e-6))
  expect_equal(as.data.frame(one)$cost, 1)
})

test_that("quantiles near the ends and very many of them are read off one release of counts", {
  far <- c(0.001, 0.25, 0.5, 0.75, 0.999)
  for (delta in c(0, 1e-6)) {
    fit <- dp_quantile(big$y, far, 1, delta, control = repeatable)
    expect_identical(fit$counted, c(TRUE, FALSE, FALSE, FALSE, TRUE))
    p <- privacy(fit)
    table <- as.data.frame(p)
    expect_identical(table$what, c("median", "tails, counts", "quantile"))
    if (delta == 0) expect_equal(sum(table$cost * table$count), 1)
    expect_lte(delta_at(p, 1), max(delta, 1e-15))
    b <- privacy_budget(1, 1e-6)
    dp_quantile(big$y, far, 1, 1e-6, budget = b)
    expect_lte(spent(b), 1 + 1e-9)
  }
  # in a ledger that has counted a Gaussian release
  b <- privacy_budget(4, 1e-6)
  dp_gaussian(1, 1, 1, 1e-7, budget = b)
  fit <- dp_quantile(big$y, far, remaining(b), 1e-6, budget = b)
  expect_true(any(fit$counted))
  expect_gte(remaining(b), 0)
  expect_lt(remaining(b), 0.5)
  # from the data's own at every size of the budget, sorted, and of the caller's order
  set.seed(831)
  x <- stats::rt(2e4, 3)
  probs <- seq(0.005, 0.995, by = 0.005)
  many <- dp_quantile(x, rev(probs), 1, 1e-6, control = repeatable)
  expect_true(all(many$counted))
  expect_true(all(diff(coef(many)) <= 0))
  error <- stats::pt(coef(many), 3) - rev(probs)
  expect_lt(sqrt(mean(error^2)), 2 * sqrt(mean(probs * (1 - probs) / 2e4)))
  # a bound, or too few rows, as before
  expect_false(any(quiet(dp_quantile(x, far, 1, bound = 1e9))$counted))
  expect_warning(fit <- dp_quantile(x[1:300], far, 1), class = "dp_small_n")
  expect_false(any(fit$counted))
})

test_that("far quantiles err by little more than the sample's", {
  skip_on_cran()
  set.seed(832)
  probs <- c(0.5, 0.9, 0.99, 0.999)
  rank <- vapply(1:8, function(i) {
    1e5 * ((1 - coef(dp_quantile(stats::runif(1e5)^(-1 / 1.5), probs, 1,
                                 control = repeatable))^-1.5) - probs)
  }, probs)
  expect_true(all(sqrt(rowMeans(rank^2)) < 4 * sqrt(1e5 * probs * (1 - probs))))
})

test_that("draws that cross are put in order", {
  expect_identical(in_order(c(5, 9, NA, 2), c(0.9, 0.1, 0.5, 0.3)), c(9, 2, NA, 5))
  expect_identical(in_order(c(2, 1), c(0.5, 0.5)), c(1, 2))
})

test_that("counted quantiles of ties and whole numbers are near them", {
  set.seed(833)
  for (v in c(7, 0, -1 / 3)) {
    fit <- dp_quantile(rep(v, 2000), c(0.001, 0.5, 0.999), 1, control = repeatable)
    expect_true(any(fit$counted))
    expect_equal(unname(coef(fit)), rep(v, 3), tolerance = 1e-6)
  }
  counts <- stats::rpois(4000, 2)
  fit <- dp_quantile(counts, c(0.5, 0.99), 1, control = repeatable)
  expect_identical(coef(fit), round(coef(fit)))
  expect_lte(abs(coef(fit)[[2L]] - 6), 1)
})

test_that("the charge comes before the values are read, and is kept", {
  b <- privacy_budget(1)
  reading <- with_replaced(charged_values, mean_values = function(...) stop("planted"))
  front <- with_replaced(dp_quantile, charged_values = reading)
  expect_error(front(d$y, 0.5, 0.4, budget = b), "planted")
  expect_equal(spent(b), 0.4)
  dp_quantile(d$y, 0.5, remaining(b), budget = b)
  expect_equal(spent(b), 1)
  expect_error(dp_quantile(d$y, 0.5, 0.01, budget = b), class = "dp_error_budget")
})

test_that("arguments that make no sense are refused by name", {
  for (probs in list(-0.1, 1.1, NA, "a", numeric(0), NULL, c(0.5, NaN))) {
    expect_refusal(function(b) dp_quantile(d$y, probs, eps, budget = b), "`probs`")
  }
  for (x in list("a", NULL, factor("CANARY"), matrix(0, 3, 2), d[1:2], list(1))) {
    expect_refusal(function(b) dp_quantile(x, 0.5, eps, budget = b), "`x`")
  }
  expect_refusal(function(b) dp_quantile(d$y, 0.5, eps, na.rm = "yes", budget = b), "`na.rm`")
  expect_refusal(function(b) dp_quantile(d$y, 0.5, eps, control = NULL, budget = b), "`control`")
})

test_that("fits on neighbouring data sets differ in numbers only", {
  set.seed(116)
  for (v in c(0, 1e308, -Inf)) {
    expect_silent(a <- dp_quantile(d$y, c(0.4, 0.5), eps))
    expect_silent(b <- dp_quantile(replace(d$y, 1, v), c(0.4, 0.5), eps))
    expect_identical(lapply(a, attributes), lapply(b, attributes))
    expect_identical(privacy(a), privacy(b))
    expect_identical(a[names(a) != "coefficients"], b[names(b) != "coefficients"])
  }
})
