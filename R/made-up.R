# Made-up rows. Everything that must be known about a term before the data may
# be read (its columns, its levels, and whether its value on a row depends on
# the other rows) is found by evaluating it on rows that are made up from the
# schema: a fixed public function of column classes and levels. R's random
# numbers are not touched.

made_up_rows <- 12L
made_up_kinds <- c("positive", "unit", "mixed", "large", "listed", "wild")

# What is public about one column.
prototype <- function(column) {
  dims <- dim(column)
  kind <- if (is.factor(column)) {
    "factor"
  } else if (inherits(column, c("Date", "POSIXct", "difftime"))) {
    "time"
  } else if (is.object(column) && !identical(oldClass(column), "AsIs")) {
    "other"
  } else if (is.list(column) || length(dims) > 2L) {
    "other"
  } else {
    switch(typeof(column), double = "double", integer = "integer", logical = "logical",
           character = "character", "other")
  }
  matrix <- length(dims) == 2L
  if (matrix && (!kind %in% c("double", "integer") || ncol(column) < 1L)) kind <- "other"
  list(
    kind = kind, levels = if (kind == "factor") levels(column),
    ordered = is.ordered(column),
    contrasts = if (kind == "factor") attr(column, "contrasts"),
    ncol = if (matrix) ncol(column) else 0L,
    colnames = if (matrix) colnames(column),
    attributes = if (kind == "time") attributes(column)[c("class", "tzone", "units")],
    asis = identical(oldClass(column), "AsIs")
  )
}

# Numbers in (0, 1) that look random: a fixed function of row, column and set.
made_up_uniform <- function(column, set, rows = made_up_rows) {
  z <- sin(seq_len(rows) * 12.9898 + column * 78.233 + set * 37.719) * 43758.5453
  z - floor(z)
}

# One made-up column. `numbers` and `strings` are constants of the formula:
# values at which its terms may behave in a way of their own.
made_up_column <- function(proto, column, set, numbers, strings) {
  if (proto$ncol > 0L) {
    vector <- proto
    vector$ncol <- 0L
    vector["colnames"] <- list(NULL)
    parts <- lapply(seq_len(proto$ncol), function(j) {
      made_up_column(vector, column + 101L * j, set, numbers, strings)
    })
    return(matrix(unlist(parts), made_up_rows, proto$ncol, dimnames = list(NULL, proto$colnames)))
  }
  u <- made_up_uniform(column, set)
  name <- made_up_kinds[[set]]
  wild <- name == "wild" & (seq_len(made_up_rows) + 5L * column) %% 4L == 0L
  value <- switch(proto$kind,
    factor = {
      code <- if (length(proto$levels) > 0L) 1L + floor(u * length(proto$levels)) else NA
      code[wild] <- NA
      made_up_factor(proto, as.integer(code))
    },
    logical = ifelse(wild, NA, u > 0.5),
    character = {
      pool <- unique(c(strings, "a", "b", ""))
      ifelse(wild, NA_character_, made_up_pool(pool, column + set))
    },
    integer = made_up_integer(name, u, column, numbers),
    time = {
      z <- made_up_double(if (name == "wild") "positive" else name, u, column, set, numbers)
      structure(floor(100 * z), class = proto$attributes$class, tzone = proto$attributes$tzone,
                units = proto$attributes$units)
    },
    made_up_double(name, u, column, set, numbers)
  )
  if (proto$asis) I(value) else value
}

made_up_factor <- function(proto, code) {
  structure(rep_len(code, made_up_rows),
    levels = proto$levels, contrasts = proto$contrasts,
    class = c(if (proto$ordered) "ordered", "factor")
  )
}

made_up_double <- function(name, u, column, set, numbers) {
  sign <- ifelse(made_up_uniform(column, set + 50L) > 0.5, 1, -1)
  pool <- c(numbers, 0:7)
  wild <- c(1, Inf, -Inf, NA, NaN, 1e308, -1e308, 5e-324, 0, 0.5, -2, 3)
  switch(name,
    positive = 10^(4 * u - 2),
    unit = u,
    mixed = sign * 10^(6 * u - 3),
    large = sign * 10^(14 * u - 2),
    listed = made_up_pool(pool, column),
    wild = made_up_pool(wild, column)
  )
}

# Every value of the pool in turn, as far as the rows reach.
made_up_pool <- function(pool, column) {
  pool[1L + (seq_len(made_up_rows) + 5L * column) %% length(pool)]
}

