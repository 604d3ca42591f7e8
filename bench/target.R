# Regressions whose target is the mean, against least squares and the robust fit on the same draws:
# errors that are skewed, and whose scale grows with the first column.
#   R_LIBS=.Rlib Rscript bench/target.R [repetitions] [repetitions at n = 1e6]
source("bench/tools.R")
source("bench/designs.R")

given <- as.integer(commandArgs(TRUE))
reps <- c(given, c(40L, 10L)[seq_len(2L) > length(given)])
d <- 5L

centred <- list(
  "Pareto(2.5)" = function(n) runif(n)^(-1 / 2.5) - 2.5 / 1.5,
  "lognormal(0, 1)" = function(n) exp(rnorm(n)) - exp(0.5)
)

# Linear in x1 where that is positive.
error_scale <- function(x) 1 + pmax(x[, 1L], 0)

truth <- c(3, true_slopes(1, d))

# Errors of the intercept and of the slopes together, of lm(), the robust fit and that of the mean;
# how many of its intervals hold the truth, of the intercept, x1 and the other slopes.
one <- function(x_law, error_law, n, seed) {
  set.seed(seed)
  x <- designs[[x_law]](n, d)
  y <- drop(cbind(1, x) %*% truth) + error_scale(x) * centred[[error_law]](n)
  off <- function(b) {
    e <- unname(b - truth)
    c(abs(e[[1L]]), sqrt(sum(e[-1L]^2)))
  }
  fit <- outcome(dp_lm(x, y, 1, 1e-6, control = control))$value
  robust <- outcome(dp_lm(x, y, 1, 1e-6, target = "robust", control = control))$value
  ends <- confint(fit)
  held <- ends[, 1L] <= truth & truth <= ends[, 2L]
  c(off(stats::.lm.fit(cbind(1, x), y)$coefficients), off(coef(robust)), off(coef(fit)),
    held[[1L]], held[[2L]], mean(held[-(1:2)]))
}

row <- function(x_law, error_law, n, count) {
  e <- vapply(bench_seed + seq_len(count), function(s) one(x_law, error_law, n, s), numeric(9))
  m <- apply(e[1:6, ], 1L, stats::median)
  held <- rowMeans(e[7:9, ])
  data.frame(
    x = x_law, errors = error_law, n = n, "intercept: lm" = three(m[[1L]]),
    robust = three(m[[3L]]), mean = three(m[[5L]]), ratio = sprintf("%.2f", m[[5L]] / m[[1L]]),
    "95 %" = three(stats::quantile(e[5L, ], 0.95)), "slopes: lm" = three(m[[2L]]),
    "robust " = three(m[[4L]]), "mean " = three(m[[6L]]),
    "ratio " = sprintf("%.2f", m[[6L]] / m[[2L]]),
    "95 % " = three(stats::quantile(e[6L, ], 0.95)),
    "intervals hold" = paste(sprintf("%.2f", held), collapse = ", "), check.names = FALSE
  )
}

sizes <- c(1e4, 1e5, 1e6)
cells <- expand.grid(n = sizes, error = names(centred), x = c("t(3)", "lognormal(0, 0.6)"),
                     stringsAsFactors = FALSE)
cells <- cells[ifelse(cells$n > 1e5, reps[[2L]], reps[[1L]]) > 0L, ]
table <- do.call(rbind, Map(function(x, error, n) {
  row(x, error, n, if (n > 1e5) reps[[2L]] else reps[[1L]])
}, cells$x, cells$error, cells$n))
write_table(
  "target", "Skewed errors: distance from the line of the mean, epsilon = 1, delta = 1e-6", table,
  sprintf(paste(
    "Medians of %d repetitions (%d at n = 1e6), seeds %d + 1, ...; nothing known. y = 3 + x w +",
    "(1 + max(x1, 0)) e, |w| = 1, d = 5, e of mean zero. Intercept: absolute error; slopes:",
    "length of the error of all; ratio: of target = \"mean\" to lm. Intervals hold: shares of the",
    "95 %% intervals with target = \"mean\" of the intercept, x1 and the other slopes."
  ), reps[[1L]], reps[[2L]], bench_seed)
)

# ---- symmetric errors, where the robust fit aims at the same line ---------------------------

ordinary <- function(design, n, k) {
  e <- vapply(bench_seed + seq_len(reps[[1L]]), function(seed) {
    set.seed(seed)
    x <- many[[design]](n, k)
    error <- 0.5 * rt(n, 2.5)
    w <- true_slopes(1, k) / column_scale(design, k)
    y <- drop(50 + x %*% w) + error
    of <- function(target) {
      got <- outcome(dp_lm(x, y, 1, 1e-6, target = target, control = control))$value
      scaled_error(coef(got)[-1L], w, column_scale(design, k))
    }
    c(sum((least_squares(x, error) * column_scale(design, k))^2), of("robust"), of("mean"))
  }, numeric(3))
  m <- apply(e, 1L, stats::median)
  data.frame(
    x = design, n = n, d = k, lm = three(m[[1L]]), robust = three(m[[2L]]), mean = three(m[[3L]]),
    "robust to lm" = sprintf("%.2f", m[[2L]] / m[[1L]]),
    "mean to lm" = sprintf("%.2f", m[[3L]] / m[[1L]]),
    "95 %, mean" = three(stats::quantile(e[3L, ], 0.95)), check.names = FALSE
  )
}

many <- c(designs, harder_designs)
if (reps[[1L]] > 0L) {
  write_table(
    "target-symmetric", "Symmetric errors: squared error of the slopes, epsilon = 1, delta = 1e-6",
    do.call(rbind, lapply(names(many), ordinary, n = 1e4, k = 10L)),
    sprintf(paste("Medians of %d repetitions, seeds %d + 1, ...; y = 50 + x w + 0.5 t(2.5),",
                  "|w| = 1, per column scale."), reps[[1L]], bench_seed)
  )
}
