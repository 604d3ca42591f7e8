# The public phase and the values of the x, y methods.

# `sparse`: may x be a dgCMatrix?
schema_matrix <- function(x, y, offset = NULL, intercept = TRUE, subset = NULL, sparse = FALSE) {
  x <- read_matrix(x, sparse)
  intercept <- check_flag(intercept, "intercept")
  names <- matrix_names(x)
  n <- NROW(x)
  y <- check_response_vector(y)
  if (n != length(y)) {
    dp_abort(sprintf(
      "`x` and `y` must have the same number of rows: `x` has %.0f, `y` has %.0f.",
      n, length(y)
    ))
  }
  check_length(offset, "offset", n, is.numeric, "numbers")
  check_length(subset, "subset", n, is.logical, "logical values")
  columns <- c(if (intercept) "(Intercept)", names$names)
  if (anyDuplicated(columns) > 0L) {
    dp_abort(paste0(
      "`x` has more than one column named `", columns[[anyDuplicated(columns)]], "`."
    ))
  }
  structure(list(
    kind = "matrix", n = n, response = "y", intercept = intercept, columns = columns,
    unit = unit_columns(x, length(names$names)), named = names$given,
    has_offset = !is.null(offset), offset_external = !is.null(offset),
    missing_text = "`x`, `y` or `offset` has missing values",
    live = list(
      x = x, y = y, offset = offset, subset = subset,
      columns = list(.subset = subset),
      checked = c(
        if (is.data.frame(x)) as.list(x) else list(x), list(y),
        if (!is.null(offset)) list(offset)
      )
    ),
    subset = if (!is.null(subset)) {
      list(bare = TRUE, raw = ".subset", signature = list(kind = "logical", ncol = 0L))
    },
    bindings = list(arguments = list(constants = list(), functions = list()))
  ), class = "dp_schema")
}

# Column names of x, and whether they were given; refuses what is no matrix of
# numbers.
matrix_names <- function(x) {
  if (is.data.frame(x)) {
    for (name in names(x)) check_numeric_column(.subset2(x, name), name)
  } else if (length(dim(x)) > 2L || inherits(x, c("integer64", "factor")) ||
    !(is.numeric(x) || is.logical(x) || is_sparse(x))) {
    dp_abort("`x` must be a numeric matrix, a numeric vector or a data frame of numbers.")
  }
  p <- if (length(dim(x)) == 2L) ncol(x) else 1L
  if (NROW(x) < 1L) {
    dp_abort("`x` has 0 rows.")
  }
  if (p < 1L) {
    dp_abort("`x` has 0 columns.")
  }
  names <- if (length(dim(x)) == 2L) colnames(x)
  given <- !is.null(names)
  if (!given) {
    names <- paste0("x", seq_len(p))
  } else {
    empty <- which(is.na(names) | !nzchar(names))
    names[empty] <- paste0("x", empty)
  }
  list(names = names, given = given)
}

check_numeric_column <- function(column, name) {
  proto <- prototype(column)
  if (!proto$kind %in% c("double", "integer", "logical") || proto$ncol > 0L) {
    dp_abort(paste0(
      "column `", name, "` of `x` must be one column of numbers; ",
      "use the formula method for factors, e.g. dp_lm(y ~ ., data)."
    ))
  }
}

check_response_vector <- function(y) {
  one_column <- is.null(dim(y)) || length(dim(y)) == 1L || (length(dim(y)) == 2L && ncol(y) == 1L)
  if (!(is.numeric(y) || is.logical(y)) || inherits(y, "integer64") || !one_column) {
    dp_abort("`y` must be a vector of numbers, one per row of `x`.")
  }
  y
}

check_length <- function(value, arg, n, is_kind, what) {
  if (is.null(value)) {
    return(invisible())
  }
  if (!is_kind(value) || length(value) != n) {
    dp_abort(sprintf(
      "`%s` must hold %s, one per row of `x`: %.0f are needed, %.0f given.",
      arg, what, n, length(value)
    ))
  }
}

# Logical columns are known to lie in [0, 1].
unit_columns <- function(x, p) {
  if (is.data.frame(x)) {
    return(vapply(as.list(x), is.logical, NA, USE.NAMES = FALSE))
  }
  rep(is.logical(x), p)
}

# A double matrix, or a sparse one, is passed on as it is, without a copy.
matrix_values <- function(schema, use = NULL) {
  live <- schema$live
  list(
    x = as_double_matrix(live$x), y = plain_double(live$y), offset = plain_double(live$offset),
    use = use
  )
}

plain_double <- function(v) {
  if (is.null(v) || (is.double(v) && is.null(attributes(v)))) v else as.double(v)
}

as_double_matrix <- function(x) {
  if (is.data.frame(x)) {
    out <- matrix(0, nrow(x), ncol(x))
    for (j in seq_len(ncol(x))) out[, j] <- as.double(.subset2(x, j))
    return(out)
  }
  if (is_sparse(x) || is.matrix(x) && is.double(x)) {
    return(x)
  }
  if (is.matrix(x)) {
    storage.mode(x) <- "double"
    return(x)
  }
  matrix(as.double(x), length(x), 1L)
}
