# Compressed columns: the same bits as from a dense matrix, sensitivity, damaged objects, fronts.

# The columns of a dense matrix; some zeros are stored.
compressed <- function(x, stored = 0.1) {
  keep <- is.na(x) | x != 0 | matrix(stats::runif(length(x)) < stored, nrow(x))
  at <- which(keep)
  structure(list(
    x = x[at], i = (at - 1L) %% nrow(x), p = c(0L, as.integer(cumsum(colSums(keep)))),
    dim = dim(x), dimnames = list(NULL, colnames(x))
  ), class = "dp_columns")
}

# Rows with many zeros and a few wild records, dense and sparse.
sparse_rows <- function(n, p, o = list(), special = TRUE) {
  dense <- made_up_rows(n, p, c(o, list(centring = TRUE)), special)
  dense$center[] <- 0
  dense$x[sample(length(dense$x), floor(0.6 * length(dense$x)))] <- 0
  dense$margin_offset <- as.double(isTRUE(o$margin))
  sparse <- dense
  sparse$x <- compressed(dense$x)
  list(dense = dense, sparse = sparse)
}

ELEMENTS <- c("winsorized", "truncated", "catoni", "catoni_smooth", "shrunken")

sparse_plan <- function(estimator, loss = "squared", ...) {
  c(list(
    loss = loss, estimator = estimator, bound = 0.9, tuning = 1.3, step = 2^-12, limit = 2^14,
    noise = c(0, 0), psi_bound = if (estimator == "shrunken") 2,
    table = if (estimator == "catoni_smooth") catoni_table(1)
  ), list(...))
}

expect_same_walks <- function(r, plans, cells = octave_cells(-20, 20, 2)) {
  norm <- row_norms(r$dense)
  expect_identical(row_norms(r$sparse), norm)
  k <- ncol(r$dense$x) + r$dense$intercept
  law <- list(unit = 1, noise = c(0, 0))
  for (w in list(numeric(k), stats::rnorm(k), stats::rnorm(k) * (stats::runif(k) < 0.3))) {
    expect_identical(row_margins(r$sparse, norm, w), row_margins(r$dense, norm, w))
    for (plan in plans) {
      sums <- release_gradient(r$sparse, norm, w, plan, exact = TRUE)
      expect_identical(sums, release_gradient(r$dense, norm, w, plan, exact = TRUE))
      counts <- release_coordinates(r$sparse, norm, w, plan, cells, law, exact = TRUE)
      expect_identical(counts, release_coordinates(r$dense, norm, w, plan, cells, law,
                                                   exact = TRUE))
    }
  }
}

test_that("dense and sparse rows give the same bits", {
  set.seed(321)
  plans <- c(
    lapply(ELEMENTS, sparse_plan), list(sparse_plan("winsorized", "huber")),
    list(sparse_plan("catoni", "biweight"), sparse_plan("shrunken", "logistic"))
  )
  options <- expand.grid(intercept = c(TRUE, FALSE), offset = c(TRUE, FALSE),
                         margin = c(TRUE, FALSE), use = c(TRUE, FALSE))
  sizes <- list(c(1, 1), c(5, 4), c(255, 3), c(256, 9), c(257, 70), c(700, 6))
  for (i in seq_len(nrow(options))) {
    size <- sizes[[1L + i %% length(sizes)]]
    expect_same_walks(sparse_rows(size[[1L]], size[[2L]], as.list(options[i, ])), plans)
  }
})

test_that("views and derivatives from R give the same bits", {
  set.seed(322)
  for (n in c(5, 300)) {
    r <- sparse_rows(n, 7, list(intercept = TRUE, offset = TRUE, use = TRUE))
    index <- sample(n, ceiling(n / 3)) - 1L
    psi <- stats::rnorm(n)
    psi[[2L]] <- NaN
    own <- sparse_plan("winsorized", psi = psi, index = index)
    own$loss <- NULL
    expect_same_walks(r, c(lapply(ELEMENTS, sparse_plan, index = index), list(own)))
  }
})

test_that("plain sums agree with dense ones", {
  set.seed(323)
  r <- sparse_rows(700, 30, list(intercept = TRUE, use = TRUE))
  norm <- row_norms(r$dense)
  for (estimator in ELEMENTS) {
    plan <- sparse_plan(estimator)
    plan$step <- 0
    w <- stats::rnorm(31)
    expect_equal(release_gradient(r$sparse, norm, w, plan),
                 release_gradient(r$dense, norm, w, plan), tolerance = 1e-12)
  }
})

