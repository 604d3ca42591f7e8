# Sparse means: the noiseless twin, the sums of a choice, laws, events, edges.

many <- function(n = 2000, d = 60, seed = 671) {
  set.seed(seed)
  x <- matrix(stats::rt(n * d, 3), n, d, dimnames = list(NULL, paste0("v", seq_len(d))))
  x[, 1:3] <- x[, 1:3] + rep(c(2, -1.5, 1), each = n)
  x
}

test_that("without noise these are the largest means", {
  x <- many()
  m <- colMeans(x)
  for (s in c(1, 3, 60)) {
    fit <- dp_mean(x, Inf, sparsity = s)
    top <- order(-abs(m))[seq_len(s)]
    expect_identical(fit$selected, colnames(x)[top])
    expect_equal(coef(fit), replace(0 * m, top, m[top]))
  }
  clipped <- dp_mean(x, Inf, sparsity = 2, method = "truncated", bound = 3)
  zeroed <- colMeans(x * (abs(x) <= 3))
  expect_equal(coef(clipped)[clipped$selected], sort(zeroed, decreasing = TRUE)[
    order(-abs(sort(zeroed, decreasing = TRUE)))[1:2]])
})

test_that("means are near the truth, pure or not, and the other methods' too", {
  skip_on_cran()
  x <- many(5000)
  truth <- c(2, -1.5, 1, numeric(57))
  set.seed(672)
  fits <- list(
    dp_mean(x, 1, 1e-6, sparsity = 3, control = repeatable),
    dp_mean(x, 2, 0, sparsity = 3, control = repeatable),
    dp_mean(x, 1, 1e-6, sparsity = 3, method = "truncated", moment = moment_bound(2, 8),
            control = repeatable),
    dp_mean(x, 1, 1e-6, sparsity = 3, method = "catoni", bound = 4, control = repeatable)
  )
  for (fit in fits) {
    expect_setequal(fit$selected, c("v1", "v2", "v3"))
    expect_lt(sum((coef(fit) - truth)^2), 0.4)
    expect_identical(is.na(fit$noise_sd), coef(fit) == 0)
  }
})

test_that("a replaced row moves no sum of a choice, and no count, by more than is accounted for", {
  set.seed(673)
  x <- unname(many(50, 4))
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]])
  largest_move <- function(statistic, x) {
    base <- statistic(x)
    expect_gt(max(abs(base)), 0)
    moved <- vapply(wild_records(4, 8L), function(record) {
      record[is.nan(record)] <- 0 # refused before
      new <- replace(x, cbind(9, 1:4), record[1:4])
      abs(statistic(new) - base)
    }, base)
    list(each = max(moved), all = max(colSums(moved)))
  }
  cases <- list(list("winsorized", Inf), list("truncated", Inf), list("catoni", 1),
                list("catoni", Inf))
  sparse <- function(x) sparse_columns(methods::as(x, "CsparseMatrix"))
  kinds <- c(list(identity), if (requireNamespace("Matrix", quietly = TRUE)) list(sparse))
  for (case in cases) for (make in kinds) {
    bound <- if (case[[1L]] != "winsorized") 0.7
    plan <- plan_sparse_mean(5000, 4, 2, 1, 1e-6, bound, NULL, case[[1L]], case[[2L]], NULL,
                             dp_control())
    plan$n <- 50
    rule <- sparse_mean_rule(plan, 0.7)
    sums <- function(x) sparse_mean_sums(new_rows(make(x)), plan, rule)
    move <- largest_move(sums, x)$each
    expect_lte(move, 2 * plan$limit)
    expect_gt(move, 0.4 * plan$limit)
    counts <- function(x) {
      rule <- list(loss = "mean", estimator = "winsorized", bound = 1, step = 1, limit = 1)
      none <- count_law("none", 50, 1, 1)
      release_coordinates(new_rows(make(x), which = 0), numeric(50), numeric(4), rule, cells, none)
    }
    expect_lte(largest_move(counts, x)$all, 8)
  }
})

test_that("an infinite value is far out in its own column and leaves the others alone", {
  x <- many(2000, 5)
  x[1, 5] <- Inf
  x[2, 5] <- -Inf
  zeroed <- dp_mean(x, Inf, sparsity = 5, method = "truncated", bound = 50)
  expect_equal(coef(zeroed), colMeans(ifelse(abs(x) <= 50, x, 0)))
  expect_true(all(is.finite(coef(dp_mean(x, 2, 1e-6, sparsity = 3)))))
})

