test_that("terms that take constants from the data are refused by name", {
  centre <- function(x) x - mean(x)
  bad <- list(
    y ~ poly(x1, 2), y ~ scale(x1), y ~ splines::ns(x1, 3), y ~ splines::bs(x1, df = 4),
    y ~ I(x1 - mean(x1)), y ~ pmin(x1, quantile(x1, 0.75)), y ~ cut(x1, 5), y ~ rank(x1),
    y ~ centre(x1), y ~ I(x1 / max(abs(x1))), y ~ cumsum(x1), y ~ rev(x1), y ~ ave(x1, f),
    y ~ factor(i), y ~ droplevels(f), y ~ factor(x1 > 0), y ~ I(x1 * seq_along(x1)),
    y ~ I(if (any(x1 < 0)) x1 else log(x1)), y ~ I(ifelse(is.finite(x1), x1, mean(x1))),
    y ~ I(if (anyNA(x1)) x1 - mean(x1, na.rm = TRUE) else x1),
    y ~ I(if (length(x1) > 100) x1 - mean(x1) else x1), y ~ I(c(NA, x1[-length(x1)])),
    y ~ I(x1[order(x2)]), y ~ I(x1 - x1[1]), y ~ sum(x1), y ~ rnorm(length(x1)),
    y ~ I(x1 * (x1 > median(x1))), y ~ x1:cut(x2, 3), y ~ I(i - max(i)),
    y ~ I(if (max(abs(x1)) > 1e6) x1 / 1e6 else x1), y ~ splines::ns(x1, knots = c(0, 1)),
    y ~ duplicated(x1), y ~ I(table(f)[f]), y ~ match(x1, unique(x1)),
    y ~ I(x1 - mean(x1[x1 == 99]))
  )
  for (formula in bad) {
    e <- tryCatch(spec_of(formula), error = identity)
    expect_s3_class(e, "dp_error_term")
    expect_match(conditionMessage(e), "reads constants from the data", label = deparse(formula))
  }
  expect_match(error_text(spec_of(y ~ x2 + poly(x1, 2))), "`poly(x1, 2)`", fixed = TRUE)
})

test_that("the response, the offset and the subset are held to the same rule", {
  text <- "reads constants from the data"
  expect_match(error_text(spec_of(scale(y) ~ x1)), text)
  expect_match(error_text(spec_of(I(y - mean(y)) ~ x1)), text)
  expect_match(error_text(spec_of(y ~ x1 + offset(x2 - mean(x2)))), text)
  expect_match(error_text(spec_of(y ~ x1, subset = quote(x1 > median(x1)))), text)
  expect_match(error_text(spec_of(y ~ x1, offset = quote(x2 / sd(x2)))), text)
})

test_that("terms that work row by row are accepted", {
  k <- c(-1, 1)
  square <- function(v) v^2
  good <- list(
    y ~ poly(x2, 2, raw = TRUE), y ~ splines::ns(x1, knots = k, Boundary.knots = c(-5, 5)),
    y ~ splines::bs(x1, knots = k, Boundary.knots = c(-5, 5)), log(y) ~ sqrt(x1),
    y ~ I((x2 - 0.1) / 2), y ~ cut(x1, c(-Inf, 0, 1, Inf)), y ~ pmin(pmax(x1, -3), 3),
    y ~ I(x1 > 0), y ~ ifelse(x1 > 0, x1, 0), y ~ square(x1), y ~ factor(i, levels = 0:4),
    y ~ relevel(f, ref = "hi"), y ~ interaction(f, g), y ~ as.numeric(f), y ~ I(x1 * pi),
    y ~ scale(x1, center = 2, scale = 3), y ~ I(is.na(x1)), y ~ C(f, contr.sum),
    y ~ sapply(x1, function(v) v / 2), y ~ qlogis(x1), y ~ asin(x2), y ~ findInterval(x1, k)
  )
  for (formula in good) expect_s3_class(spec_of(formula), "dp_schema")
})

test_that("R's random state is left alone", {
  set.seed(1)
  before <- .Random.seed
  spec_of(y ~ log(x1) + f * splines::ns(x2, knots = 0, Boundary.knots = c(-1, 1)))
  expect_identical(.Random.seed, before)
})

test_that("no term is evaluated on the data in the public phase", {
  seen <- new.env()
  seen$hit <- FALSE
  z <- d
  z$x1[3] <- 12345.678901
  assign("dp_spy", function(v) {
    if (any(v == 12345.678901, na.rm = TRUE)) seen$hit <- TRUE
    v
  }, envir = seen)
  # A spy that keeps what it sees cannot be stored with a fit: refused.
  environment(seen$dp_spy) <- globalenv()
  assign("seen", seen, envir = globalenv())
  on.exit(rm(list = "seen", envir = globalenv()))
  env <- new.env(parent = globalenv())
  env$dp_spy <- seen$dp_spy
  formula <- as.formula("y ~ dp_spy(x1)", env = env)
  s <- schema_formula(formula, z)
  expect_false(seen$hit)
  curator_check(s)
  expect_false(seen$hit)
  frame_values(s)
  expect_true(seen$hit)
})

test_that("a term that cannot be evaluated is an error that names it", {
  expect_match(error_text(spec_of(y ~ I(x1 + no_such))), "`no_such` is not a column of `data`")
  expect_match(error_text(spec_of(y ~ no_such_function(x1))), "`no_such_function`")
  expect_match(error_text(spec_of(y ~ I(log(-abs(x1) - 1)))), "cannot be evaluated")
  expect_match(error_text(spec_of(y ~ (function(v) stop("no"))(x1))), "cannot be evaluated")
  expect_match(error_text(spec_of(y ~ as.character(f))), "factor(", fixed = TRUE)
  expect_match(error_text(spec_of(y ~ I(x1 + 1i))), "neither a number")
  expect_match(error_text(spec_of(y ~ x1 + I(3))), "uses no column")
})

test_that("made-up values never become text of a condition", {
  expect_silent(spec_of(y ~ log(x1) + sqrt(x2) + as.integer(x1 * 1e9)))
  loud <- function(v) {
    message("hello")
    warning("hello")
    v
  }
  expect_silent(spec_of(y ~ loud(x1)))
})

test_that("text and dates may be used inside a term that makes numbers of them", {
  z <- d
  z$ch <- as.character(z$f)
  z$day <- as.Date("2020-01-01") + seq_len(n)
  fo <- y ~ factor(ch, levels = c("lo", "mid", "hi")) + I(ch == "hi") + as.numeric(day)
  s <- schema_formula(fo, z)
  v <- frame_values(s)
  expect_equal(unname(v$x[, 2]), as.numeric(z$ch == "hi"))
  expect_equal(unname(v$x[, 4]), as.numeric(z$day))
  expect_match(error_text(schema_formula(y ~ factor(ch), z)), "reads constants|cannot be evaluated")
})
