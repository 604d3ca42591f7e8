# One person with many rows: errors of fits that protect units, and audits of both guarantees.
#   R_LIBS=.Rlib Rscript bench/units.R [repetitions] [runs of an audit on each side]
# It writes bench/results/units.md and units-audit.md.
source("bench/tools.R")

given <- as.integer(commandArgs(TRUE))
given <- c(given, c(40L, 1000L)[seq_len(2L) > length(given)])

# 5,000 units of 1 to 200 rows, sizes Pareto(1.2); columns t(3); errors 0.5 t(2.5), and in the
# second law an effect of the unit, N(0, 0.25), which its rows have in common.
draw <- function(seed, common) {
  set.seed(bench_seed + seed)
  size <- pmin(200, ceiling(runif(5000)^(-1 / 1.2)))
  id <- rep(seq_along(size), size)
  x <- matrix(rt(length(id) * 5, 3), length(id))
  noise <- 0.5 * rt(length(id), 2.5) + common * 0.5 * rnorm(5000)[id]
  list(id = id, x = x, y = drop(50 + x %*% truth + noise))
}

truth <- c(1, -1, 0.5, 0, 2) / sqrt(6.25)

fits <- list(
  "units, sum (default)" = function(d) {
    dp_lm(d$x, d$y, 1, 1e-6, unit = d$id, control = control)
  },
  "units, mean" = function(d) {
    dp_lm(d$x, d$y, 1, 1e-6, unit = d$id, unit_weight = "mean", control = control)
  },
  "one row of each unit, rows protected" = function(d) {
    first <- !duplicated(d$id)
    dp_lm(d$x[first, ], d$y[first], 1, 1e-6, target = "robust", control = control)
  },
  "all rows, rows protected (a weaker promise)" = function(d) {
    dp_lm(d$x, d$y, 1, 1e-6, target = "robust", control = control)
  },
  "lm, all rows, not private" = function(d) lm(d$y ~ d$x),
  "lm, one row of each unit, not private" = function(d) {
    first <- !duplicated(d$id)
    lm(d$y[first] ~ d$x[first, ])
  }
)

errors <- function(common) {
  out <- vapply(seq_len(given[[1L]]), function(s) {
    d <- draw(s, common)
    vapply(fits, function(fit) {
      got <- outcome(fit(d))$value
      if (is.null(got)) NA_real_ else sum((coef(got)[-1L] - truth)^2)
    }, 0)
  }, numeric(length(fits)))
  base <- out["one row of each unit, rows protected", ]
  data.frame(
    errors = if (common) "with an effect of the unit" else "independent",
    fit = rownames(out), "median error" = three(apply(out, 1L, median)),
    quartiles = apply(out, 1L, spread), "95 %" = three(apply(out, 1L, quantile, 0.95)),
    "ratio to one row of each" = sprintf("%.2f", apply(out, 1L, median) / median(base)),
    check.names = FALSE
  )
}

write_table(
  "units", "Slopes where persons have many rows: 5,000 units of 1 to 200 rows, d = 5, epsilon = 1",
  rbind(errors(FALSE), errors(TRUE)),
  sprintf(paste(
    "Squared error of five slopes, %d repetitions, seeds %d + 1, ...; delta = 1e-6, nothing known.",
    "The comparison: the same fit on one row of each unit has the same n, noise and guarantee."
  ), given[[1L]], bench_seed)
)

# ---- audits on a pair that differs in one unit of 200 rows -----------------------------------

set.seed(bench_seed)
audited <- list(id = c(rep(1L, 200), rep(2:301, each = 3)))
audited$x <- matrix(rnorm(1100 * 2), 1100)
audited$y <- drop(audited$x %*% c(1, -1) + rnorm(1100))
other <- audited
audited$x[1:200, ] <- 1
audited$y[1:200] <- 50
other$x[1:200, ] <- 1
other$y[1:200] <- -50

known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
by_row <- function(d) {
  suppressWarnings(dp_lm(d$x, d$y, 1, 1e-6, target = "robust", scale = known, control = control))
}
by_unit <- function(d) {
  suppressWarnings(dp_lm(d$x, d$y, 1, 1e-6, scale = known, unit = d$id, control = control))
}

audit <- function(name, fit) {
  claim <- privacy(fit(audited))
  claim <- c(mu = sqrt(sum(as.data.frame(claim)$count * as.data.frame(claim)$cost^2)))
  got <- suppressWarnings(dp_audit(fit, audited, other, n = given[[2L]], synthetic = TRUE,
                                   claim = claim))
  data.frame(
    fit = name, "claimed mu" = three(claim[["mu"]]), "mu at least" = three(got$mu),
    "epsilon at least" = three(got$epsilon_gaussian),
    verdict = if (got$mu > claim[["mu"]]) "VIOLATED for units" else "not refuted",
    check.names = FALSE
  )
}

write_table(
  "units-audit", "Audit on two data sets that differ in one unit of 200 rows, epsilon = 1",
  rbind(audit("rows protected", by_row), audit("units protected", by_unit)),
  sprintf(paste(
    "301 units, 1100 rows; %d runs on each side; lower bounds with 99 %% confidence on mu, and the",
    "epsilon of such a mu at delta = 1e-6. That the row-level fit fails is no bug: it promises",
    "nothing for 200 rows."
  ), given[[2L]])
)
