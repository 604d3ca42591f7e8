# Numbers become #, for noise and builds change them.
blank_numbers <- function(lines) {
  plain <- sub(" +$", "", gsub(" +", " ", lines))
  gsub("[-+]?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?", "#", plain)
}

fits <- function(epsilon = 2, control = dp_control()) {
  x <- as.matrix(big[c("x1", "x2")])
  list(
    mean = dp_mean(big$y, epsilon, control = control),
    means = dp_mean(big[1:2], epsilon, bound = 9, control = control),
    quantile = dp_quantile(big$y, c(0.1, 0.5), epsilon, control = control),
    formula = dp_lm(y ~ x1 + f, big, epsilon, del, control = control),
    matrix = dp_lm(x, big$y, epsilon, del, control = control),
    constant = dp_lm(y ~ 1, big, epsilon, del, control = control)
  )
}

test_that("printed text has this shape", {
  skip_on_cran()
  set.seed(116)
  f <- fits(Inf)
  expect_snapshot(f$mean, transform = blank_numbers)
  expect_snapshot(summary(f$means), transform = blank_numbers)
  expect_snapshot(f$quantile, transform = blank_numbers)
  expect_snapshot(f$formula, transform = blank_numbers)
  expect_snapshot(summary(f$formula), transform = blank_numbers)
  expect_snapshot(f$matrix, transform = blank_numbers)
  f <- fits(2, repeatable)
  expect_snapshot(f$mean, transform = blank_numbers)
  expect_snapshot(summary(f$mean), transform = blank_numbers)
  expect_snapshot(f$quantile, transform = blank_numbers)
  expect_snapshot(summary(f$formula), transform = blank_numbers)
  expect_snapshot(privacy(f$formula), transform = blank_numbers)
})

test_that("every fit says what may be done with it, wherever it is shown", {
  set.seed(117)
  shown <- function(fit) {
    list(capture.output(print(fit)), capture.output(print(summary(fit))),
         capture.output(print(privacy(fit))))
  }
  count <- function(f, text) {
    for (fit in f) {
      for (lines in shown(fit)) expect_length(grep(text, lines, fixed = TRUE), 1)
    }
  }
  count(fits(Inf), "NOT PRIVATE")
  count(fits(2, repeatable), "NOT FOR RELEASE")
  for (fit in fits()) {
    for (lines in shown(fit)) {
      expect_no_match(lines, "NOT PRIVATE|NOT FOR RELEASE")
      expect_match(lines, "(epsilon, delta) = (2, ", fixed = TRUE, all = FALSE)
    }
  }
  for (fit in fits(Inf, repeatable)) {
    expect_output(print(fit), "NOT PRIVATE.*NOT FOR RELEASE")
    expect_output(print(privacy(fit)), "NOT PRIVATE.*NOT FOR RELEASE")
  }
})

test_that("print and summary return what they should, and honour digits", {
  set.seed(118)
  for (fit in fits()) {
    capture.output(out <- withVisible(print(fit)))
    expect_false(out$visible)
    expect_identical(out$value, fit)
    s <- summary(fit)
    capture.output(out <- withVisible(print(s)))
    expect_false(out$visible)
    expect_identical(out$value, s)
    expect_false(identical(capture.output(print(fit, digits = 3)),
                           capture.output(print(fit, digits = 9))))
  }
})

test_that("summary shows standard errors and their parts, or says that there are none", {
  set.seed(119)
  f <- fits()
  for (name in c("mean", "means", "formula", "matrix", "constant")) {
    s <- summary(f[[name]])
    table <- if (is.null(s$coefficients)) s$table else s$coefficients
    expect_equal(table[, "Std. Error"], sqrt(diag(vcov(f[[name]]))), ignore_attr = TRUE)
    expect_equal(table[, "Std. Error"]^2, table[, "Sampling"]^2 + table[, "Privacy"]^2)
    expect_output(print(s), "Std. Error", fixed = TRUE)
    expect_no_match(capture.output(s), "No standard errors")
  }
  none <- dp_mean(big$y, 2, bound = 9, method = "truncated")
  expect_output(print(summary(none)), "No standard errors", fixed = TRUE)
  none <- dp_lm(big$x1, big$y, 2, del, penalty = ridge(0.1))
  expect_output(print(summary(none)), "No standard errors", fixed = TRUE)
  table <- summary(f$formula)$coefficients
  expect_identical(rownames(table), names(coef(f$formula)))
  expect_identical(table[, "Estimate"], coef(f$formula))
  expect_equal(
    table["x1", "Per scale"],
    coef(f$formula)[["x1"]] * f$formula$scale[["x1"]] / f$formula$scale[["y"]]
  )
})

