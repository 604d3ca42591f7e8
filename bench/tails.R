# How heavy the tail is, quantiles far out, shortfalls and variances, with nothing known.
#   Rscript bench/tails.R [repetitions]
source("bench/tools.R")

reps <- repetitions(40L)

`%||%` <- function(a, b) if (is.null(a)) b else a

pareto <- function(a) {
  list(draw = function(n) runif(n)^(-1 / a), below = function(x) pmax(1 - pmax(x, 1)^-a, 0),
       index = a, quantile = function(p) (1 - p)^(-1 / a),
       shortfall = function(p) if (a > 1) (1 - p)^(-1 / a) * a / (a - 1) else NA,
       variance = if (a > 2) a / ((a - 1)^2 * (a - 2)) else NA)
}

student <- function(df) {
  list(draw = function(n) rt(n, df), below = function(x) pt(x, df), index = df,
       quantile = function(p) qt(p, df),
       shortfall = function(p) dt(qt(p, df), df) / (1 - p) * (df + qt(p, df)^2) / (df - 1),
       variance = df / (df - 2))
}

lognormal <- function(s) {
  list(draw = function(n) exp(s * rnorm(n)), below = function(x) plnorm(x, 0, s), index = NA,
       quantile = function(p) qlnorm(p, 0, s),
       shortfall = function(p) exp(s^2 / 2) * pnorm(s - qnorm(p)) / (1 - p),
       variance = expm1(s^2) * exp(s^2))
}

laws <- list(
  "Pareto(1.2)" = pareto(1.2), "Pareto(1.5)" = pareto(1.5), "Pareto(2)" = pareto(2),
  "Pareto(2.5)" = pareto(2.5), "Pareto(3)" = pareto(3), "t(3)" = student(3),
  "lognormal(0, 1)" = lognormal(1), "lognormal(0, 2)" = lognormal(2)
)
normal <- list(draw = rnorm, below = pnorm, index = NA, quantile = qnorm,
               shortfall = function(p) dnorm(qnorm(p)) / (1 - p), variance = 1)

each <- function(one) vapply(bench_seed + seq_len(reps), function(seed) {
  set.seed(seed)
  one()
}, one_shape)

# ---- the index -------------------------------------------------------------------

index_row <- function(name, n, delta) {
  law <- laws[[name]] %||% normal
  got <- each(function() {
    fit <- dp_tail_index(law$draw(n), 1, delta, control = control)
    words <- summary(fit)$table
    ends <- confint(fit)
    c(coef(fit), ends, words$Mean == "yes", words$Mean == "no", words$Variance == "yes",
      words$Variance == "no")
  })
  error <- abs(got[1L, ] - law$index)
  share <- function(v) sprintf("%.2f", mean(v))
  data.frame(
    law = name, n = n, delta = delta, "median index" = three(median(got[1L, ])),
    "median error" = three(median(error)), "95 %" = three(if (is.na(law$index)) NA else
      quantile(error, 0.95, names = FALSE)),
    "interval holds it" = if (is.na(law$index)) "-" else
      share(got[2L, ] <= law$index & law$index <= got[3L, ]),
    interval = paste0(three(median(got[2L, ])), "-", three(median(got[3L, ]))),
    "mean exists: yes, no" = paste(share(got[4L, ]), share(got[5L, ]), sep = ", "),
    "variance exists: yes, no" = paste(share(got[6L, ]), share(got[7L, ]), sep = ", "),
    check.names = FALSE
  )
}

one_shape <- numeric(7L)
grid <- expand.grid(name = c(names(laws), "normal"), delta = c(0, 1e-6), n = c(1e4, 1e5),
                    stringsAsFactors = FALSE)
grid <- grid[grid$n == 1e5 | grid$delta == 0, ]
table <- do.call(rbind, Map(index_row, grid$name, grid$n, grid$delta))
notes <- sprintf("%d repetitions, seeds %d + 1, ...", reps, bench_seed)
write_table("tail-index", "Tail index, epsilon = 1, nothing known", table, paste(
  notes, "A lognormal and a normal law have no index; what is neither yes nor no is unclear.",
  "One column has Laplace noise whatever delta is."
))

# ---- quantiles -------------------------------------------------------------------

probs <- c(0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)
one_shape <- numeric(length(probs))

