test_that("columns are those of lm for many formulas", {
  z <- wide_fixture()
  formulas <- list(
    y ~ x1, y ~ x1 + f, y ~ x1 * f, y ~ f:l, y ~ 0 + f, y ~ 0 + x1, y ~ x1 - 1, y ~ 1, y ~ o + g,
    y ~ o:g, y ~ x1:f, y ~ l, y ~ 0 + l, y ~ 0 + x1:f, y ~ 0 + f:g + l, y ~ m, y ~ m:f,
    y ~ f / x1, y ~ f %in% l, y ~ x1:x2 + f:x1:x2 - 1, y ~ C(f, contr.sum), y ~ .,
    y ~ poly(x2, 2, raw = TRUE) + I((x2 - 0.1) / 2), y ~ i + factor(i, levels = 0:4), y ~ . - m - i,
    log(abs(y)) ~ I(x1 > 0) + cut(x1, c(-Inf, 0, 1, Inf)), y ~ x1 + offset(x2), y ~ `my % b`
  )
  for (formula in formulas) {
    s <- schema_formula(formula, z)
    expect_identical(s$columns, names(coef(lm(formula, z))), label = deparse(formula)[1])
    expect_identical(length(s$unit), length(s$columns) - s$intercept)
  }
})

test_that("columns in [0, 1] are known from the schema", {
  z <- wide_fixture()
  expect_identical(schema_formula(y ~ x1 + f + l, z)$unit, c(FALSE, TRUE, TRUE, TRUE))
  expect_identical(schema_formula(y ~ f:l - 1, z)$unit, rep(TRUE, 6))
  expect_identical(schema_formula(y ~ x1:f, z)$unit, rep(FALSE, 3))
  expect_identical(schema_formula(y ~ g, z)$unit, rep(FALSE, 3))
  expect_identical(schema_formula(y ~ i + I(x1 > 0), z)$unit, c(FALSE, TRUE))
  expect_identical(schema_formula(y ~ 1, z)$unit, logical())
})

test_that("the schema does not depend on values", {
  z <- d
  other <- d
  other$x1 <- rev(d$x1)^3
  other$f <- factor(rep("lo", n), levels = levels(d$f))
  a <- schema_formula(y ~ log(x1) * f, z)
  b <- schema_formula(y ~ log(x1) * f, other)
  expect_identical(strip_schema(a), strip_schema(b))
})

test_that("contrasts of the options at fit time are kept", {
  old <- options(contrasts = c("contr.sum", "contr.poly"))
  on.exit(options(old))
  s <- strip_schema(schema_formula(y ~ f, d))
  expected <- unname(model.matrix(y ~ f, d)[1:9, ])
  options(old)
  expect_equal(unname(design_newdata(s, d[1:9, ])$x), expected, ignore_attr = TRUE)
  expect_identical(s$columns, c("(Intercept)", "f1", "f2"))
})

test_that("data must be a data frame with rows", {
  expect_match(error_text(schema_formula(y ~ x1)), "`data`")
  expect_match(error_text(schema_formula(y ~ x1, as.list(d))), "`data`")
  expect_match(error_text(schema_formula(y ~ x1, as.matrix(d[1:2]))), "`data`")
  expect_match(error_text(schema_formula(y ~ x1, d[0, ])), "`data` has 0 rows")
  expect_match(error_text(schema_formula("y ~ x1", d)), "`formula`")
  expect_match(error_text(schema_formula(~x1, d)), "no response")
  expect_match(error_text(schema_formula(y ~ 0, d)), "neither terms nor an intercept")
  expect_match(error_text(schema_formula(y ~ y + x1, d)), "right-hand side")
})

test_that("columns that cannot be used are refused by name, unused ones do no harm", {
  z <- d
  z$ch <- as.character(z$f)
  z$day <- as.Date("2020-01-01") + seq_len(n)
  z$li <- as.list(seq_len(n))
  z$odd <- structure(z$x1, class = "units")
  z$one <- factor(rep("only", n))
  expect_match(error_text(schema_formula(y ~ ch, z)), "factor(ch, levels = c(", fixed = TRUE)
  expect_match(error_text(schema_formula(y ~ day, z)), "as.numeric(day)", fixed = TRUE)
  expect_match(error_text(schema_formula(y ~ li, z)), "`li`")
  expect_match(error_text(schema_formula(y ~ odd, z)), "`odd`")
  expect_match(error_text(schema_formula(y ~ x1 + one, z)), "`one`")
  expect_match(error_text(schema_formula(f ~ x1, z)), "response `f`")
  expect_match(error_text(schema_formula(cbind(y, b) ~ x1, z)), "response")
  expect_s3_class(schema_formula(y ~ x1, z), "dp_schema")
  z <- setNames(cbind(d, d$x1), c(names(d), "x1"))
  expect_match(error_text(schema_formula(y ~ x1, z)), "more than one column named `x1`")
})