test_that("plots are drawn, return the fit and leave par as it was", {
  set.seed(120)
  pdf(NULL)
  on.exit(dev.off())
  lost <- quiet(dp_mean(cbind(a = big$y, b = big$y * 0), 4))
  few <- quiet(dp_lm(y ~ x1 + f, d[1:20, ], 0.1, del))
  for (fit in c(fits(), fits(Inf), list(lost, few))) {
    old <- par(no.readonly = TRUE)
    out <- withVisible(plot(fit))
    expect_false(out$visible)
    expect_identical(out$value, fit)
    expect_identical(par("mar"), old$mar)
  }
})

test_that("what stands under a picture of a fit is not wider than the page", {
  control <- dp_control(rng = "R")
  set.seed(122)
  for (formula in list(y ~ x1 + f, y > 1 ~ x1 + f)) {
    fit <- if (formula[[2L]] == quote(y)) {
      dp_lm(formula, big, 4, del, control = control)
    } else {
      dp_glm(formula, big, 4, del, control = control)
    }
    drawn <- drawn_text(plot(fit))
    label <- grepl("per scale of the column; bars: ", drawn$text, fixed = TRUE)
    expect_identical(sum(label), 1L)
    expect_gt(drawn$x[label], 0)
    pdf(NULL)
    plot.new()
    width <- 72 * strwidth(drawn$text[label], "inches")
    dev.off()
    expect_lt(drawn$x[label] + width, 6.5 * 72)
  }
})

test_that("means are drawn with their intervals, or with the noise where none are known", {
  set.seed(123)
  fit <- dp_mean(big[1:2], 4, control = repeatable)
  level <- dp_mean(big[1:2], 4, method = "truncated", bound = 9, control = repeatable)
  pdf(NULL)
  on.exit(dev.off())
  width <- function(ends) 1.08 * diff(range(ends))
  # the frame is as wide as all bars and 4 % more on each side
  plot(fit)
  expect_equal(diff(par("usr")[1:2]), width(confint(fit)))
  plot(level)
  expect_equal(diff(par("usr")[1:2]), width(coef(level) + outer(level$noise_sd, c(-2, 2))))
  expect_match(drawn_text(plot(fit))$text, "bars: 95 % intervals", fixed = TRUE, all = FALSE)
  expect_match(drawn_text(plot(level))$text, "bars: two standard deviations", all = FALSE)
})

test_that("slopes are drawn with zero in sight", {
  set.seed(124)
  pdf(NULL)
  on.exit(dev.off())
  fit <- dp_lm(2 * x1 + x2 ~ x1 + x2, big, 4, del, control = repeatable)
  expect_true(all(confint(fit)[-1L, ] > 0))
  bare <- fit
  bare$vcov <- NULL
  for (drawn in list(fit, bare)) {
    plot(drawn)
    expect_lt(par("usr")[[1L]], 0)
  }
  plot(fit, xlim = c(1, 3))
  expect_gt(par("usr")[[1L]], 0)
})

test_that("coef, nobs, formula and privacy read what was released", {
  set.seed(121)
  f <- fits()
  for (fit in f) {
    expect_identical(coef(fit), fit$coefficients)
    expect_identical(nobs(fit), 4000L)
    expect_s3_class(privacy(fit), "dp_privacy")
    expect_identical(privacy(fit)$neighbours, "replace one row")
  }
  expect_identical(deparse(formula(f$formula)), "y ~ x1 + f")
  expect_identical(deparse(formula(f$constant)), "y ~ 1")
  for (fit in f[c("mean", "quantile", "matrix")]) expect_match(error_text(formula(fit)), "formula")
})

test_that("what would need the rows stops and says so", {
  set.seed(122)
  for (fit in fits()) {
    for (fun in list(residuals, resid, fitted, deviance, df.residual, logLik, AIC)) {
      error <- tryCatch(fun(fit), error = identity)
      expect_s3_class(error, "dp_error_no_data")
      expect_match(conditionMessage(error), "holds none")
    }
    expect_error(BIC(fit))
  }
})

