# The runs of an audit, and what is seen of each: numbers and labels.

# Runs on either side in turn. `privacy`: what the first output says of itself, if it is a fit.
audit_runs <- function(run, statistic, x, x1, n) {
  seen <- list(x = vector("list", n), x1 = vector("list", n))
  privacy <- NULL
  for (i in seq_len(n)) {
    for (side in c("x", "x1")) {
      output <- observe(run, if (side == "x") x else x1)
      if (is.null(privacy) && inherits(output$value, "dp_fit")) privacy <- privacy(output$value)
      seen[[side]][[i]] <- read_output(output, statistic)
    }
    if (i == min(n, 20)) check_some_value(seen, i)
  }
  failed <- vapply(seen, function(runs) sum(vapply(runs, `[[`, NA, "failed")), 0L)
  c(seen, list(privacy = privacy, failed = failed))
}

check_some_value <- function(seen, upto) {
  runs <- c(seen$x[seq_len(upto)], seen$x1[seq_len(upto)])
  if (all(vapply(runs, `[[`, NA, "failed"))) {
    dp_abort(paste(
      "`mechanism` stopped with an error in every run on either data set, the first time with:",
      runs[[1L]]$labels[["text"]]
    ))
  }
}

# The value of one run, or its error; the texts of its warnings and messages.
observe <- function(run, data) {
  texts <- character()
  note <- function(condition, restart) {
    texts <<- c(texts, conditionMessage(condition))
    invokeRestart(restart)
  }
  value <- tryCatch(
    withCallingHandlers(
      run(data),
      warning = function(w) note(w, "muffleWarning"),
      message = function(m) note(m, "muffleMessage")
    ),
    error = identity
  )
  failed <- inherits(value, "error")
  list(
    value = if (!failed) value, failed = failed, noted = length(texts) > 0L,
    texts = if (failed) c(texts, conditionMessage(value)) else texts
  )
}

# Everything one can see of a run. The shape takes in what is missing, and names.
read_output <- function(output, statistic) {
  value <- output$value
  stamp <- if (inherits(value, "dp_fit")) stamp_of(privacy(value)) else ""
  if (!output$failed && !is.null(statistic)) value <- statistic(value)
  parts <- outcome_parts(value)
  labels <- c(
    outcome = outcome_kind(output),
    text = paste(output$texts, collapse = "; "),
    shape = paste(c(
      length(parts$numbers), length(parts$labels), names(parts$numbers), names(parts$labels),
      if (anyNA(parts$numbers)) paste("missing:", toString(which(is.na(parts$numbers))))
    ), collapse = " "),
    claim = stamp
  )
  list(
    numbers = with_names(parts$numbers, "value"),
    labels = c(labels, with_names(parts$labels, "label")), failed = output$failed
  )
}

outcome_kind <- function(output) {
  if (output$failed) "error" else if (output$noted) "value with a warning" else "value"
}

# A fit's claim as text: one that depends on the data gives them away.
stamp_of <- function(p) {
  cost <- vapply(p$events, function(e) c(e$cost, e$count), c(0, 0))
  paste(c(p$epsilon, p$delta, cost), collapse = " ")
}

# Numbers and labels in an output, each with the names it has there.
outcome_parts <- function(value) {
  if (inherits(value, "dp_fit")) {
    value <- list(stats::coef(value), selected = value$selected)
  }
  if (is.factor(value)) value <- stats::setNames(as.character(value), names(value))
  if (is.null(value)) {
    list()
  } else if (is.numeric(value)) {
    list(numbers = stats::setNames(as.numeric(value), element_names(value)))
  } else if (is.complex(value)) {
    outcome_parts(list(Re = Re(value), Im = Im(value)))
  } else if (is.logical(value) || is.character(value)) {
    list(labels = stats::setNames(as.character(value), element_names(value)))
  } else if (is.list(value)) {
    parts <- lapply(value, outcome_parts)
    list(
      numbers = unlist(lapply(parts, `[[`, "numbers")),
      labels = unlist(lapply(parts, `[[`, "labels"))
    )
  } else {
    dp_abort(paste(
      "`mechanism` must return numbers, labels, a list of these or a fit of this package;",
      "give `statistic`, a function that makes numbers or labels of its output."
    ))
  }
}

# Names for what has none.
with_names <- function(parts, default) {
  k <- length(parts)
  if (k == 0L) {
    return(NULL)
  }
  names <- names(parts) %||% rep("", k)
  blank <- is.na(names) | !nzchar(names)
  names[blank] <- if (k == 1L) default else paste(default, seq_len(k))[blank]
  stats::setNames(parts, names)
}

element_names <- function(value) if (is.null(dim(value))) names(value)

# For x and x1 a matrix of numbers and one of labels, one row per run. Shorter outputs are
# filled up with NA; their length is part of their shape.
outcome_tables <- function(runs) {
  side_of <- function(side) {
    labels <- outcome_matrix(runs, side, "labels")
    labels[is.na(labels)] <- "NA"
    list(numbers = outcome_matrix(runs, side, "numbers"), labels = labels)
  }
  list(x = side_of("x"), x1 = side_of("x1"))
}

# Column names are those of the longest output; NULL fields count as length 0.
outcome_matrix <- function(runs, side, field) {
  fields <- lapply(c(runs$x, runs$x1), `[[`, field)
  longest <- fields[[which.max(lengths(fields))]]
  k <- length(longest)
  empty <- if (field == "labels") character() else numeric()
  values <- unlist(lapply(runs[[side]], function(run) c(empty, run[[field]])[seq_len(k)]))
  matrix(
    c(empty, values), nrow = length(runs[[side]]), ncol = k, byrow = TRUE,
    dimnames = list(NULL, names(longest))
  )
}
