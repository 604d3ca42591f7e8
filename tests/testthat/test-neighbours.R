# Neighbours in other packages: tidy() and glance(), autoplot(), update(), R Markdown.

fits <- local({
  set.seed(9)
  x <- as.matrix(big[c("x1", "x2")])
  quiet(list(
    mean = dp_mean(big$y, epsilon = 1, control = repeatable),
    quantile = dp_quantile(big$y, c(0.25, 0.5), epsilon = 1, control = repeatable),
    lm = dp_lm(y ~ x1 + f, big, epsilon = 1, delta = 1e-6, control = repeatable),
    glm = dp_glm(b ~ x1, big, epsilon = 1, delta = 1e-6, control = repeatable),
    lasso = dp_lasso(x, big$y, epsilon = 1, delta = 1e-6, radius = 1, control = repeatable),
    path = dp_lasso(x, big$y, epsilon = 4, delta = 1e-6, radius = 1, refit = FALSE,
                    control = repeatable),
    sparse = dp_sparse(x, big$y, epsilon = 1, delta = 1e-6, sparsity = 1, control = repeatable),
    sco = dp_sco(x, epsilon = 1, delta = 1e-6, loss = "mean", control = repeatable),
    gaussian = dp_gaussian(c(a = 1, b = 2), 1, epsilon = 1, delta = 1e-6, control = repeatable),
    laplace = dp_laplace(1:3, 1, epsilon = 1, control = repeatable),
    noisy_max = dp_noisy_max(c(a = 1, b = 50), 1, epsilon = 1, control = repeatable),
    peel = dp_peel(c(1, 90, 80), 2, 1, epsilon = 9, delta = 1e-6, control = repeatable),
    tune = dp_tune(alist(dp_lm(y ~ x1, epsilon = 1, delta = 1e-6)), big, epsilon = 1,
                   control = repeatable),
    residuals = dp_residuals(dp_lm(y ~ x1, big, epsilon = Inf), d, epsilon = 9,
                             control = repeatable),
    calibration = dp_residuals(dp_glm(b ~ x1, big, epsilon = Inf), d, epsilon = 9,
                               control = repeatable)
  ))
})
ledger <- local({
  budget <- privacy_budget(2, 1e-6)
  dp_mean(big$y, epsilon = 0.5, budget = budget)
  budget
})
audit <- local({
  set.seed(2)
  dp_audit(function(x) dp_laplace(sum(x), 1, 1, control = repeatable), 0, 1, n = 400,
           synthetic = TRUE)
})

plan <- dp_plan("mean", n = 1000, d = 1, epsilon = 1)
bound <- error_bound(quiet(dp_mean(big$y, epsilon = 1, method = "truncated",
                                   moment = moment_bound(2, 100))))

test_that("tidy() and glance() give a data frame for every class", {
  skip_if_not_installed("generics")
  for (name in names(fits)) {
    table <- generics::tidy(fits[[name]])
    expect_s3_class(table, "data.frame", exact = TRUE)
    expect_gt(nrow(table), 0)
    one <- generics::glance(fits[[name]])
    expect_identical(nrow(one), 1L)
    expect_identical(one$epsilon, privacy(fits[[name]])$epsilon)
    expect_identical(one$front, paste0("dp_", fits[[name]]$front))
  }
  table <- generics::tidy(fits$lm)
  expect_identical(table$term, names(coef(fits$lm)))
  expect_identical(table$estimate, unname(coef(fits$lm)))
  expect_identical(generics::tidy(fits$peel)$estimate, as.vector(fits$peel$values))
  for (object in list(privacy(fits$lm), privacy_profile(fits$lm), ledger, audit, plan, bound)) {
    expect_s3_class(generics::tidy(object), "data.frame", exact = TRUE)
  }
  for (object in list(privacy(fits$lm), ledger, audit, plan, bound)) {
    expect_identical(nrow(generics::glance(object)), 1L)
  }
  expect_identical(generics::glance(ledger)$spent, spent(ledger))
})

