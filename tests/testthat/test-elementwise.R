imputed <- function(v) {
  v[v == -9] <- mean(v[v != -9])
  v
}

hidden <- local({
  set.seed(251)
  n <- 300
  z <- data.frame(
    y = rnorm(n), x = ifelse(runif(n) < 0.2, -9, rnorm(n)),
    start = as.Date("2020-01-01") + sample(300, n, TRUE)
  )
  z$end <- z$start + sample(30, n, TRUE)
  z$text <- format(z$start)
  z$time <- as.POSIXct("2020-01-01", tz = "UTC") + 86400 * sample(30, n, TRUE)
  z$f <- factor(sample(c("a", "b"), n, TRUE))
  z
})

values_of <- function(formula, data) {
  schema <- schema_formula(formula, data)
  frame_values(schema, curator_check(schema))
}

test_that("no record reaches the value of another, whatever the term", {
  formulas <- list(
    y ~ imputed(x), y ~ I(as.Date(text) > "2020-06-01"), y ~ as.numeric(difftime(end, start)),
    y ~ I(as.numeric(time - as.POSIXct("2020-01-01"))),
    y ~ as.numeric(ifelse(x > 0, x, "0")), y ~ ifelse(f == "a", x, 0),
    y ~ as.numeric(end) + log(abs(x)) + f, y ~ cut(x, c(-Inf, 0, Inf)), imputed(x) ~ y
  )
  nasty <- hidden
  nasty$x[[1L]] <- 1e300
  nasty$end[[1L]] <- nasty$start[[1L]]
  nasty$text[[1L]] <- "2021/05/05 10:00"
  nasty$time[[1L]] <- as.POSIXct("2020-01-01 00:00:01", tz = "UTC")
  for (formula in formulas) {
    a <- values_of(formula, hidden)
    b <- values_of(formula, nasty)
    expect_identical(a$x[-1L, ], b$x[-1L, ], label = deparse(formula))
    expect_identical(a$y[-1L], b$y[-1L])
  }
  # the same for the rows that a condition keeps
  kept <- function(data) {
    curator_check(schema_formula(y ~ x, data, subset = quote(as.Date(text) > "2020-06-01")))
  }
  expect_identical(kept(hidden)[-1L], kept(nasty)[-1L])
})

test_that("only terms of known functions are evaluated in blocks", {
  known <- function(formula) {
    spec <- schema_formula(formula, hidden)$variables[[2L]]
    spec$elementwise
  }
  for (f in list(
    y ~ x, y ~ I(x^2), y ~ log(abs(x) + 1, 2), y ~ ifelse(x > 0, x, 0), y ~ pmin(x, 3),
    y ~ ifelse(is.na(x), NA, ifelse(f == "a", x / 2, 1)),
    y ~ cut(x, c(-1, 0, 1)), y ~ findInterval(x, c(-1, 1)), y ~ poly(x, 2, raw = TRUE),
    y ~ splines::ns(x, knots = c(-1, 1), Boundary.knots = c(-5, 5)), y ~ I(x %in% c(1, 2)),
    y ~ factor(text, levels = c("2020-01-02", "2020-01-03")), y ~ I((x - sum(1:3)) / 2)
  )) expect_true(known(f), label = deparse(f))
  for (f in list(
    y ~ imputed(x), y ~ as.numeric(difftime(end, start)), y ~ as.numeric(end),
    y ~ as.numeric(ifelse(x > 0, x, "0")), y ~ as.numeric(ifelse(x > 0, text, x)),
    y ~ I(nchar(text)), y ~ I(vapply(x, abs, 0)), y ~ base::rev(base::rev(x))
  )) expect_false(known(f), label = deparse(f))
  log <- function(x) x + 1 # a function of the user's own under a known name
  expect_false(known(y ~ log(x)))
})

test_that("codes that are no level, and columns with odd attributes, do no harm", {
  z <- hidden
  contrasts(z$f) <- "contr.sum"
  for (code in c(0L, -1L, 9L)) {
    g <- unclass(z$f)
    g[[1L]] <- code
    z$g <- structure(g, class = "factor")
    expect_identical(values_of(y ~ g, z)$x[-1L], values_of(y ~ f, z)$x[-1L])
    expect_true(is.na(values_of(y ~ g, z)$x[[1L]]))
  }
  a <- data.frame(a = rep(0.99999996, 50), b = structure(rnorm(50), levels = "q"))
  b <- a
  b$a[[1L]] <- 1e20
  expect_identical(mean_values(a, mean_schema(a))[-1L, ], mean_values(b, mean_schema(b))[-1L, ])
})

test_that("a fit keeps the constants of its offset and not those of its subset", {
  ids <- c(12345.678901, 2)
  s <- strip_schema(schema_formula(
    y ~ x, hidden, subset = quote(x %in% ids), offset = quote(log(abs(x) + three)),
    caller = list2env(list(ids = ids, three = 3))
  ))
  expect_false(leaks(s, 12345.678901))
  expect_identical(s$bindings$arguments$constants, list(three = 3))
})
