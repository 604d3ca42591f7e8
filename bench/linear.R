# Private regression with many columns and nothing known.
#   R_LIBS=.Rlib Rscript bench/linear.R [repetitions] [origin] [many] [epsilon]
# The last three are 1 or 0: whether each table is made. It writes bench/results/linear-*.md.
source("bench/tools.R")
source("bench/designs.R")

given <- as.integer(commandArgs(TRUE))
given <- c(given, c(40L, 1L, 1L, 1L)[seq_len(4L) > length(given)])
reps <- given[[1L]]

note <- sprintf("%d repetitions, seeds %d + 1, ...; ", reps, bench_seed)

over_seeds <- function(one, reps) do.call(cbind, lapply(bench_seed + seq_len(reps), one))

# ---- through the origin: y = x w + t(2.5), |w| = 1 ---------------------------------

origin_laws <- list(
  "t(3)" = c(mean = 0, variance = 3),
  "lognormal(0, 0.6)" = c(mean = exp(0.18), variance = exp(0.36) * (exp(0.36) - 1))
)

# (w - w*)' E xx' (w - w*), for columns that are independent and alike.
quadratic <- function(e, law) law[["variance"]] * sum(e^2) + (law[["mean"]] * sum(e))^2

origin_row <- function(design, n, d) {
  law <- origin_laws[[design]]
  w <- true_slopes(1, d)
  e <- over_seeds(function(seed) {
    set.seed(seed)
    x <- designs[[design]](n, d)
    y <- drop(x %*% w) + rt(n, 2.5)
    fit <- outcome(dp_lm(x, y, 1, 1e-5, target = "robust", intercept = FALSE,
                         control = control))$value
    plain <- drop(solve(crossprod(x), crossprod(x, y)))
    c(quadratic(coef(fit) - w, law), quadratic(plain - w, law)) / quadratic(w, law)
  }, reps)
  data.frame(
    x = design, n = n, d = d, private = three(median(e[1L, ])), quartiles = spread(e[1L, ]),
    "95 %" = three(quantile(e[1L, ], 0.95)), "worse than 0" = three(mean(e[1L, ] > 1)),
    "least squares" = three(median(e[2L, ])), check.names = FALSE
  )
}

if (given[[2L]]) {
  cells <- expand.grid(d = c(10, 100), n = c(1e4, 1e5), x = names(origin_laws))
  table <- do.call(rbind, Map(origin_row, as.character(cells$x), cells$n, cells$d))
  write_table(
    "linear-origin", "Through the origin, epsilon = 1, delta = 1e-5, nothing known", table,
    paste0(note, "excess risk over that of zeros.")
  )
}

# ---- with an intercept: y = 50 + x w + 0.5 t(2.5), |w| = 1 -------------------------

many <- c(designs, harder_designs)

# rlm() takes longest by far: on the first draws.
RLM_DRAWS <- 3L

errors <- function(design, n, d, seed, epsilon) {
  set.seed(seed)
  x <- many[[design]](n, d)
  error <- 0.5 * rt(n, 2.5)
  w <- true_slopes(1, d)
  y <- drop(50 + x %*% w) + error
  private <- vapply(epsilon, function(e) {
    got <- outcome(dp_lm(x, y, e, 1e-6, target = "robust", control = control))$value
    scaled_error(coef(got)[-1L], w, rep(1, d))
  }, 0)
  rlm <- if (seed <= bench_seed + RLM_DRAWS && length(epsilon) == 1L) {
    sum(coef(MASS::rlm(cbind(1, sweep(x, 2L, colMeans(x))), error, maxit = 50))[-1L]^2)
  } else {
    NA
  }
  c(private, sum(least_squares(x, error)^2), rlm)
}

many_row <- function(design, n, d) {
  e <- over_seeds(function(seed) errors(design, n, d, seed, 1), reps)
  to_rlm <- exp(mean(log(e[3L, ] / e[2L, ]), na.rm = TRUE))
  ratio <- median(e[1L, ]) / median(e[2L, ])
  data.frame(
    x = design, private = three(median(e[1L, ])), quartiles = spread(e[1L, ]),
    "95 %" = three(quantile(e[1L, ], 0.95)), "worse than 0" = three(mean(e[1L, ] > 1)),
    lm = three(median(e[2L, ])), "ratio to lm" = sprintf("%.2f", ratio),
    "rlm to lm" = sprintf("%.2f", to_rlm), "ratio to rlm" = sprintf("%.2f", ratio / to_rlm),
    check.names = FALSE
  )
}

if (given[[3L]]) {
  # shifts, scales and the order of rows are the business of bench/regression.R
  names <- c("t(3)", "lognormal(0, 0.6)", "AR(0.5) of t(3)", "Pareto(2.5)", "20 % binary, t(3)",
             names(harder_designs))
  table <- do.call(rbind, lapply(names, many_row, n = 1e5, d = 100))
  mean_ratio <- exp(mean(log(as.numeric(table[["ratio to rlm"]]))))
  write_table(
    "linear-100", "n = 1e5, d = 100, epsilon = 1, delta = 1e-6, nothing known", table,
    paste0(note, sprintf(paste(
      "squared error of the slopes, |w| = 1, medians. rlm on %d of the draws.",
      "Geometric mean of the ratios to rlm: %.2f."
    ), RLM_DRAWS, mean_ratio))
  )
}

if (given[[4L]]) {
  epsilon <- c(0.25, 0.5, 1, 2, 4)
  e <- over_seeds(function(seed) errors("t(3)", 1e5, 100, seed, epsilon), reps)
  table <- do.call(rbind, lapply(seq_along(epsilon), function(i) {
    data.frame(
      epsilon = epsilon[[i]], private = three(median(e[i, ])), quartiles = spread(e[i, ]),
      "95 %" = three(quantile(e[i, ], 0.95)), "worse than 0" = three(mean(e[i, ] > 1)),
      "ratio to lm" = sprintf("%.2f", median(e[i, ]) / median(e[length(epsilon) + 1L, ])),
      check.names = FALSE
    )
  }))
  write_table("linear-epsilon", "x of t(3), n = 1e5, d = 100, delta = 1e-6, nothing known", table,
              paste0(note, "squared error of the slopes, |w| = 1."))
}