test_that("noise is added to sums and counts", {
  r <- sparse_rows(50, 3)$sparse
  norm <- row_norms(r)
  plan <- sparse_plan("winsorized")
  exact <- release_gradient(r, norm, numeric(3), plan)
  plan$noise <- c(2, 30)
  noisy <- release_gradient(r, norm, numeric(3), plan, fixed_key(1))
  expect_true(all(abs(noisy - exact) > 1e3) && anyDuplicated(noisy - exact) == 0L)
  law <- list(unit = 1, noise = c(1, 30))
  counts <- release_coordinates(r, norm, numeric(3), plan, octave_cells(-2, 2, 1), law,
                                fixed_key(1))
  expect_gt(min(abs(counts)), 1e3)
  plan$step <- 0
  expect_error(release_gradient(r, norm, numeric(3), plan), "noise needs a grid")
})

test_that("one record moves a sum by at most twice the limit, and counts by k", {
  set.seed(324)
  worst <- 0
  law <- list(unit = 1, noise = c(0, 0))
  for (estimator in ELEMENTS) {
    for (n in c(2, 300)) {
      plan <- sparse_plan(estimator)
      dense <- sparse_rows(n, 6, list(intercept = TRUE, offset = TRUE))$dense
      w <- stats::rnorm(7) * sample(c(1, 1e300), 1)
      stats <- function(take) {
        replaced(dense, c(wild_records(6), list(numeric(7))), n, function(r) {
          r$x <- compressed(r$x)
          take(r, row_norms(r))
        })
      }
      sums <- stats(function(r, norm) release_gradient(r, norm, w, plan, exact = TRUE))
      worst <- max(worst, largest_change(sums, function(v) max(abs(v))) / (2 * plan$limit))
      counts <- stats(function(r, norm) {
        release_coordinates(r, norm, w, plan, octave_cells(-5, 5, 1), law, exact = TRUE)
      })
      expect_lte(largest_change(counts, function(v) sum(abs(v))), 2 * 7)
      expect_lte(largest_change(counts, l2), sqrt(2) * 7)
    }
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.4)
})

# Objects that no constructor makes.
damaged_columns <- function(x) {
  change <- function(part, at, value) {
    x[[part]][at] <- value
    x
  }
  n <- x$dim[[1L]]
  first <- x$p[[2L]]
  list(
    past = change("i", length(x$i), n), far = change("i", 1L, .Machine$integer.max),
    inside = change("i", 2L, 1000000000L), negative = change("i", 1L, -1L),
    missing = change("i", 3L, NA_integer_), twice = change("i", 2L, x$i[[1L]]),
    unsorted = change("i", 1:2, x$i[2:1]), start = change("p", 1L, 1L),
    falling = change("p", 2:3, x$p[3:2]), end = change("p", length(x$p), length(x$x) + 1L),
    negative_place = change("p", 2L, -5L), missing_place = change("p", 2L, NA_integer_),
    long = change("p", length(x$p), .Machine$integer.max), short = change("p", length(x$p), first)
  )
}

test_that("damaged matrices are refused by every walk", {
  set.seed(325)
  r <- sparse_rows(40, 9, list(intercept = TRUE), special = FALSE)$sparse
  norm <- row_norms(r)
  # margins look only at columns with a coefficient, sums at all
  zero <- numeric(10)
  expect_true(.Call(C_sparse_sound, r$x))
  law <- list(unit = 1, noise = c(0, 0))
  calls <- list(
    function(bad) row_norms(bad), function(bad) row_margins(bad, norm, rep(1, 10)),
    function(bad) release_gradient(bad, norm, zero, sparse_plan("winsorized"), exact = TRUE),
    function(bad) release_gradient(bad, norm, zero, sparse_plan("catoni"), exact = TRUE),
    function(bad) release_gradient(bad, norm, rep(1, 10), sparse_plan("shrunken"), exact = TRUE),
    function(bad) {
      release_coordinates(bad, norm, zero, sparse_plan("winsorized"), octave_cells(-2, 2, 1), law)
    }
  )
  for (x in damaged_columns(r$x)) {
    bad <- r
    bad$x <- x
    expect_false(.Call(C_sparse_sound, x))
    expect_error(check_sound(x), "rising order.*do not publish")
    for (call in calls) expect_error(call(bad), "damaged")
    expect_identical(.Call(C_core_live), 0)
  }
  for (part in c("x", "i", "p", "dim")) {
    bad <- r
    bad$x[[part]] <- bad$x[[part]][-1L]
    for (call in calls) expect_error(call(bad), "internal call refused")
  }
  r$center[[2L]] <- 1
  expect_error(row_norms(r), "centres")
})

