# The public phase. A schema knows the names, classes and levels of the columns
# that a call uses, the number of rows handed in, and the columns of the design.
# No value of the data is read to make it: what must be evaluated is evaluated
# on made-up rows. A live schema also refers to the data (`live`); what a fit
# keeps is strip_schema(schema).

# `subset` and `offset` are unevaluated expressions (or NULL) that are looked
# up in `data` and then in `caller` (or where the formula was made, if they are not there).
# `binary`: a factor with two declared levels may be the response.
schema_formula <- function(formula, data, subset = NULL, offset = NULL, caller = parent.frame(),
                           binary = FALSE) {
  if (missing(formula) || !inherits(formula, "formula")) {
    dp_abort("`formula` must be a formula, e.g. y ~ x1 + x2.")
  }
  if (missing(data)) data <- NULL
  view <- data_view(data)
  env <- environment(formula)
  if (is.null(env)) env <- caller
  terms <- read_terms(formula, view)
  labels <- variable_labels(terms)
  parts <- as.list(attr(terms, "variables"))[-1L]
  roles <- variable_roles(terms, length(parts))

  bound <- bind_parts(parts, view, env)
  variables <- lapply(seq_along(parts), function(i) {
    variable_spec(parts[[i]], labels[[i]], roles[[i]], view, bound, env, binary)
  })
  arguments <- argument_specs(subset, offset, view,
                              argument_home(list(subset, offset), view, caller, env))
  design <- design_plan(terms, variables)
  checked <- unique(unlist(c(
    lapply(variables, `[[`, "raw"), arguments[["offset"]]$raw
  ), use.names = FALSE))

  structure(list(
    kind = "formula", formula = stored_formula(formula), terms = terms, n = view$n,
    response = labels[[1L]], intercept = attr(terms, "intercept") == 1L,
    columns = design$columns, unit = design$unit, design = design$terms,
    xlevels = factor_levels(variables), variables = variables,
    prototypes = view$prototypes(setdiff(checked, names(arguments$extra))),
    bindings = list(
      formula = bound$bindings, arguments = arguments$bindings, stored = arguments$stored
    ),
    subset = arguments[["subset"]], offset = arguments[["offset"]],
    has_offset = any(roles == "offset") || !is.null(arguments[["offset"]]),
    offset_external = arguments$offset_external,
    missing_text = "`data` has missing values in the variables of the formula",
    live = list(
      columns = c(view$columns, arguments$extra),
      checked = c(view$columns, arguments$extra)[checked]
    )
  ), class = "dp_schema")
}

# The part of a schema that a fit may keep: no data and no environment. The
# condition of `subset` is not kept, for nothing needs it later.
strip_schema <- function(schema) {
  schema["live"] <- list(NULL)
  schema["subset"] <- list(NULL)
  schema$bindings["arguments"] <- list(schema$bindings$stored)
  schema$bindings["stored"] <- NULL
  if (isTRUE(schema$offset_external)) schema["offset"] <- list(NULL)
  if (is.null(schema[["offset"]])) schema$bindings["arguments"] <- list(NULL)
  schema
}

# Columns by reference, with what is public about them on demand.
data_view <- function(data, arg = "data") {
  if (!is.data.frame(data)) {
    dp_abort(sprintf("`%s` must be a data frame that holds the variables of the formula.", arg))
  }
  n <- .row_names_info(data, 2L)
  if (n < 1L) {
    dp_abort(sprintf("`%s` has 0 rows.", arg))
  }
  names <- names(data)
  columns <- lapply(seq_along(names), function(j) .subset2(data, j))
  names(columns) <- names
  list(
    n = n, names = names, columns = columns,
    prototypes = function(used) lapply(columns[used], prototype)
  )
}

read_terms <- function(formula, view) {
  plain <- strip_source(formula)
  frame <- structure(
    lapply(view$columns, function(column) logical()),
    names = view$names, row.names = integer(), class = "data.frame"
  )
  terms <- tryCatch(
    without_removed(stats::terms(plain, data = frame)), error = function(e) NULL
  )
  if (is.null(terms)) {
    dp_abort("`formula` could not be read; write it as y ~ x1 + x2.")
  }
  if (attr(terms, "response") != 1L) {
    dp_abort("`formula` has no response; write it as y ~ x1 + x2.")
  }
  if (length(attr(terms, "term.labels")) == 0L && attr(terms, "intercept") == 0L) {
    dp_abort("`formula` has neither terms nor an intercept.")
  }
  factors <- attr(terms, "factors")
  if (length(factors) > 0L && any(factors[1L, ] > 0)) {
    dp_abort("the response of `formula` must not also stand on its right-hand side.")
  }
  attr(terms, ".Environment") <- NULL
  terms
}

