# One person with many rows. With `unit` a record is a unit: neighbours replace one unit with all
# its rows. The number of units is public (and is what a plan calls n); whose rows are whose, and
# how many each has, is not.
#
# Searches for centres, scales and second moments read one row of each unit, drawn at random;
# gradients are summed over the rows of a unit before they are bounded (src/dph_units.h). A unit
# counts as at most `max_rows` rows; where that is not public it is read from noisy counts of the
# rows per unit, which also tell what a unit counts as on average: gradients are divided by
# that, so that steps and levels are those of single rows.

#' One person with many rows
#'
#' Without `unit` the guarantee protects one row: what is released hardly changes if one row is
#' replaced. Where a patient, a policy or a firm has many rows that is the wrong guarantee, for what
#' they have in common shows in all of them. With `unit = ~ id` two data sets are neighbours if they
#' differ in one unit, with all its rows, however many those are.
#'
#' *Public* is the number of units: the declared levels of a factor (levels without rows are units,
#' too), otherwise the number of different values. *Private* are the number of rows, which rows
#' belong together, and how many each unit has. `n` in prints, plans and in [nobs()] counts units.
#'
#' *What is estimated.* With `unit_weight = "sum"` all rows count alike, up to `max_rows` per unit:
#' a unit of r rows counts as min(r, max_rows), each row with weight min(1, max_rows / r). With
#' `"mean"` (the same as `max_rows = 1`) each unit counts once. Where slopes are the same for units
#' with few and with many rows both estimate the same line, `"sum"` from more information. A robust
#' fit bounds what a whole unit says, not a row: see Privacy.
#'
#' *Means* ([dp_mean()]). With `"sum"` the mean over rows, counted as above, as a ratio of two
#' private means over units; with `"mean"` that of the units' own means. Where units are the levels
#' of a factor, levels without rows count as missing values do (see `na.rm`): that takes a twentieth
#' of the budget, here and in [dp_var()] and [dp_shortfall()]; means with `sparsity` take them for
#' zeros. Text or numbers in place of the factor name units that have rows, and cost nothing.
#'
#' *How.* Centres, scales and second moments are searched for in one row of each unit, drawn at
#' random. Gradients are summed over the rows of a unit and bounded afterwards, so that a unit of
#' 100 rows, whose errors partly cancel, is cut off far less than 100 rows would be. Standard errors
#' allow for rows of a unit that hang together in any way, as cluster-robust ones do.
#'
#' [dp_tune()] keeps the rows of a unit in one part. [dp_quantile()], [dp_var()],
#' [dp_tail_index()], [dp_shortfall()] and [dp_residuals()] look at one row of each unit, drawn at
#' random: at the law of a row of a unit that was drawn before.
#'
#' Missing values in `unit` are refused like others, or left out with their rows by `na.action =
#' na.omit` (`na.rm = TRUE`). Not with `unit` go sparse matrices, split batches, [grad_mom()],
#' public moments and `calibration = "paper"`. A budget is for units or for rows: calls of both
#' kinds are refused.
#'
#' @section Privacy:
#' Every statistic is a sum over units of exact integers, and one unit adds what one row adds
#' without units: counts of one row of each unit, drawn without looking at values (of others), so
#' that replacing a unit moves one record; gradients U = sum of the rows' gradients times min(1,
#' max_rows / r), clipped at C (or coordinate by coordinate) after summing and rounded once, at most
#' 2 C plus the grid's rounding for two different units; a unit whose sum is not finite adds zero.
#' Costs are those of as many single rows as there are units. With `max_rows = NULL`, or one above
#' 1, noisy counts of the rows per unit are released as well: a unit is in one cell, sqrt(2) in l2
#' (2 in l1).
#'
#' @references
#' Liu, Y., Suresh, A. T., Yu, F. X. X., Kumar, S. and Riley, M. (2020). Learning discrete
#' distributions: user vs item-level privacy. *NeurIPS*. \doi{10.48550/arXiv.2007.13660}
#'
#' Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models.
#' *Biometrika* 73, 13-22. \doi{10.1093/biomet/73.1.13} (rows that hang together)
#' @examples
#' set.seed(1)
#' visits <- data.frame(patient = rep(1:2000, sample(1:9, 2000, replace = TRUE)))
#' visits$dose <- rt(nrow(visits), 3)
#' visits$pain <- 5 - visits$dose + rnorm(2000)[visits$patient] + rt(nrow(visits), 3)
#' fit <- dp_lm(pain ~ dose, data = visits, epsilon = 1, delta = 1e-6, unit = ~ patient)
#' summary(fit)
#' @name dp_units
NULL

