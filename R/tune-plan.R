# The public phase of dp_tune(): which calls, which rows, what they will spend.

TUNED <- c("dp_lm", "dp_glm", "dp_lasso", "dp_sparse", "dp_sco")

check_calls <- function(calls, caller) {
  if (missing(calls) || !is.list(calls) || length(calls) < 1L || !all(vapply(calls, is.call, NA))) {
    dp_abort(paste(
      "`calls` must be a list of calls that are not evaluated:",
      "alist(a = dp_lm(y ~ x1, epsilon = 1, delta = 1e-6), b = ...)."
    ))
  }
  given <- names(calls) %||% rep("", length(calls))
  if (anyDuplicated(given[nzchar(given)]) > 0L) dp_abort("the names of `calls` must differ.")
  for (call in calls) check_candidate(call, caller)
  calls
}

# Arbitrary code would read `data` before anything is charged.
check_candidate <- function(call, caller) {
  if (is.na(candidate_front(call, caller))) {
    dp_abort(paste0("`calls` must be calls of ", paste0(TUNED, "()", collapse = ", "), "."))
  }
  wrong <- intersect(names(call), c("data", "budget", "unit", "x", "y"))
  if ("unit" %in% wrong) dp_abort(ROWS_ONLY)
  if (length(wrong) > 0L) {
    dp_abort(sprintf(switch(wrong[[1L]],
      budget = "a call in `calls` has `%s`: leave it out, dp_tune() charges for all of them.",
      data = "a call in `calls` has `%s`: leave it out, dp_tune() gives it its rows.",
      "a call in `calls` has `%s`: write it by formula, dp_lm(y ~ x1, ...)."
    ), wrong[[1L]]))
  }
}

# Parts drawn row by row would both have rows of a unit.
ROWS_ONLY <- paste(
  "a call in `calls` has `unit`: leave it out and give it to dp_tune(),",
  "which then keeps the rows of a unit in one part."
)

# The front that is called, whatever it is called by; NA for another function.
candidate_front <- function(call, caller) {
  name <- call[[1L]]
  simple <- is.symbol(name) ||
    is.call(name) && (identical(name[[1L]], quote(`::`)) || identical(name[[1L]], quote(`:::`)))
  # do.call() and as.call() put the function itself in its place
  f <- if (is.function(name)) name else if (simple) {
    tryCatch(eval(name, caller), error = function(e) NULL)
  }
  own <- vapply(TUNED, function(front) identical(f, get(front, mode = "function")), NA)
  if (any(own)) TUNED[own][[1L]] else NA_character_
}

# A label shows nothing of the call, into which values may have been pasted.
candidate_labels <- function(calls) {
  given <- names(calls) %||% rep("", length(calls))
  ifelse(nzchar(given), given, paste("call", seq_along(calls)))
}

# ---- rows ----------------------------------------------------------------------

# Columns of the two parts, of rows or of units. The order is drawn without looking at a value.
split_rows <- function(data, holdout, control, unit = NULL, caller = NULL) {
  view <- data_view(data)
  members <- if (!is.null(unit)) unit_members(unit, view$n, view$columns, caller)
  records <- if (is.null(unit)) view$n else members$count
  record <- if (is.null(unit)) "row" else "unit"
  held <- as.integer(round(holdout * records))
  if (held < 1 || held >= records) {
    dp_abort(sprintf(
      "`holdout` leaves no %s for one of the two parts: give more rows or another share.", record
    ))
  }
  code <- members$code %||% seq_len(view$n)
  if (anyNA(code)) {
    abort_missing("`unit` has missing values", "data without these rows")
  }
  order <- random_order(records, release_key(control)) + 1L
  part <- function(own) {
    own <- sort(own)
    at <- which(code %in% own)
    list(columns = lapply(view$columns, take_rows, at), rows = length(at),
         unit = if (!is.null(unit)) factor(match(code[at], own), seq_along(own)))
  }
  fit <- part(order[-seq_len(held)])
  rest <- part(order[seq_len(held)])
  list(
    fit = structure(fit$columns, names = view$names, class = "data.frame",
                    row.names = .set_row_names(fit$rows)),
    unit = fit$unit, held = rest$columns, held_unit = rest$unit, held_rows = rest$rows,
    held_records = held, n = records, record = record
  )
}

# Where the calls are evaluated: what they do not find is the caller's.
candidate_env <- function(rows, control, caller, unit = NULL) {
  list2env(list(.dp_rows = rows, .dp_unit = unit, .dp_control = control), parent = caller)
}

candidate_call <- function(call, env) {
  if (!"control" %in% names(call)) call$control <- quote(.dp_control)
  call$data <- quote(.dp_rows)
  if (!is.null(env$.dp_unit)) call$unit <- quote(.dp_unit)
  call
}

# ---- candidates ----------------------------------------------------------------

# A regression is about to be charged: tells whoever asks, who may stop it here. Public numbers and
# a live schema; nothing has been read.
announce_charge <- function(schema, spec, events, na.action) {
  signalCondition(structure(
    class = c("dp_charge", "condition"),
    list(
      message = "a regression is about to be charged", call = NULL, schema = schema,
      front = spec$front, epsilon = spec$epsilon, delta = spec$delta, events = events,
      loss = spec$loss$name, control = spec$control, na.action = na.action
    )
  ))
}

# What a candidate says, with its label.
labelled <- function(label, condition) {
  sprintf("`%s` of `calls`: %s", label, conditionMessage(condition))
}

