test_that("x, y and offset are those of model.frame", {
  z <- wide_fixture()
  formulas <- list(
    y ~ x1 * f * l, y ~ 0 + f:o, y ~ g:x1 + o, y ~ m:f,
    log(abs(y)) ~ I(x1^2) + cut(x2, c(-1, 0, 1)),
    l ~ x1, i ~ x1, y ~ splines::ns(x1, knots = c(-1, 1), Boundary.knots = c(-5, 5)):f,
    y ~ offset(x1) + x2 + offset(2 * x2), y ~ 1
  )
  for (formula in formulas) {
    s <- schema_formula(formula, z)
    p <- frame_values(s, curator_check(s))
    mf <- model.frame(formula, z)
    mm <- model.matrix(formula, mf)
    mm <- mm[, colnames(mm) != "(Intercept)", drop = FALSE]
    expect_equal(p$x, unname(mm), ignore_attr = TRUE, tolerance = 1e-12)
    expect_equal(p$y, as.numeric(model.response(mf)))
    expect_equal(p$offset, model.offset(mf))
    expect_type(p$x, "double")
    expect_null(dimnames(p$x))
  }
})

test_that("blocks of rows make no difference", {
  z <- fixture(5000, 3)
  s <- schema_formula(y ~ x1 * f + I(x2^2), z)
  whole <- frame_values(s)
  small <- frame_values
  environment(small) <- list2env(list(block_cells = 1), parent = environment(frame_values))
  expect_identical(small(s), whole)
  expect_equal(whole$x, unname(model.matrix(y ~ x1 * f + I(x2^2), z)[, -1]), ignore_attr = TRUE)
})

test_that("subset keeps the number of rows, and NA counts as FALSE", {
  keep <- d$x2 > 0
  keep[5] <- NA
  s <- schema_formula(y ~ x1, d, subset = quote(keep))
  use <- curator_check(s)
  expect_identical(use, !is.na(keep) & keep)
  p <- frame_values(s, use)
  expect_identical(dim(p$x), c(400L, 1L))
  expect_identical(s$n, as.integer(n))
  expect_equal(p$x[use, 1], d$x1[use])
  expect_true(all(is.nan(p$x[!use, 1])))
  expect_identical(curator_check(schema_formula(y ~ x1, d, subset = quote(x2 > 0))), d$x2 > 0)
  expect_identical(
    curator_check(schema_formula(y ~ x1, d, subset = quote(keep & f == "hi"))),
    !is.na(keep) & keep & d$f == "hi"
  )
  expect_identical(curator_check(schema_formula(y ~ x1, d, subset = d$x2 > 0)), d$x2 > 0)
  bad <- list(1:3, quote(seq_len(5)), quote(x1), quote(f), c(TRUE, FALSE), TRUE, quote(no_such))
  for (given in bad) {
    expect_match(error_text(schema_formula(y ~ x1, d, subset = given)), "`subset`|`no_such`")
  }
})

test_that("subset and formula may live in a function", {
  g <- function(dat) {
    fo <- as.formula("y ~ x1 + x2")
    keep <- dat$x2 > 0
    schema_formula(fo, dat, subset = quote(keep), caller = environment())
  }
  s <- g(d)
  expect_identical(curator_check(s), d$x2 > 0)
  expect_identical(dim(frame_values(s, d$x2 > 0)$x), c(400L, 2L))
})

test_that("subset and offset may come through the dots of another function", {
  outer <- function(...) dp_lm(...)
  inner <- function(dat) {
    keep <- dat$x2 > 0
    shift <- dat$x1
    fo <- y ~ x1
    list(dp_lm(fo, dat, Inf, subset = keep, offset = shift),
         outer(fo, dat, Inf, subset = keep, offset = shift))
  }
  fits <- inner(d)
  expect_identical(coef(fits[[1L]]), coef(fits[[2L]]))
  expect_false(identical(coef(fits[[1L]]), coef(dp_lm(y ~ x1, d, Inf))))
  expect_error(outer(y ~ x1, d, Inf, subset = nowhere), "`nowhere`", class = "dp_error")
})

test_that("offset as an argument is a vector or an expression in data", {
  o <- d$x1 * 2
  s <- schema_formula(y ~ x1, d, offset = quote(o))
  expect_equal(frame_values(s)$offset, o)
  expect_true(s$offset_external)
  s <- schema_formula(y ~ x1 + offset(x2), d, offset = quote(log(x1^2)))
  expect_equal(frame_values(s)$offset, d$x2 + log(d$x1^2))
  expect_false(s$offset_external)
  for (bad in list(1:3, quote(f), quote(f == "hi"), letters, 1)) {
    expect_match(error_text(schema_formula(y ~ x1, d, offset = bad)), "offset")
  }
})