# Public checks. Returns NULL without units, else list(weight, max_rows).
unit_rule <- function(unit, unit_weight, max_rows) {
  unit_weight <- check_choice(unit_weight, "unit_weight", c("sum", "mean"))
  if (!is.null(max_rows)) max_rows <- check_number(max_rows, "max_rows", 1, 1e9)
  if (is.null(unit)) {
    if (!is.null(max_rows)) dp_abort("`max_rows` goes with `unit`: give `unit`, or leave it out.")
    return(NULL)
  }
  if (unit_weight == "mean") {
    if (!is.null(max_rows) && max_rows != 1) {
      dp_abort("`max_rows` goes with unit_weight = \"sum\": the mean of a unit's rows counts once.")
    }
    max_rows <- 1
  }
  list(weight = unit_weight, max_rows = max_rows)
}

# Which unit each row belongs to, from 1, NA where that is missing, and how many units there are:
# the declared levels of a factor, else the different values. `columns`, `env`: where the names of
# a formula are looked up.
unit_members <- function(unit, n, columns = list(), env = NULL) {
  parts <- if (inherits(unit, "formula")) unit_columns_of(unit, columns, env) else list(unit)
  codes <- lapply(parts, one_unit_code, n = n)
  out <- codes[[1L]]
  for (code in codes[-1L]) out <- crossed_codes(out, code)
  if (out$count < 1L) {
    dp_abort("`unit` has no unit: all of its values are missing.", "dp_error_missing")
  }
  out
}

unit_columns_of <- function(unit, columns, env) {
  names <- all.vars(unit)
  plain <- setdiff(all.names(unit), c("~", "+", ":", names))
  if (length(unit) != 2L || length(names) == 0L || length(plain) > 0L) {
    dp_abort(paste(
      "`unit` must be a formula that names columns, ~ id or ~ hospital + patient, or a vector."
    ))
  }
  home <- environment(unit) %||% env
  lapply(names, function(name) {
    if (name %in% names(columns)) {
      return(columns[[name]])
    }
    if (is.null(home) || !exists(name, envir = home)) {
      dp_abort(sprintf(paste(
        "`unit` names `%s`, which is neither a column of the data nor a variable; a vector with",
        "one value per row will do, too: unit = d$%s."
      ), name, name))
    }
    get(name, envir = home)
  })
}

one_unit_code <- function(v, n) {
  ok <- is.atomic(v) && !is.null(v) && is.null(dim(v)) && !is.complex(v) && !is.raw(v)
  if (!ok) dp_abort("`unit` must name each row's unit: a factor, numbers or text.")
  if (length(v) != n) {
    dp_abort(sprintf("`unit` must have one value per row: %.0f are needed, %.0f given.", n,
                     length(v)))
  }
  if (is.factor(v)) {
    code <- as.integer(v)
    # of a factor that was put together by hand
    code[which(code < 1L | code > nlevels(v))] <- NA_integer_
    return(list(code = code, count = nlevels(v), declared = TRUE))
  }
  if (inherits(v, "integer64")) {
    return(integer64_code(v))
  }
  # of Dates, times and the like the numbers: as text some would be the same
  v <- as.vector(unclass(v))
  known <- unique(v)
  known <- known[!is.na(known)]
  list(code = match(v, known, incomparables = NA), count = length(known))
}

