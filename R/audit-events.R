# Events of an audit. A statistic is a score for every run, fixed by the pilot runs; an event
# is a score at or above, or at or below, a threshold. A missing score is in no event.

# Most events tested per measure (epsilon, mu); coordinates looked at one by one.
TESTED_EVENTS <- 3L
AUDIT_COORDINATES <- 20L

new_statistic <- function(x, x1, say) list(x = x, x1 = x1, say = say)

audit_statistics <- function(tables, pilot) {
  values <- number_statistics(tables$x$numbers, tables$x1$numbers, pilot)
  a <- labels_of(tables$x, tables, pilot)
  b <- labels_of(tables$x1, tables, pilot)
  told <- vapply(seq_len(ncol(a)), function(j) distinct(a, b, j, pilot) > 1L, NA)
  a <- a[, told, drop = FALSE]
  b <- b[, told, drop = FALSE]
  labels <- lapply(seq_len(ncol(a)), function(j) {
    label_statistic(a[, j], b[, j], pilot, colnames(a)[[j]])
  })
  if (ncol(a) > 1L) {
    together <- function(m) apply(m, 1L, paste, collapse = ", ")
    joint <- label_statistic(together(a), together(b), pilot, paste(colnames(a), collapse = ", "))
    labels <- c(labels, list(joint))
  }
  c(values, Filter(Negate(is.null), labels))
}

distinct <- function(a, b, j, pilot) length(unique(c(a[pilot, j], b[pilot, j])))

# The labels of one side and its columns of numbers that take few values, as text.
labels_of <- function(side, tables, pilot) {
  few <- vapply(seq_len(ncol(side$numbers)), function(j) {
    distinct(tables$x$numbers, tables$x1$numbers, j, pilot) <= length(pilot) / 5
  }, NA)
  numbers <- side$numbers[, few, drop = FALSE]
  text <- array(exact_text(numbers), dim(numbers), dimnames(numbers))
  cbind(side$labels, text)
}

exact_text <- function(x) {
  short <- as.character(x)
  exact <- is.na(x) | as.numeric(short) == x
  ifelse(exact, short, sprintf("%.17g", x))
}

# The score of a label is its log-odds in the pilot; 0 for one not seen there.
label_statistic <- function(a, b, pilot, name) {
  levels <- unique(c(a[pilot], b[pilot]))
  if (length(levels) > length(pilot) / 5) {
    return(NULL)
  }
  count <- function(v) tabulate(match(v[pilot], levels), length(levels)) + 0.5
  score <- log(count(b) / count(a))
  score_of <- function(v) {
    s <- score[match(v, levels)]
    s[is.na(s)] <- 0
    s
  }
  say <- function(op, threshold) {
    inside <- levels[if (op == ">=") score >= threshold else score <= threshold]
    shown <- substr(utils::head(inside, 5L), 1L, 40L)
    more <- if (length(inside) > 5L) sprintf(" and %d more", length(inside) - 5L) else ""
    sprintf("%s: %s%s", name, paste0("\"", shown, "\"", collapse = ", "), more)
  }
  new_statistic(score_of(a), score_of(b), say)
}

# ---- numbers -----------------------------------------------------------------------

# The projection of all coordinates, and the coordinates that differ most by themselves: the
# value, and its distance from the middle.
number_statistics <- function(a, b, pilot) {
  if (ncol(a) == 0L) {
    return(list())
  }
  u <- clamped(a, b, pilot)
  difference <- colMeans(u$x1[pilot, , drop = FALSE]) - colMeans(u$x[pilot, , drop = FALSE])
  within <- sqrt(column_variances(u, pilot))
  standing <- abs(difference) / pmax(within, 1e-8)
  best <- utils::head(order(-standing), AUDIT_COORDINATES)
  single <- unlist(lapply(sort(best), function(j) {
    coordinate_statistics(a[, j], b[, j], pilot, colnames(a)[[j]])
  }), recursive = FALSE)
  if (ncol(a) == 1L) single else c(list(projection_statistic(u, pilot, difference)), single)
}

coordinate_statistics <- function(a, b, pilot, name) {
  middle <- stats::quantile(c(a[pilot], b[pilot]), 0.5, type = 1, names = FALSE, na.rm = TRUE)
  if (!is.finite(middle)) middle <- 0
  list(
    new_statistic(a, b, function(op, t) sprintf("%s %s %s", name, op, format_number(t))),
    new_statistic(abs(a - middle), abs(b - middle), function(op, t) {
      sprintf("|%s - %s| %s %s", name, format_number(middle), op, format_number(t))
    })
  )
}

