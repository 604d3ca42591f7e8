# The inputs of test-cases.R for every other front. What holds for dp_lm() must hold for all.

# One call per front and solver, by formula or by x and y; `y`: its response, numeric or 0/1.
FRONTS <- list(
  glm = list(fit = function(...) dp_glm(...), y = "b", delta = del),
  lasso = list(fit = function(...) dp_lasso(..., radius = 1), y = "y", delta = del),
  lasso_walk = list(fit = function(...) dp_lasso(..., radius = 1, refit = FALSE), y = "y",
                    delta = 0),
  sparse = list(fit = function(...) dp_sparse(..., sparsity = 1), y = "y", delta = del),
  sparse_logistic = list(fit = function(...) dp_sparse(..., sparsity = 1, loss = "logistic"),
                         y = "b", delta = del),
  iht = list(fit = function(...) dp_sparse(..., sparsity = 1, solver = "iht"), y = "y",
             delta = del),
  sco = list(fit = function(...) dp_sco(..., gradient = grad_winsorized()), y = "y", delta = del),
  sco_walk = list(fit = function(...) dp_sco(..., constraint = l1_ball(1)), y = "y", delta = del)
)

for_fronts <- function(f, fronts = FRONTS) {
  for (name in names(fronts)) {
    front <- fronts[[name]]
    make <- function(right) stats::as.formula(paste(front$y, "~", right), env = parent.frame())
    f(name, function(...) front$fit(..., epsilon = eps, delta = front$delta), make, big[[front$y]])
  }
}

# The same with a key of R's generator.
keyed <- function(fit) {
  function(...) {
    set.seed(9)
    unname(coef(quiet(fit(..., control = repeatable))))
  }
}

test_that("every front refuses missing values before anything is spent, and takes infinite ones", {
  m <- as.matrix(big[c("x1", "x2")])
  for_fronts(function(name, fit, formula, y) {
    for (bad in list(NA_real_, NaN)) {
      z <- big
      z$x1[7] <- bad
      refused <- function(call) expect_refusal(call, "missing", "dp_error_missing")
      refused(function(b) fit(formula("x1 + x2"), z, budget = b))
      refused(function(b) fit(replace(m, 3, bad), y, budget = b))
      refused(function(b) fit(m, replace(y + 0, 3, bad), budget = b))
    }
    for (bad in c(Inf, -Inf, 1e308)) {
      expect_identical(public_conditions(fit(replace(m, 3, bad), y)), public_conditions(fit(m, y)))
      expect_true(all(is.finite(coef(quiet(fit(replace(m, 3, bad), y))))))
    }
  })
})

test_that("every front names epsilon, delta, weights and what it does not know", {
  for_fronts(function(name, fit, formula, y) {
    front <- FRONTS[[name]]$fit
    for (e in list(0, -1, NA_real_, "1", c(1, 2), NULL)) {
      expect_refusal(function(b) front(formula("x1"), d, epsilon = e, delta = del, budget = b),
                     "`epsilon`")
    }
    for (q in list(-1e-9, 1, NA_real_, "0", c(1e-6, 1e-6))) {
      expect_refusal(function(b) front(formula("x1"), d, epsilon = 1, delta = q, budget = b),
                     "`delta`")
    }
    for (w in list(rep(-1, n), rep(1, n), rep("1", n), NULL)) {
      expect_refusal(function(b) fit(formula("x1"), d, weights = w, budget = b), "`weights`")
      expect_refusal(function(b) fit(d[1:2], d$b, weights = w, budget = b), "`weights`")
    }
    expect_refusal(function(b) fit(formula("x1"), d, epsillon = 2, budget = b), "`epsillon`")
    expect_refusal(function(b) front(d$x1, d$b, 1, del, 3, budget = b), "by name")
    z <- transform(d, k = factor("CANARY"), t = as.character(f))
    expect_refusal(function(b) fit(formula("x1 + k"), z, budget = b), "`k`")
    expect_refusal(function(b) fit(formula("x1 + t"), z, budget = b), "`t`.*text")
    for (right in c("poly(x1, 2)", "scale(x1)", "splines::ns(x1, 3)", "cut(x1, 5)",
                    "pmin(x1, quantile(x1, 0.75))", "I(x1 - mean(x1))")) {
      expect_refusal(function(b) fit(formula(right), d, budget = b), "reads constants")
    }
    expect_refusal(function(b) fit(formula("x1"), d[0, ], budget = b), "0 rows")
    expect_refusal(function(b) fit(as.matrix(d[1:2]), d$b[-1], budget = b), "400.*399")
    expect_refusal(function(b) fit(matrix(0, 5, 0), rep(0, 5), budget = b), "0 columns")
  })
})