# By the bits, the two halves of which are whole numbers; missing is the least number there is.
integer64_code <- function(v) {
  half <- matrix(readBin(writeBin(as.vector(unclass(v)), raw()), "integer", 2L * length(v)), 2L)
  if (.Platform$endian == "big") half <- half[2:1, , drop = FALSE]
  code <- lapply(1:2, function(i) {
    known <- unique(half[i, ])
    list(code = match(half[i, ], known), count = length(known))
  })
  code[[1L]]$code[is.na(half[2L, ]) & half[1L, ] %in% 0L] <- NA_integer_
  crossed_codes(code[[1L]], code[[2L]])
}

crossed_codes <- function(a, b) {
  both <- (a$code - 1) * b$count + b$code
  known <- unique(both)
  known <- known[!is.na(known)]
  list(code = match(both, known, incomparables = NA), count = length(known))
}

# A schema whose records are units: n counts them.
with_units <- function(schema, unit, columns = list(), env = NULL) {
  if (is.null(unit)) {
    return(schema)
  }
  if (is_sparse(schema$live$x)) {
    dp_abort("`unit` needs an ordinary matrix: x is a dgCMatrix.")
  }
  members <- unit_members(unit, schema$n, columns, env)
  schema$live$rows <- schema$n
  schema$live$member <- members$code
  schema$live$checked <- c(schema$live$checked, list(members$code))
  text <- sub(" or (`[a-z]+`) has", ", \\1 or `unit` has", schema$missing_text)
  schema$missing_text <- if (text != schema$missing_text) text else paste(text, "or in `unit`")
  schema$n <- members$count
  schema
}

# Rows of storage.
live_rows <- function(schema) schema$live$rows %||% schema$n

has_units <- function(schema) !is.null(schema$live$member)

# The spec with what is set aside for counting the rows per unit, before anything else is planned.
plan_units <- function(spec, schema, rule) {
  if (is.null(rule)) {
    return(spec)
  }
  check_unit_parts(spec)
  spec$units <- rule
  if (identical(rule$max_rows, 1) || spec$epsilon == Inf && is.null(spec$budget)) {
    return(spec)
  }
  kind <- allowance_kind(spec)
  total <- ledger_allowance(spec$budget, spec$epsilon, spec$delta, kind)
  n <- schema$n
  if (kind == "pure") {
    share <- UNIT_SHARES[["pure"]]
    counts <- unit_counts("laplace", n, total$epsilon * share)
  } else {
    mu <- if (kind == "gaussian") total$mu else sqrt(2 * total$rho)
    share <- count_share(UNIT_NEED, sqrt(2), n, mu, UNIT_SHARES[["least"]], UNIT_SHARES[["most"]])
    counts <- unit_counts("gaussian", n, mu * sqrt(share))
  }
  spec$reserve <- c(list(share = share), counts)
  spec
}

# Law and event of the counts of rows per unit: a unit leaves one cell and enters another.
unit_counts <- function(kind, n, cost) {
  laplace <- kind == "laplace"
  change <- if (laplace) 2 else sqrt(2)
  make <- if (laplace) laplace_event else gaussian_event
  list(law = count_law(kind, n, cost, change),
       events = list(make(cost, 1, change, change / cost, "rows per unit, counts")))
}

UNIT_SHARES <- c(least = 0.004, most = 0.05, pure = 0.03)

# n over the standard deviation of a count.
UNIT_NEED <- 60

# What a spec may spend on all but its units; as ledger_allowance().
spec_allowance <- function(spec, kind) {
  total <- ledger_allowance(spec$budget, spec$epsilon, spec$delta, kind)
  left <- 1 - (spec$reserve$share %||% 0)
  total$mu <- total$mu * sqrt(left)
  total$rho <- total$rho * left
  total$epsilon <- total$epsilon * left
  total
}

# In which currency the front composes.
allowance_kind <- function(spec) {
  if (spec$delta == 0) {
    "pure"
  } else if (is_vertex_set(spec$constraint) || spec$constraint$name == "sparse_vectors") {
    "mixed"
  } else {
    "gaussian"
  }
}

