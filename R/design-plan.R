# The columns of the design: which variables each term multiplies, how factors
# are coded in it, and the names that model.matrix() gives. Known from the
# schema alone.

# `contrast` of a variable is "treatment" (dummy columns for all levels but the
# first, never stored as a matrix) or a matrix with one row per level.
contrast_coding <- function(signature, label) {
  levels <- signature$levels
  if (length(levels) < 2L) {
    dp_abort(paste0(
      "the factor `", label, "` has fewer than two levels; leave it out of the formula, ",
      "or declare all its levels."
    ), c("dp_error_term", "dp_error_input"))
  }
  coding <- signature$contrasts
  if (is.null(coding)) {
    coding <- getOption("contrasts")[[1L + signature$ordered]]
  }
  if (identical(coding, "contr.treatment")) {
    return("treatment")
  }
  made_up <- factor(levels, levels = levels, ordered = signature$ordered)
  matrix <- tryCatch({
    stats::contrasts(made_up) <- coding
    stats::contrasts(made_up)
  }, error = function(e) NULL)
  if (is.null(matrix)) {
    dp_abort(paste0("the contrasts of the factor `", label, "` cannot be evaluated."),
             c("dp_error_term", "dp_error_input"))
  }
  matrix
}

factor_levels <- function(variables) {
  keep <- vapply(variables, function(v) v$role == "term" && v$signature$kind != "numeric", NA)
  out <- lapply(variables[keep], function(v) v$signature$levels)
  names(out) <- vapply(variables[keep], `[[`, "", "label")
  out
}

design_plan <- function(terms, variables) {
  codes <- term_codes(terms, variables)
  plan <- list()
  unit <- logical()
  for (code in codes) {
    used <- which(code > 0L)
    width <- vapply(used, function(i) variable_width(variables[[i]], code[[i]]), 0)
    bounded <- all(vapply(used, function(i) is_unit_coding(variables[[i]], code[[i]]), NA))
    from <- length(unit)
    unit <- c(unit, rep(bounded, prod(width)))
    plan <- c(plan, list(list(variables = used, code = code[used], first = from + 1)))
  }
  columns <- design_names(terms, variables)
  if (length(columns) != length(unit) + attr(terms, "intercept")) {
    dp_abort("the columns of the design could not be worked out.", "dp_error_internal")
  }
  list(terms = plan, columns = columns, unit = unit)
}

# Per term the coding of each variable: 0 absent, 1 contrasts, 2 indicators of
# all levels. Without an intercept the first factor found gets indicators.
term_codes <- function(terms, variables) {
  factors <- attr(terms, "factors")
  if (length(factors) == 0L) {
    return(list())
  }
  is_factor <- vapply(variables, function(v) v$signature$kind != "numeric", NA)
  if (attr(terms, "intercept") == 0L) {
    for (j in seq_len(ncol(factors))) {
      found <- which(is_factor & factors[, j] > 0)
      if (length(found) > 0L) {
        factors[found[[1L]], j] <- 2L
        break
      }
    }
  }
  lapply(seq_len(ncol(factors)), function(j) as.integer(factors[, j]))
}

variable_width <- function(variable, code) {
  if (variable$signature$kind == "numeric") {
    max(1L, variable$signature$ncol)
  } else if (code == 2L) {
    length(variable$signature$levels)
  } else if (identical(variable$contrast, "treatment")) {
    length(variable$signature$levels) - 1L
  } else {
    ncol(variable$contrast)
  }
}

is_unit_coding <- function(variable, code) {
  if (variable$signature$kind == "numeric") {
    return(FALSE)
  }
  code == 2L || identical(variable$contrast, "treatment") ||
    all(variable$contrast >= 0 & variable$contrast <= 1)
}

design_names <- function(terms, variables) {
  frame <- lapply(variables, empty_value)
  names(frame) <- vapply(variables, `[[`, "", "label")
  right <- stats::delete.response(terms)
  frame <- structure(frame, row.names = 1:2, class = "data.frame", terms = right)
  colnames(suppressWarnings(stats::model.matrix(right, frame)))
}

# Two rows of a variable that has the right columns and levels.
empty_value <- function(variable) {
  signature <- variable$signature
  if (signature$kind != "numeric") {
    if (variable$role != "term") {
      return(c(0, 0))
    }
    class <- c(if (signature$ordered) "ordered", "factor")
    coding <- variable$contrast
    if (identical(coding, "treatment")) coding <- "contr.treatment"
    structure(1:2, levels = signature$levels, contrasts = coding, class = class)
  } else if (signature$ncol > 0L) {
    matrix(0, 2L, signature$ncol, dimnames = list(NULL, signature$colnames))
  } else {
    c(0, 0)
  }
}
