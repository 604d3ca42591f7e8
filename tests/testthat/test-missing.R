test_that("missing values are refused with one fixed text", {
  texts <- character()
  for (bad in list(NA_real_, NaN)) {
    for (name in c("x1", "y", "x2")) {
      z <- d
      z[[name]][7] <- bad
      e <- tryCatch(curator_check(schema_formula(y ~ log(x1) + offset(x2), z)), error = identity)
      expect_s3_class(e, "dp_error_missing")
      texts <- c(texts, conditionMessage(e))
    }
  }
  expect_length(unique(texts), 1)
  expect_match(texts[1], "do not publish", fixed = TRUE)
  z <- d
  z$f[3] <- NA
  expect_error(curator_check(schema_formula(y ~ f, z)), class = "dp_error_missing")
  expect_silent(curator_check(schema_formula(y ~ x1, z)))
})

test_that("infinite values are not missing, and NaN made by a term is not either", {
  z <- d
  z$x1[1:2] <- c(Inf, -Inf)
  expect_null(curator_check(schema_formula(y ~ x1 + log(x2), z)))
  expect_true(anyNA(frame_values(schema_formula(y ~ log(x2), z))$x))
})

test_that("incomplete rows add zero under na.omit, and stay in the count", {
  z <- d
  z$x1[7] <- NA
  z$y[9] <- NaN
  z$f[11] <- NA
  s <- schema_formula(y ~ x1 * f, z)
  for (action in list(na.omit, "na.omit", na.exclude, stats::na.omit)) {
    use <- curator_check(s, action)
    expect_identical(which(!use), c(7L, 9L, 11L))
  }
  expect_silent(p <- frame_values(s, use))
  expect_identical(nrow(p$x), 400L)
  expect_identical(p$x[use, ], frame_values(schema_formula(y ~ x1 * f, d))$x[use, ])
  use <- curator_check(schema_formula(y ~ x1, z, subset = quote(x2 > 0)), na.omit)
  expect_identical(use, d$x2 > 0 & !seq_len(n) %in% c(7, 9))
})

test_that("missing values in rows that subset leaves out do no harm", {
  z <- d
  z$x1[d$x2 > 0] <- NA
  expect_identical(curator_check(schema_formula(y ~ x1, z, subset = quote(x2 <= 0))), d$x2 <= 0)
  expect_error(
    curator_check(schema_formula(y ~ x1, z, subset = quote(x2 > 0.5))), class = "dp_error_missing"
  )
})

test_that("other actions are refused by name", {
  for (action in list(na.pass, "na.pass", function(x) x, 1, TRUE)) {
    expect_error(resolve_na_action(action), "`na.action`")
  }
  expect_identical(resolve_na_action(NULL), "refuse")
  expect_identical(resolve_na_action(na.fail), "refuse")
  expect_identical(resolve_na_action("na.exclude"), "omit")
})

test_that("the option na.action has no say", {
  old <- options(na.action = "na.omit")
  on.exit(options(old))
  z <- d
  z$x1[7] <- NA
  expect_error(curator_check(schema_formula(y ~ x1, z)), class = "dp_error_missing")
})

test_that("missing values of x, y input", {
  x <- cbind(a = d$x1, b = d$x2)
  x[7, 2] <- NaN
  expect_error(curator_check(schema_matrix(x, d$y)), class = "dp_error_missing")
  expect_identical(which(!curator_check(schema_matrix(x, d$y), na.omit)), 7L)
  expect_error(curator_check(schema_matrix(c(1L, NA), 1:2)), class = "dp_error_missing")
  expect_error(curator_check(schema_matrix(1:2, c(1L, NA))), class = "dp_error_missing")
  expect_error(
    curator_check(schema_matrix(data.frame(a = c(1L, NA)), 1:2)), class = "dp_error_missing"
  )
  expect_identical(frame_values(schema_matrix(c(1L, NA), 1:2))$x, matrix(c(1, NA), 2))
  s <- schema_matrix(x, d$y, subset = seq_len(n) != 7)
  expect_identical(which(!curator_check(s)), 7L)
})