check_unit_parts <- function(spec) {
  refuse <- function(what) {
    dp_abort(sprintf("`unit` does not go with %s: leave one of them out.", what))
  }
  if (spec$control$calibration == "paper") refuse("calibration = \"paper\"")
  if (spec$control$batches == "split") refuse("batches = \"split\"")
  if (spec$gradient$name == "mom") refuse("grad_mom(), whose groups are of single rows")
  if (!is.null(spec$moment)) refuse("`moment`, which bounds single rows")
}

# ---- after the charge ----------------------------------------------------------------

# The problem with its units: the rows in use sorted by unit, one row drawn from each, and what
# they weigh.
unit_problem <- function(problem, schema, spec) {
  if (!has_units(schema)) {
    return(problem)
  }
  m <- schema$n
  code <- schema$live$member
  if (!is.null(problem$use)) code[!problem$use] <- NA
  sorted <- rows_by_unit(code, m, spec$control)
  weight <- unit_weighting(diff(sorted$start), spec)
  empty <- is.na(sorted$one)
  problem$units <- list(
    order = sorted$order - 1L, start = sorted$start, most = weight$most, scale = weight$scale,
    one = replace(sorted$one, empty, 1L), empty = empty
  )
  problem
}

# Rows sorted by unit, where those of each begin, and one of each at random (NA: it has none).
rows_by_unit <- function(code, m, control) {
  order <- order(code, na.last = NA, method = "radix")
  rows <- tabulate(code, m)
  start <- as.integer(c(0, cumsum(rows)))
  draw <- floor(rows * unit_draws(m, control))
  one <- order[pmin(start[-1L], start[-(m + 1L)] + draw + 1L)[rows > 0L]]
  list(order = order, start = start, one = replace(rep(NA_integer_, m), rows > 0L, one))
}

one_of_each <- function(code, m, control) rows_by_unit(code, m, control)$one

# Numbers from 0 to 1, one per unit, that look at no data: a part of a random order.
unit_draws <- function(m, control) {
  all <- max(m, 2^16)
  random_order(all, release_key(control))[seq_len(m)] / all
}

# rows: per unit, private. `most` rows of a unit count, and 1 / scale of them on average.
unit_weighting <- function(rows, spec) {
  most <- spec$units$max_rows
  if (identical(most, 1)) {
    return(list(most = 1, scale = 1))
  }
  if (is.null(spec$reserve)) {
    most <- most %||% Inf
    return(list(most = most, scale = 1 / max(mean(pmin(rows, most)), 1e-9)))
  }
  cells <- octave_cells(0, 31, 4)
  counted <- new_rows(matrix(as.double(rows)), which = 0)
  counts <- release_octaves(counted, "columns", cells, spec$reserve$law, release_key(spec$control))
  unit_weights_from_counts(occupied_cells(counts[-1L, 1L], spec$reserve$law), cells, length(rows),
                           most)
}

# Post-processing of noisy counts of the rows per unit.
unit_weights_from_counts <- function(counts, cells, units, most) {
  edges <- 2^octave_edges(cells)
  # whole numbers from the one edge up to the other
  low <- ceiling(edges[-length(edges)])
  high <- ceiling(edges[-1L]) - 1
  middle <- (low + pmax(low, high)) / 2
  counts[high < low] <- 0
  if (sum(counts) <= 0) {
    return(list(most = most %||% 1, scale = 1))
  }
  if (is.null(most)) most <- high[[which(cumsum(counts) >= UNIT_QUANTILE * sum(counts))[[1L]]]]
  # of units that have rows: second moments, of one row of each, are as small as what others leave
  each <- sum(counts * pmin(middle, most)) / min(sum(counts), units)
  list(most = most, scale = 1 / min(max(each, 0.05), most))
}

# Share of the units that count with all their rows.
UNIT_QUANTILE <- 0.9

# One row of each unit, as a problem or rows of their own; without units those themselves.
one_each <- function(v) {
  units <- v$units
  if (is.null(units)) {
    return(v)
  }
  v["units"] <- list(NULL)
  rows <- if (is.null(v$x)) length(v$y) else nrow(v$x)
  if (!any(units$empty) && identical(units$one, seq_len(rows))) {
    return(v) # each row is a unit, in the order of units
  }
  take <- function(part) if (!is.null(part)) part[units$one]
  if (!is.null(v$x)) v$x <- v$x[units$one, , drop = FALSE]
  v["y"] <- list(take(v$y))
  v["offset"] <- list(take(v$offset))
  use <- take(v$use)
  v["use"] <- list(if (any(units$empty)) !units$empty & (use %||% TRUE) else use)
  v
}

