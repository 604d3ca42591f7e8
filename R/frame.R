# From a live schema to numbers, after the charge: x (no intercept column), y
# and offset. Terms work row by row (R/made-up.R), so the design is filled in
# blocks of rows. Nothing here raises a condition that depends on values: a row
# on which a term cannot be evaluated holds NaN, and such a row adds zero.

block_cells <- 2^20

# `use`: what curator_check() returned. Rows that are not in use hold NaN.
frame_values <- function(schema, use = NULL) {
  if (schema$kind == "matrix") {
    return(matrix_values(schema, use))
  }
  columns <- schema$live$columns
  n <- live_rows(schema)
  p <- length(schema$unit)
  x <- matrix(NaN, n, p)
  y <- bare_response(schema)
  fill_y <- is.null(y)
  if (fill_y) y <- rep(NaN, n)
  offset <- if (schema$has_offset) rep(NaN, n)
  env <- lapply(schema$bindings, function(b) if (!is.null(b)) binding_env(b))
  size <- max(1024, floor(block_cells / max(1, p)))
  for (start in seq(1, n, by = size)) {
    rows <- block_rows(start, size, n, use)
    if (length(rows) == 0L) next
    values <- lapply(schema$variables, function(v) {
      if (v$role == "response" && !fill_y) NULL else evaluate_spec(v, columns, rows, n, env$formula)
    })
    if (fill_y) y[rows] <- response_numbers(schema$variables[[1L]], values[[1L]])
    if (schema$has_offset) offset[rows] <- offset_numbers(schema, values, columns, rows, env)
    for (term in schema$design) {
      blocks <- term_columns(term, schema$variables, values)
      for (j in seq_along(blocks)) x[rows, term$first + j - 1] <- blocks[[j]]
    }
  }
  list(x = x, y = y, offset = offset, use = use)
}

block_rows <- function(start, size, n, use) {
  rows <- seq.int(start, min(n, start + size - 1))
  if (is.null(use)) rows else rows[use[rows]]
}

# A response that is a plain double column is passed on without a copy.
bare_response <- function(schema) {
  spec <- schema$variables[[1L]]
  y <- if (spec$bare) schema$live$columns[[spec$raw]]
  if (is.double(y) && is.null(attributes(y))) y
}

response_numbers <- function(spec, value) {
  # codes from 1
  if (spec$signature$kind %in% c("logical", "factor")) value - 1 else as.double(value)
}

offset_numbers <- function(schema, values, columns, rows, env) {
  total <- 0
  for (i in seq_along(values)) {
    if (schema$variables[[i]]$role == "offset") total <- total + as.double(values[[i]])
  }
  if (!is.null(schema[["offset"]])) {
    value <- evaluate_spec(schema[["offset"]], columns, rows, live_rows(schema), env$arguments)
    total <- total + as.double(value)
  }
  total
}

# The value of a variable on some rows (NULL: all), as plain_value() makes it.
evaluate_spec <- function(spec, columns, rows, n, env) {
  if (spec$bare) {
    column <- columns[[spec$raw]]
    if (!is.null(rows)) column <- take_rows(column, rows)
    return(plain_column(column, spec$signature))
  }
  if (is.null(rows)) rows <- seq_len(n)
  evaluate_rows(spec, columns[spec$raw], rows, env)
}

plain_column <- function(column, signature) {
  if (signature$kind == "numeric" && signature$ncol > 0L) {
    matrix(as.double(column), NROW(column), signature$ncol)
  } else {
    plain_value(column, signature)
  }
}

# A term that is not known to work element by element is evaluated row by row. In a
# block, a row on which a term fails must not spoil the others: halve until only such
# rows are left.
evaluate_rows <- function(spec, columns, rows, env) {
  if (!spec$elementwise && length(rows) > 1L) {
    each <- lapply(rows, function(i) evaluate_rows(spec, columns, i, env))
    return(if (is.matrix(each[[1L]])) do.call(rbind, each) else unlist(each))
  }
  got <- try_eval(spec$expr, lapply(columns, take_rows, rows), env)
  if (!is.null(got) && conforms(got$value, spec, length(rows))) {
    return(plain_value(got$value, spec$signature))
  }
  typeless <- !is.null(got) && is_typeless(got$value) && length(got$value) == length(rows)
  if (length(rows) <= 1L || typeless) {
    return(missing_rows(spec$signature, length(rows)))
  }
  half <- length(rows) %/% 2L
  first <- evaluate_rows(spec, columns, rows[seq_len(half)], env)
  second <- evaluate_rows(spec, columns, rows[-seq_len(half)], env)
  if (is.matrix(first)) rbind(first, second) else c(first, second)
}

conforms <- function(value, spec, rows) {
  found <- value_signature(value)
  same <- found$kind == spec$signature$kind && found$ncol == spec$signature$ncol &&
    NROW(value) == rows
  same && (found$kind != "factor" || identical(found$levels, spec$signature$levels))
}

missing_rows <- function(signature, k) {
  if (signature$kind != "numeric") {
    rep(NA_integer_, k)
  } else if (signature$ncol > 0L) {
    matrix(NaN, k, signature$ncol)
  } else {
    rep(NaN, k)
  }
}

# The columns of one term: products of the columns of its variables, those of
# the first variable varying fastest.
term_columns <- function(term, variables, values) {
  out <- NULL
  for (k in seq_along(term$variables)) {
    i <- term$variables[[k]]
    own <- coded_columns(variables[[i]], term$code[[k]], values[[i]])
    out <- if (is.null(out)) own else column_products(out, own)
  }
  out
}

coded_columns <- function(variable, code, value) {
  if (variable$signature$kind == "numeric") {
    return(if (is.matrix(value)) {
      lapply(seq_len(ncol(value)), function(j) value[, j])
    } else {
      list(value)
    })
  }
  if (code == 2L) {
    return(lapply(seq_along(variable$signature$levels), function(l) as.double(value == l)))
  }
  if (identical(variable$contrast, "treatment")) {
    return(lapply(seq_along(variable$signature$levels)[-1L], function(l) as.double(value == l)))
  }
  lapply(seq_len(ncol(variable$contrast)), function(j) unname(variable$contrast[, j])[value])
}

column_products <- function(first, second) {
  unlist(lapply(second, function(b) lapply(first, function(a) a * b)), recursive = FALSE)
}
