# Argument checks. Every message names the argument and says what to do; none
# shows a value that could come from private data.

dp_abort <- function(message, class = "dp_error_input") {
  stop(structure(
    class = c(class, "dp_error", "error", "condition"),
    list(message = message, call = NULL)
  ))
}

dp_warn <- function(message, class = "dp_warning_input") {
  warning(structure(
    class = c(class, "dp_warning", "warning", "condition"),
    list(message = message, call = NULL)
  ))
}

is_number <- function(x) {
  is.numeric(x) && length(x) == 1L && is.null(dim(x)) && !is.na(x)
}

# A public scalar within [lower, upper]; `open` leaves the lower end out.
check_number <- function(x, arg, lower = -Inf, upper = Inf, open = FALSE, finite = TRUE) {
  ok <- !missing(x) && is_number(x) && x <= upper && (if (open) x > lower else x >= lower) &&
    (!finite || is.finite(x))
  if (!ok) {
    dp_abort(sprintf(
      "`%s` must be one number %s.", arg, describe_range(lower, upper, open, finite)
    ))
  }
  as.numeric(x)
}

check_count <- function(x, arg, lower = 1, upper = .Machine$integer.max) {
  if (missing(x) || !is_number(x) || x != round(x) || x < lower || x > upper) {
    dp_abort(sprintf("`%s` must be one whole number between %.0f and %.0f.", arg, lower, upper))
  }
  as.numeric(x)
}

check_flag <- function(x, arg) {
  if (!is.logical(x) || length(x) != 1L || is.na(x)) {
    dp_abort(sprintf("`%s` must be TRUE or FALSE.", arg))
  }
  x
}

check_choice <- function(x, arg, choices) {
  if (identical(x, choices)) {
    return(choices[[1L]])
  }
  if (!is.character(x) || length(x) != 1L || is.na(x) || !x %in% choices) {
    dp_abort(sprintf("`%s` must be one of %s.", arg, paste0("\"", choices, "\"", collapse = ", ")))
  }
  x
}

# epsilon = Inf is the noiseless mode of the fitters; where it makes no sense
# `allow_inf = FALSE` refuses it.
check_epsilon <- function(epsilon, allow_inf = TRUE) {
  ok <- !missing(epsilon) && is_number(epsilon) && epsilon > 0 && (allow_inf || is.finite(epsilon))
  if (!ok) {
    dp_abort(paste0(
      "`epsilon` must be one positive number, e.g. epsilon = 1",
      if (allow_inf) " (epsilon = Inf switches the noise off: not private)", "."
    ))
  }
  as.numeric(epsilon)
}

# delta of a pure mechanism may be 0; `gaussian = TRUE` asks for delta > 0.
check_delta <- function(delta, gaussian = FALSE) {
  if (missing(delta) || !is_number(delta) || delta < 0 || delta >= 1) {
    dp_abort(sprintf(
      "`delta` must be one number with %s delta < 1; choose it well below 1/n, e.g. delta = 1e-6.",
      if (gaussian) "0 <" else "0 <="
    ))
  }
  if (gaussian && delta == 0) {
    dp_abort(paste(
      "`delta` must be above 0 here, for the noise is Gaussian;",
      "choose it well below 1/n, e.g. delta = 1e-6."
    ))
  }
  as.numeric(delta)
}

# Nothing may hide in `...`: a misspelt argument is an error. `known` maps
# names to a sentence of their own (for instance `weights`).
check_dots <- function(..., known = NULL) {
  if (...length() == 0L) {
    return(invisible())
  }
  names <- ...names()
  if (is.null(names)) names <- rep("", ...length())
  names[is.na(names)] <- ""
  hit <- intersect(names, names(known))
  if (length(hit) > 0L) {
    dp_abort(known[[hit[[1L]]]])
  }
  named <- names[nzchar(names)]
  if (length(named) > 0L) {
    dp_abort(sprintf(
      "unknown argument%s: %s.", if (length(named) > 1L) "s" else "",
      paste0("`", named, "`", collapse = ", ")
    ))
  }
  dp_abort("further arguments must be given by name, for instance `control = `.")
}

# Arguments that users of formulas and groups try on the functions of columns.
COLUMNS_DOTS <- c(
  data = paste("there is no argument `data`: `x` is the column itself, d$price, or several,",
               "d[c(\"price\", \"size\")]; groups are `by` of dp_mean()."),
  by = "groups are for dp_mean() only: leave `by` out."
)

# Names for a message: at most five.
listed <- function(names) {
  more <- length(names) - 5L
  text <- paste0("`", utils::head(names, 5L), "`", collapse = ", ")
  if (more > 0L) paste0(text, sprintf(" and %d more", more)) else text
}

describe_range <- function(lower, upper, open, finite) {
  if (is.finite(lower) && is.finite(upper)) {
    sprintf("%s %g and at most %g", if (open) "above" else "of at least", lower, upper)
  } else if (is.finite(lower)) {
    sprintf("%s %g", if (open) "above" else "of at least", lower)
  } else if (is.finite(upper)) {
    sprintf("of at most %g", upper)
  } else if (finite) {
    "that is finite"
  } else {
    "that is not missing"
  }
}
