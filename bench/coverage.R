# How often 95 % intervals hold the truth.
#   R_LIBS=.Rlib Rscript bench/coverage.R [repetitions of means] [of regressions]
# It writes bench/results/coverage.md.
source("bench/tools.R")

given <- as.integer(commandArgs(TRUE))
given <- c(given, c(400L, 200L)[seq_len(2L) > length(given)])

inside <- function(ends, truth) ends[, 1L] <= truth & truth <= ends[, 2L]

# Means of root mean squares: the shares of standard errors, and the errors themselves.
rms <- function(v) sqrt(mean(v^2))

# ---- means, epsilon = 1, delta = 0 --------------------------------------------------------

laws <- list(
  normal = list(rnorm, 0), "t(5)" = list(function(n) rt(n, 5), 0),
  "t(3)" = list(function(n) rt(n, 3), 0), exponential = list(rexp, 1),
  uniform = list(runif, 0.5),
  "Pareto(1.8)" = list(function(n) runif(n)^(-1 / 1.8), 1.8 / 0.8),
  "lognormal(0, 2)" = list(function(n) exp(2 * rnorm(n)), exp(2))
)

one_mean <- function(law, n, seed) {
  set.seed(bench_seed + seed)
  x <- law[[1L]](n)
  fit <- outcome(dp_mean(x, 1, control = control))$value
  plain <- abs(mean(x) - law[[2L]]) < qnorm(0.975) * sd(x) / sqrt(n)
  c(inside(confint(fit), law[[2L]]), plain, coef(fit) - law[[2L]], summary(fit)$table[-1L])
}

mean_row <- function(name, n) {
  e <- vapply(seq_len(given[[1L]]), function(s) one_mean(laws[[name]], n, s), numeric(8))
  unit <- sqrt(n)
  data.frame(
    x = name, n = n, coverage = sprintf("%.3f", mean(e[1L, ])),
    "not private" = sprintf("%.3f", mean(e[2L, ])), "error" = three(unit * rms(e[3L, ])),
    "standard error" = three(unit * rms(e[4L, ])), sampling = three(unit * rms(e[5L, ])),
    privacy = three(unit * rms(e[6L, ])), "bias -" = three(unit * mean(e[7L, ])),
    "bias +" = three(unit * mean(e[8L, ])), check.names = FALSE
  )
}

# ---- regressions, epsilon = 1, delta = 1e-6 ------------------------------------------------

columns <- list(
  normal = function(n, d) matrix(rnorm(n * d), n, d),
  "t(3)" = function(n, d) matrix(rt(n * d, 3), n, d),
  "t(5)" = function(n, d) matrix(rt(n * d, 5), n, d),
  "AR(0.5) of t(3)" = function(n, d) {
    x <- matrix(rt(n * d, 3), n, d)
    for (j in seq_len(d)[-1L]) x[, j] <- 0.5 * x[, j - 1L] + sqrt(0.75) * x[, j]
    x
  }
)

errors <- list(
  normal = function(x) rnorm(nrow(x)), "t(5)" = function(x) rt(nrow(x), 5),
  "t(2.5)" = function(x) rt(nrow(x), 2.5),
  "(1 + |x1|)/2 normal" = function(x) rnorm(nrow(x)) * (1 + abs(x[, 1L])) / 2
)

draw <- function(x_law, y_law, n, d) {
  x <- columns[[x_law]](n, d)
  w <- rep_len(c(1, -1), d) / sqrt(d)
  eta <- drop(x %*% w)
  y <- if (y_law == "logistic") rbinom(n, 1, plogis(eta)) else eta + errors[[y_law]](x)
  list(x = x, y = y, w = c(0, w))
}

