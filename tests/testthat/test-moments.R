test_that("second moments are the twin's integers over the option grid", {
  set.seed(211)
  different <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    norm <- row_norms(rows, with_response = TRUE)
    law <- list(step = 1e-3, noise = c(0, 0))
    bound <- stats::runif(1, 0.5, 5)
    got <- release_moments(rows, norm, bound, law, exact = TRUE)
    !identical(from_int64(got), twin_moments(rows, norm, bound, law$step))
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("plain second moments are those of the rows", {
  set.seed(212)
  for (o in option_grid()[c(3, 40, 77, 111, 140)]) {
    rows <- made_up_rows(o$n, o$p, o)
    norm <- row_norms(rows, with_response = TRUE)
    got <- release_moments(rows, norm, Inf, NO_NOISE)
    m <- o$p + rows$intercept + 1
    packed <- got[upper.tri(diag(m), diag = TRUE)] * o$n
    expect_equal(packed, twin_moments(rows, norm, Inf, 0), tolerance = 1e-12)
    expect_identical(got, t(got))
  }
})

test_that("weighted second moments are those of rows under the root, to the last integer", {
  set.seed(216)
  n <- 600
  x <- matrix(sample(-40:40, 3 * n, TRUE) / 8, n)
  x[7, 2] <- NaN
  rows <- new_rows(x, stats::rnorm(n), intercept = TRUE)
  root <- rbind(c(1, 0, 0, 0), c(0.5, 2, 0, 0), c(0, 0.25, 1, 0), c(-1, 0, 0.5, 0.75))
  weight <- rep(c(0.3, 1, 0, 7, NaN, -1), length.out = n)
  z <- cbind(1, x) %*% t(root)
  z[7, ] <- 0
  bound <- 2
  own <- pmin(ifelse(is.na(weight) | weight < 0, 0, weight),
              bound * (1 - 1e-6) / pmax(sqrt(rowSums(z^2)), 1e-100))
  q <- round(z * (own / 1e-3))
  packed <- crossprod(q)[upper.tri(diag(4), diag = TRUE)]
  law <- list(step = 1e-3, noise = c(0, 0))
  expect_identical(from_int64(release_weighted_moments(rows, weight, root, bound, law, NULL, TRUE)),
                   packed)
  got <- release_weighted_moments(rows, weight, root, bound, NO_NOISE)
  expect_equal(got, crossprod(z * own) / n, tolerance = 1e-12)
  rows$intercept <- 0
  expect_error(release_weighted_moments(rows, weight, root, bound, law), "root")
})

test_that("released second moments are centred on the clipped ones, in the units of the rows", {
  set.seed(213)
  n <- 2000
  rows <- made_up_rows(n, 3, list(intercept = TRUE))
  norm <- row_norms(rows, with_response = TRUE)
  law <- moment_law(n, 5, 50, 4)
  got <- release_moments(rows, norm, 4, law, fixed_key(3))
  want <- twin_moments(rows, norm, 4, 0) / n
  sd <- law$sd * ifelse(upper.tri(diag(5))[upper.tri(diag(5), diag = TRUE)], 8 / 11, 1)
  expect_lt(max(abs(got[upper.tri(got, diag = TRUE)] - want) / sd), 6)
})

test_that("the order of the rows cannot be seen", {
  set.seed(214)
  for (n in c(5, 256, 257, 1000)) {
    rows <- made_up_rows(n, 4, list(intercept = TRUE))
    i <- sample(n)
    other <- rows
    other$x <- rows$x[i, ]
    other$y <- rows$y[i]
    law <- moment_law(n, 6, 1, 3)
    get <- function(r) release_moments(r, row_norms(r, NULL, TRUE), 3, law, exact = TRUE)
    expect_identical(get(rows), get(other))
  }
})

test_that("a grid that does not fit is refused, and noise never goes with plain sums", {
  rows <- made_up_rows(5, 2, special = FALSE)
  norm <- row_norms(rows, with_response = TRUE)
  expect_error(release_moments(rows, norm, 1, list(step = 2^-22, noise = c(2, 40))), "does not fit")
  expect_error(release_moments(rows, norm, 1, list(step = 0, noise = c(2, 40))), "noise")
  expect_identical(.Call(C_core_live), 0)
})
