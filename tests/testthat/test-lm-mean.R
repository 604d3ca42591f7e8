# dp_lm(target = "mean"): what it refuses, spends, moves by and reaches.

# Skewed errors whose scale grows with x1: the mean is 3 + x w, the robust line is not.
skewed_data <- function(n, w = c(0.6, -0.8)) {
  x <- matrix(exp(0.6 * stats::rnorm(n * length(w))), n,
              dimnames = list(NULL, paste0("x", seq_along(w))))
  list(x = x, y = drop(3 + x %*% w) + (1 + x[, 1L]) * (stats::rexp(n) - 1), w = c(3, w))
}

test_that("the target is checked before anything is spent", {
  x <- as.matrix(big[c("x1", "x2")])
  for (arguments in list(
    list(constraint = l2_ball(1)), list(penalty = ridge(0.1)), list(gradient = grad_catoni()),
    list(control = dp_control(batches = "split")), list(target = "median"), list(target = 1),
    list(target = c("mean", "robust")), list(target = NA)
  )) {
    arguments <- utils::modifyList(list(target = "mean"), arguments)
    expect_refusal(function(b) {
      do.call(dp_lm, c(list(x, big$y, eps, del, budget = b), arguments))
    }, "`target`")
    expect_refusal(function(b) {
      do.call(dp_lm, c(list(y ~ x1, big, eps, del, budget = b), arguments))
    }, "`target`")
  }
  expect_refusal(function(b) dp_glm(x, big$y > 0, eps, del, target = "mean", budget = b),
                 "`target`")
  expect_refusal(function(b) dp_sco(x, big$y, eps, del, target = "mean", budget = b), "`target`")
})

test_that("the squared loss aims at the mean, others and restricted fits do not, and fits say so", {
  set.seed(801)
  x <- as.matrix(big[c("x1", "x2")])
  target <- function(...) dp_lm(x, big$y, 4, del, control = repeatable, ...)$target
  expect_identical(target(), "mean")
  expect_identical(target(target = c("robust", "mean")), "robust")
  expect_identical(target(loss = "huber"), "robust")
  expect_identical(target(loss = "biweight", target = "mean"), "mean")
  expect_null(target(penalty = ridge(0.1)))
  fit <- dp_lm(x, big$y, 4, del, control = repeatable)
  expect_output(print(fit), "Target: the mean")
  expect_output(print(summary(fit)), "Target: the mean")
  expect_output(print(summary(fit)), "Residuals clipped at")
  fit <- dp_lm(x, big$y, 4, del, target = "robust", control = repeatable)
  expect_output(print(fit), "Target: a robust line")
  expect_null(fit$bias)
  again <- suppressMessages(update(
    dp_lm(y ~ x1, big, 4, del, target = "robust", control = repeatable), . ~ . + x2, data = big
  ))
  expect_identical(again$target, "robust")
})

test_that("without noise the target is least squares, for every loss", {
  x <- as.matrix(big[c("x1", "x2")])
  for (loss in c("squared", "huber", "biweight")) {
    fit <- dp_lm(x, big$y, Inf, loss = loss, target = "mean")
    expect_equal(coef(fit), coef(lm(y ~ x1 + x2, big)), tolerance = 1e-6, ignore_attr = TRUE)
  }
})

test_that("what is not the mean's is spent on it, and no more in all", {
  fit <- dp_lm(as.matrix(big[c("x1", "x2")]), big$y, 4, del, control = repeatable)
  own <- share_of(fit, "residual|C/n, mean")
  expect_identical(own$count, 3L)
  expect_gt(own$share, 0.4)
  expect_lt(own$share, 0.6)
  origin <- dp_lm(as.matrix(big["x1"]), big$y, 4, del, intercept = FALSE, control = repeatable)
  expect_no_match(as.data.frame(privacy(origin))$what, "mean residual")
})

# ---- what one record moves ----------------------------------------------------------

