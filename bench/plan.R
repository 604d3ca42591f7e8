# Expected errors of dp_plan() against simulation: means, linear and logistic regression over laws,
# n, d and epsilon.
#   R_LIBS=.Rlib Rscript bench/plan.R [repetitions of a mean] [of a regression] [cores]
source("bench/tools.R")

given <- as.integer(commandArgs(TRUE))
reps <- c(given, c(200L, 20L, 2L)[seq_len(3L) > length(given)])
delta <- 1e-6

# Draws with mean zero; columns are scaled to a standard deviation of 1.
laws <- list(
  normal = list(draw = rnorm, sd = 1),
  t3 = list(draw = function(n) rt(n, 3), sd = sqrt(3)),
  lognormal1 = list(draw = function(n) exp(rnorm(n)) - exp(0.5), sd = sqrt((exp(1) - 1) * exp(1)))
)

runs <- function(count, one) {
  unlist(parallel::mclapply(bench_seed + seq_len(count), function(seed) {
    set.seed(seed)
    got <- suppressWarnings(tryCatch(one(), dp_error = function(e) NA_real_))
    mean(got)
  }, mc.cores = reps[[3L]]))
}

row <- function(front, columns, tail, n, d, epsilon, plan, squares) {
  simulated <- sqrt(mean(squares, na.rm = TRUE))
  expected <- plan$error[["total"]]
  data.frame(
    front = front, columns = columns, "values or errors" = tail, n = format(n, scientific = FALSE),
    d = d, epsilon = epsilon, sensible = if (plan$sensible) "yes" else "no",
    planned = three(expected), sampling = three(plan$error[["sampling"]]),
    privacy = three(plan$error[["privacy"]]), simulated = three(simulated),
    ratio = sprintf("%.2f", expected / simulated), check.names = FALSE
  )
}

mean_row <- function(tail, n, d, epsilon) {
  squares <- runs(reps[[1L]], function() {
    x <- matrix(2 + laws[[tail]]$draw(n * d), n)
    (coef(dp_mean(x, epsilon, delta, control = control)) - 2)^2
  })
  plan <- dp_plan("mean", n = n, d = d, epsilon = epsilon, delta = delta,
                  assume = list(tail = tail, signal = 2))
  row("mean", "-", tail, n, d, epsilon, plan, squares)
}

regression_row <- function(front, columns, tail, n, d, epsilon, target = "robust") {
  slopes <- rep_len(c(1, -1), d) / sqrt(d)
  squares <- runs(reps[[2L]], function() {
    x <- matrix(laws[[columns]]$draw(n * d) / laws[[columns]]$sd, n)
    eta <- drop(x %*% slopes)
    fit <- if (front == "lm") {
      dp_lm(x, eta + laws[[tail]]$draw(n), epsilon = epsilon, delta = delta, target = target,
            control = control)
    } else {
      dp_glm(x, rbinom(n, 1, plogis(eta)), epsilon = epsilon, delta = delta, control = control)
    }
    sum((coef(fit)[-1L] - slopes)^2)
  })
  plan <- dp_plan(front, n = n, d = d, epsilon = epsilon, delta = delta,
                  target = if (front == "lm") target,
                  assume = list(tail = if (front == "lm") tail else "normal", columns = columns))
  name <- if (target == "mean") "lm, mean" else front
  row(name, columns, if (front == "lm") tail else "-", n, d, epsilon, plan, squares)
}

table <- list()
for (tail in names(laws)) for (n in c(2000, 20000)) for (d in c(1, 10)) for (epsilon in c(0.5, 2)) {
  if (d == 10 && n == 2000 && epsilon < 1) next # refused: too few rows
  table <- c(table, list(mean_row(tail, n, d, epsilon)))
}
sizes <- list(c(5000, 4, 1), c(20000, 4, 0.5), c(20000, 20, 1), c(20000, 20, 3))
for (columns in names(laws)) for (size in sizes) {
  for (tail in names(laws)) {
    for (target in c("robust", "mean")) {
      table <- c(table, list(regression_row("lm", columns, tail, size[[1L]], size[[2L]],
                                            size[[3L]], target)))
    }
  }
  table <- c(table, list(regression_row("glm", columns, "-", size[[1L]], size[[2L]], size[[3L]])))
}
table <- do.call(rbind, table)
ratio <- as.numeric(table$ratio)
write_table("plan", "Expected errors of dp_plan() against simulation, delta = 1e-6", table, sprintf(
  paste("Root mean square errors; %d repetitions of a mean, %d of a regression, seeds %d + 1, ...;",
        "ratios between %.2f and %.2f."),
  reps[[1L]], reps[[2L]], bench_seed, min(ratio), max(ratio)
))