test_that("columns are chosen, and their sums released, by the laws that are stated", {
  skip_on_cran()
  set.seed(677)
  x <- cbind(rep(0.9, 40), rep(-0.6, 40), rep(0.2, 40), 0)
  plan <- plan_sparse_mean(40, 4, 2, 1, 1e-6, 1, NULL, "truncated", Inf, NULL, dp_control())
  plan <- one_sparse_mean(plan, "gaussian", 1, 1e-6, NULL)
  runs <- suppressWarnings(lapply(seq_len(2500), function(i) {
    fit_sparse_mean(x, plan, repeatable)
  }))
  # ordered pairs: Plackett-Luce, weights exp(epsilon0 |sum| / (2 sensitivity)), sensitivity 2 tau
  weight <- exp(plan$cost[["choice"]] * abs(colSums(x)) / 4)
  pairs <- expand.grid(a = 1:4, b = 1:4)
  pairs <- pairs[pairs$a != pairs$b, ]
  pmf <- weight[pairs$a] / sum(weight) * weight[pairs$b] / (sum(weight) - weight[pairs$a])
  drawn <- vapply(runs, function(r) sum(r$chosen * c(10, 1)), 0)
  expect_gt(stats::chisq.test(table(factor(drawn, pairs$a * 10 + pairs$b)), p = pmf)$p.value, alarm)
  # noise of sd 2 tau sqrt(s) / mu on a sum
  first <- vapply(runs, function(r) r$coefficients[[r$chosen[[1L]]]] - mean(x[, r$chosen[[1L]]]), 0)
  sd <- 2 * sqrt(2) / plan$cost[["means"]] / 40
  expect_gt(stats::ks.test(first / sd, "pnorm")$p.value, alarm)
  expect_equal(runs[[1L]]$noise_sd[[runs[[1L]]$chosen[[1L]]]], sd, tolerance = 1e-4)
})

test_that("a choice loses what it claims, and one of a fifth of the scale would be seen", {
  skip_on_cran()
  set.seed(678)
  # columns that are equal but for one row, which makes the one or the other the larger
  x <- matrix(0, 40, 2)
  lost <- function(factor, runs = 4000L) {
    plan <- plan_sparse_mean(40, 2, 1, 1, 1e-6, 1, NULL, "truncated", Inf, NULL, dp_control())
    plan$cost[["choice"]] <- plan$cost[["choice"]] * factor
    first <- function(row) {
      x[1, ] <- row
      sum(vapply(seq_len(runs), function(i) fit_sparse_mean(x, plan, repeatable)$chosen == 1L, NA))
    }
    high <- first(c(1, 0))
    low <- first(c(0, 1))
    log(stats::qbeta(alarm / 2, high, runs - high + 1)) -
      log(stats::qbeta(1 - alarm / 2, low + 1, runs - low))
  }
  booked <- plan_sparse_mean(40, 2, 1, 1, 1e-6, 1, NULL, "truncated", Inf, NULL, dp_control())
  expect_lte(lost(1), booked$cost[["choice"]])
  expect_gt(lost(5), booked$cost[["choice"]])
})

test_that("for one column pure releases are better, for many Gaussian ones", {
  kind <- function(s, delta = 1e-6, ...) {
    plan_sparse_mean(1e5, 1000, s, 1, delta, NULL, NULL, "winsorized", Inf, NULL, dp_control())$kind
  }
  expect_identical(c(kind(1), kind(20), kind(20, 0)), c("laplace", "gaussian", "laplace"))
})

test_that("where limits cannot be told from noise the level serves", {
  # too few rows for limits: known before anything is spent
  few <- plan_sparse_mean(300, 50, 5, 1, 1e-6, NULL, NULL, "winsorized", Inf, NULL, dp_control())
  expect_null(few$means)
  set.seed(679)
  x <- many(300, 50)
  fit <- suppressWarnings(dp_mean(x, 1, 1e-6, sparsity = 5, control = repeatable))
  expect_true(all(is.finite(coef(fit))))
  expect_identical(unname(fit$limits[fit$selected, "lower"]),
                   -unname(fit$limits[fit$selected, "upper"]))
  # a column of which one value in twenty is not zero
  x <- matrix(c(-1, 1), 5000, 50)
  x[, 7] <- rep(1:0, c(250, 4750))
  fit <- dp_mean(x, 2, 1e-6, sparsity = 1, control = repeatable)
  expect_identical(fit$selected, "x7")
  expect_lt(abs(coef(fit)[["x7"]] - 0.05), 0.01)
  # nothing to be seen at all
  expect_warning(dp_mean(0 * x, 2, 1e-6, sparsity = 1), "1 was taken", class = "dp_dominated")
})

