test_that("the design of the data is the design of the fit", {
  z <- wide_fixture()
  for (formula in list(y ~ x1 * f + l, y ~ 0 + g + o, y ~ m + i, y ~ 1, log(y) ~ I(x1 > 0):f)) {
    s <- schema_formula(formula, z)
    expect_equal(
      unname(design_newdata(strip_schema(s), z)$x[, s$columns != "(Intercept)", drop = FALSE]),
      frame_values(s)$x
    )
  }
})

test_that("text, one-level and full factors agree", {
  s <- stored(y ~ x1 + f)
  a <- design_newdata(s, data.frame(x1 = 0, f = "hi"))$x
  b <- design_newdata(s, data.frame(x1 = 0, f = factor("hi")))$x
  c <- design_newdata(s, data.frame(x1 = c(0, 0, 0), f = c("lo", "mid", "hi")))$x
  expect_equal(unname(a), unname(b))
  expect_equal(unname(a), unname(c[3, , drop = FALSE]))
  expect_identical(colnames(a), s$columns)
})

test_that("a new level is an error that names variable and label", {
  s <- stored(y ~ x1 + f)
  expect_match(error_text(design_newdata(s, data.frame(x1 = 1, f = "new"))), "`f`.*\"new\"")
  expect_match(error_text(design_newdata(s, data.frame(x1 = 1, f = factor("new")))), "`f`.*\"new\"")
})

test_that("rows with NA keep their place", {
  s <- stored(y ~ log(x1^2) + f)
  nd <- d[1:4, ]
  nd$x1[2] <- NA
  nd$f[3] <- NA
  p <- design_newdata(s, nd)
  expect_identical(p$na, c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(unname(rowSums(is.na(p$x)) == 4), p$na)
  expect_identical(rownames(p$x), c("1", "2", "3", "4"))
  expect_equal(p$x[c(1, 4), ], design_newdata(s, d[c(1, 4), ])$x)
  expect_true(all(is.na(design_newdata(s, data.frame(x1 = NA, f = NA))$x)))
})

test_that("row by row is the same as in a batch", {
  s <- stored(
    y ~ poly(x2, 2, raw = TRUE) + splines::ns(x1, knots = c(-1, 1), Boundary.knots = c(-5, 5)) +
      I((x2 - 0.1) / 2)
  )
  batch <- design_newdata(s, d[1:20, ])$x
  single <- do.call(rbind, lapply(1:20, function(i) design_newdata(s, d[i, ])$x))
  expect_identical(batch, single)
})

test_that("the response, other columns and their order are not needed", {
  s <- stored(log(y) ~ x1 + f)
  a <- design_newdata(s, d[1:5, c("f", "b", "x1")])$x
  expect_identical(a, design_newdata(s, d[1:5, ])$x)
  expect_identical(a, design_newdata(s, list(f = d$f[1:5], x1 = d$x1[1:5]))$x)
  expect_match(error_text(design_newdata(s, d["x1"])), "no column `f`")
  expect_match(error_text(design_newdata(s, d$x1)), "data frame")
  expect_match(error_text(design_newdata(s, NULL)), "holds no data")
  expect_match(error_text(design_newdata(s)), "holds no data")
  expect_match(error_text(design_newdata(s, data.frame(x1 = "a", f = "hi"))), "`x1`")
})

test_that("a variable of the calling place never stands in for a column", {
  x1 <- rnorm(3)
  s <- stored(y ~ x1)
  expect_match(error_text(design_newdata(s, data.frame(x2 = 1:3))), "no column `x1`")
})

test_that("no dimension is dropped", {
  expect_identical(dim(design_newdata(stored(y ~ 1), data.frame(x1 = 1:3))$x), c(3L, 1L))
  expect_identical(dim(design_newdata(stored(y ~ 0 + x1), data.frame(x1 = 1))$x), c(1L, 1L))
  expect_identical(dim(design_newdata(stored(y ~ x1 + f), d[0, ])$x), c(0L, 4L))
})

test_that("offsets of the formula enter, external ones are refused", {
  nd <- data.frame(x1 = c(0, 0), x2 = c(0, 3))
  expect_equal(diff(design_newdata(stored(y ~ x1 + offset(x2)), nd)$offset), 3)
  s <- stored(y ~ x1 + offset(x2), offset = quote(2 * x2))
  expect_equal(diff(design_newdata(s, nd)$offset), 9)
  expect_null(design_newdata(stored(y ~ x1), nd)$offset)
  outside <- d$x1
  s <- stored(y ~ x1, offset = quote(outside))
  expect_match(error_text(design_newdata(s, nd)), "offset()", fixed = TRUE)
  s <- strip_schema(schema_matrix(d$x1, d$y, offset = d$x2))
  expect_match(error_text(design_newdata(s, 1)), "offset()", fixed = TRUE)
})

test_that("matrix fits match columns by name, and by place without names", {
  x <- cbind(a = d$x1, b = d$x2)
  s <- strip_schema(schema_matrix(x, d$y))
  all <- design_newdata(s, x[1:3, ])
  expect_identical(unname(all$x), unname(cbind(1, x[1:3, ])))
  expect_identical(design_newdata(s, x[1:3, 2:1])$x, all$x)
  expect_identical(design_newdata(s, data.frame(c = "u", b = x[1:3, 2], a = x[1:3, 1]))$x, all$x)
  expect_identical(design_newdata(s, unname(x[1:3, ]))$x, all$x)
  expect_match(error_text(design_newdata(s, x[1:3, 1, drop = FALSE])), "`b`")
  expect_match(error_text(design_newdata(s, cbind(a = 1, z = 2))), "`b`")
  # as many columns, all of other names
  expect_match(error_text(design_newdata(s, cbind(y = 1, z = 2))), "no column `a`, `b`")
  expect_match(error_text(design_newdata(s, data.frame(y = 1, z = 2))), "no column `a`, `b`")
  expect_match(error_text(design_newdata(s, c(1, 2))), "one row")
  expect_match(error_text(design_newdata(s, data.frame(a = 1, b = "u"))), "`b`")
  expect_match(error_text(design_newdata(s, matrix("a", 1, 2))), "numbers")
  nd <- x[1:3, ]
  nd[2, 1] <- NA
  expect_identical(design_newdata(s, nd)$na, c(FALSE, TRUE, FALSE))
  expect_true(all(is.na(design_newdata(s, nd)$x[2, ])))
})

test_that("fits without column names and with one column", {
  s <- strip_schema(schema_matrix(unname(cbind(d$x1, d$x2)), d$y, intercept = FALSE))
  expect_identical(unname(design_newdata(s, cbind(u = 1:2, v = 3:4))$x), cbind(c(1, 2), c(3, 4)))
  expect_match(error_text(design_newdata(s, matrix(1, 1, 3))), "2 columns")
  one <- strip_schema(schema_matrix(cbind(a = d$x1), d$y))
  expect_identical(dim(design_newdata(one, c(1, 2, 3))$x), c(3L, 2L))
  expect_identical(dim(design_newdata(one, cbind(a = 1))$x), c(1L, 2L))
  expect_identical(rownames(design_newdata(one, rbind(r = c(a = 1)))$x), "r")
})

test_that("a column that is there twice is refused, and fits without predictions say so", {
  fit <- quiet(dp_lm(y ~ x1, big, epsilon = 1, delta = 1e-6))
  twice <- stats::setNames(big[1:2, c("x1", "x2")], c("x1", "x1"))
  expect_error(predict(fit, twice), "more than one column named `x1`", class = "dp_error_input")
  expect_error(predict(dp_mean(big$x1, 1), big), "predicts nothing", class = "dp_error_input")
})