test_that("every front takes rows and columns of zeros and constants, one column, one row", {
  m <- cbind(a = big$x2, z = 0, c7 = 7)
  m[1:20, ] <- 0
  for_fronts(function(name, fit, formula, y) {
    fits <- quiet(list(
      fit(m, y), fit(matrix(0, 50, 2), rep(0, 50)), fit(formula("x1"), d[1, ]),
      fit(cbind(a = big$x1), y)
    ))
    for (one in fits) expect_lt(max(abs(coef(one))), 1e3)
    expect_length(predict(fits[[4L]], 1:3), 3)
    expect_length(predict(fits[[4L]], cbind(a = 1)), 1)
    z <- transform(big, x3 = x1 + x2, x4 = x1)
    collinear <- quiet(fit(formula("x1 + x2 + x3 + x4"), z))
    expect_length(coef(collinear), 5)
    expect_true(all(is.finite(predict(collinear, z[1:3, ]))))
  })
})

test_that("every front predicts row by row as in a batch, whatever else newdata holds", {
  for_fronts(function(name, fit, formula, y) {
    z <- transform(big, o = x2)
    one <- quiet(fit(formula("x1 + f + offset(o) + poly(x2, 2, raw = TRUE)"), z))
    batch <- predict(one, z[1:6, ], type = "link")
    each <- vapply(1:6, function(i) unname(predict(one, z[i, ], type = "link")), 0)
    expect_identical(unname(batch), each)
    expect_identical(predict(one, cbind(extra = 1, z[1:6, rev(names(z))]), type = "link"), batch)
    expect_identical(unname(predict(one, z[1:6, setdiff(names(z), c("y", "b"))], type = "link")),
                     unname(batch))
    text <- transform(z[1:6, ], f = as.character(f))
    expect_identical(unname(predict(one, text, type = "link")), unname(batch))
    moved <- predict(one, transform(z[1:6, ], o = o + 3), type = "link") - batch
    expect_equal(unname(moved), rep(3, 6))
    holes <- z[1:4, ]
    holes$x1[2] <- NA
    holes$f[3] <- NA
    expect_identical(unname(is.na(predict(one, holes))), c(FALSE, TRUE, TRUE, FALSE))
    expect_error(predict(one, transform(text, f = "new")), "`f`.*\"new\"", class = "dp_error")
  })
})

test_that("every front works on variables of a function and prints what it is", {
  for_fronts(function(name, fit, formula, y) {
    g <- function(dat) {
      keep <- dat$x2 > -2
      fo <- formula("x1 + x2")
      fit(fo, data = dat, subset = keep)
    }
    one <- quiet(g(big))
    expect_identical(nobs(one), 4000L)
    expect_length(predict(one, d[1:3, ]), 3)
    for (right in c("0 + x1", "x1 - 1", "0 + f", "`my x`")) {
      z <- cbind(big, `my x` = big$x1)
      one <- quiet(fit(formula(right), z))
      expect_named(coef(one), names(coef(lm(formula(right), z))))
      expect_output(print(one), FRONTS[[name]]$y)
      expect_output(print(summary(one)))
      pdf(NULL)
      plot(one)
      dev.off()
      expect_length(predict(one, z[1:3, ]), 3)
    }
  })
})

test_that("every front takes integers, logicals, data frames and tables alike", {
  set.seed(8)
  whole <- matrix(sample(0:3, 12000, TRUE), 4000)
  for_fronts(function(name, fit, formula, y) {
    run <- keyed(fit)
    y <- as.integer(round(pmin(pmax(y, -1e6), 1e6)))
    exact <- run(whole + 0, y + 0)
    expect_identical(run(whole, y), exact)
    expect_identical(run(as.data.frame(whole), y), exact)
    expect_true(all(is.finite(run(whole > 1, y))))
    plain <- run(formula("x1 + x2"), big)
    if (requireNamespace("tibble", quietly = TRUE)) {
      expect_identical(run(formula("x1 + x2"), tibble::as_tibble(big)), plain)
    }
    if (requireNamespace("data.table", quietly = TRUE)) {
      expect_identical(run(formula("x1 + x2"), data.table::as.data.table(big)), plain)
    }
  })
})