# Columns on [-1, 1], winsorised at quantiles of the pilot, so that a few huge or infinite
# values do not decide the direction; missing ones in the middle.
clamped <- function(a, b, pilot) {
  pooled <- rbind(a[pilot, , drop = FALSE], b[pilot, , drop = FALSE])
  limits <- vapply(seq_len(ncol(a)), function(j) {
    finite <- pooled[is.finite(pooled[, j]), j]
    if (length(finite) == 0L) {
      return(c(0, 0))
    }
    stats::quantile(finite, c(0.005, 0.995), type = 1, names = FALSE)
  }, c(0, 0))
  middle <- limits[1L, ] / 2 + limits[2L, ] / 2
  half <- limits[2L, ] / 2 - limits[1L, ] / 2
  one <- function(m) {
    for (j in seq_len(ncol(m))) {
      v <- pmin(pmax(m[, j], limits[1L, j]), limits[2L, j])
      v <- if (half[[j]] > 0) (v - middle[[j]]) / half[[j]] else 0 * v
      v[is.na(v)] <- 0
      m[, j] <- v
    }
    m
  }
  list(x = one(a), x1 = one(b))
}

column_variances <- function(u, pilot) {
  one <- function(m) {
    v <- m[pilot, , drop = FALSE]
    colMeans(v^2) - colMeans(v)^2
  }
  pmax((one(u$x) + one(u$x1)) / 2, 0)
}

# Fisher's direction with a small ridge; with many columns for the pilot that of
# independent columns.
projection_statistic <- function(u, pilot, difference) {
  total <- sqrt(column_variances(u, pilot) + difference^2 / 4)
  live <- total > 0
  weight <- rep(0, length(difference))
  scaled <- difference[live] / total[live]
  if (sum(live) <= min(200, length(pilot) / 5)) {
    part <- function(m) stats::cov(m[pilot, live, drop = FALSE])
    within <- (part(u$x) + part(u$x1)) / 2 / outer(total[live], total[live])
    diag(within) <- diag(within) + 1e-6
    weight[live] <- solve(within, scaled) / total[live]
  } else {
    weight[live] <- scaled / (column_variances(u, pilot)[live] / total[live]^2 + 1e-6) / total[live]
  }
  size <- max(abs(weight))
  if (size > 0) weight <- weight / size
  say <- function(op, t) sprintf("projection %s %s", op, format_number(t))
  new_statistic(drop(u$x %*% weight), drop(u$x1 %*% weight), say)
}

# ---- choosing and testing ----------------------------------------------------------

# Clopper-Pearson bounds, each with error rate `alpha`.
binomial_lower <- function(k, n, alpha) {
  ifelse(k == 0, 0, stats::qbeta(alpha, pmax(k, 1), n - k + 1))
}

binomial_upper <- function(k, n, alpha) {
  ifelse(k == n, 1, stats::qbeta(alpha, k + 1, pmax(n - k, 1), lower.tail = FALSE))
}

# What events with `hits` of `runs` runs under either neighbour prove, with error rate
# `alpha` for all the probabilities together, under the better of the two orders.
event_bounds <- function(hits_x, hits_x1, favours, runs, delta, alpha) {
  alpha <- alpha / (2 * max(length(favours), 1L))
  likely <- ifelse(favours == "x1", hits_x1, hits_x)
  other <- ifelse(favours == "x1", hits_x, hits_x1)
  lower <- binomial_lower(likely, runs, alpha)
  upper <- binomial_upper(other, runs, alpha)
  data.frame(
    p_lower = lower, p_upper = upper,
    epsilon = log(pmax(lower - delta, 1e-300) / upper),
    mu = stats::qnorm(lower) - stats::qnorm(upper)
  )
}

QUANTILES <- c(0.002, 0.005, 0.01, 0.02, seq(0.05, 0.95, 0.05), 0.98, 0.99, 0.995, 0.998)

event_thresholds <- function(a, b) {
  at <- function(v, p) stats::quantile(v, p, type = 1, names = FALSE, na.rm = TRUE)
  middle <- (at(a, 0.5) + at(b, 0.5)) / 2
  t <- unique(c(middle, at(a, QUANTILES), at(b, QUANTILES)))
  t[!is.na(t)]
}