test_that("counts of residuals and their sum move by no more than is booked", {
  set.seed(802)
  n <- 60
  p <- 3L
  rows <- new_rows(matrix(stats::rt(n * p, 3), n), stats::rt(n, 3), intercept = TRUE)
  known <- list(x = 0, y = 0, zero = FALSE)
  plan <- finish_plan(plan_lm(n, p + 1L, known, 0.8, 1e-6, dp_control(), grad_clipped(),
                              target = "mean"))
  w <- c(0.5, -1, 2, 0)
  fit <- list(w = w, bound = rep(3, 4))
  pre <- list(root = diag(p + 1L), size = 1)
  noisy <- list(moments = diag(p + 2L), sd = 1)
  unknown <- diag(p + 1L)
  out <- list(w = w, corrected = w, tail = c(0, 0),
              vcov = list(sampling = unknown, privacy = unknown, bias = unknown))
  fixed <- with_replaced(residual_tails)(rows, row_norms(rows, pre$root), fit, pre, plan, n,
                                         repeatable)
  seen <- NULL
  spy <- function(release) {
    function(rows, ...) {
      seen <<- release(rows, ..., exact = TRUE)
      release(rows, ...)
    }
  }
  counts_of <- function(rows) {
    norm <- row_norms(rows, pre$root)
    with_replaced(residual_tails, release_octaves = spy(release_octaves))(
      rows, norm, fit, pre, plan, n, repeatable
    )
    seen
  }
  sum_of <- function(rows) {
    norm <- row_norms(rows, pre$root)
    with_replaced(mean_level, release_sums = spy(release_sums))(
      out, rows, norm, w, fixed, noisy, plan, n, repeatable
    )
    seen
  }
  move <- function(new, old) sqrt(sum(as.numeric(diff_int64(new, old))^2))
  base <- list(counts_of(rows), sum_of(rows))
  records <- wild_records(p)
  counts <- vapply(replaced(rows, records, 9L, counts_of), move, 0, old = base[[1L]])
  sums <- vapply(replaced(rows, records, 9L, sum_of), move, 0, old = base[[2L]])
  counted <- count_law("gaussian", n, stage_cost(plan, "residuals"), sqrt(2))
  summed <- sum_law("gaussian", n, 1, plan$mean$level)
  booked <- c(stage_cost(plan, "residuals") * 2^counted$noise[[2L]],
              plan$mean$level * 2^summed$noise[[2L]])
  expect_lte(max(counts), booked[[1L]])
  expect_lte(max(sums), booked[[2L]])
  expect_gt(max(counts), 0.9 * booked[[1L]])
  expect_gt(max(sums), 0.4 * booked[[2L]])
})

# ---- parts --------------------------------------------------------------------------

test_that("corrections are kept as far as they stand out", {
  expect_identical(kept_share(c(0, 3.9, 8, 1e6), 0, 4), c(0, 0, 1, 1))
  expect_equal(kept_share(c(0, 6), 0, 2), c(0, 0.5))
  # all together: from 4 + 2 sqrt(8) to three times that
  most <- 4 + 2 * sqrt(8)
  expect_equal(kept_share(rep(0, 4), 2 * most), rep(0.5, 4))
  expect_identical(kept_share(rep(0, 4), 3.1 * most), rep(1, 4))
  v <- list(sampling = diag(c(1, 1, 1)), privacy = diag(c(0, 0, 3)))
  # the intercept is left alone, and 2 of 1 is noise where 20 of 4 is not
  expect_equal(drawn_back(c(9, 2, 20), c(0, 0, 0), v, 1), c(9, 2, 20))
  expect_equal(drawn_back(c(9, 2, 4), c(5, 1, 1), v, 1), c(9, 1, 1))
  v$sampling[2, 2] <- NA
  expect_equal(drawn_back(c(9, 2, 4), c(5, 1, 1), v, 1), c(9, 2, 1))
  v$privacy[3, 3] <- Inf
  expect_identical(drawn_back(c(9, 2, 4), c(5, 1, 1), v, 1), c(9, 2, 4))
})

test_that("tails beyond the level add their share, within bounds", {
  parts <- list(sampling = matrix(0.01), privacy = matrix(0))
  share <- function(lower, upper, change) {
    beyond_level(change, parts, list(limits = list(excess = c(lower, upper))), 100)
  }
  # 100 records, 10 of excess above: 0.1 of a change of 1
  expect_equal(share(0, 10, 1), 0.1 / 1.04)
  expect_equal(share(10, 0, -1), 0.1 / 1.04)
  expect_identical(share(10, 0, 1), 0)
  expect_identical(share(0, 1e9, 1), BEYOND_MOST)
  expect_lt(share(0, 10, 0.01), 0.03)
  expect_identical(share(Inf, Inf, 1), 0)
})

test_that("bias is carried to the caller's units and the intercept there", {
  schema <- list(intercept = TRUE, columns = c("(Intercept)", "a"))
  columns <- list(center = c(10, 7), scale = c(2, 3), found = c(TRUE, TRUE))
  fit <- list(w = c(1, 2), corrected = c(1, 2.5), tail = c(0.2, 0.1), level = 1,
              vcov = list(bias = diag(c(0, 0.04))))
  b <- caller_units(fit$w * caller_scale(columns, schema), columns, schema)
  got <- caller_bias(fit, b, columns, schema)
  # slope: 0.2 and 0.5 back, in units of 3 / 2; the intercept loses ten times that
  expect_equal(got["a", ], c(lower = 0.3, upper = 0.3 + 0.75))
  expect_equal(got["(Intercept)", ], c(lower = 3 + 7.5 + 0.6, upper = 3 + 0.3))
})

test_that("lost tails leave a level of their own", {
  counts <- numeric(4097)
  tails <- list(counts = counts, clean = counts, law = list(kind = "gaussian", sd = 5), lost = 3)
  expect_identical(limits_of_tails(tails, 10)$reach, c(3, 3))
  counts[2049 + 1074 + 1:3] <- c(400, 200, 90)
  tails$counts <- tails$clean <- counts
  found <- limits_of_tails(tails, 10)
  expect_identical(found$reach[[1L]], 0)
  expect_gt(found$reach[[2L]], 4)
  expect_lt(found$reach[[2L]], 64)
})