test_that("standard errors and intervals are shown where there are some", {
  skip_if_not_installed("generics")
  for (fit in fits[c("mean", "lm", "glm")]) {
    table <- generics::tidy(fit, conf.int = TRUE, conf.level = 0.5)
    expect_identical(table$std.error, unname(sqrt(diag(vcov(fit)))))
    ends <- confint(fit, level = 0.5)
    expect_identical(as.vector(as.matrix(table[c("conf.low", "conf.high")])), as.vector(ends))
  }
  logs <- generics::tidy(fits$glm, conf.int = TRUE)
  odds <- generics::tidy(fits$glm, conf.int = TRUE, exponentiate = TRUE)
  ends <- c("estimate", "conf.low", "conf.high")
  expect_identical(odds[ends], exp(logs[ends]))
  expect_identical(odds$std.error, logs$std.error)
  expect_error(generics::tidy(fits$glm, exponentiate = NA), "`exponentiate`")
  expect_named(generics::tidy(fits$lm), c("term", "estimate", "std.error"))
  expect_named(generics::tidy(fits$sparse, conf.int = TRUE), c("term", "estimate"))
  expect_named(generics::tidy(fits$gaussian), c("term", "estimate", "noise.sd"))
})

test_that("autoplot() and plot() draw every class", {
  skip_if_not_installed("ggplot2")
  pdf(NULL)
  on.exit(dev.off())
  draws <- function(object, ...) {
    plot <- ggplot2::autoplot(object, ...)
    expect_s3_class(plot, "ggplot")
    expect_silent(print(plot))
    plot
  }
  for (name in setdiff(names(fits), "noisy_max")) {
    plot <- draws(fits[[name]])
    expect_match(plot$labels$title, "NOT FOR RELEASE")
    plot(fits[[name]])
  }
  expect_error(ggplot2::autoplot(fits$noisy_max), "only an index")
  for (object in list(privacy(fits$lm), privacy_profile(fits$lm), ledger, audit, plan, bound)) {
    draws(object)
    plot(object)
  }
  unknown <- bound
  unknown[c("value", "parts")] <- list(NA_real_, NULL)
  expect_error(ggplot2::autoplot(unknown), "no constants")
  expect_error(plot(unknown), "no constants")
  draws(fits$mean, "noise")
  draws(fits$lm, "noise")
  bars <- ggplot2::autoplot(fits$lm, conf.level = 0.5)$data
  expect_true(all(bars$low < bars$estimate & bars$estimate < bars$high))
  draws(fits$gaussian, "noise")
  expect_error(ggplot2::autoplot(fits$quantile, "noise"), class = "dp_error_no_intervals")
  draws(fits$path, "path")
  expect_error(ggplot2::autoplot(fits$lm, "path"), "Frank-Wolfe")
  draws(fits$lm, "privacy")
  # no path, zeros on a log axis, one point
  iht <- quiet(dp_sparse(y ~ x1 + x2, big, epsilon = 1, delta = 1e-6, sparsity = 1))
  expect_error(ggplot2::autoplot(iht, "path"), "Frank-Wolfe")
  few <- quiet(dp_mean(as.matrix(big[c("x1", "x2")]), 1, 1e-6, sparsity = 1))
  expect_identical(nrow(draws(few, "noise")$data), 1L)
  draws(dp_quantile(big$x1, 0.5, epsilon = 1))
  # the same numbers as plot() draws
  shown <- ggplot2::autoplot(fits$lm)$data
  expect_equal(shown$estimate,
               unname(summary(fits$lm)$coefficients[as.character(shown$term), "Per scale"]))
})

test_that("a picture holds nothing of the place where it was made", {
  skip_if_not_installed("ggplot2")
  hidden <- "CANARY in a frame"
  draw <- function() {
    own <- paste(hidden, "of a function")
    list(ggplot2::autoplot(plan), ggplot2::autoplot(bound), ggplot2::autoplot(ledger),
         ggplot2::autoplot(audit), ggplot2::autoplot(fits$lm), ggplot2::autoplot(privacy(fits$lm)))
  }
  for (plot in draw()) expect_false(leaks(plot, "CANARY in a frame"))
})

test_that("pictures take other titles and labels", {
  pdf(NULL)
  on.exit(dev.off())
  for (name in setdiff(names(fits), "noisy_max")) {
    expect_silent(plot(fits[[name]], main = "mine", xlab = "here"))
  }
  for (object in list(plan, bound, privacy(fits$lm))) {
    expect_silent(plot(object, main = "mine", xlab = "here"))
  }
})

# ---- update() ------------------------------------------------------------------------

test_that("update() returns a call without a place, and asks for a formula", {
  old <- quiet(dp_lm(y ~ x1, big, epsilon = 1, delta = 1e-6))
  inside <- function() {
    secret <- "CANARY in a frame"
    update(old, . ~ . + x2, data = big, evaluate = FALSE)
  }
  expect_false(leaks(inside(), "CANARY in a frame"))
  expect_identical(deparse(formula(quiet(eval(inside())))), "y ~ x1 + x2")
  own <- 2
  here <- suppressMessages(quiet(update(old, . ~ . + I(x2 * own), data = big)))
  expect_named(coef(here), c("(Intercept)", "x1", "I(x2 * own)"))
  expect_error(update(old, 3, data = big), "`formula.`", class = "dp_error_input")
})

