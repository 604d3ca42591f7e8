# Missing values: the check that serves the data holder, before anything is
# charged, and the rule for incomplete rows, which add zero.

# "refuse" (the default: NULL or na.fail) or "omit" (na.omit, na.exclude).
resolve_na_action <- function(na.action = NULL) {
  if (is.null(na.action)) {
    return("refuse")
  }
  known <- list(na.fail = "refuse", na.omit = "omit", na.exclude = "omit")
  if (is.character(na.action) && length(na.action) == 1L && na.action %in% names(known)) {
    return(known[[na.action]])
  }
  if (is.function(na.action)) {
    for (name in names(known)) {
      if (identical(na.action, getExportedValue("stats", name))) {
        return(known[[name]])
      }
    }
  }
  dp_abort("`na.action` must be na.fail (the default) or na.omit; other actions are not available.")
}

# One fixed text, whatever is missing and wherever.
abort_missing <- function(what, instead = "na.action = na.omit (incomplete rows then add zero)") {
  dp_abort(paste0(
    what, "; drop or impute them, or use ", instead, ". ",
    "This refusal is for the data holder: do not publish it."
  ), "dp_error_missing")
}

# The curator's check of a live schema: refuses missing values in rows in use,
# or finds the rows in use. Returns NULL (all rows) or a logical vector, which
# is private.
curator_check <- function(schema, na.action = NULL) {
  action <- resolve_na_action(na.action)
  use <- subset_rows(schema)
  if (is_sparse(schema$live$x)) check_sound(schema$live$x)
  columns <- schema$live$checked
  # anyNA() on a double matrix allocates nothing; rows are looked at only when
  # there is something missing.
  if (!any(vapply(columns, anyNA, NA))) {
    return(invisible(use))
  }
  complete <- complete_rows(columns, live_rows(schema))
  if (action == "omit") {
    use <- if (is.null(use)) complete else use & complete
  } else if (is.null(use) || any(use & !complete)) {
    abort_missing(schema$missing_text)
  }
  invisible(use)
}

complete_rows <- function(columns, n) {
  complete <- rep(TRUE, n)
  for (column in columns) {
    if (is_sparse(column)) {
      complete[column$i[is.na(column$x)] + 1L] <- FALSE
    } else if (length(dim(column)) == 2L) {
      for (j in seq_len(ncol(column))) complete <- complete & !is.na(column[, j])
    } else {
      complete <- complete & !is.na(column)
    }
  }
  complete
}

# Rows kept by `subset`; NA counts as FALSE.
subset_rows <- function(schema) {
  spec <- schema$subset
  if (is.null(spec)) {
    return(NULL)
  }
  env <- binding_env(schema$bindings$arguments)
  code <- evaluate_spec(spec, schema$live$columns, NULL, live_rows(schema), env)
  !is.na(code) & code == 2L
}
