test_that("with little noise they are the sample's, in both tails, and at any place", {
  set.seed(821)
  x <- stats::rt(2e4, 4)
  plain <- function(x, level) {
    q <- stats::quantile(x, level, type = 1, names = FALSE)
    c(VaR = q, ES = q + mean(pmax(x - q, 0)) / (1 - level))
  }
  for (level in c(0.5, 0.95, 0.99)) {
    expect_equal(coef(dp_shortfall(x, level, Inf)), plain(x, level), tolerance = 5e-3)
    expect_equal(coef(dp_shortfall(x, level, Inf))[["ES"]], plain(x, level)[["ES"]])
    expect_equal(coef(dp_shortfall(x, level, 1e3, control = repeatable)), plain(x, level),
                 tolerance = 0.03)
    expect_equal(coef(dp_shortfall(-x, level, 1e3, tail = "lower", control = repeatable)),
                 -plain(x, level), tolerance = 0.03)
    expect_equal(coef(dp_shortfall(1e4 + x, level, 1e3, control = repeatable)) - 1e4,
                 plain(x, level), tolerance = 0.03)
    clamped <- pmin(pmax(x, -3), 3)
    expect_equal(coef(dp_shortfall(x, level, 1e4, bound = 3, control = repeatable)),
                 plain(clamped, level), tolerance = 0.01)
  }
  gone <- replace(x, 1:5000, NA)
  expect_equal(coef(dp_shortfall(gone, 0.9, 1e3, na.rm = TRUE, control = repeatable)),
               plain(x[-(1:5000)], 0.9), tolerance = 0.05)
  expect_equal(coef(dp_shortfall(gone, 0.9, Inf, na.rm = TRUE)), plain(x[-(1:5000)], 0.9),
               tolerance = 5e-3)
})

test_that("at epsilon = 1 intervals hold the law's own, far levels by the fitted tail", {
  skip_on_cran()
  set.seed(822)
  truth <- function(level) (1 - level)^(-1 / 4) * c(1, 4 / 3)
  for (level in c(0.95, 0.999)) {
    held <- vapply(1:12, function(i) {
      fit <- dp_shortfall(stats::runif(1e4)^(-1 / 4), level, 1, control = repeatable)
      ends <- confint(fit)
      ends[, 1L] <= truth(level) & truth(level) <= ends[, 2L]
    }, c(NA, NA))
    expect_gt(stats::pbinom(sum(held[1L, ]), 12, 0.85), alarm)
    expect_gt(stats::pbinom(sum(held[2L, ]), 12, 0.85), alarm)
  }
  fit <- dp_shortfall(stats::runif(1e4)^(-1 / 4), 0.999, 1, control = repeatable)
  events <- as.data.frame(privacy(fit))
  expect_false("quantile" %in% events$what)
  expect_equal(sum(events$cost * events$count), 1)
})

test_that("a quantile that is off matters to second order only", {
  # q + E(x - q)+ / (1 - level) of a Pareto law is flat at the quantile
  at <- function(q) q + q^-2 / 2 / 0.05
  best <- 0.05^(-1 / 3)
  expect_lt(abs(at(1.05 * best) / at(best) - 1), 0.004)
})

test_that("ties, constants and tails without a mean are said", {
  set.seed(823)
  for (x in list(rep(3, 2000), numeric(2000))) {
    expect_warning(fit <- dp_shortfall(x, 0.9, 1, control = repeatable), class = "dp_dominated")
    expect_equal(unname(coef(fit)), rep(x[[1L]], 2), tolerance = 1e-6)
  }
  # half of the worst tenth is worth 1, the quantile 0
  atoms <- rep(0:1, c(9500, 500))
  fit <- dp_shortfall(atoms, 0.9, 50, bound = c(0, 1), control = repeatable)
  expect_equal(coef(fit), c(VaR = 0, ES = 0.5), tolerance = 0.03)
  fit <- NULL
  expect_identical(heavy_warnings(
    fit <- dp_shortfall(stats::runif(2e4)^(-1 / 0.7), 0.95, 2, control = repeatable)
  ), 1L)
  expect_output(print(summary(fit)), "may not exist")
  expect_identical(confint(fit)[["ES", 2L]], Inf)
  whole <- coef(dp_shortfall(stats::rpois(4000, 2), 0.9, 1, control = repeatable))
  expect_identical(whole[["VaR"]], round(whole[["VaR"]]))
})

test_that("arguments of shortfalls are refused by name", {
  refused <- function(naming, ..., x = big$y) {
    expect_refusal(function(b) dp_shortfall(x, ..., epsilon = eps, budget = b), naming)
  }
  for (level in list(0.3, 1, NA, "0.9", c(0.9, 0.95), 95)) refused("`level`", level = level)
  refused("`tail`", tail = "both")
  refused("`bound`", bound = c(2, 1))
  refused("`x`", x = big[1:2])
  refused("`tial`", tial = "lower")
  expect_error(dp_shortfall(big$y), "`epsilon`", class = "dp_error")
  expect_refusal(function(b) dp_shortfall(d$y[1:60], epsilon = eps, budget = b), "too few rows",
                 "dp_error_small_n")
})

test_that("excesses move by at most the range, whatever a record holds", {
  set.seed(824)
  plan <- plan_shortfall(300, 0.9, 3, 0, TRUE, FALSE, NULL)
  plan$whole <- FALSE
  seen <- list()
  spy <- with_replaced(fit_shortfall, mean_of_shares = function(x, ...) {
    seen <<- c(seen, list(x))
    list(value = 0, sd = 0)
  }, release_quantiles = function(...) 0.7)
  rows <- list(x = matrix(stats::rt(300, 2)), y = NULL)
  replaced(rows, lapply(wild_records(1), utils::head, 1L), 5, function(r) {
    spy(r$x, plan, c(-2, 1e10), repeatable)
  })
  for (s in seen) {
    s[is.na(s)] <- 0
    expect_true(all(s >= 0 & s <= 1))
    expect_identical(s[-5L, ], seen[[1L]][-5L, ])
  }
})
