# Replacing one unit with all its rows, seen through every release of a fit: what the noise is added
# to moves by no more than is charged, whatever the rows hold and however many they are.

# `data` with other rows in the place of unit `u`, anywhere among those of the others.
with_other_unit <- function(data, u, k, values = identity) {
  rest <- data[data$id != u, ]
  new <- rest[rep(1L, k), ]
  new$id[] <- u
  new <- values(new)
  rbind(rest, new)[order(c(seq_len(nrow(rest)), stats::runif(k, 0, nrow(rest)))), ]
}

fill_with <- function(x, y) {
  function(rows) {
    rows$x1 <- rep_len(x, nrow(rows))
    rows$x2 <- rep_len(rev(x), nrow(rows))
    rows$y <- rep_len(y, nrow(rows))
    rows$b <- rep_len(c(1, NaN), nrow(rows))
    rows
  }
}

# Units with rows of their own levels, in an order of their own.
wild_units <- function(data, u) {
  list(
    none = data[data$id != u, ],
    one = with_other_unit(data, u, 1L, fill_with(1e308, -1e308)),
    many = with_other_unit(data, u, 2000L, fill_with(c(-1e6, 3, 1e16, -1e16), c(1, 1e4))),
    special = with_other_unit(data, u, 60L, fill_with(c(Inf, 1e308, -Inf, NaN, 1e200),
                                                      c(1e308, 1, NaN, -Inf)))
  )
}

two_columns <- function(data) as.matrix(data[c("x1", "x2")])

six_columns <- function(data) {
  noise <- sin(outer(as.integer(data$id) + data$x1, 1:4) * 1e3)
  colnames(noise) <- paste0("z", 1:4)
  cbind(two_columns(data), noise)
}

fits_of_units <- function() {
  omit <- stats::na.omit
  by_formula <- function(front, formula, ...) {
    function(d) front(formula, d, 4, 1e-6, unit = ~id, na.action = omit, control = repeatable, ...)
  }
  by_matrix <- function(front, x, ..., delta = 1e-6) {
    function(d) front(x(d), d$y, 4, delta, unit = d$id, na.action = omit, control = repeatable, ...)
  }
  of_values <- function(front, value, ...) {
    function(d) front(value(d), ..., unit = d$id, na.rm = TRUE, control = repeatable)
  }
  y <- function(d) d$y
  tanh_loss <- loss_user(function(eta, y) tanh(eta - y), bound = 1)
  calls <- alist(a = dp_lm(y ~ x1, epsilon = 4, delta = 1e-6, na.action = na.omit),
                 b = dp_lm(y ~ x1 + x2, epsilon = 4, delta = 1e-6, na.action = na.omit))
  list(
    lm = by_formula(dp_lm, y ~ x1 + x2),
    huber = by_formula(dp_lm, y ~ x1 + x2, loss = "huber", unit_weight = "mean"),
    offset = by_formula(dp_lm, y ~ x1 + offset(x2), loss = "biweight", max_rows = 3),
    glm = by_formula(dp_glm, b ~ x1 + x2),
    lasso = by_matrix(dp_lasso, six_columns, radius = 3),
    pure = by_matrix(dp_lasso, six_columns, radius = 3, delta = 0),
    sparse = by_matrix(dp_sparse, six_columns, sparsity = 2),
    iht = by_matrix(dp_sparse, six_columns, sparsity = 2, solver = "iht"),
    catoni = by_matrix(dp_sco, two_columns, gradient = grad_catoni(2)),
    shrunken = by_matrix(dp_sco, two_columns, gradient = grad_shrunken(), constraint = l2_ball(5)),
    user = by_matrix(dp_sco, two_columns, loss = tanh_loss),
    mean = of_values(dp_mean, two_columns, 4),
    bounded = of_values(dp_mean, two_columns, 4, 1e-6, bound = 9, interval = TRUE, max_rows = 2),
    own = of_values(dp_mean, two_columns, 4, unit_weight = "mean"),
    centre = of_values(dp_mean, two_columns, 4, unit_weight = "mean", method = "catoni", bound = 9),
    quantile = of_values(dp_quantile, y, c(0.5, 0.999), 4),
    var = of_values(dp_var, two_columns, 4),
    index = of_values(dp_tail_index, two_columns, 4, tail = "both"),
    shortfall = of_values(dp_shortfall, y, 0.9, 4),
    tune = function(d) dp_tune(calls, d, 4, unit = ~id, control = repeatable)
  )
}

