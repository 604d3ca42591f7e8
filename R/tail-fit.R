# A tail fitted to noisy counts of the cells that distances fall into: post-processing.

# Cells from the threshold on, in octaves: fine ones first. `sub`: cells of the counts per octave.
tail_steps <- function(sub) {
  c(seq(0, 5, by = 1 / sub), 6:24)
}

# Shares of the records beyond the threshold u that lie beyond r u, log scale, for r = exp(l) >= 1.
# Two with a power tail of index exp(par[1]): the generalised Pareto law, which is that of a Pareto
# law about any point, and one that reaches its power as fast as Student's law does; and the
# lognormal law about any point, whose index rises without end.
TAIL_FAMILIES <- list(
  pareto = list(
    beyond = function(par, l) {
      -exp(par[[1L]]) * (log(exp(l) + exp(par[[2L]])) - log1p(exp(par[[2L]])))
    },
    lower = log(c(0.2, 1e-3)), upper = log(c(30, 200)),
    start = list(log(c(2, 1.5)), log(c(10, 10)))
  ),
  student = list(
    beyond = function(par, l) {
      -exp(par[[1L]]) / 2 * (log(exp(2 * l) + exp(par[[2L]])) - log1p(exp(par[[2L]])))
    },
    lower = log(c(0.2, 1e-3)), upper = log(c(30, 2000)),
    start = list(log(c(2, 1.5)), log(c(10, 10)))
  ),
  lognormal = list(
    beyond = function(par, l) {
      z <- par[[2L]] + (log(exp(l) + exp(par[[3L]])) - log1p(exp(par[[3L]]))) / exp(par[[1L]])
      stats::pnorm(z, lower.tail = FALSE, log.p = TRUE) -
        stats::pnorm(par[[2L]], lower.tail = FALSE, log.p = TRUE)
    },
    lower = c(log(0.1), -2, log(1e-3)), upper = c(log(4), 6, log(100)),
    start = list(c(0, 0, 0), c(log(2), 1, log(0.01)))
  )
)

# Where counts say little an index is drawn towards 2.5, weakly.
TAIL_MIDDLE <- c(log(2.5), 0)
TAIL_WEAK <- c(1, 2)

tail_prior <- function(par) {
  if (length(par) > 2L) 0 else sum(((par - TAIL_MIDDLE) / TAIL_WEAK)^2) / 2
}

# Minus the log-likelihood of counts with variance size p + v, at the best `size`.
tail_loss <- function(family, par, counts, v, l) {
  p <- -diff(exp(family$beyond(par, l)))
  size <- max(sum(counts), 1)
  for (i in 1:3) {
    w <- 1 / (v + size * p)
    size <- max(sum(w * p * counts) / sum(w * p^2), 1)
  }
  spread <- v + size * p
  square <- sum((counts - size * p)^2 / spread)
  list(loss = (square + sum(log(spread))) / 2, square = square, size = size)
}

fit_family <- function(family, counts, v, l) {
  target <- function(par) tail_loss(family, par, counts, v, l)$loss + tail_prior(par)
  fits <- lapply(family$start, stats::nlminb, target, lower = family$lower,
                 upper = family$upper, control = list(iter.max = 60L, rel.tol = 1e-7))
  best <- fits[[which.min(vapply(fits, `[[`, 0, "objective"))]]
  c(tail_loss(family, best$par, counts, v, l),
    list(par = best$par, likelihood = -best$objective, sd = index_sd(target, best$par)))
}

# Standard deviation of the log of an index, by differences.
index_sd <- function(target, par, h = 0.02) {
  if (length(par) > 2L) {
    return(NA_real_)
  }
  at <- function(a, b) target(par + h * c(a, b))
  own <- (at(1, 0) - 2 * target(par) + at(-1, 0)) / h^2
  bend <- (at(0, 1) - 2 * target(par) + at(0, -1)) / h^2
  both <- (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h^2)
  # at an end of the range of the bend nothing more is known of it than there
  information <- own - if (bend > 0) both^2 / bend else 0
  1 / sqrt(max(information, 1 / TAIL_WEAK[[1L]]^2))
}

# Counts of the cells from number `from` on, those of coarse steps taken together.
steps_counts <- function(counts, from, sub) {
  steps <- tail_steps(sub)
  ends <- from + round(steps * sub)
  total <- c(0, cumsum(counts))
  ends <- pmin(ends, length(total))
  list(counts = diff(total[ends]), cells = diff(ends))
}

TAIL_FITS <- 0.1 # p value below which a threshold is too low
TAIL_SEEN <- 15   # standard deviations of the noise that a threshold's count must have
TAIL_TRIED <- 6L