made_up_integer <- function(name, u, column, numbers) {
  top <- .Machine$integer.max
  pool <- c(numbers[numbers == round(numbers) & abs(numbers) < top], 0:7)
  wild <- c(1L, NA, top, -top, 0L, 2L)
  as.integer(switch(name,
    positive = 1 + floor(100 * u),
    unit = floor(2 * u),
    mixed = floor(2001 * u) - 1000,
    large = floor((2 * u - 1) * top),
    listed = made_up_pool(pool, column),
    wild = made_up_pool(wild, column)
  ))
}

# Several sets of made-up rows for the columns named in `prototypes`.
made_up_sets <- function(prototypes, numbers = numeric(), strings = character()) {
  lapply(seq_along(made_up_kinds), function(set) {
    columns <- lapply(seq_along(prototypes), function(j) {
      made_up_column(prototypes[[j]], j, set, numbers, strings)
    })
    names(columns) <- names(prototypes)
    columns
  })
}

take_rows <- function(column, rows) {
  if (length(dim(column)) == 2L) column[rows, , drop = FALSE] else column[rows]
}

# ---- the value of a term ---------------------------------------------------

# Conditions are silenced: on data they would depend on private values. Matrix
# products use R's own loops, for the last bits of a BLAS product can depend on
# the other rows.
try_eval <- function(expr, columns, env) {
  old <- options(matprod = "internal")
  on.exit(options(old))
  tryCatch(
    suppressMessages(suppressWarnings(list(value = eval(expr, columns, env)))),
    error = function(e) NULL
  )
}

# What must be the same for all rows: kind, columns, levels, coding.
value_signature <- function(value) {
  dims <- dim(value)
  kind <- if (is.factor(value)) {
    "factor"
  } else if (is.character(value)) {
    "character"
  } else if (length(dims) > 2L || is.list(value) || inherits(value, "integer64")) {
    "other"
  } else if (is.logical(value)) {
    if (length(dims) == 2L) "other" else "logical"
  } else if (is.numeric(value)) {
    "numeric"
  } else {
    "other"
  }
  list(
    kind = kind, ncol = if (length(dims) == 2L) ncol(value) else 0L,
    colnames = if (length(dims) == 2L) colnames(value),
    levels = if (kind == "factor") levels(value), ordered = is.ordered(value),
    contrasts = if (kind == "factor") attr(value, "contrasts")
  )
}

# The value as numbers (a vector, or a matrix for a basis) or, for factors and
# logicals, as integer codes. A basis has no infinite entries: whether Inf or
# NaN comes out of its products is not a matter of the row alone.
plain_value <- function(value, signature) {
  if (signature$kind == "factor") {
    code <- as.integer(value)
    code[!code %in% seq_along(signature$levels)] <- NA # no level: as if missing
    code
  } else if (signature$kind == "logical") {
    as.integer(value) + 1L
  } else if (signature$kind == "numeric" && signature$ncol > 0L) {
    value <- matrix(as.double(value), NROW(value), signature$ncol)
    value[!is.finite(value)] <- NaN
    value
  } else {
    as.double(value)
  }
}

# ---- does a term look at other rows? -----------------------------------------

# Evaluates `expr` on made-up rows: each row alone, all together, backwards, in
# halves, and repeated up to the length of the data. Wherever the evaluation
# works, each row must have the value it has alone. Returns the signature.
# `live` is the caller's environment: what the stored bindings give must be
# what the caller's own objects give.
check_rowwise <- function(expr, label, prototypes, env, live, n, numbers, strings) {
  sets <- made_up_sets(prototypes, numbers, strings)
  runs <- lapply(sets, function(columns) rowwise_runs(expr, columns, env, n))
  signature <- common_signature(unlist(lapply(runs, `[[`, "values"), recursive = FALSE), label)
  usable <- FALSE
  for (s in seq_along(runs)) {
    run <- runs[[s]]
    alone <- rowwise_alone(run, signature)
    usable <- usable || !all(is.na(alone))
    for (g in seq_along(run$groups)) {
      got <- run$values[[g]]
      if (is.null(got)) next
      rows <- run$groups[[g]]
      if (NROW(got$value) != length(rows)) refuse_rows(label)
      if (!same_values(value_matrix(got$value, signature), alone[rows, , drop = FALSE])) {
        refuse_rows(label)
      }
    }
    check_same_live(try_eval(expr, sets[[s]], live), run$values[[1L]], signature, label)
  }
  if (!usable) refuse_unusable(label)
  signature
}