test_that("predict is the design times the coefficients, for all kinds of newdata", {
  fit <- dp_lm(y ~ x1 * f + I(x2^2), big, 2, del)
  want <- drop(model.matrix(~ x1 * f + I(x2^2), d[1:6, ]) %*% coef(fit))
  expect_equal(predict(fit, d[1:6, ]), want)
  expect_equal(predict(fit, d[1:6, ], type = "link"), want)
  expect_equal(unname(predict(fit, as.list(d[1:6, ]))), unname(want))
  expect_equal(predict(fit, newdata = d[6:1, ])[6:1], want)
  expect_length(predict(fit, d[0, ]), 0)
  fit <- dp_lm(as.matrix(big[c("x1", "x2")]), big$y, 2, del)
  x <- as.matrix(d[1:4, c("x1", "x2")])
  want <- drop(cbind(1, x[1:4, ]) %*% coef(fit))
  expect_equal(predict(fit, x), want, ignore_attr = TRUE)
  expect_equal(predict(fit, x[, 2:1]), want, ignore_attr = TRUE)
  expect_equal(predict(fit, unname(x)), want, ignore_attr = TRUE)
  expect_equal(predict(fit, d[1:4, ]), want, ignore_attr = TRUE)
  expect_length(predict(fit, x[0, , drop = FALSE]), 0)
  one <- dp_lm(big$x1, big$y, 2, del)
  expect_equal(unname(predict(one, c(0, 1))), c(coef(one)[[1]], sum(coef(one))))
  none <- dp_lm(as.matrix(big[c("x1", "x2")]), big$y, 2, del, intercept = FALSE)
  expect_equal(unname(predict(none, rbind(c(1, 0), c(0, 1)))), unname(coef(none)))
})

test_that("predict refuses what it cannot use, by name", {
  set.seed(123)
  fit <- dp_lm(y ~ x1 + f, big, 2, del)
  matrix_fit <- dp_lm(as.matrix(big[c("x1", "x2")]), big$y, 2, del)
  refused <- function(expr, naming) {
    error <- tryCatch(expr, error = identity)
    expect_s3_class(error, "dp_error")
    expect_match(conditionMessage(error), naming)
  }
  refused(predict(fit), "`newdata`")
  refused(predict(fit, NULL), "`newdata`")
  refused(predict(fit, d["x1"]), "`f`")
  refused(predict(fit, 1:3), "`newdata`")
  refused(predict(fit, d[1:2, ], type = "class"), "`type`")
  refused(predict(fit, d[1:2, ], se.fit = TRUE), "`se.fit`")
  refused(predict(fit, d[1:2, ], newdata2 = 1), "`newdata2`")
  refused(predict(matrix_fit), "`newdata`")
  refused(predict(matrix_fit, 1:2), "`newdata`")
  refused(predict(matrix_fit, matrix(1, 2, 3)), "`newdata`")
  refused(predict(matrix_fit, matrix("a", 2, 2)), "`newdata`")
  outside <- rnorm(4000)
  external <- quiet(dp_lm(y ~ x1, big, 2, del, offset = outside))
  refused(predict(external, d[1:2, ]), "`offset`")
})

test_that("a fit read from a file works as before", {
  set.seed(124)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  for (fit in fits()) {
    saveRDS(fit, file)
    back <- readRDS(file)
    expect_equal(coef(back), coef(fit))
    expect_identical(capture.output(print(back)), capture.output(print(fit)))
    expect_identical(capture.output(summary(back)), capture.output(summary(fit)))
    expect_identical(as.data.frame(privacy(back)), as.data.frame(privacy(fit)))
    if (inherits(fit, "dp_lm")) {
      nd <- d[1:2, if (is.null(fit$schema$formula)) c("x1", "x2") else names(d)]
      expect_identical(predict(back, nd), predict(fit, nd))
    }
  }
})

test_that("fits compose", {
  set.seed(125)
  f <- fits()
  p <- privacy_compose(f$mean, f$formula)
  expect_lte(p$epsilon, 4)
  expect_identical(p$delta, del)
  other <- dp_mean(d$y, 1, bound = 5, control = repeatable)
  expect_identical(privacy_compose(f$mean, other)$rng, "R")
})

test_that("limits are named by the method, and no noise is no law", {
  shown <- function(...) capture.output(print(summary(dp_mean(big$x1, ...))))
  expect_match(shown(1), "Winsorising limits \\(laplace noise\\)", all = FALSE)
  expect_match(shown(Inf), "Winsorising limits:", all = FALSE)
  expect_match(shown(1, method = "truncated", bound = 5), "Limits of a value", all = FALSE)
  expect_match(shown(1, method = "catoni", bound = 5), "Scale of the estimator", all = FALSE)
})
