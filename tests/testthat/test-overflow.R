# Numbers that overflow on the way add something bounded, and NaN adds zero.

test_that("a derivative that is NaN adds zero to a gradient", {
  x <- rbind(c(1e100, 1e100), c(0, 0), c(1, 0))
  rows <- new_rows(x, c(0, 0, 5))
  norm <- row_norms(rows)
  law <- gradient_law(3, 2, 1, 1, NULL)
  at <- function(w) {
    from_int64(release_descent(rows, norm, w, descent_plan(2, law, 1), NULL, TRUE))
  }
  # the margin of the first record is Inf - Inf, that of the third as large as doubles get
  expect_identical(at(c(1e300, -1e300)), twin_gradient_sum(
    new_rows(x[2:3, ], c(0, 5)), norm[2:3], c(1e300, -1e300), law, 1
  ))
  # of finite margins both count
  expect_false(isTRUE(all.equal(at(c(1, 1))[[2L]], 0)))
})

test_that("an infinite value in a column of width zero moves a sum by no more than its limit", {
  for (kind in c("laplace", "gaussian")) {
    law <- sum_law(kind, 3, 1, 1)
    for (v in c(Inf, -Inf, NaN, NA, 1e308)) {
      rows <- new_rows(matrix(c(v, 1, 2)), inv_scale = 0)
      expect_lte(abs(from_int64(release_sums(rows, law, NULL, TRUE))), law$limit)
    }
  }
})
