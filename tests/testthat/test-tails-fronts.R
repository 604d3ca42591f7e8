# What holds for every front holds for variances, tail indices and shortfalls.

TAIL_FRONTS <- list(
  dp_var = function(x, ..., epsilon = 2) dp_var(x, epsilon, ...),
  dp_tail_index = function(x, ..., epsilon = 2) dp_tail_index(x, epsilon, ...),
  dp_shortfall = function(x, ..., epsilon = 2) dp_shortfall(x, 0.9, epsilon, ...)
)

tail_values <- c(0.5, 1, 2, 4) %x% stats::qt((1:1000 - 0.5) / 1000, 6)

test_that("the charge comes before the values are read, and is kept", {
  planted <- with_replaced(charged_values, mean_values = function(...) stop("planted"))
  fits <- list(with_replaced(dp_var, charged_values = planted),
               with_replaced(dp_tail_index, charged_values = planted),
               function(x, e, ...) {
                 with_replaced(dp_shortfall, charged_values = planted)(x, 0.9, e, ...)
               })
  for (fit in fits) {
    b <- privacy_budget(1, 1e-6)
    expect_error(fit(big$y, 0.4, budget = b), "planted")
    expect_equal(spent(b), 0.4)
    expect_error(fit(big$y, 0.7, budget = b), class = "dp_error_budget")
  }
})

test_that("epsilons are spent whole, and what is left over fits", {
  for (front in TAIL_FRONTS) {
    b <- privacy_budget(2, 1e-6)
    for (e in c(0.5, 1)) {
      p <- privacy(front(big$x2, epsilon = e, control = repeatable, budget = b))
      expect_equal(sum(as.data.frame(p)$cost * as.data.frame(p)$count), e)
      expect_identical(p$epsilon, e)
    }
    front(big$x2, epsilon = remaining(b), budget = b)
    expect_equal(spent(b), 2)
    b <- privacy_budget(3, 1e-6)
    dp_gaussian(1, 1, 1, 1e-7, budget = b)
    last <- quiet(front(big$x2, epsilon = remaining(b), delta = 1e-6, budget = b))
    expect_s3_class(last, "dp_fit")
  }
})

test_that("epsilon, delta, missing values and what they do not know are refused by name", {
  for (name in names(TAIL_FRONTS)) {
    front <- TAIL_FRONTS[[name]]
    refused <- function(naming, ..., x = big$y, class = "dp_error") {
      expect_refusal(function(b) front(x, ..., budget = b), naming, class)
    }
    for (e in list(0, -1, NA_real_, "1", c(1, 2))) refused("`epsilon`", epsilon = e)
    for (q in list(-1e-9, 1, NA_real_, "0")) refused("`delta`", delta = q)
    refused("`weights`", weights = rep(1, 4000))
    refused("missing", x = replace(big$y, 7, NA), class = "dp_error_missing")
    refused("missing", x = replace(big$y, 7, NaN), class = "dp_error_missing")
    for (x in list("CANARY", factor("CANARY"), list(1), NULL, Sys.Date())) refused("`x`", x = x)
    expect_identical(error_text(front(rep(0, 40))), error_text(front(d$y[1:40])))
  }
})

test_that("fits on neighbouring data sets differ in numbers only", {
  set.seed(841)
  # numbers become 0 or NA
  shape <- function(fit) {
    fit[c("privacy", "parts")] <- NULL
    rapply(unclass(fit), function(v) if (is.double(v)) 0 * is.na(v) else v, how = "replace")
  }
  for (front in TAIL_FRONTS) {
    expect_silent(plain <- front(tail_values, control = repeatable))
    for (v in c(0, 1e308, -1e308, Inf, -Inf, 5e-324)) {
      expect_silent(fit <- front(replace(tail_values, 1, v), control = repeatable))
      expect_identical(shape(fit), shape(plain))
      expect_identical(privacy(fit), privacy(plain))
    }
    expect_silent(front(replace(tail_values, 1:9, NA), na.rm = TRUE, control = repeatable))
  }
})