test_that("replacing a unit moves every release of a fit by what is charged", {
  skip_on_cran()
  set.seed(831)
  data <- panel(400)
  # the order of levels is not that of rows
  data$id <- factor(sample(400)[data$id], levels = 1:400)
  others <- wild_units(data, "200")
  fits <- fits_of_units()
  for (name in names(fits)) for (case in names(others)) {
    pair <- list(data, others[[case]])
    if (case == "none") pair <- rev(pair)
    moved <- expect_replayed(fits[[name]], pair[[1L]], pair[[2L]], paste(name, case))
    # it is looked at
    if (case == "many") expect_gt(max(moved), 0.1)
  }
})

test_that("units of one row that stand in another order are rows", {
  set.seed(832)
  data <- panel(1500, most = 1L)
  data <- data[order(data$id), ]
  rows <- data$id
  data$id <- factor(sample(1500), levels = 1:1500)
  data$own <- seq_len(1500)
  fit <- function(unit, epsilon = 10) {
    set.seed(1)
    dp_lm(y ~ x1 + x2, data, epsilon, 1e-6, unit = unit, max_rows = 1, control = repeatable)
  }
  for (epsilon in c(10, Inf)) {
    ratio <- diag(vcov(fit(~id, epsilon))) / diag(vcov(fit(~own, epsilon)))
    expect_lt(max(abs(log(ratio))), 0.2)
  }
  # one such unit with two rows, or none
  moved <- function(other) expect_replayed(function(d) {
    dp_lm(y ~ x1 + x2, d, 10, 1e-6, unit = ~id, max_rows = 1, control = repeatable)
  }, data, other, "one row each")
  moved(data[-7, ])
  moved(data[c(seq_len(1500), 7), ])
})

test_that("a mean over units is over those that have rows", {
  set.seed(833)
  data <- panel(3000)
  data$id <- factor(sample(3000)[data$id], levels = 1:9000)
  own <- vapply(split(data$y, data$id, drop = TRUE), mean, 0)
  expect_equal(unname(coef(dp_mean(data$y, Inf, unit = data$id, unit_weight = "mean"))), mean(own))
  shifted <- data$y + 100
  near <- function(fit, of, by) expect_lt(abs(quiet(fit)$coefficients[[1L]] - of), by)
  control <- repeatable
  unit <- data$id
  near(dp_mean(shifted, 20, unit = unit, unit_weight = "mean", control = control), 101, 0.5)
  near(dp_mean(shifted, 20, unit = unit, unit_weight = "mean", bound = c(0, 200),
               control = control), 101, 0.5)
  near(dp_mean(shifted, 20, unit = unit, unit_weight = "mean", method = "catoni", bound = 1e4,
               control = control), 101, 5)
  near(dp_mean(shifted, 20, unit = unit, control = control), 101, 0.5)
  spread <- suppressWarnings(dp_var(shifted, 20, unit = unit, control = control))
  one <- suppressWarnings(dp_var(shifted[!duplicated(unit)], 20, control = control))
  near(spread, coef(one)[[1L]], coef(one)[[1L]] / 2)
  short <- suppressWarnings(dp_shortfall(shifted, 0.9, 20, unit = unit, control = control))
  one <- suppressWarnings(dp_shortfall(shifted[!duplicated(unit)], 0.9, 20, control = control))
  expect_lt(max(abs(coef(short) - coef(one))), 2)
  far <- dp_quantile(shifted, 0.99, 20, unit = unit, control = control)
  near(far, stats::quantile(shifted[!duplicated(unit)], 0.99), 5)
  # names of units that are there need no count
  count <- function(unit) {
    events <- as.data.frame(privacy(dp_mean(data$y, 4, unit = unit, unit_weight = "mean")))
    sum(grepl("complete", events$what))
  }
  expect_identical(count(unit), 1L)
  expect_identical(count(as.character(unit)), 0L)
})