test_that("a sparse mean spends its budget, and a ledger sees it", {
  for (delta in c(0, 1e-6)) for (method in c("winsorized", "truncated")) {
    bound <- if (method == "truncated") 3
    plan <- plan_sparse_mean(5000, 200, 5, 1, delta, bound, NULL, method, Inf, NULL, dp_control())
    if (delta == 0) {
      expect_equal(compose_events(plan$events)$pure, 1, tolerance = 1e-6)
    } else {
      spent <- total_delta(compose_events(plan$events, ordered = TRUE), 1)
      expect_lte(spent, delta)
      expect_gt(spent, 0.99 * delta)
    }
  }
  x <- many(6000)
  b <- privacy_budget(1, 1e-6)
  quiet(dp_mean(x, 0.5, 1e-6, sparsity = 2, budget = b))
  expect_identical(nrow(as.data.frame(b)), 1L)
})

test_that("published peeling, by hand", {
  x <- many()
  fit <- quiet(dp_mean(x, 1, 1e-6, sparsity = 2, method = "truncated", bound = 3,
                       control = dp_control("paper", rng = "R")))
  b <- 2 * sqrt(3 * 2 * log(1e6))
  expect_equal(as.data.frame(privacy(fit))$cost, c(2 / b, 1 / b))
  # Laplace noise of scale b lambda, lambda = 2 B / n
  expect_equal(unname(fit$noise_sd[[fit$selected[[1L]]]]), sqrt(2) * b * 2 * 3 / 2000,
               tolerance = 1e-6)
})

test_that("a compressed matrix gives the same as a dense one", {
  skip_if_not_installed("Matrix")
  set.seed(674)
  s <- Matrix::rsparsematrix(2000, 300, 0.1)
  s[, 2] <- s[, 2] + 1
  s <- methods::as(s, "CsparseMatrix")
  for (method in c("winsorized", "truncated")) {
    run <- function(x) {
      colnames(x) <- paste0("v", 1:300)
      set.seed(675)
      suppressWarnings(coef(dp_mean(
        x, 2, 1e-6, sparsity = 2, method = method, bound = if (method == "truncated") 2,
        control = repeatable
      )))
    }
    expect_identical(run(s), run(as.matrix(s)))
    expect_gt(run(s)[[2L]], 0.5)
  }
  expect_error(dp_mean(s, 1), "sparse matrix", class = "dp_error")
})

test_that("edges and refusals", {
  x <- many(2000, 5)
  for (case in list(list(x = 0 * x, s = 2), list(x = x[, 1], s = 1), list(x = x, s = 5))) {
    fit <- suppressWarnings(dp_mean(case$x, 2, 1e-6, sparsity = case$s))
    expect_length(fit$selected, case$s)
    expect_output(print(fit), "chosen")
    expect_output(print(summary(fit)), "Noise sd")
  }
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_mean(x, 1, 1e-6, ..., budget = b), naming)
  }
  refused("`sparsity` must be at most", sparsity = 6)
  refused("`sparsity`", sparsity = 0)
  refused("median|methods", sparsity = 2, method = "median_of_means", bound = 1)
  refused("`na.rm`", sparsity = 2, na.rm = TRUE)
  refused("`bound`", sparsity = 2, bound = 3)
  refused("`interval`", sparsity = 2, interval = TRUE)
  refused("another `method`", sparsity = 2, control = dp_control("paper"))
  bad <- x
  bad[2, 3] <- NaN
  expect_error(dp_mean(bad, 1, 1e-6, sparsity = 2), class = "dp_error_missing")
  noise <- matrix(stats::rnorm(3000), 300)
  set.seed(676)
  expect_warning(dp_mean(noise, 0.05, 1e-6, sparsity = 2, method = "truncated", bound = 5,
                         control = repeatable), "stands out", class = "dp_dominated")
})
