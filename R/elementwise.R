# Which terms may be evaluated on many rows at once. The evaluation on made-up rows
# finds terms that look at other rows on those rows; that it holds on the data is
# known only for functions that work element by element whatever they are given.
# A term made of these alone is evaluated in blocks; any other row by row, so
# that one record cannot reach the value of another.

# Element by element on plain vectors, matrices and factors, in all arguments.
ELEMENTWISE <- c(
  "(", "+", "-", "*", "/", "^", "%%", "%/%", "==", "!=", "<", ">", "<=", ">=", "!", "&", "|",
  "I", "offset", "pmin", "pmax", "xor", "is.na", "is.nan", "is.finite", "is.infinite",
  "as.numeric", "as.double", "as.integer", "as.logical", "as.character", "abs", "sign", "sqrt",
  "floor", "ceiling", "round", "signif", "trunc", "exp", "expm1", "log", "log2", "log10", "log1p",
  "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"
)

# Those of them whose value is a number whenever their arguments are.
NUMERIC <- c(
  "(", "+", "-", "*", "/", "^", "pmin", "pmax", "as.numeric", "as.double", "abs", "sqrt",
  "floor", "ceiling", "round", "exp", "expm1", "log", "log2", "log10", "log1p"
)

# Element by element in the first argument, where the others are constants; some only
# with arguments that leave nothing to be read from the data.
CONSTANT_ARGUMENTS <- list(
  "%in%" = function(call, env) TRUE,
  findInterval = function(call, env) TRUE,
  C = function(call, env) TRUE,
  factor = function(call, env) "levels" %in% names(call),
  ordered = function(call, env) "levels" %in% names(call),
  cut = function(call, env) constant_length(call, "breaks", 3L, env) > 1L,
  poly = function(call, env) isTRUE(call$raw),
  ns = function(call, env) all(c("knots", "Boundary.knots") %in% names(call)),
  bs = function(call, env) all(c("knots", "Boundary.knots") %in% names(call))
)

constant_length <- function(call, name, position, env) {
  at <- if (name %in% names(call)) name else if (length(call) >= position) position else 1L
  value <- call[[at]]
  length(tryCatch(eval(value, list(), env), error = function(e) NULL))
}

# `columns`: names of the columns of the data. `bound`: what bind_parts() made.
is_elementwise <- function(expr, columns, bound) {
  kinds <- vapply(bound$prototypes[intersect(columns, all.vars(expr))], `[[`, "", "kind")
  if (any(kinds == "time")) {
    return(FALSE)
  }
  walk <- function(e) {
    if (!is.call(e) || !any(all.vars(e) %in% columns)) {
      return(TRUE)
    }
    name <- called_function(e[[1L]], bound)
    arguments <- as.list(e)[-1L]
    if (name == "ifelse") {
      # the type of its value is that of the branches some row takes: with numbers and
      # text, one row has all others written out in 15 digits
      length(arguments) == 3L && is.null(names(e)) && walk(arguments[[1L]]) &&
        all(vapply(arguments[-1L], is_number_call, NA, columns = columns, bound = bound))
    } else if (name %in% ELEMENTWISE) {
      all(vapply(arguments, walk, NA))
    } else if (name %in% names(CONSTANT_ARGUMENTS)) {
      others <- unlist(lapply(arguments[-1L], all.vars))
      first <- is.null(names(e)) || names(e)[[2L]] %in% c("", "x")
      first && walk(arguments[[1L]]) && !any(others %in% columns) &&
        CONSTANT_ARGUMENTS[[name]](e, bound$env)
    } else {
      FALSE
    }
  }
  walk(expr)
}

# Made of numbers alone (and NA) by functions that make numbers of numbers.
is_number_call <- function(e, columns, bound) {
  if (is.call(e)) {
    inner <- as.list(e)[-1L]
    name <- called_function(e[[1L]], bound)
    if (name == "ifelse") {
      return(is_elementwise(e, columns, bound))
    }
    return(name %in% NUMERIC && all(vapply(inner, is_number_call, NA, columns, bound)))
  }
  if (is.symbol(e) && as.character(e) %in% columns) {
    return(bound$prototypes[[as.character(e)]]$kind %in% c("double", "integer"))
  }
  value <- tryCatch(eval(e, list(), bound$env), error = function(e) NULL)
  is.numeric(value) && !is.object(value) || identical(value, NA)
}

# The name of a function of base R or of splines, "" for any other.
called_function <- function(f, bound) {
  if (is.call(f) && length(f) == 3L && identical(f[[1L]], quote(`::`))) {
    known <- as.character(f[[2L]]) %in% c("base", "stats", "splines")
    return(if (known) as.character(f[[3L]]) else "")
  }
  if (!is.symbol(f)) {
    return("")
  }
  name <- as.character(f)
  package <- bound$bindings$packages[name]
  own <- name %in% names(bound$bindings$functions)
  if (own || (!is.na(package) && !package %in% c("stats", "splines"))) "" else name
}
