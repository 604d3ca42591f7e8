# The design of new rows, from the schema that a fit keeps. newdata belongs to
# the caller: messages may show its labels.

# Returns x with the intercept column, offset or NULL, and which rows have a
# missing value. Rows keep their place; a row with a missing value is NA.
design_newdata <- function(schema, newdata) {
  if (missing(newdata) || is.null(newdata)) {
    dp_abort("`newdata` is needed: a fit under differential privacy holds no data.")
  }
  newdata <- read_matrix(newdata, schema$kind == "matrix", "newdata")
  if (isTRUE(schema$offset_external)) {
    dp_abort(paste0(
      "the fit was made with an `offset` that is not a column of `data`, so it is not known for ",
      "`newdata`; write offset() of a column into the formula instead."
    ))
  }
  if (schema$kind == "matrix") newdata_matrix(schema, newdata) else newdata_formula(schema, newdata)
}

newdata_formula <- function(schema, newdata) {
  view <- newdata_view(newdata)
  variables <- schema$variables
  needed <- vapply(variables, function(v) v$role != "response", NA)
  raw <- unique(unlist(c(lapply(variables[needed], `[[`, "raw"), schema[["offset"]]$raw)))
  columns <- lapply(raw, function(name) {
    newdata_column(view, name, schema$prototypes[[name]])
  })
  names(columns) <- raw
  na <- !complete_rows(columns, view$n)
  env <- lapply(schema$bindings, function(b) if (!is.null(b)) binding_env(b))
  rows <- which(!na)
  values <- lapply(seq_along(variables), function(i) {
    if (needed[[i]]) newdata_value(variables[[i]], columns, rows, view$n, env$formula)
  })
  p <- length(schema$unit)
  x <- matrix(NA_real_, view$n, p + schema$intercept,
              dimnames = list(view$row_names, schema$columns))
  if (schema$intercept) x[rows, 1L] <- 1
  for (term in schema$design) {
    blocks <- term_columns(term, variables, values)
    for (j in seq_along(blocks)) x[rows, schema$intercept + term$first + j - 1] <- blocks[[j]]
  }
  offset <- NULL
  if (schema$has_offset) {
    offset <- rep(NA_real_, view$n)
    offset[rows] <- offset_numbers(schema, values, columns, rows, env)
  }
  list(x = x, offset = offset, na = na)
}

# A term that fails on every row is an error here, not a column of NaN.
newdata_value <- function(variable, columns, rows, n, env) {
  value <- evaluate_spec(variable, columns, rows, n, env)
  if (length(rows) > 0L && !variable$bare && all(is.na(value)) &&
    all(vapply(rows, function(i) {
      is.null(try_eval(variable$expr, lapply(columns[variable$raw], take_rows, i), env))
    }, NA))) {
    dp_abort(paste0("the term `", variable$label, "` cannot be evaluated on `newdata`."))
  }
  value
}

newdata_view <- function(newdata) {
  if (is.matrix(newdata) && !is.null(colnames(newdata))) {
    newdata <- as.data.frame(newdata)
  }
  if (is.list(newdata) && !is.data.frame(newdata) && !is.null(names(newdata))) {
    newdata <- tryCatch(
      as.data.frame(newdata, check.names = FALSE, optional = TRUE, stringsAsFactors = FALSE),
      error = function(e) NULL
    )
  }
  if (!is.data.frame(newdata)) {
    dp_abort("`newdata` must be a data frame with the variables of the formula.")
  }
  columns <- lapply(seq_along(newdata), function(j) .subset2(newdata, j))
  names(columns) <- names(newdata)
  list(n = .row_names_info(newdata, 2L), columns = columns, row_names = row.names(newdata))
}

newdata_column <- function(view, name, proto) {
  if (sum(names(view$columns) == name) > 1L) {
    dp_abort(paste0("`newdata` has more than one column named `", name, "`."))
  }
  column <- view$columns[[name, exact = TRUE]]
  if (is.null(column)) {
    dp_abort(paste0("`newdata` has no column `", name, "`."))
  }
  if (proto$ncol > 0L) {
    if (!is.matrix(column) || !is.numeric(column) || ncol(column) != proto$ncol) {
      dp_abort(sprintf("column `%s` of `newdata` must be a matrix of %d numeric columns.",
                       name, proto$ncol))
    }
    return(column)
  }
  if (all(is.na(column))) {
    column <- rep(NA, NROW(column))
  }
  if (proto$kind == "factor") {
    return(match_levels(column, name, proto))
  }
  ok <- switch(proto$kind,
    logical = is.logical(column) || (is.numeric(column) && all(column %in% c(0, 1, NA))),
    character = is.character(column) || is.factor(column) || is.logical(column),
    time = inherits(column, proto$attributes$class[[1L]]) || is.logical(column),
    (is.numeric(column) || is.logical(column)) && !inherits(column, "integer64")
  )
  if (!ok || length(dim(column)) == 2L) {
    dp_abort(sprintf("column `%s` of `newdata` must be of the class it had in the fit (%s).",
                     name, proto$kind))
  }
  switch(proto$kind,
    logical = as.logical(column),
    character = as.character(column),
    time = if (is.logical(column)) as.double(column) else column,
    if (is.logical(column)) as.double(column) else column
  )
}