test_that("update() of a fit by units says what it protects", {
  z <- transform(big, id = seq_len(nrow(big)))
  old <- quiet(dp_lm(y ~ x1, z, epsilon = 1, delta = 1e-6, unit = ~id))
  expect_message(suppressWarnings(update(old, data = z)), "of the units of `data`; for units that")
  expect_message(suppressWarnings(update(old, data = z, unit = NULL)),
                 "protects something else")
})

test_that("update() fits again with the public arguments, and says what that spends", {
  other <- fixture(4000, seed = 5)
  scale <- list(y = list(center = 1, scale = 3))
  old <- dp_lm(y ~ x1 + f, big, epsilon = Inf, scale = scale, na.action = na.omit,
               loss = loss_huber(k = 2), penalty = NULL)
  again <- suppressMessages(update(old, data = other))
  expect_identical(again, dp_lm(y ~ x1 + f, other, epsilon = Inf, scale = scale,
                                na.action = na.omit, loss = loss_huber(k = 2), penalty = NULL))
  private <- dp_lm(y ~ x1, big, epsilon = 1, delta = 1e-6)
  said <- conditions_of(less <- update(private, . ~ . + x2, data = other, epsilon = 0.5))
  expect_match(said, "spends [(]epsilon, delta[)] = [(]0.5, 1e-06[)].*[(]1[.][0-9]+, 2e-06[)]")
  expect_identical(names(coef(less)), c("(Intercept)", "x1", "x2"))
  expect_identical(privacy(less)$epsilon, 0.5)
  budget <- privacy_budget(0.1, 1e-6)
  expect_error(suppressMessages(update(private, data = other, budget = budget)),
               class = "dp_error_budget")
  call <- update(private, data = other, evaluate = FALSE)
  expect_identical(as.list(call)[c("data", "epsilon", "delta")],
                   list(data = quote(other), epsilon = 1, delta = 1e-6))
  lasso <- dp_lasso(y ~ x1 + x2, big, epsilon = Inf, radius = 1)
  expect_equal(coef(suppressMessages(update(lasso, data = big, radius = 0.5))),
               coef(dp_lasso(y ~ x1 + x2, big, epsilon = Inf, radius = 0.5)))
})

test_that("what a fit does not keep must be given again", {
  fit <- dp_lm(y ~ x1, big, epsilon = Inf, subset = x2 > 0)
  expect_error(update(fit, data = big), "does not keep its `subset`")
  again <- suppressMessages(update(fit, data = big, subset = x2 > 0))
  expect_identical(coef(again), coef(fit))
  own <- dp_sco(y ~ x1, big, epsilon = Inf, loss = loss_user(function(eta, y) tanh(eta - y)))
  expect_error(update(own, data = big), "does not keep its `loss`")
  expect_error(update(fit), "`data` is needed")
  expect_error(update(fits$mean, data = big), "regressions by formula")
  expect_error(update(fits$lasso, data = big), "regressions by formula")
})

test_that("the arguments that are kept hold no data", {
  z <- canary_data()
  epsilon <- structure(2, note = CANARY_TEXT)
  secret <- CANARY_NUMBERS[[1L]]
  loss <- local({
    hidden <- secret
    loss_user(function(eta, y) tanh(eta - y), bound = 1)
  })
  expect_clean(dp_lm(y ~ x1, z, epsilon = epsilon, delta = 1e-6, subset = x1 != secret))
  fit <- quiet(dp_sco(y ~ x1, z, epsilon = 2, delta = 1e-6, loss = loss))
  expect_false(leaks(fit, secret))
  expect_identical(fit$arguments$forgotten, "loss")
})

test_that("a report prints as the console does", {
  skip_if_not_installed("knitr")
  skip_on_cran()
  text <- c("```{r}", "fits$lm", "privacy(fits$mean)", "ledger", "```")
  out <- knitr::knit(text = text, quiet = TRUE, envir = list2env(list(fits = fits, ledger = ledger),
                                                                parent = globalenv()))
  expect_match(out, "## Private linear regression", fixed = TRUE)
  expect_match(out, "## Events:", fixed = TRUE)
  expect_match(out, "## Privacy budget:", fixed = TRUE)
  expect_no_match(out, "Error")
})