# P value of the sum of squares of `cells` standardised counts, whose variance is that of a scaled
# chi-squared law; Laplace noise has an excess of 3.
square_p <- function(fit, family, cells, noise, l, excess) {
  v <- cells * noise^2 + 0.5
  share <- v / (v + fit$size * -diff(exp(family$beyond(fit$par, l))))
  variance <- sum(2 + excess / pmax(cells, 1) * share^2)
  df <- length(cells) - 3
  scale <- variance / (2 * length(cells))
  stats::pchisq(fit$square / scale, df / scale, lower.tail = FALSE)
}

# One threshold: the cells from number `from` on.
fit_threshold <- function(counts, from, beyond, law, edges, sub, families) {
  l <- tail_steps(sub) * log(2)
  cells <- steps_counts(counts, from, sub)
  v <- cells$cells * law$sd^2 + 0.5
  fits <- lapply(families, fit_family, cells$counts, v, l)
  best <- which.min(vapply(fits, `[[`, 0, "square"))
  p <- square_p(fits[[best]], families[[best]], cells$cells, law$sd, l,
                if (law$kind == "laplace") 3 else 0)
  list(fits = fits, p = p, start = edges[[from]], beyond = beyond[[from]], sd = law$sd)
}

# Thresholds with half, a quarter, ... of the side's records beyond: the lowest at which a family
# fits, and in `next_one` the one after it. counts: of one side, from the centre outwards; clean:
# without what noise may explain. With `rank` one of the highest three with four times as many
# records beyond: for what lies that far out. NULL: nothing stands out of the noise.
fit_side <- function(counts, clean, law, edges, sub, families = TAIL_FAMILIES, rank = NULL) {
  beyond <- rev(cumsum(rev(clean)))
  total <- beyond[[1L]]
  if (!(total > 0)) {
    return(NULL)
  }
  wanted <- total / 2^seq_len(if (is.null(rank)) TAIL_TRIED else 40L)
  wanted <- c(wanted[[1L]], wanted[-1L][wanted[-1L] >= max(TAIL_SEEN * law$sd, 50, 4 * rank)])
  if (!is.null(rank)) wanted <- utils::tail(wanted, 3L)
  from <- unique(vapply(wanted, function(k) max(which(beyond >= k)), 0L))
  tried <- list()
  for (at in from) {
    tried <- c(tried, list(fit_threshold(counts, at, beyond, law, edges, sub, families)))
    done <- length(tried) > 1L && tried[[length(tried) - 1L]]$p > TAIL_FITS
    if (done) break
  }
  p <- vapply(tried, `[[`, 0, "p")
  chosen <- if (any(p > TAIL_FITS)) which(p > TAIL_FITS)[[1L]] else
    if (is.null(rank)) which.max(p) else length(p)
  c(tried[[chosen]], list(next_one = if (chosen < length(tried)) tried[[chosen + 1L]]))
}

# Log of the share beyond octave `e` (log2 of the distance), of each family.
side_beyond <- function(side, e) {
  l <- pmax(e - side$start, 0) * log(2)
  lapply(names(side$fits), function(name) {
    fit <- side$fits[[name]]
    log(fit$size) + TAIL_FAMILIES[[name]]$beyond(fit$par, l)
  })
}

# A family with one parameter more has to fit better by this.
TAIL_EXTRA <- c(pareto = 0, student = 0, lognormal = 1.5)

family_weights <- function(side) {
  size <- vapply(side$fits, `[[`, 0, "likelihood") - TAIL_EXTRA[names(side$fits)]
  w <- exp(size - max(size))
  w / sum(w)
}

# Records of the side beyond octave e, all families together.
records_beyond <- function(side, e) {
  w <- family_weights(side)
  drop(vapply(side_beyond(side, e), exp, numeric(length(e))) %*% w)
}

POWER_TAILS <- TAIL_FAMILIES[c("pareto", "student")]

# The octave beyond which k records are expected, of these sides together.
octave_at_rank <- function(sides, k) {
  low <- min(vapply(sides, `[[`, 0, "start"))
  high <- 1024
  # below its threshold a side has at least what it has there
  beyond <- function(e) sum(vapply(sides, records_beyond, 0, e = e))
  if (beyond(low) <= k) {
    return(low)
  }
  for (i in 1:60) {
    middle <- (low + high) / 2
    if (beyond(middle) > k) low <- middle else high <- middle
  }
  low
}

# How many times as fast as the distance the records decrease at octave e.
local_index <- function(side, e, h = 0.05) {
  log(records_beyond(side, e - h) / records_beyond(side, e + h)) / (2 * h * log(2))
}