# Private: what a row of each unit counts as.
row_weight <- function(units) {
  units$scale * pmin(1, units$most / pmax(diff(units$start), 1L))
}

# Private: the same for each row of storage, 0 where it is in no unit.
storage_weights <- function(rows) {
  n <- nrow(rows$x)
  if (is.null(rows$units)) {
    return(rep(1, n))
  }
  replace(numeric(n), rows$units$order + 1L, rep(row_weight(rows$units), diff(rows$units$start)))
}

# Not private: second moments of (1, z, y) over all rows, as they count.
unit_moments <- function(rows) {
  weight <- sqrt(storage_weights(rows))
  y <- rows$y
  if (is.null(rows$margin_offset) && !is.null(rows$offset)) y <- y - rows$offset
  all <- new_rows(cbind(rows$x, y), use = rows$use, center = c(rows$center, rows$y_center),
                  inv_scale = c(rows$inv_scale, rows$y_inv_scale), intercept = rows$intercept)
  law <- list(step = 0, noise = c(0, 0))
  k <- ncol(all$x) + rows$intercept
  release_weighted_moments(all, weight, diag(k), Inf, law) * (nrow(all$x) / length(rows$units$one))
}

# Private: gradients of the units at w before they are bounded, m x k.
unit_gradients <- function(rows, norm, w, rule) {
  plan <- c(rule[c("loss", "estimator", "bound")], list(step = 0, limit = 1))
  if (!is.null(rule$tuning)) plan$tuning <- rule$tuning
  .Call(C_unit_gradients, rows, norm, as.double(w), plan)
}

# Private: y and eta of one row of each unit, NaN for a unit without rows; without units, of all.
one_row_per_unit <- function(values, schema, use, control) {
  if (!has_units(schema)) {
    return(values)
  }
  code <- schema$live$member
  if (!is.null(use)) code[!use] <- NA
  at <- one_of_each(code, schema$n, control)
  list(y = values$y[at], eta = values$eta[at])
}

# ---- fronts of values: one row of each unit --------------------------------------------

# What is public of columns x and their units: x as it can be read, its schema, in which n counts
# records, and the members (NULL without units).
read_values <- function(x, unit) {
  x <- read_matrix(x, sparse = FALSE)
  schema <- mean_schema(x)
  members <- if (!is.null(unit)) unit_members(unit, schema$n)
  schema$n <- members$count %||% schema$n
  list(x = x, schema = schema, members = members)
}

# The curator's checks, the charge, and then the values, a row per record.
charged_values <- function(read, events, epsilon, delta, na_rm, budget, control, front) {
  warn_large_delta(delta, read$schema$n)
  check_complete(read$x, na_rm)
  check_member(read$members$code, na_rm)
  ledger_charge(budget, events, epsilon, delta, booked_as(front, read$members))
  one_value_each(mean_values(read$x, read$schema), read$members, control)
}

# What such a front spends.
values_privacy <- function(read, events, epsilon, delta, control) {
  new_privacy(epsilon, delta, events, rng = control$rng, calibration = control$calibration,
              unit = record_of(read$members))
}

# Public: may a unit have no row? Means are then over a private number of units.
may_be_empty <- function(members) isTRUE(members$declared)

record_of <- function(members) if (is.null(members)) "row" else "unit"

booked_as <- function(front, members) paste0(front, if (!is.null(members)) PER_UNIT)

# Private: the row of each unit that is looked at, NA for a unit without rows; without units, all.
one_value_each <- function(x, members, control) {
  if (is.null(members)) {
    return(x)
  }
  at <- one_of_each(members$code, members$count, control)
  if (is.null(dim(x))) x[at] else x[at, , drop = FALSE]
}
