# Losses of fits on rows held out, and the choice. The charge has been made; values are read here.

# One row's excess loss, cut at the clip, in units of 2^-20: integers, so that sums are exact.
SCORE_UNIT <- 2^20

# No loss counts as larger than this: differences stay finite.
LARGEST_LOSS <- 1e150

# The schema of a fit, or a live one, with the rows of other columns.
with_rows <- function(schema, columns, n) {
  schema$n <- n
  schema$live <- list(columns = columns, checked = columns[raw_columns(schema)])
  schema
}

# The columns that the variables of a formula and the offset are made of.
raw_columns <- function(schema) {
  unique(unlist(c(lapply(schema$variables, `[[`, "raw"), list(schema[["offset"]]$raw))))
}

# Private: the linear predictor of every row, row by row (C walks over single rows, so that no row
# changes another's last bit); NaN for a row that has none.
row_predictor <- function(values, schema, coefficients, threads = 1) {
  n <- live_rows(schema)
  slopes <- length(coefficients) - schema$intercept
  if (slopes == 0) {
    eta <- rep(if (schema$intercept) coefficients[[1L]] else 0, n)
  } else {
    rows <- new_rows(values$x, use = values$use, intercept = schema$intercept, threads = threads)
    norm <- row_norms(rows)
    eta <- row_margins(rows, norm, coefficients)
    eta[!is.finite(norm)] <- NaN
  }
  if (!is.null(values$offset)) eta <- eta + values$offset
  eta[!is.finite(eta)] <- NaN
  if (!is.null(values$use)) eta[!values$use] <- NaN
  eta
}

# Element by element.
prediction_loss <- function(loss, eta, y, logistic) {
  if (logistic) y <- pmin(pmax(y, 0), 1)
  if (loss == "logistic") {
    value <- pmax(eta, 0) - y * eta + log1p(exp(-abs(eta)))
  } else {
    error <- abs(y - if (logistic) stats::plogis(eta) else eta)
    value <- if (loss == "squared") error^2 / 2 else error
  }
  pmin(value, LARGEST_LOSS)
}

# One column per fit; NaN all along a row that one of them leaves out.
held_losses <- function(fits, held, use, loss, control, split = NULL) {
  columns <- Map(function(fit, schema, use) {
    values <- frame_values(schema, use)
    eta <- row_predictor(values, schema, fit$coefficients, control$threads)
    prediction_loss(loss, eta, values$y, identical(fit$loss, "logistic"))
  }, fits, held, use)
  out <- matrix(unlist(columns, use.names = FALSE), ncol = length(columns))
  out[is.na(rowSums(out)), ] <- NaN
  if (is.null(split$held_unit)) {
    return(out)
  }
  # a unit counts as the mean of its rows
  unit_means(out, list(code = as.integer(split$held_unit), count = nlevels(split$held_unit)))
}

# By how much each loss exceeds the smallest of its row.
excess_losses <- function(losses) {
  columns <- lapply(seq_len(ncol(losses)), function(j) losses[, j])
  losses - do.call(pmin, columns)
}

# One number per row: the largest excess.
row_spread <- function(excess) {
  do.call(pmax, lapply(seq_len(ncol(excess)), function(j) excess[, j]))
}

# Minus the clipped sums, exact integers. A record moves each by at most SCORE_UNIT.
held_scores <- function(excess, bound) {
  units <- floor(SCORE_UNIT * pmin(excess / bound, 1))
  units[is.nan(units)] <- 0
  -colSums(units)
}

choose_fit <- function(losses, plan, control) {
  excess <- excess_losses(losses)
  if (!plan$private) {
    return(list(chosen = which.min(colSums(excess, na.rm = TRUE)), bound = Inf))
  }
  bound <- plan$bound %||% release_quantiles(
    row_spread(excess), plan$quantile, plan$c, 1 / LARGEST_LOSS, LARGEST_LOSS, release_key(control)
  )
  scores <- held_scores(excess, bound)
  list(
    chosen = select_top(scores, 1, plan$law, "exponential", release_key(control)), bound = bound
  )
}
