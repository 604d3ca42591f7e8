# Replacing one row by what a double can hold, seen through every release of a fit: what the noise
# is added to moves by no more than is charged (helper-replay.R).

# Row 7 replaced: values, or the row with its signs turned; in the last two it changes its group.
other_rows <- function(data) {
  numbers <- c("x1", "x2", "y")
  put <- function(...) {
    data[7L, numbers] <- c(...)
    data
  }
  flipped <- data
  flipped[7L, numbers] <- -data[7L, numbers]
  moved <- put(1e308, -1e308, 1e308)
  moved$g[7L] <- if (data$g[[7L]] == "a") "b" else "a"
  empty <- moved
  empty$g[7L] <- "c"
  list(zero = put(0, 0, 0), large = put(1e308, 1e308, 1e308), small = put(-1e308, -1e308, -1e308),
       mixed = put(1e308, 1, -1e308), infinite = put(Inf, -Inf, Inf), nan = put(NaN, NaN, NaN),
       flipped = flipped, moved = moved, empty = empty)
}

fits_of_rows <- function(data) {
  x <- function(d) as.matrix(d[c("x1", "x2")])
  lm_of <- function(...) {
    function(d) {
      dp_lm(y ~ x1 + x2, d, 4, 1e-6, na.action = stats::na.omit, control = repeatable, ...)
    }
  }
  calls <- alist(a = dp_lm(y ~ x1, epsilon = 4, delta = 1e-6, na.action = na.omit),
                 b = dp_lm(y ~ x1 + x2, epsilon = 4, delta = 1e-6, na.action = na.omit))
  fitted <- quiet(dp_lm(y ~ x1 + x2, data, 4, 1e-6, control = repeatable))
  of <- function(front, value, ...) function(d) {
    front(value(d), ..., na.rm = TRUE, control = repeatable)
  }
  y <- function(d) d$y
  list(
    mean_target = lm_of(), mean_huber = lm_of(loss = "huber", target = "mean"),
    robust = lm_of(target = "robust"),
    groups = function(d) dp_mean(x(d), 4, by = d$g, na.rm = TRUE, control = repeatable),
    groups_normal = function(d) {
      dp_mean(x(d), 4, 1e-6, by = d$g, bound = 9, interval = TRUE, na.rm = TRUE,
              control = repeatable)
    },
    far = of(dp_quantile, y, c(0.5, 0.999), 4), many = of(dp_quantile, y, 1:199 / 200, 1, 1e-6),
    var = of(dp_var, x, 4), var_normal = of(dp_var, x, 4, 1e-6, bound = 9),
    index = of(dp_tail_index, x, 4, tail = "both"), shortfall = of(dp_shortfall, y, 0.9, 4),
    tune = function(d) dp_tune(calls, d, 4, control = repeatable),
    residuals = function(d) {
      dp_residuals(fitted, d, epsilon = 4, na.action = stats::na.omit, control = repeatable)
    }
  )
}

test_that("replacing a row moves every release of a fit by what is charged", {
  skip_on_cran()
  set.seed(841)
  n <- 3000L
  data <- data.frame(x1 = stats::rt(n, 3), x2 = stats::rt(n, 3))
  data$y <- 1 + data$x1 + stats::rexp(n) * (1 + abs(data$x1))
  data$g <- factor(rep(c("a", "b"), length.out = n), levels = c("a", "b", "c"))
  others <- other_rows(data)
  fits <- fits_of_rows(data)
  for (name in names(fits)) {
    most <- 0
    for (case in names(others)) {
      moved <- expect_replayed(fits[[name]], data, others[[case]], paste(name, case))
      most <- max(most, moved)
    }
    # it is looked at
    expect_gt(most, 0.3, label = name)
  }
})