count_hits <- function(scores, op, threshold) {
  scores <- sort(scores)
  if (op == ">=") {
    length(scores) - findInterval(threshold, scores, left.open = TRUE)
  } else {
    findInterval(threshold, scores)
  }
}

# Every threshold of every statistic, with its hits in the pilot.
candidate_events <- function(statistics, pilot) {
  rows <- lapply(seq_along(statistics), function(s) {
    a <- statistics[[s]]$x[pilot]
    b <- statistics[[s]]$x1[pilot]
    t <- event_thresholds(a, b)
    do.call(rbind, lapply(if (length(t) > 0L) c(">=", "<="), function(op) {
      hits_x <- count_hits(a, op, t)
      hits_x1 <- count_hits(b, op, t)
      data.frame(statistic = s, op = op, threshold = t, hits_x = hits_x, hits_x1 = hits_x1,
                 favours = ifelse(hits_x1 >= hits_x, "x1", "x"))
    }))
  })
  do.call(rbind, rows)
}

# Per measure the best event of each of the best statistics, as far as it promises at least
# half as much as the best of all.
choose_events <- function(statistics, pilot, delta, alpha) {
  found <- candidate_events(statistics, pilot)
  if (is.null(found)) {
    return(data.frame(statistic = integer(), op = character(), threshold = numeric(),
                      favours = character()))
  }
  # the error rate that each will have when it is tested
  error <- alpha * nrow(found) / (2 * TESTED_EVENTS)
  bounds <- event_bounds(found$hits_x, found$hits_x1, found$favours, length(pilot), delta, error)
  best <- lapply(c("epsilon", "mu"), function(measure) {
    sorted <- order(-bounds[[measure]])
    first <- utils::head(sorted[!duplicated(found$statistic[sorted])], TESTED_EVENTS)
    promise <- bounds[[measure]][first]
    first[promise >= min(promise[[1L]], promise[[1L]] / 2)]
  })
  found[unique(unlist(best)), c("statistic", "op", "threshold", "favours")]
}

test_events <- function(chosen, statistics, pilot, runs, delta, alpha) {
  hits <- function(side) {
    vapply(seq_len(nrow(chosen)), function(i) {
      scores <- statistics[[chosen$statistic[[i]]]][[side]][-pilot]
      count_hits(scores, chosen$op[[i]], chosen$threshold[[i]])
    }, 0L)
  }
  said <- vapply(seq_len(nrow(chosen)), function(i) {
    statistics[[chosen$statistic[[i]]]]$say(chosen$op[[i]], chosen$threshold[[i]])
  }, "")
  hits_x <- hits("x")
  hits_x1 <- hits("x1")
  bounds <- event_bounds(hits_x, hits_x1, chosen$favours, runs, delta, alpha)
  bounds$epsilon <- pmax(bounds$epsilon, 0)
  bounds$mu <- pmax(bounds$mu, 0)
  data.frame(event = said, favours = chosen$favours, hits_x = hits_x, hits_x1 = hits_x1,
             runs = rep(runs, nrow(chosen)), bounds)
}

# Error rates of the best statistic over all its thresholds, in the second half.
audit_curve <- function(events, chosen, statistics, pilot) {
  if (nrow(events) == 0L) {
    return(data.frame(false_positive = c(0, 1), false_negative = c(1, 0)))
  }
  best <- which.max(events$mu)
  scores <- lapply(statistics[[chosen$statistic[[best]]]][c("x", "x1")], function(s) s[-pilot])
  t <- stats::quantile(unlist(scores), seq(0, 1, 0.005), type = 1, names = FALSE, na.rm = TRUE)
  share <- function(side) count_hits(scores[[side]], chosen$op[[best]], t) / events$runs[[best]]
  rates <- if (chosen$favours[[best]] == "x1") {
    data.frame(false_positive = share("x"), false_negative = 1 - share("x1"))
  } else {
    data.frame(false_positive = 1 - share("x"), false_negative = share("x1"))
  }
  rates <- unique(rbind(rates, c(0, 1), c(1, 0)))
  rates <- rates[order(rates$false_positive, -rates$false_negative), ]
  row.names(rates) <- NULL
  rates
}