match_levels <- function(column, name, proto) {
  if (!is.factor(column) && !is.character(column) && !is.logical(column) && !is.numeric(column)) {
    dp_abort(sprintf("column `%s` of `newdata` must be a factor or text.", name))
  }
  label <- as.character(column)
  code <- match(label, proto$levels)
  new <- unique(label[is.na(code) & !is.na(label)])
  if (length(new) > 0L) {
    shown <- paste0("\"", utils::head(new, 5L), "\"", collapse = ", ")
    dp_abort(paste0(
      "column `", name, "` of `newdata` has a level that the fit does not know: ", shown, "."
    ))
  }
  structure(code,
    levels = proto$levels, contrasts = proto$contrasts,
    class = c(if (proto$ordered) "ordered", "factor")
  )
}

newdata_matrix <- function(schema, newdata) {
  names <- if (schema$intercept) schema$columns[-1L] else schema$columns
  if (is_sparse(newdata)) {
    return(newdata_sparse(newdata, names, schema$named))
  }
  x <- newdata_numbers(newdata, names, schema$named)
  na <- rowSums(is.na(x)) > 0
  if (schema$intercept) x <- cbind(rep(1, nrow(x)), x)
  x[na, ] <- NA_real_
  dimnames(x) <- list(rownames(x), schema$columns)
  list(x = x, offset = NULL, na = unname(na))
}

# The matrix as it is, without an intercept, and where each slope's column is (`at`).
newdata_sparse <- function(newdata, names, named) {
  check_sound(newdata, "newdata")
  at <- newdata_places(colnames(newdata), ncol(newdata), names, named)
  needed <- rep.int(seq_len(ncol(newdata)) %in% at, diff(newdata$p))
  na <- logical(nrow(newdata))
  na[newdata$i[needed & is.na(newdata$x)] + 1L] <- TRUE
  list(x = newdata, offset = NULL, na = na, at = at)
}

# The linear predictor without an offset.
design_product <- function(design, coefficients) {
  if (!is_sparse(design$x)) {
    return(drop(design$x %*% coefficients))
  }
  p <- length(design$at)
  slopes <- utils::tail(coefficients, p)
  b <- numeric(ncol(design$x))
  b[design$at] <- slopes
  sparse_product(design$x, b) + if (length(coefficients) > p) coefficients[[1L]] else 0
}

# Columns by name where the fit and newdata have names, else by position.
newdata_places <- function(found, columns, names, named) {
  p <- length(names)
  absent <- setdiff(names, found)
  if (length(absent) == 0L) {
    return(match(names, found))
  }
  if (named && !is.null(found)) {
    dp_abort(paste0("`newdata` has no column ", listed(absent), "."))
  }
  if (columns != p) {
    dp_abort(sprintf("`newdata` must have %d columns, as `x` had.", p))
  }
  seq_len(p)
}

newdata_numbers <- function(newdata, names, named) {
  p <- length(names)
  if (is.null(dim(newdata)) && is.atomic(newdata)) {
    if (p != 1L) {
      dp_abort(sprintf(
        "`newdata` must have %d columns; for one row use a matrix with one row.", p
      ))
    }
    newdata <- matrix(newdata, ncol = 1L, dimnames = list(names(newdata), NULL))
  }
  if (!is.data.frame(newdata) && !is.matrix(newdata)) {
    dp_abort("`newdata` must be a matrix, a data frame of numbers or a vector.")
  }
  found <- colnames(newdata)
  at <- newdata_places(found, ncol(newdata), names, named)
  if (is.data.frame(newdata)) {
    for (j in at) check_newdata_numbers(.subset2(newdata, j), found[[j]])
    columns <- lapply(at, function(j) as.double(.subset2(newdata, j)))
    automatic <- .row_names_info(newdata) <= 0L
    return(matrix(unlist(columns), nrow(newdata), p,
                  dimnames = list(if (!automatic) row.names(newdata), NULL)))
  }
  if (!is.numeric(newdata) && !is.logical(newdata)) {
    dp_abort("`newdata` must hold numbers.")
  }
  x <- newdata[, at, drop = FALSE]
  matrix(as.double(x), nrow(x), p, dimnames = list(rownames(newdata), NULL))
}

check_newdata_numbers <- function(column, name) {
  if (!(is.numeric(column) || is.logical(column)) || length(dim(column)) > 1L) {
    dp_abort(paste0("column `", name, "` of `newdata` must be numbers."))
  }
}