test_that("no value of a record raises a condition", {
  odd <- c(0, -1, 1e308, -1e308, Inf, -Inf, 5e-324)
  fo <- y ~ log(x1) + splines::ns(x1, knots = c(-1, 1), Boundary.knots = c(-5, 5)) +
    poly(x1, 2, raw = TRUE)
  for (v in odd) {
    z <- d
    z$x1[7] <- v
    s <- schema_formula(fo, z)
    expect_silent(p <- frame_values(s, curator_check(s)))
    clean <- frame_values(schema_formula(fo, d))
    # The other rows are what they were, bit for bit.
    expect_identical(p$x[-7, ], clean$x[-7, ])
  }
  expect_identical(frame_values(schema_formula(y ~ x1, z))$x[7], 5e-324)
})

test_that("a term that stops on some rows leaves NaN there and nowhere else", {
  picky <- function(v) {
    stopifnot(all(v > 0))
    log(v)
  }
  s <- schema_formula(y ~ picky(x1), d)
  expect_silent(p <- frame_values(s, curator_check(s)))
  expect_identical(is.nan(p$x[, 1]), !(d$x1 > 0))
  expect_equal(p$x[d$x1 > 0, 1], log(d$x1[d$x1 > 0]))
})

test_that("values of x, y input", {
  x <- cbind(a = d$x1, b = d$x2)
  s <- schema_matrix(x, d$y)
  expect_identical(s$columns, c("(Intercept)", "a", "b"))
  p <- frame_values(s, curator_check(s))
  expect_identical(p$x, x)
  expect_identical(p$y, d$y)
  xi <- matrix(seq_len(12), 4)
  s <- schema_matrix(xi, 1:4, intercept = FALSE)
  expect_identical(s$columns, c("x1", "x2", "x3"))
  expect_identical(frame_values(s)$x, xi + 0)
  expect_identical(frame_values(s)$y, as.numeric(1:4))
  dimnames(xi) <- list(NULL, NULL)
  expect_identical(schema_matrix(xi, 1:4)$columns[-1], c("x1", "x2", "x3"))
  s <- schema_matrix(xi > 3, c(TRUE, FALSE, TRUE, TRUE))
  expect_identical(s$unit, rep(TRUE, 3))
  expect_identical(frame_values(s)$y, c(1, 0, 1, 1))
  s <- schema_matrix(data.frame(u = 1:4, v = c(TRUE, FALSE, NA, TRUE)), matrix(1:4, 4))
  expect_identical(s$unit, c(FALSE, TRUE))
  expect_identical(frame_values(s)$x, cbind(1:4, c(1, 0, NA, 1)))
  expect_identical(dim(frame_values(schema_matrix(d$x1, d$y))$x), c(400L, 1L))
})

test_that("a double matrix is handed on without a copy", {
  skip_if_not(capabilities("profmem"))
  x <- matrix(rnorm(20), 10)
  s <- schema_matrix(x, 1:10)
  tracemem(x)
  on.exit(untracemem(x))
  expect_silent(invisible(capture.output(p <- frame_values(s, curator_check(s)))))
  expect_length(capture.output(frame_values(s, curator_check(s))$y), 1)
})

test_that("wrong x and y are refused by name", {
  e <- error_text(schema_matrix(as.matrix(d[, 1:2]), d$y[-1]))
  expect_match(e, "`x`.*`y`.*400.*399")
  expect_match(error_text(schema_matrix(matrix(0, 5, 0), 1:5)), "0 columns")
  expect_match(error_text(schema_matrix(matrix(0, 0, 2), numeric())), "0 rows")
  expect_match(error_text(schema_matrix(matrix("a", 2, 2), 1:2)), "`x`")
  expect_match(error_text(schema_matrix(list(1, 2), 1:2)), "`x`")
  expect_match(error_text(schema_matrix(array(0, c(2, 2, 2)), 1:2)), "`x`")
  expect_match(error_text(schema_matrix(d[c("x1", "f")], d$y)), "`f`")
  expect_match(error_text(schema_matrix(d$x1, d$f)), "`y`")
  expect_match(error_text(schema_matrix(d$x1, as.character(d$y))), "`y`")
  expect_match(error_text(schema_matrix(d$x1, cbind(d$y, d$y))), "`y`")
  expect_match(error_text(schema_matrix(d$x1, NULL)), "`y`")
  expect_match(error_text(schema_matrix(cbind(a = 1:3, a = 1:3), 1:3)), "`a`")
  expect_match(error_text(schema_matrix(d$x1, d$y, offset = 1:3)), "`offset`")
  expect_match(error_text(schema_matrix(d$x1, d$y, subset = 1:3)), "`subset`")
  expect_match(error_text(schema_matrix(d$x1, d$y, intercept = NA)), "`intercept`")
  skip_if_not_installed("Matrix")
  expect_match(error_text(schema_matrix(Matrix::Matrix(0, 3, 2, sparse = TRUE), 1:3)), "sparse")
})

test_that("a stripped matrix schema holds no data", {
  x <- cbind(a = d$x1)
  x[3] <- 12345.678901
  s <- schema_matrix(x, x[, 1], offset = x[, 1], subset = x[, 1] > 0)
  expect_true(leaks(s, 12345.678901))
  expect_false(leaks(strip_schema(s), 12345.678901))
})
