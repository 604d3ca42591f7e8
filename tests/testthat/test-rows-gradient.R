# The source, the row norms and the gradient walk against their twins.

test_that("row norms equal the twin's over the option grid", {
  set.seed(201)
  worst <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    k <- o$p + rows$intercept
    root <- if (o$root) made_up_root(k)
    with_y <- !o$root && o$intercept
    got <- row_norms(rows, root, with_y)
    want <- twin_norms(rows, root, with_y)
    same <- identical(is.finite(got), is.finite(want)) && all(got[!is.finite(got)] == Inf)
    ok <- is.finite(want)
    if (!same) Inf else max(0, abs(got[ok] - want[ok]) / pmax(want[ok], 1e-160))
  }, 0)
  expect_lt(max(worst), 1e-12)
})

test_that("gradient sums are the twin's integers over the option grid", {
  set.seed(202)
  law <- list(noise = c(0, 0), step = 1e-3, limit = 2e4)
  different <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    k <- o$p + rows$intercept
    root <- if (o$root) made_up_root(k)
    norm <- row_norms(rows, root)
    w <- stats::rnorm(k)
    bound <- stats::runif(1, 0.5, 5)
    got <- release_descent(rows, norm, w, descent_plan(k, law, bound, root), exact = TRUE)
    want <- twin_lower(root, twin_gradient_sum(rows, norm, w, law, bound))
    !identical(from_int64(got), want)
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("plain gradient sums, the noiseless mode, are the twin's", {
  set.seed(203)
  law <- list(noise = c(0, 0), step = 0, limit = 1)
  worst <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o, special = FALSE)
    k <- o$p + rows$intercept
    root <- if (o$root) made_up_root(k)
    norm <- row_norms(rows, root)
    plan <- descent_plan(k, law, Inf, root)
    w <- stats::rnorm(k)
    got <- release_descent(rows, norm, w, plan)
    max(abs(got - twin_descent(rows, norm, w, plan))) / (1 + max(abs(got)))
  }, 0)
  expect_lt(max(worst), 1e-12)
})

test_that("sizes are counted in the twin's cells", {
  set.seed(204)
  different <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    k <- o$p + rows$intercept
    norm <- row_norms(rows, if (o$root) made_up_root(k))
    w <- if (o$use) stats::rnorm(k)
    cells <- octave_cells(-80, 80, c(1, 2, 4)[[1 + (o$n + o$p) %% 3]])
    got <- release_sizes(rows, norm, w, "squared", cells, list(unit = 3, noise = c(0, 0)),
                         exact = TRUE)
    size <- if (is.null(w)) norm else twin_sizes(rows, norm, w)
    size[!is.finite(size)] <- NaN
    want <- 3 * tabulate(twin_octave(size, cells), 160 * cells[[3L]] + 1)
    !identical(from_int64(got), want)
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("the product with a root is exact and rounds half up", {
  # one record of norm below the bound: its integers are what is put in
  exact <- function(root, s) {
    k <- length(s)
    rows <- new_rows(matrix(as.double(s), 1L, k), -1)
    norm <- row_norms(rows, root)
    law <- list(noise = c(0, 0), step = 1, limit = 2^50)
    from_int64(release_descent(rows, norm, rep(0, k), descent_plan(k, law, 1e30, root),
                               exact = TRUE))
  }
  expect_identical(exact(diag(c(0.5, 0.5)), c(1, -1)), c(1, 0))
  expect_identical(exact(diag(c(0.5, 0.5)), c(-3, 3)), c(-1, 2))
  root <- matrix(c(1, 2^-20, 0, 1), 2L)
  expect_identical(exact(root, c(2^40, 7)), c(2^40, 2^20 + 7))
  expect_identical(exact(root, c(-2^40 - 2^19, 0)), c(-2^40 - 2^19, -2^20))
  expect_identical(exact(matrix(2^19), 2^30), 2^49)
})

test_that("the order of the rows cannot be seen in an exact statistic", {
  set.seed(205)
  for (n in c(5, 256, 257, 1000)) {
    rows <- made_up_rows(n, 5, list(offset = TRUE, use = TRUE, centring = TRUE, intercept = TRUE))
    other <- rows
    i <- sample(n)
    other$x <- rows$x[i, ]
    for (part in c("y", "offset", "use")) other[[part]] <- rows[[part]][i]
    root <- hard_root(6, 1e8)
    w <- stats::rnorm(6)
    law <- gradient_law(n, 6, 0.3, 2, root)
    get <- function(r) {
      norm <- row_norms(r, root)
      list(
        release_descent(r, norm, w, descent_plan(6, law, 2, root), exact = TRUE),
        release_sizes(r, norm, w, "squared", octave_cells(-80, 80, 4), NO_NOISE, exact = TRUE)
      )
    }
    expect_identical(row_norms(other, root), row_norms(rows, root)[i])
    expect_identical(get(rows), get(other))
  }
})

test_that("malformed calls are refused and leave nothing behind", {
  rows <- made_up_rows(5, 2, special = FALSE)
  norm <- row_norms(rows)
  plan <- descent_plan(2, gradient_law(5, 2, 1, 1, NULL), 1)
  broken <- function(...) utils::modifyList(plan, list(...))
  expect_error(release_descent(rows, norm[-1L], c(0, 0), plan), "norm")
  expect_error(release_descent(rows, norm, 0, plan), "`w`")
  expect_error(release_descent(rows, norm, c(0, 0), broken(limit = 2^52)), "62 bits")
  expect_error(release_descent(rows, norm, c(0, 0), broken(limit = 0)), "62 bits")
  expect_error(release_descent(rows, norm, c(0, 0), broken(loss = "no")), "unknown")
  expect_error(release_descent(rows, norm, c(0, 0), broken(iterations = 0)), "iterations")
  expect_error(release_descent(rows, norm, c(0, 0), broken(root = diag(2) / 3)), "2\\^-20")
  expect_error(release_descent(rows, norm, c(0, 0), broken(noise = c(2, 46))), "2\\^45")
  # a grid of step zero stands for plain sums: never together with noise
  expect_error(release_descent(rows, norm, c(0, 0), broken(step = 0)), "noise")
  expect_error(row_norms(within(rows, center <- 0)), "center")
  expect_identical(.Call(C_core_live), 0)
})