relabel_warning <- function(label) {
  function(w) {
    dp_warn(labelled(label, w), class(w)[[1L]])
    invokeRestart("muffleWarning")
  }
}

# Runs a call up to its charge, which it does not reach.
plan_candidate <- function(call, label, env) {
  charge <- tryCatch(
    withCallingHandlers(eval(candidate_call(call, env), env), dp_warning = relabel_warning(label)),
    dp_charge = identity,
    error = function(e) {
      own <- if (inherits(e, "dp_error")) setdiff(class(e), c("dp_error", "error", "condition"))
      dp_abort(labelled(label, e), own %||% "dp_error_input")
    }
  )
  if (!inherits(charge, "dp_charge")) {
    dp_abort("a call in `calls` did not come to a fit.", "dp_error_internal")
  }
  if (has_units(charge$schema) != !is.null(env$.dp_unit)) dp_abort(ROWS_ONLY)
  charge
}

# Again, to the end. It must be charged once, for what it was planned to spend, for the same model.
run_candidate <- function(call, planned, label, env) {
  said <- function(c) invokeRestart("muffleWarning")
  same <- c("epsilon", "delta", "events", "front", "loss")
  charges <- 0
  withCallingHandlers(
    eval(candidate_call(call, env), env),
    dp_charge = function(charge) {
      charges <<- charges + 1
      if (charges > 1 || !identical(unclass(charge)[same], unclass(planned)[same]) ||
        !identical(charge$schema$formula, planned$schema$formula)) {
        dp_abort(paste(
          "a call in `calls` means something else each time it is evaluated, or makes more than",
          "one fit; what all were to spend has been charged."
        ))
      }
    },
    dp_small_n = said, dp_large_delta = said, dp_dominated = relabel_warning(label)
  )
}

# A candidate's schema over the rows held out.
held_schema <- function(candidate, columns, label) {
  schema <- candidate$schema
  if (length(setdiff(names(schema$live$columns), names(columns))) > 0L) {
    dp_abort(sprintf(
      "`subset` and `offset` of `%s` must be made of columns of `data`.", label
    ))
  }
  with_rows(schema, columns, NROW(columns[[1L]]))
}

tune_loss <- function(loss, candidates, labels) {
  responses <- unique(vapply(candidates, function(k) k$schema$response, ""))
  if (length(responses) > 1L) {
    dp_abort(sprintf(
      "all `calls` must have the same response to be compared; they have %s.", listed(responses)
    ))
  }
  losses <- vapply(candidates, `[[`, "", "loss")
  logistic <- losses == "logistic"
  default <- if (all(logistic)) {
    "logistic"
  } else if (all(losses %in% c("squared", "logistic"))) {
    "squared"
  } else {
    "absolute"
  }
  loss <- check_choice(loss %||% default, "loss", c("squared", "absolute", "logistic"))
  if (loss == "logistic" && !all(logistic)) {
    dp_abort(sprintf("`loss` = \"logistic\" needs logistic regressions; %s is none.",
                     listed(labels[!logistic])))
  }
  loss
}

# ---- what it costs ---------------------------------------------------------------

CLIP_SHARE <- 1 / 3

# The clip's quantile: so high that some 60 / epsilon rows lie beyond it, where there are enough.
clip_level_prob <- function(rows, epsilon) min(max(1 - 60 / (rows * epsilon), 0.5), 0.9)

choice_plan <- function(rows, epsilon, bound) {
  if (epsilon == Inf) {
    return(list(private = FALSE, bound = Inf, rows = rows, events = list()))
  }
  quantile <- if (is.null(bound)) CLIP_SHARE * epsilon else 0
  choice <- epsilon - quantile
  if (is.null(bound) && quantile <= 2 * QUANTILE_SLACK) {
    dp_abort("`epsilon` is too small for a choice; give a larger one, or `bound`.")
  }
  clip <- if (is.null(bound)) {
    list(exponential_event(quantile, 1, 1, 2 / quantile, "clip of the excess losses"))
  }
  list(
    private = TRUE, bound = bound, rows = rows, quantile = clip_level_prob(rows, quantile),
    c = (quantile - QUANTILE_SLACK) / 2, law = score_law(choice, SCORE_UNIT),
    events = c(clip, list(exponential_event(choice, 1, 1, 2 / choice, "choice")))
  )
}

plan_tune <- function(candidates, rows, epsilon, bound, control, record = "row") {
  plan <- choice_plan(rows, epsilon, bound)
  each <- lapply(unname(candidates), function(k) {
    new_privacy(k$epsilon, k$delta, k$events, rng = k$control$rng,
                calibration = k$control$calibration, unit = record)
  })
  fits <- do.call(privacy_compose, c(each, list(ordered = TRUE)))
  choice <- new_privacy(epsilon, 0, plan$events, rng = control$rng, unit = record)
  c(plan, list(parts = list(fits = fits, choice = choice),
               privacy = parallel_privacy(fits, choice)))
}

# Public numbers: a quantile this far from its rank, or a choice that a tenth of the rows cannot
# move.
warn_small_choice <- function(plan, epsilon) {
  if (!plan$private) {
    return(invisible())
  }
  needed <- max(60, if (is.null(plan$bound)) 60 / CLIP_SHARE) / epsilon
  if (plan$rows < needed) {
    dp_warn(sprintf(paste(
      "%.0f rows held out are few for this `epsilon`: the choice may be hardly better than chance.",
      "From about %.0f on it is not; or give a larger `epsilon` or `holdout`, or `bound`."
    ), plan$rows, ceiling(needed)), "dp_small_n")
  }
}