test_that("groups and whole records have no sparse walk", {
  r <- sparse_rows(20, 3)$sparse
  norm <- row_norms(r)
  plan <- sparse_plan("winsorized", group = rep(0:1, 10), groups = 2, group_weight = c(1, 1))
  expect_error(release_gradient(r, norm, numeric(3), plan), "coordinate by coordinate")
  expect_error(release_gradient(r, norm, numeric(3), sparse_plan("clipped")),
               "coordinate by coordinate")
})

# ---- fronts ----------------------------------------------------------------------------

sparse_data <- function(n = 600, p = 12) {
  set.seed(326)
  x <- matrix(stats::rt(n * p, 3) * (stats::runif(n * p) < 0.3), n, p,
              dimnames = list(NULL, paste0("v", seq_len(p))))
  list(x = x, s = methods::as(x, "CsparseMatrix"),
       y = 1 + drop(x[, 1:2] %*% c(0.5, -0.3)) + stats::rt(n, 3))
}

both <- function(z, front, ...) {
  lapply(z[c("x", "s")], function(x) {
    set.seed(327)
    quiet(front(x, z$y, ..., control = dp_control(rng = "R")))
  })
}

test_that("fits of a sparse matrix are those of the dense one", {
  skip_if_not_installed("Matrix")
  z <- sparse_data()
  cases <- list(
    list(dp_lasso, 2, 0, radius = 1),
    list(dp_lasso, 2, 1e-6, radius = 1, refit = FALSE, intercept = FALSE),
    list(dp_sco, 2, 1e-6, constraint = unit_simplex(), offset = z$y / 2),
    list(dp_sco, 2, 1e-6, constraint = l1_ball(1), loss = "biweight", subset = z$y < 3),
    list(dp_sco, 2, 0, constraint = polytope(diag(12)), gradient = grad_catoni(beta = 1)),
    list(dp_sco, 2, 1e-6, constraint = l1_ball(1),
         loss = loss_user(function(eta, y) tanh(eta - y), bound = 1)),
    list(dp_sco, 2, 1e-6, constraint = l1_ball(1), gradient = grad_shrunken(), intercept = FALSE)
  )
  for (case in cases) {
    fits <- do.call(both, c(list(z), case))
    # the schema is what could hold data
    for (part in c("coefficients", "path", "bound", "scale", "schema")) {
      expect_identical(fits$s[[part]], fits$x[[part]])
    }
  }
  z$y <- as.numeric(z$y > 1)
  fits <- both(z, dp_sco, 2, 1e-6, constraint = l1_ball(1), loss = "logistic")
  expect_identical(coef(fits$s), coef(fits$x))
  expect_identical(predict(fits$s, z$s, type = "class"), predict(fits$x, z$x, type = "class"))
})

test_that("a sparse matrix is fitted again on its chosen columns, taken as they come", {
  skip_if_not_installed("Matrix")
  z <- sparse_data()
  set.seed(328)
  fit <- quiet(dp_lasso(z$s, z$y, 50, 1e-6, radius = 2, control = dp_control(rng = "R")))
  expect_lte(sum(abs(coef(fit)[-1])), 2 * (1 + 1e-12))
  expect_lt(max(abs(coef(fit)[2:3] - c(0.5, -0.3))), 0.25)
  expect_no_match(as.data.frame(privacy(fit))$what[1:3], "^pair")
})

test_that("without noise both are at the same minimum", {
  skip_if_not_installed("Matrix")
  z <- sparse_data()
  expect_equal(coef(dp_lasso(z$s, z$y, epsilon = Inf, radius = 0.5)),
               coef(dp_lasso(z$x, z$y, epsilon = Inf, radius = 0.5)), tolerance = 1e-8)
})

