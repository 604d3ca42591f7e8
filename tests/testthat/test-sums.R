test_that("winsorised sums and counts of values are the twin's", {
  set.seed(231)
  different <- vapply(Filter(function(o) o$p > 0, option_grid()), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    rows$inv_scale <- rows$inv_scale * 1000
    law <- list(limit = 1500, noise = c(0, 0), unit = 1)
    sums <- from_int64(release_sums(rows, law, exact = TRUE))
    counts <- from_int64(release_complete(rows, law, exact = TRUE))
    !identical(sums, twin_sums(rows, 1500)) || !identical(counts, twin_complete(rows))
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("plain sums are plain", {
  set.seed(232)
  for (n in c(1, 255, 256, 257, 1000)) {
    rows <- made_up_rows(n, 3, list(use = TRUE), special = FALSE)
    expect_equal(release_sums(rows, NO_NOISE), twin_sums(rows, Inf), tolerance = 1e-13)
  }
  expect_error(release_sums(rows, list(limit = Inf, noise = c(1, 30))), "noise")
  expect_error(release_sums(rows, list(limit = 2^52, noise = c(1, 30))), "62 bits")
  expect_error(release_sums(rows, list(limit = 0.5, noise = c(1, 30))), "62 bits")
})

test_that("whatever a value is, it adds at most the limit", {
  rows <- new_rows(matrix(c(SPECIAL, .Machine$double.xmax)), center = 3, inv_scale = 2^20)
  for (limit in c(1, 7, 2^50)) {
    law <- list(limit = limit, noise = c(0, 0))
    each <- vapply(rows$x, function(v) {
      rows$x <- matrix(v)
      from_int64(release_sums(rows, law, exact = TRUE))
    }, 0)
    expect_lte(max(abs(each)), limit)
    expect_identical(each[is.na(rows$x)], c(0, 0))
    expect_identical(each[rows$x %in% c(1e308, Inf)], c(limit, limit))
    expect_identical(from_int64(release_sums(rows, law, exact = TRUE)), sum(each))
  }
  # a step of zero width: still within the limit
  rows$inv_scale <- Inf
  law <- list(limit = 5, noise = c(0, 0))
  rows$x <- matrix(c(3, 4, 2))
  expect_lte(abs(from_int64(release_sums(rows, law, exact = TRUE))), 15)
})

test_that("the order of the rows cannot be seen", {
  set.seed(233)
  for (n in c(5, 256, 257, 1000)) {
    rows <- made_up_rows(n, 4)
    other <- rows
    other$x <- rows$x[sample(n), ]
    law <- sum_law("laplace", n, 4, 1)
    rows$inv_scale <- other$inv_scale <- rep(law$limit / 3, 4)
    expect_identical(release_sums(rows, law, exact = TRUE), release_sums(other, law, exact = TRUE))
  }
})