test_that("fits of units are not led astray by levels without rows", {
  set.seed(836)
  data <- panel(3000)
  data$id <- factor(data$id, levels = 1:9000)
  fit <- function(epsilon) {
    dp_lm(y ~ x1 + x2, data, epsilon, 1e-6, unit = ~id, loss = "huber", control = repeatable)
  }
  private <- fit(3)
  plain <- fit(Inf)
  # the sample is the same: what is left is noise. Where steps are three times as long as they ought
  # to be the ratios are 2 to 8
  sd <- sqrt(diag(vcov(plain)))
  expect_lt(max(abs(coef(private) - coef(plain)) / sd), 5)
  ratio <- sqrt(diag(vcov(private))) / sd
  expect_lt(ratio[[1L]], 1.4)
  expect_lt(max(ratio), 2)
})

test_that("rows of units count as a public bound where they are outside", {
  set.seed(834)
  data <- panel(2000)
  x <- replace(data$y, seq(1, nrow(data), by = 97), 1e6)
  inside <- pmin(pmax(x, -5), 5)
  for (weight in c("sum", "mean")) {
    want <- coef(dp_mean(inside, Inf, unit = data$id, unit_weight = weight))
    fit <- function(epsilon) {
      dp_mean(x, epsilon, bound = c(-5, 5), unit = data$id, unit_weight = weight,
              control = repeatable)
    }
    expect_equal(coef(fit(Inf)), want)
    expect_lt(abs(coef(fit(50)) - want), 0.05)
  }
})

test_that("numbers of any class name units, and each a unit of its own", {
  codes <- function(v) unit_members(v, length(v))$code
  day <- structure(c(0.25, 0.5, NA, 0.25), class = "Date")
  expect_identical(codes(day), c(1L, 2L, NA, 1L))
  expect_identical(codes(.POSIXct(c(1, 1 + 1e-5, 1))), c(1L, 2L, 1L))
  # whole numbers of 64 bits: 2^53, 2^53 + 1, missing, 0, -1 and the first again
  bits <- function(high, low) writeBin(c(rbind(low, high)), raw(), endian = "little")
  high <- c(2097152L, 2097152L, -1L, 0L, -1L, 2097152L)
  raw <- bits(high, c(0L, 1L, 5L, 0L, -1L, 0L))
  # the least number there is, of which R has no integer, stands for a missing one
  raw[17:24] <- as.raw(c(rep(0, 7), 128))
  long <- structure(readBin(raw, "double", 6L, endian = "little"), class = "integer64")
  expect_identical(codes(long), c(1L, 2L, NA, 3L, 4L, 1L))
  expect_identical(unit_members(long, 6L)$count, 4L)
  # a factor that was put together by hand
  by_hand <- structure(c(1L, 7L, 2L, -1L), levels = c("a", "b"), class = "factor")
  expect_identical(codes(by_hand), c(1L, NA, 2L, NA))
  expect_error(quiet(dp_quantile(1:4, 0.5, 1, unit = by_hand)), "`unit` has missing values")
})

test_that("means of units of a sparse matrix are refused before the charge", {
  skip_if_not_installed("Matrix")
  set.seed(835)
  x <- Matrix::rsparsematrix(1000, 30, 0.1)
  expect_refusal(function(budget) {
    dp_mean(x, 0.5, 1e-7, sparsity = 2, unit = rep(1:500, 2), unit_weight = "mean",
            budget = budget)
  }, "ordinary matrix")
})
