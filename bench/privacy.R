# What exact accounting saves, as ratios of noise, and what it costs in time.
#   R_LIBS=.Rlib OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 Rscript bench/privacy.R [repetitions]
source("bench/tools.R")

reps <- repetitions(21L)
internal <- asNamespace("dpheavy")

# ---- noise: the papers' constants over tight ones ------------------------------

gaussian_rows <- function() {
  grid <- expand.grid(count = c(10, 100, 1000), epsilon = c(0.5, 1))
  grid$delta <- ifelse(grid$epsilon == 1, 1e-5, 1e-6)
  paper <- calibrate_gaussian(grid$epsilon, grid$delta, count = grid$count, calibration = "paper")
  tight <- calibrate_gaussian(grid$epsilon, grid$delta, count = grid$count)
  data.frame(release = "Gaussian rounds, noise per round", count = grid$count,
             epsilon = grid$epsilon, delta = grid$delta, paper = paper, tight = tight)
}

peeling_rows <- function(part) {
  one <- function(s, epsilon, delta) {
    paper <- calibrate_peeling(epsilon, delta, s, calibration = "paper")[[part]]
    tight <- calibrate_peeling(epsilon, delta, s)[[part]]
    # standard deviations: Laplace noise in the paper; Gaussian values, Gumbel selections
    sd <- if (part == "values") 1 else pi / sqrt(6)
    data.frame(release = paste("peeling,", part), count = s, epsilon = epsilon, delta = delta,
               paper = sqrt(2) * paper, tight = sd * tight)
  }
  do.call(rbind, lapply(c(5, 20, 100), one, epsilon = 1, delta = 1e-5))
}

selection_rows <- function() {
  count <- c(10, 100, 1000)
  data.frame(release = "selections, scale per round", count = count, epsilon = 1, delta = 1e-5,
             paper = 1 / calibrate_exponential(1, 1e-5, count, "paper"),
             tight = 1 / calibrate_exponential(1, 1e-5, count))
}

table <- rbind(gaussian_rows(), peeling_rows("values"), peeling_rows("selection"), selection_rows())
table$ratio <- formatC(table$paper / table$tight, digits = 2, format = "f")
table$paper <- formatC(table$paper, digits = 4, format = "g")
table$tight <- formatC(table$tight, digits = 4, format = "g")
write_table("privacy-noise", "Noise with published constants and with exact accounting", table, c(
  "Standard deviations in units of the sensitivity (selections: scale of the noise). Ratio: how",
  "many times more noise the published constants add for the same (epsilon, delta). Written by",
  "`R_LIBS=.Rlib Rscript bench/privacy.R`."
))

# ---- time: against peers in the same run -----------------------------------------

elapsed <- function(expr) system.time(expr)[["elapsed"]]

# Times of f and of a peer in turn, each run often enough to be seen by the clock.
ratio_to_peer <- function(f, peer, times = 1L) {
  one <- vapply(seq_len(reps), function(i) {
    c(elapsed(for (k in seq_len(times)) f()), elapsed(for (k in seq_len(times)) peer()))
  }, c(0, 0))
  ratio <- one[1L, ] / one[2L, ]
  c(median = three(stats::median(ratio)), quartiles = spread(ratio),
    ms = three(1000 * stats::median(one[1L, ]) / times),
    peer = three(1000 * stats::median(one[2L, ]) / times))
}

set.seed(bench_seed)
kinds <- rep(c("gaussian", "laplace", "pure", "exponential"), 250)
mixed <- function(cost) Map(internal$new_event, kinds, cost)
same <- mixed(rep(c(0.005, 0.004, 0.003, 0.006), 250))
different <- mixed(stats::runif(1000, 0.002, 0.01))
compose <- function(events) {
  internal$law_cache$clear()
  internal$total_epsilon(internal$compose_events(events), 1e-6)
}
x <- matrix(rnorm(1e5), 1e4)
d <- data.frame(y = rnorm(1e4), x)
fit <- function() stats::lm(y ~ ., d)
draw <- function(kind) function() .Call(internal$C_draw_noise, kind, 40, 1e5, NULL)
normal <- function() rnorm(1e5)

rows <- list(
  "1,000 mixed events, 4 costs / lm(), 1e4 x 10" = ratio_to_peer(function() compose(same), fit, 3L),
  "1,000 mixed events, all different / lm(), 1e4 x 10" =
    ratio_to_peer(function() compose(different), fit, 3L),
  "1e5 discrete Gaussian draws / rnorm()" = ratio_to_peer(draw(1), normal),
  "1e5 discrete Laplace draws / rnorm()" = ratio_to_peer(draw(0), normal)
)
timing <- data.frame(what = names(rows), do.call(rbind, rows), row.names = NULL)
names(timing) <- c("what", "ratio", "quartiles", "ms", "ms of the peer")
write_table("privacy-time", "Time of accounting and of exact noise", timing, paste(
  "Median and quartiles of", reps, "ratios, each of two runs in turn. Written by the same script."
))