quantile_rows <- function(name, n, delta) {
  law <- laws[[name]] %||% normal
  rank <- each(function() {
    n * (law$below(coef(dp_quantile(law$draw(n), probs, 1, delta, control = control))) - probs)
  })
  sampling <- sqrt(n * probs * (1 - probs))
  rms <- sqrt(rowMeans(rank^2))
  data.frame(
    law = name, n = n, delta = delta, probability = probs, "rms error in ranks" = three(rms),
    "sampling error" = three(sampling), ratio = sprintf("%.2f", rms / sampling),
    "within the bound" = ifelse(rms <= 2 * sampling + UNAVOIDABLE, "yes", "no"),
    check.names = FALSE
  )
}

# Of one quantile drawn alone at epsilon = 1: a Laplace variable of scale 2 / epsilon.
UNAVOIDABLE <- 2 * sqrt(2)
grid <- expand.grid(name = c("normal", "t(3)", "Pareto(1.5)", "lognormal(0, 2)"), n = c(1e4, 1e5),
                    delta = c(0, 1e-6), stringsAsFactors = FALSE)
table <- do.call(rbind, Map(quantile_rows, grid$name, grid$n, grid$delta))
write_table("quantiles", "Seven quantiles together, epsilon = 1, nothing known", table, paste(
  notes, "Error against the law's quantile, in ranks: n times the error of the probability.",
  "Bound: twice the sampling error and 2.8 ranks, the standard deviation of the rank of one",
  "quantile drawn alone at epsilon = 1, which are unavoidable."
))

# ---- shortfall and variance ------------------------------------------------------

one_shape <- numeric(8L)
shortfall_row <- function(name, n, level) {
  law <- laws[[name]] %||% normal
  truth <- c(law$quantile(level), law$shortfall(level))
  got <- each(function() {
    x <- law$draw(n)
    fit <- dp_shortfall(x, level, 1, 1e-6, control = control)
    q <- quantile(x, level, names = FALSE)
    ends <- confint(fit)
    c(coef(fit), q, mean(x[x >= q]), ends[, 1L], ends[, 2L])
  })
  error <- function(i, j) three(median(abs(got[i, ] / truth[[j]] - 1)))
  holds <- function(j) {
    sprintf("%.2f", mean(got[4L + j, ] <= truth[[j]] & truth[[j]] <= got[6L + j, ]))
  }
  data.frame(
    law = name, n = n, level = level, "VaR, private" = error(1L, 1L), sample = error(3L, 1L),
    "interval holds it" = holds(1L), "ES, private" = error(2L, 2L), "sample " = error(4L, 2L),
    "interval holds it " = holds(2L), check.names = FALSE
  )
}
grid <- expand.grid(name = c("normal", "t(3)", "Pareto(1.5)", "Pareto(2.5)", "lognormal(0, 1)"),
                    n = c(1e4, 1e5), level = c(0.95, 0.99), stringsAsFactors = FALSE)
table <- do.call(rbind, Map(shortfall_row, grid$name, grid$n, grid$level))
write_table("shortfall", "Value at risk and expected shortfall, epsilon = 1, nothing known", table,
            paste(notes, "Median relative errors against the law's own; 95 % intervals."))

one_shape <- numeric(5L)
var_row <- function(name, n) {
  law <- laws[[name]] %||% normal
  got <- each(function() {
    x <- law$draw(n)
    warned <- FALSE
    fit <- withCallingHandlers(dp_var(x, 1, 1e-6, control = control), dp_heavy_tail = function(w) {
      warned <<- TRUE
      invokeRestart("muffleWarning")
    })
    c(coef(fit), var(x), confint(fit), warned)
  })
  error <- function(i, f) three(f(abs(got[i, ] / law$variance - 1)))
  high <- function(e) if (anyNA(e)) NA else quantile(e, 0.95, names = FALSE)
  data.frame(
    law = name, n = n, "median error" = error(1L, median), "95 %" = error(1L, high),
    "sample variance" = error(2L, median), "95 % " = error(2L, high),
    "interval holds it" = if (is.na(law$variance)) "-" else
      sprintf("%.2f", mean(got[3L, ] <= law$variance & law$variance <= got[4L, ])),
    "warned: heavy" = sprintf("%.2f", mean(got[5L, ])), check.names = FALSE
  )
}
laws[["t(5)"]] <- student(5)
laws[["Pareto(1.8)"]] <- pareto(1.8)
grid <- expand.grid(name = c("normal", "t(5)", "lognormal(0, 1)", "Pareto(3)", "Pareto(2.5)",
                             "t(3)", "Pareto(1.8)"), n = c(1e4, 1e5), stringsAsFactors = FALSE)
table <- do.call(rbind, Map(var_row, grid$name, grid$n))
write_table("variances", "Private variances, epsilon = 1, delta = 1e-6, nothing known", table,
            paste(notes, "Relative errors; 95 % intervals with the bias shown."))