test_that("missing and infinite entries are treated as in a dense matrix", {
  skip_if_not_installed("Matrix")
  z <- sparse_data()
  at <- which(z$x != 0)[c(3, 500)]
  for (value in c(NaN, NA, Inf)) {
    z$x[at] <- value
    z$s <- methods::as(z$x, "CsparseMatrix")
    fits <- both(z, dp_lasso, 2, 1e-6, radius = 1, refit = FALSE, na.action = stats::na.omit)
    expect_identical(coef(fits$s), coef(fits$x))
    if (is.na(value)) {
      expect_identical(error_text(quiet(dp_lasso(z$s, z$y, 1, 1e-6, radius = 1))),
                       error_text(quiet(dp_lasso(z$x, z$y, 1, 1e-6, radius = 1))))
    }
  }
})

test_that("a damaged matrix is refused before anything is charged", {
  skip_if_not_installed("Matrix")
  z <- sparse_data(60, 4)
  for (part in c("i", "p")) {
    bad <- z$s
    slot <- methods::slot(bad, part)
    slot[[2L]] <- slot[[1L]] - 1L
    methods::slot(bad, part, check = FALSE) <- slot
    budget <- privacy_budget(5, 1e-5)
    expect_match(error_text(quiet(dp_lasso(bad, z$y, 1, 1e-6, radius = 1, budget = budget))),
                 "damaged")
    expect_identical(remaining(budget), remaining(privacy_budget(5, 1e-5)))
    expect_match(error_text(predict(quiet(dp_lasso(z$x, z$y, 1, 1e-6, radius = 1)), bad)),
                 "`newdata` is a damaged")
  }
  bad <- z$s
  methods::slot(bad, "x", check = FALSE) <- bad@x[-1L]
  expect_match(error_text(dp_lasso(bad, z$y, 1, 1e-6, radius = 1)), "damaged")
})

test_that("what takes no sparse matrix says so", {
  skip_if_not_installed("Matrix")
  z <- sparse_data(60, 4)
  calls <- list(
    function() dp_lm(z$s, z$y, 1, 1e-6), function() dp_glm(z$s, z$y > 0, 1, 1e-6),
    function() dp_sco(z$s, z$y, 1, 1e-6),
    function() dp_sco(z$s, z$y, 1, 1e-6, constraint = l2_ball(1))
  )
  for (call in calls) expect_match(error_text(call()), "sparse matrix.*as.matrix")
  for (other in list(methods::as(z$s, "TsparseMatrix"), methods::as(z$s, "RsparseMatrix"),
                     methods::as(z$s != 0, "CsparseMatrix"))) {
    expect_match(error_text(dp_lasso(other, z$y, 1, 1e-6, radius = 1)), "dgCMatrix.*as\\(")
  }
  for (refit in c(TRUE, FALSE)) {
    expect_match(error_text(dp_lasso(z$s, z$y, 1, 1e-6, radius = 1, refit = refit,
                                     scale = list(x = list(center = c(0, 0, 1, 0))))),
                 "`scale\\$x\\$center` must be 0")
    public <- list(x = list(center = 0, scale = 2))
    fit <- quiet(dp_lasso(z$s, z$y, 1, 1e-6, radius = 1, refit = refit, scale = public))
    expect_s3_class(fit, "dp_lasso")
  }
})

test_that("new rows may be sparse, for dense fits too", {
  skip_if_not_installed("Matrix")
  z <- sparse_data(60, 4)
  rownames(z$x) <- paste0("r", 1:60)
  for (intercept in c(TRUE, FALSE)) {
    fit <- quiet(dp_lm(z$x, z$y, 5, 1e-6, intercept = intercept))
    at <- c("v3", "v1", "v4", "v2")
    new <- cbind(z$x, other = NA)[c(1:60, 5), c(at, "other")]
    new[which(new != 0)[[7L]]] <- NA
    expect_equal(predict(fit, methods::as(new, "CsparseMatrix")), predict(fit, new))
  }
  fit <- quiet(dp_glm(unname(z$x), z$y > 1, 5, 1e-6))
  unnamed <- methods::as(unname(z$x), "CsparseMatrix")
  expect_equal(predict(fit, unnamed), predict(fit, unname(z$x)))
  expect_match(error_text(predict(fit, z$s[, 1:3])), "4 columns")
  expect_match(error_text(predict(fit, methods::as(z$s, "TsparseMatrix"))), "dgCMatrix")
  fit <- quiet(dp_lm(y ~ ., data.frame(y = z$y, z$x), epsilon = 5, delta = 1e-6))
  expect_match(error_text(predict(fit, z$s)), "`newdata` is a sparse matrix")
})
