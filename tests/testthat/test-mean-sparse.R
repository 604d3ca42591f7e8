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

test_that("a replaced row moves no sum of a choice by more than is accounted for", {
  set.seed(673)
  x <- unname(many(50, 4))
  for (method in c("truncated", "catoni")) for (beta in c(1, Inf)) {
    plan <- plan_sparse_mean(50, 4, 2, 1, 1e-6, 0.7, NULL, method, if (method == "catoni") beta else
      Inf, NULL, dp_control())
    sums_of <- function(x) {
      columns <- list(center = numeric(5), scale = rep(1, 5), found = rep(TRUE, 5))
      spec <- list(loss = loss_mean(), gradient = plan$gradient, control = dp_control())
      state <- coordinate_state(list(x = x, y = numeric(50)), list(n = 50, intercept = FALSE),
                                columns, spec)
      fw_sums(state, numeric(4), 0, fw_rule(state, 0.7, plan, NULL))
    }
    base <- sums_of(x)
    expect_gt(max(abs(base)), 0)
    worst <- 0
    for (record in wild_records(4, 4L)) {
      new <- x
      new[9, ] <- record[1:4]
      worst <- max(worst, abs(sums_of(new) - base))
    }
    expect_lte(worst, 2 * plan$limit)
    expect_gt(worst, 0.4 * plan$limit)
  }
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
