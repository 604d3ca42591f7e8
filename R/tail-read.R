# What a fitted tail says of its index: post-processing.

# The octave at which the noise lets one look last.
last_seen <- function(side) octave_at_rank(list(side), max(8 * side$sd, 20))

# The index as a mixture of normal laws on the log scale: each family at the threshold and at the
# next one. The lognormal law has no index: its local one where the noise lets one look last.
index_mixture <- function(side) {
  top <- last_seen(side)
  of <- function(one) {
    index <- c(exp(one$fits$pareto$par[[1L]]), exp(one$fits$student$par[[1L]]))
    sd <- c(one$fits$pareto$sd, one$fits$student$sd)
    if (!is.null(one$fits$lognormal)) {
      index <- c(index, lognormal_index(one, top))
      sd <- c(sd, min(sd))
    }
    cbind(index = index, sd = sd, weight = unname(family_weights(one)))
  }
  parts <- rbind(of(side), if (!is.null(side$next_one)) of(side$next_one))
  parts[, "weight"] <- parts[, "weight"] / sum(parts[, "weight"])
  parts
}

lognormal_index <- function(side, e, h = 0.05) {
  e <- max(e, side$start + h)
  par <- side$fits$lognormal$par
  at <- function(e) TAIL_FAMILIES$lognormal$beyond(par, (e - side$start) * log(2))
  (at(e - h) - at(e + h)) / (2 * h * log(2))
}

# How much better (log-likelihood) the lognormal law fits than any power tail.
lognormal_better <- function(side) {
  likelihood <- vapply(side$fits, `[[`, 0, "likelihood") - TAIL_EXTRA
  likelihood[["lognormal"]] - max(likelihood[c("pareto", "student")])
}

# At the threshold clearly, and still at the next one.
NO_POWER <- c(3, 0.5)

no_power_tail <- function(side) {
  lognormal_better(side) > NO_POWER[[1L]] &&
    (is.null(side$next_one) || lognormal_better(side$next_one) > NO_POWER[[2L]])
}

# The index at the threshold, of the families that have one.
power_index <- function(side) {
  w <- family_weights(side)[c("pareto", "student")]
  if (sum(w) < 1e-300) w[] <- 1
  exp(sum(w * c(side$fits$pareto$par[[1L]], side$fits$student$par[[1L]])) / sum(w))
}

# The p-quantile of a mixture.
mixture_quantile <- function(parts, p) {
  at <- log(parts[, "index"])
  below <- function(z) sum(parts[, "weight"] * stats::pnorm(z, at, parts[, "sd"])) - p
  far <- 12 * max(parts[, "sd"])
  exp(stats::uniroot(below, c(min(at) - far, max(at) + far), tol = 1e-6)$root)
}

mixture_below <- function(parts, index) {
  sum(parts[, "weight"] * stats::pnorm(log(index), log(parts[, "index"]), parts[, "sd"]))
}

# Edges of `half` cells from the centre outwards.
side_edges <- function(half) octave_edges(octave_cells(sub = half / (OCTAVES$hi - OCTAVES$lo)))

# Counts of column j of octaves_about() without what noise may explain. Values as near to the centre
# as its own precision (2^-32) are the centre, and so are those that differ from it by nothing else.
clean_counts <- function(octaves, j) {
  counts <- octaves$counts[, j]
  half <- (length(counts) - 1L) / 2L
  near <- which(2^side_edges(half)[seq_len(half)] < max(abs(octaves$center[[j]]) * 2^-30, TINY))
  at <- half + 1L + c(near, -near)
  centre <- sum(occupied_cells(counts, octaves$law)[c(half + 1L, at)])
  counts[c(half + 1L, at)] <- 0
  clean <- occupied_cells(counts, octaves$law)
  clean[[half + 1L]] <- centre
  clean
}

# The tail of one side, or of both together.
read_side <- function(octaves, j, tail, families = TAIL_FAMILIES, rank = NULL) {
  counts <- octaves$counts[, j]
  half <- (length(counts) - 1L) / 2L
  clean <- clean_counts(octaves, j)
  upper <- half + 1L + seq_len(half)
  lower <- half + 1L - seq_len(half)
  at <- switch(tail, upper = list(upper), lower = list(lower), both = list(lower, upper))
  law <- octaves$law
  law$sd <- law$sd * sqrt(length(at))
  sum_of <- function(v) Reduce(`+`, lapply(at, function(i) v[i]))
  fit_side(sum_of(counts), sum_of(clean), law, side_edges(half), half / (OCTAVES$hi - OCTAVES$lo),
           families, rank)
}

# log2 of the distances beyond which k records of a side are expected, one for each k: far out by
# the tail fitted there, nearer to the centre by counts. What of `all` records of the side is in no
# cell that stands out of the noise lies evenly between the centre and the first that does. NULL:
# nothing stands out.
side_octaves <- function(octaves, j, tail, k, all = NULL) {
  clean <- clean_counts(octaves, j)
  half <- (length(clean) - 1L) / 2L
  clean <- clean[half + 1L + (if (tail == "upper") 1L else -1L) * seq_len(half)]
  total <- sum(clean)
  if (!(total > 0)) {
    return(NULL)
  }
  edges <- side_edges(half)
  first <- edges[[which(clean > 0)[[1L]]]]
  all <- all %||% total
  # one fit for all ranks that have the same threshold
  level <- floor(log2(total / pmax(k, 0.5)))
  at <- vapply(k, function(one) {
    if (one > total) first + log2(max(all - one, 0) / max(all - total, 1)) else
      log2(octave_quantile(clean, edges, 1 - one / total))
  }, 0)
  for (own in unique(level[level >= 2])) {
    which <- level == own
    side <- read_side(octaves, j, tail, rank = min(max(k[which]), total))
    at[which] <- vapply(k[which], function(one) octave_at_rank(list(side), max(one, 0.5)), 0)
  }
  at
}