test_that("with much budget a sparse matrix gives what the dense one gives", {
  skip_if_not_installed("Matrix")
  set.seed(12)
  s <- Matrix::rsparsematrix(1000, 10, 0.1)
  y <- as.numeric(s[, 1]) + stats::rnorm(1000)
  for (fit in list(
    function(x) dp_lasso(x, y, 1e6, del, radius = 3),
    function(x) dp_lasso(x, y, 1e6, del, radius = 1, refit = FALSE),
    function(x) dp_sparse(x, y, 1e6, del, sparsity = 1),
    function(x) dp_mean(x, 1e6, del, sparsity = 2)
  )) {
    one <- quiet(fit(s))
    expect_equal(unname(coef(one)), unname(coef(quiet(fit(as.matrix(s))))), tolerance = 0.2)
    if (inherits(one, "dp_lm")) {
      expect_equal(predict(one, s[1:3, ]), predict(one, as.matrix(s[1:3, ])))
    }
  }
})

test_that("several radii, or one that is no number, are refused by name", {
  for (r in list(-1, 0, NA, numeric(0), c(0.2, 0.1), "1", Inf)) {
    expect_refusal(function(b) dp_lasso(y ~ x1 + x2, d, radius = r, epsilon = eps, delta = del,
                                        budget = b), "`radius`")
  }
  expect_refusal(function(b) dp_lasso(y ~ x1, d, epsilon = eps, delta = del, budget = b),
                 "`radius`")
  one <- quiet(dp_lasso(y ~ x1 + x2, d, radius = 0.1, epsilon = eps, delta = del))
  expect_length(predict(one, d[1, ]), 1)
})

test_that("a binary response has one meaning in every coding", {
  z <- transform(big, l = b == 1, fa = factor(ifelse(b == 1, "yes", "no")), ch = as.character(b))
  fits <- list(
    function(fo, ...) dp_glm(fo, z, family = binomial, epsilon = 1e6, delta = del, ...),
    function(fo, ...) dp_sparse(fo, z, 1e6, del, loss = "logistic", sparsity = 2, ...),
    function(fo, ...) dp_sco(fo, z, 1e6, del, loss = "logistic", ...)
  )
  for (fit in fits) {
    set.seed(13)
    slopes <- vapply(list(b ~ x1 + x2, l ~ x1 + x2, fa ~ x1 + x2), function(fo) {
      coef(fit(fo))[["x2"]]
    }, 0)
    expect_true(all(slopes < -0.5))
    expect_error(fit(ch ~ x1 + x2), "text", class = "dp_error")
    expect_identical(levels(predict(fit(fa ~ x1 + x2), z[1:3, ], type = "class")), c("no", "yes"))
  }
})

test_that("set.seed repeats a fit of every front with rng = \"R\" and has no effect otherwise", {
  for_fronts(function(name, fit, formula, y) {
    run <- keyed(fit)
    a <- run(formula("x1 + f"), big)
    expect_identical(run(formula("x1 + f"), big), a)
    set.seed(5)
    state <- .Random.seed
    one <- quiet(fit(formula("x1 + f"), big))
    expect_identical(.Random.seed, state)
    set.seed(5)
    expect_false(identical(coef(one), coef(quiet(fit(formula("x1 + f"), big)))))
  })
})

test_that("fits of every front are the same under garbage-collector torture", {
  skip_on_cran()
  m <- as.matrix(d[1:40, 1:2])
  for_fronts(function(name, fit, formula, y) {
    run <- keyed(fit)
    gctorture2(1009)
    a <- tryCatch(run(m, y[1:40]), finally = gctorture2(0))
    expect_identical(a, run(m, y[1:40]))
  }, FRONTS[c("lasso_walk", "sparse", "iht")])
})

test_that("a sparse matrix of 1e5 columns is never made dense", {
  skip_on_cran()
  skip_if_not_installed("Matrix")
  set.seed(14)
  side <- 1e5
  b <- Matrix::sparseMatrix(i = sample(side, 2e5, TRUE), j = sample(side, 2e5, TRUE), x = 1,
                            dims = c(side, side))
  y <- stats::rnorm(side)
  gc(reset = TRUE)
  fit <- quiet(dp_sparse(b, y, eps, del, sparsity = 5))
  expect_length(predict(fit, b[1:3, ]), 3)
  expect_length(quiet(dp_mean(b, eps, del, sparsity = 5))$selected, 5)
  # megabytes; dense it would be 80,000
  expect_lt(sum(gc()[, 6L]), 1000)
})