# `y ~ . - z`: z is still among the variables of the terms; make them anew without it.
without_removed <- function(terms) {
  factors <- attr(terms, "factors")
  keep <- union(1L, attr(terms, "offset"))
  if (length(factors) == 0L || all(rowSums(factors)[-keep] > 0)) {
    return(terms)
  }
  variables <- as.list(attr(terms, "variables"))[-1L]
  offsets <- vapply(variables[attr(terms, "offset")], deparse_label, "")
  stats::terms(stats::reformulate(
    c(attr(terms, "term.labels"), offsets), variables[[1L]], attr(terms, "intercept") == 1L
  ))
}

stored_formula <- function(formula) {
  plain <- strip_source(formula)
  attributes(plain) <- NULL
  class(plain) <- "formula"
  environment(plain) <- globalenv()
  plain
}

# Labels as model.frame() makes them.
variable_labels <- function(terms) {
  vapply(as.list(attr(terms, "variables"))[-1L], deparse_label, "")
}

deparse_label <- function(e) {
  paste(
    deparse(e, width.cutoff = 500L, backtick = !is.symbol(e) && is.language(e)),
    collapse = " "
  )
}

variable_roles <- function(terms, k) {
  roles <- rep("term", k)
  roles[1L] <- "response"
  roles[attr(terms, "offset")] <- "offset"
  roles
}

# Symbols and bindings of a group of expressions that share an environment.
bind_parts <- function(parts, view, env, per_row = FALSE) {
  symbols <- lapply(parts, expression_symbols)
  all <- list(
    variables = unique(unlist(lapply(symbols, `[[`, "variables"))),
    functions = unique(unlist(lapply(symbols, `[[`, "functions"))),
    constants = do.call(c, lapply(symbols, `[[`, "constants"))
  )
  used <- intersect(all$variables, view$names)
  check_columns(used, view)
  bindings <- capture_bindings(all, view$names, env, view$n, per_row)
  extra <- bindings$extra
  bindings$extra <- NULL
  values <- c(all$constants, bindings$constants)
  list(
    symbols = symbols, bindings = bindings, extra = extra, env = binding_env(bindings),
    numbers = listed_numbers(values), strings = listed_strings(values),
    prototypes = c(view$prototypes(used), lapply(extra, prototype))
  )
}

listed_numbers <- function(values) {
  numbers <- as.double(unlist(lapply(values, function(v) if (is.numeric(v)) as.double(v))))
  numbers <- numbers[is.finite(numbers)]
  utils::head(unique(as.vector(rbind(numbers, -numbers))), 50L)
}

listed_strings <- function(values) {
  strings <- as.character(unlist(lapply(values, function(v) if (is.character(v)) v)))
  utils::head(unique(strings), 200L)
}

check_columns <- function(used, view) {
  twice <- unique(view$names[duplicated(view$names)])
  for (name in used) {
    if (name %in% twice) {
      dp_abort(paste0("`data` has more than one column named `", name, "`."))
    }
    if (prototype(view$columns[[name]])$kind == "other") {
      dp_abort(paste0(
        "column `", name, "` of `data` is of a class that cannot be used; ",
        "turn it into numbers or a factor with declared levels first."
      ))
    }
  }
}

# What is known about one variable of the formula (a column or a call).
variable_spec <- function(expr, label, role, view, bound, env, binary = FALSE) {
  symbols <- expression_symbols(expr)$variables
  raw <- intersect(symbols, names(bound$prototypes))
  if (length(raw) == 0L) {
    dp_abort(paste0("the term `", label, "` uses no column of `data`."),
             c("dp_error_term", "dp_error_input"))
  }
  bare <- is.symbol(expr)
  signature <- if (bare) {
    column_signature(bound$prototypes[[raw]], label)
  } else {
    check_rowwise(
      expr, label, bound$prototypes[raw], bound$env, env, view$n, bound$numbers, bound$strings
    )
  }
  check_role(signature, label, role, binary)
  spec <- list(
    label = label, expr = strip_source(expr), role = role, raw = raw, bare = bare,
    signature = signature,
    elementwise = bare || is_elementwise(expr, names(bound$prototypes), bound)
  )
  if (role == "term" && signature$kind == "logical") {
    spec$signature$levels <- c("FALSE", "TRUE")
  }
  if (role == "term" && signature$kind != "numeric") {
    spec$contrast <- contrast_coding(spec$signature, label)
  }
  spec
}