rowwise_runs <- function(expr, columns, env, n) {
  m <- made_up_rows
  half <- m %/% 2L
  long <- rep_len(seq_len(m), max(2L * m, min(n, 5000)))
  groups <- c(
    list(seq_len(m), rev(seq_len(m)), seq_len(half), (half + 1L):m, long),
    as.list(seq_len(m))
  )
  values <- lapply(groups, function(rows) {
    try_eval(expr, lapply(columns, take_rows, rows), env)
  })
  list(groups = groups, values = values)
}

common_signature <- function(values, label) {
  values <- values[!vapply(values, function(got) is.null(got) || is_typeless(got$value), NA)]
  if (length(values) == 0L) refuse_unusable(label)
  signature <- value_signature(values[[1L]]$value)
  refuse_kind(signature, label)
  for (got in values) {
    if (!identical(value_signature(got$value), signature)) refuse_rows(label)
  }
  signature
}

# NA of no particular kind, as ifelse() returns where its test is missing.
is_typeless <- function(value) {
  is.logical(value) && is.null(dim(value)) && all(is.na(value))
}

# One row per row of data; codes for factors and logicals.
value_matrix <- function(value, signature) {
  if (is_typeless(value)) {
    return(matrix(NaN, length(value), max(1L, signature$ncol)))
  }
  as.matrix(plain_value(value, signature))
}

# The matrix of single-row values; a row whose evaluation fails is NaN.
rowwise_alone <- function(run, signature) {
  single <- utils::tail(run$values, made_up_rows)
  rows <- lapply(single, function(got) {
    if (is.null(got) || NROW(got$value) != 1L) {
      return(matrix(NaN, 1L, max(1L, signature$ncol)))
    }
    value_matrix(got$value, signature)
  })
  do.call(rbind, rows)
}

same_values <- function(a, b) {
  gap_missing <- is.na(a) != is.na(b)
  both <- !is.na(a) & !is.na(b)
  infinite <- both & (is.infinite(a) | is.infinite(b))
  finite <- both & !infinite
  size <- pmax(abs(a[finite]), abs(b[finite]))
  !any(gap_missing) && all(a[infinite] == b[infinite]) &&
    all(abs(a[finite] - b[finite]) <= 1e-10 * size)
}

check_same_live <- function(live, stored, signature, label) {
  if (is.null(live) && is.null(stored)) {
    return(invisible())
  }
  same <- !is.null(live) && !is.null(stored) && NROW(live$value) == NROW(stored$value) &&
    (is_typeless(live$value) || identical(value_signature(live$value), signature)) &&
    same_values(value_matrix(live$value, signature), value_matrix(stored$value, signature))
  if (!same) {
    dp_abort(paste0(
      "the term `", label, "` uses objects that a fit cannot keep; use short constants, ",
      "functions of packages, or functions that need nothing but their arguments."
    ), c("dp_error_term", "dp_error_input"))
  }
}

refuse_kind <- function(signature, label) {
  if (signature$kind == "character") {
    dp_abort(paste0(
      "the term `", label, "` is text; declare its levels: factor(", label, ", levels = c(...))."
    ), c("dp_error_term", "dp_error_input"))
  }
  if (signature$kind == "other") {
    dp_abort(paste0(
      "the term `", label, "` is neither a number, a logical value nor a factor; ",
      "turn it into numbers first."
    ), c("dp_error_term", "dp_error_input"))
  }
  signature
}

refuse_rows <- function(label) {
  dp_abort(paste0(
    "the term `", label, "` reads constants from the data: its value on a row depends on the ",
    "other rows. Give the constants as public numbers, for example poly(x, 2, raw = TRUE), ",
    "ns(x, knots = c(-1, 1), Boundary.knots = c(-5, 5)), I((x - 10) / 2), cut(x, c(0, 1, 5)), ",
    "factor(x, levels = c(\"a\", \"b\"))."
  ), c("dp_error_term", "dp_error_input"))
}

refuse_unusable <- function(label) {
  dp_abort(paste0(
    "the term `", label, "` cannot be evaluated on made-up rows with the columns of `data`; ",
    "check its functions and their arguments."
  ), c("dp_error_term", "dp_error_input"))
}