# Coverage of the intercept, the first slope and the other slopes; of lm() or glm(); sizes.
one_fit <- function(x_law, y_law, loss, target, n, d, seed) {
  set.seed(bench_seed + seed)
  z <- draw(x_law, y_law, n, d)
  logistic <- y_law == "logistic"
  fit <- outcome(if (logistic) dp_glm(z$x, z$y, 1, 1e-6, control = control) else
    dp_lm(z$x, z$y, 1, 1e-6, loss = loss, target = target, control = control))$value
  held <- inside(confint(fit), z$w)
  plain <- if (logistic) glm(z$y ~ z$x, family = binomial) else lm(z$y ~ z$x)
  plain <- abs(coef(plain) - z$w) < qnorm(0.975) * sqrt(diag(vcov(plain)))
  table <- summary(fit)$coefficients
  other <- -(1:2)
  bias <- if (is.null(fit$bias)) 0 else rms(rowMeans(fit$bias[other, , drop = FALSE]))
  c(held[[1L]], held[[2L]], mean(held[other]), mean(plain[other]),
    rms(coef(fit)[other] - z$w[other]), apply(table[other, 2:4], 2L, rms), bias)
}

fit_row <- function(x_law, y_law, loss, target, n, d) {
  e <- vapply(seq_len(given[[2L]]), function(s) {
    one_fit(x_law, y_law, loss, target, n, d, s)
  }, numeric(9))
  data.frame(
    x = x_law, "errors" = y_law, loss = loss, target = target, n = n, d = d,
    intercept = sprintf("%.3f", mean(e[1L, ])), "slope of x1" = sprintf("%.3f", mean(e[2L, ])),
    "other slopes" = sprintf("%.3f", mean(e[3L, ])), "lm or glm" = sprintf("%.3f", mean(e[4L, ])),
    "error" = three(sqrt(n) * rms(e[5L, ])), "standard error" = three(sqrt(n) * rms(e[6L, ])),
    sampling = three(sqrt(n) * rms(e[7L, ])), privacy = three(sqrt(n) * rms(e[8L, ])),
    "bias, mean of both ends" = if (target == "mean") three(sqrt(n) * rms(e[9L, ])) else "-",
    check.names = FALSE
  )
}

cases <- rbind(
  expand.grid(x = c("normal", "t(3)"), y = names(errors), loss = "squared", d = 5, n = 1e4),
  expand.grid(x = c("t(5)", "AR(0.5) of t(3)"), y = names(errors)[c(1, 3, 4)], loss = "squared",
              d = 10, n = 1e4),
  expand.grid(x = "t(3)", y = names(errors), loss = c("huber", "biweight"), d = 5, n = 1e4),
  expand.grid(x = c("normal", "t(3)"), y = "logistic", loss = "logistic", d = c(5, 10), n = 1e4),
  expand.grid(x = "t(3)", y = c(names(errors)[c(2, 4)], "logistic"), loss = NA, d = 10, n = 1e5)
)
cases[] <- lapply(cases, function(v) if (is.factor(v)) as.character(v) else v)
cases$loss[is.na(cases$loss)] <- ifelse(
  cases$y[is.na(cases$loss)] == "logistic", "logistic", "squared"
)

cases$target <- ifelse(cases$y == "logistic", "-", "robust")
# the default: towards the line of the mean
corrected <- cases[cases$loss == "squared", ]
corrected$target <- "mean"
cases <- rbind(cases, corrected)

means <- expand.grid(n = c(1e4, 1e5), name = names(laws), stringsAsFactors = FALSE)
means <- do.call(rbind, Map(mean_row, means$name, means$n))
fits <- do.call(rbind, Map(fit_row, cases$x, cases$y, cases$loss, cases$target, cases$n, cases$d))

lines <- c(
  "### Coverage of 95 % intervals, means, epsilon = 1, delta = 0, nothing known", "",
  markdown(means), "",
  sprintf("%d repetitions, seeds %d + 1, ...; errors and bias times sqrt(n), root mean squares.",
          given[[1L]], bench_seed), "",
  "### Coverage of 95 % intervals, regressions, epsilon = 1, delta = 1e-6, nothing known", "",
  markdown(fits), "",
  sprintf(paste("%d repetitions; slopes of alternating sign, |w| = 1. Coverage of lm() or glm()",
                "without noise and errors: of the slopes but the first."), given[[2L]]), ""
)
writeLines(lines, "bench/results/coverage.md")
writeLines(lines)
