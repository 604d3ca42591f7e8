# Private regression with nothing known, against least squares and MASS::rlm on
# the same draws: y = 50 + x w + 0.5 t(2.5).
#   R_LIBS=.Rlib Rscript bench/regression.R [d = 10] [d = 50] [few rows] [cores]
# The first three are repetitions of a table each; 0 leaves the table as it is.
source("bench/tools.R")
source("bench/designs.R")

given <- as.integer(commandArgs(TRUE))
reps <- c(given, c(200L, 40L, 200L, 2L)[seq_len(4L) > length(given)])
cores <- reps[[4L]]
sizes <- c(0.1, 1, 10, 100)

# Least squares and rlm err by the same amount whatever the slopes are.
one <- function(design, n, d, seed, with_rlm) {
  set.seed(seed)
  x <- designs[[design]](n, d)
  error <- 0.5 * rt(n, 2.5)
  scale <- column_scale(design, d)
  private <- vapply(sizes, function(size) {
    w <- true_slopes(size, d) / scale
    y <- drop(50 + x %*% w) + error
    got <- outcome(dp_lm(x, y, epsilon = 1, delta = 1e-6, target = "robust", control = control))
    c(
      if (is.null(got$value)) NA else scaled_error(coef(got$value)[-1L], w, scale),
      got$warned
    )
  }, c(0, 0))
  z <- sweep(sweep(x, 2L, colMeans(x)), 2L, scale, "/")
  rlm <- if (with_rlm) sum(coef(MASS::rlm(cbind(1, z), error, maxit = 50))[-1L]^2) else NA
  c(private[1L, ], private[2L, ], sum((least_squares(x, error) * scale)^2), rlm)
}

rows <- function(design, n, d, reps, with_rlm = TRUE) {
  got <- parallel::mclapply(bench_seed + seq_len(reps), function(s) {
    one(design, n, d, s, with_rlm)
  }, mc.cores = cores)
  e <- do.call(cbind, got)
  k <- length(sizes)
  do.call(rbind, lapply(seq_len(k), function(i) {
    ok <- is.finite(e[i, ])
    quiet <- ok & e[k + i, ] == 0
    data.frame(
      x = design, n = n, d = d, "\\|w\\|" = sizes[[i]], "median error" = three(median(e[i, ok])),
      quartiles = spread(e[i, ok]), "95 %" = three(quantile(e[i, ok], 0.95)),
      lm = three(median(e[2L * k + 1L, ])), "ratio to lm" = sprintf(
        "%.2f", median(e[i, ok]) / median(e[2L * k + 1L, ])
      ),
      "ratio of rlm" = sprintf("%.2f", median(e[2L * k + 2L, ]) / median(e[2L * k + 1L, ])),
      "warned or refused" = sprintf("%.2f", mean(!quiet)),
      "worse than 0" = if (any(quiet)) sprintf("%.3f", mean(e[i, quiet] > sizes[[i]]^2)) else "-",
      check.names = FALSE
    )
  }))
}

note <- function(reps) {
  sprintf(paste(
    "%d repetitions, seeds %d + 1, ...; squared error of the slopes per column scale;",
    "worse than 0: share of fits without warning whose error exceeds that of zeros."
  ), reps, bench_seed)
}

large <- function(name, n, d, reps) {
  if (reps > 0L) {
    table <- do.call(rbind, lapply(names(designs), rows, n = n, d = d, reps = reps))
    write_table(
      name, sprintf("Private regression, n = %g, d = %d, epsilon = 1, delta = 1e-6", n, d), table,
      note(reps)
    )
  }
}

few <- function(reps) {
  grid <- expand.grid(d = c(3, 10), n = c(500, 1000, 2000))
  table <- do.call(rbind, Map(function(n, d) {
    do.call(rbind, lapply(names(designs), rows, n = n, d = d, reps = reps, with_rlm = FALSE))
  }, grid$n, grid$d))
  table[["ratio of rlm"]] <- NULL
  write_table("regression-small", "Few rows", table, note(reps))
  write_table(
    "regression-small-1", "Few rows, |w| = 1", table[table[["\\|w\\|"]] == 1, ],
    paste(note(reps), "For all |w|: bench/results/regression-small.md.")
  )
}

large("regression-10", 1e4, 10, reps[[1L]])
large("regression-50", 1e5, 50, reps[[2L]])
if (reps[[3L]] > 0L) few(reps[[3L]])