column_signature <- function(proto, label) {
  if (proto$kind == "character") {
    dp_abort(paste0(
      "column `", label, "` of `data` is text; declare its levels: ",
      label, " = factor(", label, ", levels = c(...)), with levels that do not come from the data."
    ))
  }
  if (proto$kind == "time") {
    dp_abort(paste0(
      "column `", label, "` of `data` is a date or a time; turn it into a number, ",
      "e.g. as.numeric(", label, ")."
    ))
  }
  kind <- if (proto$kind %in% c("double", "integer")) "numeric" else proto$kind
  list(
    kind = kind, ncol = proto$ncol, colnames = proto$colnames, levels = proto$levels,
    ordered = proto$ordered, contrasts = proto$contrasts
  )
}

check_role <- function(signature, label, role, binary) {
  if (role == "response" && binary && signature$kind == "factor") {
    return(check_two_levels(signature$levels, label))
  }
  if (role == "response" && binary && signature$ncol > 1L) {
    dp_abort(paste0(
      "the response `", label, "` must be one column: 0 and 1, logical or a factor with two ",
      "declared levels, one row per trial."
    ))
  }
  if (role == "response" && (signature$kind == "factor" || signature$ncol > 1L)) {
    dp_abort(paste0("the response `", label, "` must be one column of numbers."))
  }
  if (role == "offset" && (signature$kind != "numeric" || signature$ncol > 1L)) {
    dp_abort(paste0("the offset `", label, "` must be one column of numbers."))
  }
}

# Calls that come through the `...` of a function of the user have their variables elsewhere.
argument_home <- function(given, view, caller, formula_env) {
  given <- given[vapply(given, is.language, NA)]
  used <- unlist(lapply(given, function(e) expression_symbols(e)$variables))
  used <- setdiff(used, names(view$columns))
  there <- function(env) all(vapply(used, exists, NA, envir = env))
  if (!there(caller) && there(formula_env)) formula_env else caller
}

# `subset` and `offset`, given as arguments.
argument_specs <- function(subset, offset, view, caller) {
  given <- list(subset = subset, offset = offset)
  given <- given[!vapply(given, is.null, NA)]
  if (length(given) == 0L) {
    return(list(offset_external = FALSE))
  }
  inline <- given[!vapply(given, is.language, NA)]
  names(inline) <- if (length(inline) > 0L) paste0(".", names(inline))
  parts <- lapply(names(given), function(name) {
    if (is.language(given[[name]])) strip_source(given[[name]]) else as.name(paste0(".", name))
  })
  names(parts) <- names(given)
  env <- list2env(inline, envir = new.env(parent = caller))
  bound <- bind_parts(parts, view, env, per_row = TRUE)
  specs <- lapply(names(parts), function(name) {
    argument_spec(parts[[name]], name, view, bound, env)
  })
  names(specs) <- names(parts)
  stored <- if ("offset" %in% names(parts)) bind_parts(parts["offset"], view, env, TRUE)$bindings
  list(
    subset = specs$subset, offset = specs$offset, bindings = bound$bindings, stored = stored,
    extra = bound$extra,
    offset_external = any(specs$offset$raw %in% names(bound$extra))
  )
}

argument_spec <- function(expr, name, view, bound, env) {
  wrong <- switch(name,
    subset = "`subset` must be a logical condition, or a logical vector with one value per row.",
    offset = "`offset` must be numbers, one per row of `data`."
  )
  symbols <- expression_symbols(expr)$variables
  if (!any(symbols %in% names(bound$prototypes))) {
    dp_abort(wrong)
  }
  kind <- if (is.symbol(expr)) prototype_kind(bound$prototypes[[as.character(expr)]])
  if (!is.null(kind) && kind != switch(name, subset = "logical", offset = "numeric")) {
    dp_abort(wrong)
  }
  spec <- variable_spec(expr, if (is.symbol(expr)) name else deparse_label(expr),
                        name, view, bound, env)
  ok <- spec$signature$ncol <= 1L &&
    spec$signature$kind == switch(name, subset = "logical", offset = "numeric")
  if (!ok) {
    dp_abort(wrong)
  }
  spec
}

prototype_kind <- function(proto) {
  switch(proto$kind, double = , integer = "numeric", proto$kind)
}