test_that("vectors outside data are refused, public constants are not", {
  outside <- d$x1
  knots <- c(-1, 1)
  k <- 2
  e <- error_text(schema_formula(y ~ x1 + outside, d))
  expect_match(e, "`outside`")
  expect_match(e, "put it into `data`")
  expect_match(error_text(schema_formula(y ~ d$x1, d)), "`d`")
  expect_match(error_text(schema_formula(y ~ x1 + k, d)), "`k`")
  f <- eval(bquote(y ~ x1 + I(.(d$x2))))
  expect_match(error_text(schema_formula(f, d)), "one value per row")
  expect_s3_class(
    schema_formula(y ~ splines::ns(x1, knots = knots, Boundary.knots = c(-k, k)), d), "dp_schema"
  )
  expect_s3_class(schema_formula(y ~ I(x1 > -Inf & pi > 3), d), "dp_schema")
})

test_that("the stored schema holds no data and no calling frame", {
  canary <- 12345.678901
  fit <- function(dat) {
    secret <- "rare-patient-name"
    big <- dat$x1
    shift <- 0.5
    move <- function(v) v - shift
    fo <- y ~ log(x1) + move(x2) + (function(v) v^2)(x1) + f +
      splines::ns(x1, knots = 0, Boundary.knots = c(-1, 1))
    s <- schema_formula(fo, dat, subset = quote(big > -1e9), offset = quote(big))
    frame_values(s, curator_check(s))
    strip_schema(s)
  }
  z <- d
  z$x1[7] <- canary
  z$y[8] <- canary
  z$x2[9] <- canary
  s <- fit(z)
  expect_false(leaks(s, canary))
  expect_false(leaks(s, "rare-patient-name"))
  # The search works: the live schema does hold the data.
  expect_true(leaks(schema_formula(y ~ x1, z), canary))
  expect_lt(length(serialize(s, NULL)), 30000)
})

test_that("the stored schema holds no source text", {
  text <- "square <- function(v) v^2 # rare-patient-name
    y ~ square(x1) + (function(v) v / 2)(x2) + sapply(x1, function(v, w = 1) v) # rare-patient-name"
  env <- new.env()
  for (e in parse(text = text, keep.source = TRUE)) formula <- eval(e, env)
  expect_true(leaks(formula, "rare-patient-name"))
  expect_false(leaks(strip_schema(schema_formula(formula, d)), "rare-patient-name"))
})

test_that("functions that carry data are refused", {
  for (digits in c(1, 20)) {
    steps <- stats::ecdf(round(d$x1, digits))
    expect_match(error_text(schema_formula(y ~ steps(x1), d)), "`steps`")
  }
  make <- function(dat) {
    m <- dat
    function(v) v - m$x1[1]
  }
  g <- make(d)
  expect_match(error_text(schema_formula(y ~ g(x1), d)), "`g`")
})

test_that("a schema survives a file and another session's state", {
  make <- function() {
    k <- 2
    twice <- function(v) k * v
    strip_schema(schema_formula(y ~ twice(x1) + poly(x2, 2, raw = TRUE), d))
  }
  s <- make()
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  saveRDS(s, path)
  expect_equal(design_newdata(readRDS(path), d[1:3, ])$x[, 2], 2 * d$x1[1:3], ignore_attr = TRUE)
})

test_that("data frames of other packages are accepted", {
  if (requireNamespace("tibble", quietly = TRUE)) {
    s <- schema_formula(y ~ x1 + f, tibble::as_tibble(d))
    expect_equal(frame_values(s)$x, frame_values(schema_formula(y ~ x1 + f, d))$x)
    expect_equal(dim(design_newdata(strip_schema(s), tibble::as_tibble(d)[1:2, ])$x), c(2L, 4L))
  }
  if (requireNamespace("data.table", quietly = TRUE)) {
    s <- schema_formula(y ~ x1 + f, data.table::as.data.table(d))
    expect_equal(frame_values(s)$x, frame_values(schema_formula(y ~ x1 + f, d))$x)
    new <- data.table::as.data.table(d)[1:2, ]
    expect_equal(dim(design_newdata(strip_schema(s), new)$x), c(2L, 4L))
  }
  succeed()
})

test_that("odd names are no format and no obstacle", {
  z <- data.frame(d$x1, d$x2, 1, d$x2, d$y)
  names(z) <- c("my x", "2nd-col", "if", "%s%n", "y")
  fo <- y ~ `my x` + `2nd-col` + `%s%n`
  s <- schema_formula(fo, z)
  expect_identical(s$columns, names(coef(lm(fo, z))))
  expect_identical(schema_formula(y ~ ., z)$columns, names(coef(lm(y ~ ., z))))
  z[["%s%n"]] <- as.character(z[["%s%n"]])
  expect_match(error_text(schema_formula(y ~ ., z)), "`%s%n`", fixed = TRUE)
})

test_that("a column that the formula takes away is not looked at", {
  z <- d
  z$day <- Sys.Date() + seq_len(n)
  z$text <- "a"
  s <- schema_formula(y ~ . - day - text - b, z)
  expect_identical(s$columns, names(coef(lm(y ~ x1 + x2 + f, d))))
  s <- schema_formula(y ~ . - day - text - x1 - f + offset(x1) - 1, z)
  expect_identical(s$columns, c("x2", "b"))
  expect_true(s$has_offset)
})

test_that("a vector of another length is refused as what it is given for", {
  keep <- rep(TRUE, 3999)
  expect_error(schema_formula(y ~ x1, big, subset = quote(keep)),
               "`keep`, used by `subset` or `offset`, must be a column of `data`",
               class = "dp_error_input")
})
