# Laws that a plan assumes, as tables of quantiles: expectations are sums over a table. Nothing
# here is random and nothing reads data.

# Log-odds of the probabilities of a table.
LAW_GRID <- seq(-27, 27, length.out = 1081L)

# Differences of whichever tail is small.
LAW_WEIGHTS <- local({
  half <- (LAW_GRID[[2L]] - LAW_GRID[[1L]]) / 2
  away <- abs(LAW_GRID)
  stats::plogis(half - away) - stats::plogis(-half - away)
})

LAW_NAMES <- "\"normal\", \"t3\", \"lognormal1\", \"pareto2.5\" (or other numbers there)"

# Quantiles of a law about its mean, their weights, and the mean that was taken off.
assumed_law <- function(law, arg) {
  found <- if (inherits(law, "dp_law")) law else if (is.function(law)) {
    quantile_law(law, arg)
  } else {
    named_law(law, arg)
  }
  list(x = found$x - found$mean, weight = LAW_WEIGHTS / sum(LAW_WEIGHTS), mean = found$mean)
}

# A number is a moment index: all moments of a lower order exist, as for Student's t.
named_law <- function(law, arg) {
  if (is_number(law)) law <- paste0("t", format(law, digits = 15L))
  if (!is.character(law) || length(law) != 1L || is.na(law)) abort_law(arg)
  kind <- sub("^([a-z]+).*$", "\\1", law)
  number <- sub("^[a-z]+", "", law)
  value <- if (nzchar(number)) suppressWarnings(as.numeric(number)) else 1
  least <- c(normal = 0, t = 1, lognormal = 0, pareto = 1)[kind]
  if (is.na(least) || is.na(value) || value <= least || value > 1e3 ||
    nzchar(number) == (kind == "normal") && kind != "lognormal") {
    abort_law(arg)
  }
  lower <- stats::plogis(LAW_GRID)
  upper <- stats::plogis(-LAW_GRID)
  tail <- pmin(lower, upper)
  sign <- ifelse(LAW_GRID < 0, 1, -1)
  switch(kind,
    normal = list(x = sign * stats::qnorm(tail), mean = 0),
    t = list(x = sign * stats::qt(tail, value), mean = 0),
    lognormal = list(x = exp(value * sign * stats::qnorm(tail)), mean = exp(value^2 / 2)),
    pareto = list(x = upper^(-1 / value), mean = value / (value - 1))
  )
}

abort_law <- function(arg) {
  dp_abort(sprintf(paste(
    "`%s` must be one of %s, a moment index above 1, or a quantile function of probabilities",
    "that rises."
  ), arg, LAW_NAMES))
}

quantile_law <- function(law, arg) {
  x <- tryCatch(law(stats::plogis(LAW_GRID)), error = function(e) NULL)
  ok <- is.numeric(x) && length(x) == length(LAW_GRID) && all(is.finite(x)) &&
    !is.unsorted(x) && x[[1L]] < x[[length(x)]]
  if (!ok) abort_law(arg)
  structure(list(x = as.numeric(x), mean = sum(LAW_WEIGHTS * x) / sum(LAW_WEIGHTS)),
            class = "dp_law")
}

expectation <- function(law, f) sum(law$weight * f(law$x))

# P(X <= t) and the quantile at p, between the entries linear in the log-odds.
law_below <- function(law, t) {
  stats::plogis(stats::approx(law$x, LAW_GRID, t, yleft = -Inf, yright = Inf, ties = "mean")$y)
}

law_quantile <- function(law, p) stats::approx(LAW_GRID, law$x, stats::qlogis(p), rule = 2)$y

# The law of |X|: rising values, the share up to each, the mean of X^2 up to each.
absolute_law <- function(law) {
  size <- abs(law$x)
  order <- order(size)
  list(x = size[order], below = cumsum(law$weight[order]),
       squares = cumsum(law$weight[order] * size[order]^2))
}

# P(|X| <= t) and E min(X^2, t^2).
share_below <- function(size, t) {
  stats::approx(size$x, size$below, t, yleft = 0, yright = 1, ties = "ordered")$y
}

clipped_square <- function(size, t) {
  most <- size$squares[[length(size$squares)]]
  inner <- stats::approx(size$x, size$squares, t, yleft = 0, yright = most, ties = "ordered")$y
  inner + t^2 * (1 - share_below(size, t))
}

# ---- made-up rows -------------------------------------------------------------

# A lattice rule: column j holds the numbers (1, ..., P - 1) g^j mod P, P prime, over P: each
# column an even grid of probabilities, any two nearly independent.
LATTICE <- c(size = 2039, factor = 1174)

# Up to half the period: beyond it columns are the earlier ones mirrored.
LATTICE_MOST <- 1000L

lattice_column <- function(j) {
  p <- LATTICE[["size"]]
  g <- 1
  for (i in seq_len(j)) g <- (g * LATTICE[["factor"]]) %% p
  ((seq_len(p - 1) * g) %% p) / p
}

# Sums of squares of d columns of this law, of variance 1, over made-up rows, and the first column;
# `unit`: the scale that the search for it would find (R/lm-columns.R), the 0.75-quantile of a
# pair's difference over 1.4.
lattice_rows <- function(law, d) {
  spread <- sqrt(expectation(law, function(x) x^2))
  if (!is.finite(spread) || spread <= 0) {
    dp_abort("`assume$columns` must be a law with a variance.")
  }
  law$x <- law$x / spread
  p <- LATTICE[["size"]]
  sums <- 0
  g <- 1
  used <- min(d, LATTICE_MOST)
  for (j in seq_len(used)) {
    g <- (g * LATTICE[["factor"]]) %% p
    sums <- sums + law_quantile(law, ((seq_len(p - 1) * g) %% p) / p)^2
  }
  first <- law_quantile(law, lattice_column(1))
  pair <- first - law_quantile(law, lattice_column(2))
  unit <- stats::quantile(abs(pair), 0.75, names = FALSE) / 1.4
  list(squares = sums * d / used, first = first, d = d, unit = unit)
}