# ---- what it reaches -----------------------------------------------------------------

test_that("skewed errors: the line of the mean is reached where the robust fit misses it", {
  skip_on_cran()
  set.seed(803)
  z <- skewed_data(40000)
  off <- function(...) abs(coef(dp_lm(z$x, z$y, 2, 1e-6, control = repeatable, ...)) - z$w)
  robust <- off(target = "robust")
  mean <- off()
  expect_gt(robust[["x1"]], 0.25)
  expect_lt(mean[["x1"]], 0.1)
  expect_lt(max(mean), 0.2)
  huber <- off(loss = "huber", target = "mean")
  expect_gt(off(loss = "huber")[["x1"]], 0.2)
  expect_lt(max(huber), 0.2)
  # through the origin
  y <- z$y - 3
  origin <- dp_lm(z$x, y, 2, 1e-6, intercept = FALSE, control = repeatable)
  expect_lt(max(abs(coef(origin) - z$w[-1L])), 0.15)
})

test_that("where rows are left out the intercept is the mean of those in use", {
  skip_on_cran()
  set.seed(804)
  n <- 40000
  x <- stats::rnorm(n)
  y <- 1 + x + 4 * (stats::rexp(n) - 1)
  fit <- dp_lm(x, y, 2, 1e-6, subset = seq_len(n) %% 3 == 0, control = repeatable)
  expect_lt(abs(coef(fit)[[1L]] - 1), 0.25)
  expect_gt(abs(coef(dp_lm(x, y, 2, 1e-6, target = "robust", control = repeatable))[[1L]] - 1), 0.6)
})

test_that("symmetric errors: slopes stay near the robust ones", {
  skip_on_cran()
  set.seed(805)
  x <- matrix(stats::rt(40000, 3), 10000)
  squares <- replicate(8, {
    y <- drop(x %*% c(1, -1, 0.5, 0)) + 0.5 * stats::rt(10000, 2.5)
    of <- function(...) {
      sum((coef(dp_lm(x, y, 1, 1e-6, control = repeatable, ...))[-1L] - c(1, -1, 0.5, 0))^2)
    }
    c(of(), of(target = "robust"))
  })
  expect_lt(stats::median(squares[1L, ]), 4 * stats::median(squares[2L, ]))
})

test_that("intervals of the mean hold it under skewed errors", {
  skip_on_cran()
  set.seed(806)
  held <- replicate(40, {
    z <- skewed_data(10000)
    ends <- confint(dp_lm(z$x, z$y, 1, 1e-6, control = repeatable))
    ends[, 1L] <= z$w & z$w <= ends[, 2L]
  })
  for (i in seq_len(nrow(held))) {
    expect_gt(stats::pbinom(sum(held[i, ]), ncol(held), 0.93), alarm)
  }
  expect_gt(mean(held), 0.9)
})

test_that("a plan expects the error of the mean's fit", {
  skip_on_cran()
  plan <- dp_plan("lm", n = 10000, d = 3, epsilon = 1, delta = 1e-6, target = "mean")
  both <- dp_plan("lm", n = 10000, d = 3, epsilon = 1, delta = 1e-6, target = c(mean = 0.05))
  expect_identical(both$events, plan$events)
  expect_identical(both$target, 0.05)
  expect_true(is.finite(both$n_needed))
  robust <- dp_plan("lm", n = 10000, d = 3, epsilon = 1, delta = 1e-6, target = "robust")
  expect_gt(plan$error[["total"]], robust$error[["total"]])
  number <- dp_plan("lm", n = 10000, d = 3, epsilon = 1, delta = 1e-6, target = 0.05)
  expect_identical(number$n_needed, both$n_needed)
  expect_true(all(is.finite(plan$noise$expected[grepl("mean", plan$noise$what)])))
  expect_error(dp_plan("glm", n = 1e4, d = 3, epsilon = 1, delta = 1e-6, target = "mean"),
               "`target`", class = "dp_error")
  expect_error(dp_plan("lm", n = 1e4, d = 3, epsilon = 1, delta = 1e-6, target = "none"),
               "`target`", class = "dp_error")
  set.seed(807)
  w <- c(1, -1, 1) / sqrt(3)
  squares <- replicate(24, {
    x <- matrix(stats::rt(30000, 3), 10000) / sqrt(3)
    sum((coef(dp_lm(x, drop(x %*% w) + stats::rt(10000, 3), 1, 1e-6,
                    control = repeatable))[-1L] - w)^2)
  })
  ratio <- plan$error[["total"]] / sqrt(mean(squares))
  expect_gt(ratio, 1 / 1.6)
  expect_lt(ratio, 1.6)
})