test_that("vectors, matrices, data frames and integers agree with the same seed", {
  whole <- matrix(sample(1:40, 8000, TRUE)^2, 4000, dimnames = list(NULL, c("a", "b")))
  for (front in TAIL_FRONTS[1:2]) {
    run <- function(x) {
      set.seed(842)
      coef(front(x, epsilon = 8, control = repeatable))
    }
    expect_identical(run(as.data.frame(whole)), run(whole + 0))
    expect_identical(run(whole), run(whole + 0))
    expect_named(run(whole), c("a", "b"))
    expect_identical(unname(run(whole[, 1L])), unname(run(whole[, 1L, drop = FALSE])))
  }
})

test_that("every method shows what was released, and its stamps", {
  set.seed(843)
  pdf(NULL)
  on.exit(dev.off())
  for (name in names(TAIL_FRONTS)) {
    front <- TAIL_FRONTS[[name]]
    fit <- front(tail_values, control = repeatable)
    expect_s3_class(fit, c(name, "dp_fit"), exact = TRUE)
    expect_identical(nobs(fit), 4000L)
    for (shown in list(fit, summary(fit), privacy(fit))) {
      expect_output(out <- print(shown), "NOT FOR RELEASE")
      expect_identical(out, shown)
    }
    expect_output(print(front(tail_values, epsilon = Inf)), "NOT PRIVATE")
    expect_output(print(summary(front(tail_values, epsilon = Inf))), "NOT PRIVATE")
    expect_invisible(plot(fit))
    expect_error(residuals(fit), class = "dp_error_no_data")
    ends <- confint(fit)
    expect_identical(rownames(ends), names(coef(fit)))
    expect_true(all(ends[, 1L] <= coef(fit) & coef(fit) <= ends[, 2L]))
    expect_true(all(confint(fit, level = 0.5)[, 1L] >= ends[, 1L]))
    table <- tidy_of(fit, TRUE)
    expect_identical(table$estimate, unname(coef(fit)))
    expect_identical(table$conf.low, unname(ends[, 1L]))
    expect_identical(glance.dp_fit(fit)$front, name)
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      expect_s3_class(ggplot2::autoplot(fit), "ggplot")
    }
  }
})

test_that("arguments of formulas and groups are refused with what to do", {
  fronts <- c(TAIL_FRONTS, list(
    dp_quantile = function(x, ...) dp_quantile(x, 0.5, epsilon = 1, ...),
    dp_mean = function(x, ...) dp_mean(x, epsilon = 1, ...)
  ))
  for (name in names(fronts)) {
    expect_error(fronts[[name]](tail_values, data = d), "`x` is the column itself", info = name)
    if (name != "dp_mean") {
      expect_error(fronts[[name]](tail_values, by = big$f), "dp_mean() only", fixed = TRUE)
    }
    expect_error(fronts[[name]](y ~ f), "not a formula", info = name)
  }
  for (level in list(c(0.9, 0.99), 1, 0.3, NA, "0.9")) {
    expect_error(dp_shortfall(tail_values, level, 1), "of at least 0.5 and below 1.*each level")
  }
})

test_that("values near the largest double raise nothing after the charge", {
  set.seed(861)
  values <- list(
    ends = sample(c(-1.7e308, 1.7e308), 300, TRUE), wide = stats::rt(3000, 0.2) * 1e300,
    special = sample(c(Inf, -Inf, 1, NaN), 300, TRUE), one = c(numeric(299), 1e308)
  )
  for (x in values) for (epsilon in c(1, 1000, Inf)) {
    # what is refused for too few rows is so before the charge, for a ledger of any size
    quietly <- function(expr) suppressWarnings(tryCatch(expr, dp_error_small_n = function(e) NULL))
    expect_no_error <- function(expr) expect_false(inherits(try(expr, silent = TRUE), "try-error"))
    control <- repeatable
    expect_no_error(quietly(dp_var(x, epsilon, na.rm = TRUE, control = control)))
    expect_no_error(quietly(dp_tail_index(x, epsilon, na.rm = TRUE, control = control)))
    expect_no_error(quietly(dp_shortfall(x, 0.9, epsilon, na.rm = TRUE, control = control)))
    expect_no_error(quietly(dp_quantile(x, c(0, 0.5, 1), epsilon, na.rm = TRUE, control = control)))
  }
  # beyond the last value all are as good, without noise, too
  expect_warning(found <- dp_quantile(c(3, 1, 2), c(0, 0.5, 1), Inf), class = "dp_small_n")
  expect_true(all(coef(found)[c(1, 3)] * c(1, -1) <= c(1, -3)))
})
