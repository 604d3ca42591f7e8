# The objects outside `data` that a formula uses. Constants are taken by value
# when they are short, functions of packages by name, functions of the user
# with no more than the short constants they need. A fit can then evaluate its
# terms later without an environment that might hold data.

# The symbols of an expression: variables, function names, literal constants.
expression_symbols <- function(expr, bound = assigned_names(expr)) {
  variables <- functions <- character()
  constants <- list()
  walk <- function(e, bound) {
    if (is.symbol(e)) {
      name <- as.character(e)
      if (!name %in% c(bound, "", "...")) variables <<- c(variables, name)
    } else if (is.call(e)) {
      walk_call(e, bound)
    } else if (is.pairlist(e)) {
      walk_parts(e, seq_along(e), bound)
    } else {
      constants <<- c(constants, list(e))
    }
  }
  walk_parts <- function(e, parts, bound) {
    for (i in parts) {
      if (!is_empty_symbol(e[[i]])) walk(e[[i]], bound)
    }
  }
  walk_call <- function(e, bound) {
    name <- if (is.symbol(e[[1L]])) as.character(e[[1L]]) else ""
    if (name %in% c("::", ":::")) {
      return()
    }
    if (name == "function") {
      inner <- c(bound, names(e[[2L]]), assigned_names(e[[3L]]))
      walk_parts(e, 2:3, inner)
      return()
    }
    if (nzchar(name)) {
      if (!name %in% bound) functions <<- c(functions, name)
    } else {
      walk(e[[1L]], bound)
    }
    parts <- seq_along(e)[-1L]
    walk_parts(e, if (name %in% c("$", "@")) parts[1L] else parts, bound)
  }
  if (is.expression(expr)) {
    walk_parts(expr, seq_along(expr), bound)
  } else {
    walk(expr, bound)
  }
  list(variables = unique(variables), functions = unique(functions), constants = constants)
}

is_empty_symbol <- function(e) {
  identical(e, quote(expr = ))
}

# Names that an expression assigns to or loops over.
assigned_names <- function(expr) {
  if (!is.call(expr)) {
    return(character())
  }
  head <- if (is.symbol(expr[[1L]])) as.character(expr[[1L]]) else ""
  own <- if (head %in% c("<-", "=", "<<-", "for") && is.symbol(expr[[2L]])) {
    as.character(expr[[2L]])
  } else {
    character()
  }
  parts <- as.list(expr)
  parts <- parts[!vapply(parts, is_empty_symbol, NA)]
  c(own, unlist(lapply(parts, assigned_names), use.names = FALSE))
}

# A copy of a language object without source references: these carry the whole
# text of the file they come from.
strip_source <- function(e) {
  if (!is.call(e) && !is.pairlist(e)) {
    return(e)
  }
  for (a in c("srcref", "srcfile", "wholeSrcref")) attr(e, a) <- NULL
  if (is.call(e) && identical(e[[1L]], quote(`function`))) {
    e <- e[1:3]
  }
  for (i in seq_along(e)) {
    if (is_empty_symbol(e[[i]]) || is.null(e[[i]])) next
    if (is.call(e[[i]]) || is.pairlist(e[[i]])) e[[i]] <- strip_source(e[[i]])
  }
  e
}

max_constant_length <- 1000L
max_closure_constant_length <- 20L

# The bindings of a set of symbols that are not columns of `data`. With
# `per_row` (subset, offset) a vector of length n counts as one more private
# column and comes back in `extra`.
capture_bindings <- function(symbols, columns, env, n, per_row = FALSE) {
  out <- list(constants = list(), packages = character(), functions = list(), extra = list())
  for (value in symbols$constants) {
    check_constant(value, "a literal value", n, max_constant_length)
  }
  for (name in setdiff(symbols$variables, columns)) {
    out <- bind_variable(out, name, env, n, per_row)
  }
  for (name in symbols$functions) {
    fun <- if (name == "offset") stats::offset else get0(name, envir = env, mode = "function")
    if (is.null(fun)) {
      dp_abort(paste0("function `", name, "`, used by the formula, was not found."))
    }
    out <- bind_function(out, name, fun, env, n)
  }
  out
}

bind_variable <- function(out, name, env, n, per_row) {
  missing_value <- new.env()
  value <- get0(name, envir = env, ifnotfound = missing_value)
  if (identical(value, missing_value)) {
    dp_abort(paste0("variable `", name, "` is not a column of `data`."))
  }
  in_base <- exists(name, envir = baseenv(), inherits = FALSE)
  if (in_base && identical(value, get(name, envir = baseenv(), inherits = FALSE))) {
    return(out)
  }
  if (is.function(value)) {
    return(bind_function(out, name, value, env, n))
  }
  if (per_row && is.atomic(value) && is.null(dim(value)) && length(value) == n) {
    out$extra[[name]] <- value
    return(out)
  }
  if (per_row && is.atomic(value) && length(value) > max_constant_length) {
    dp_abort(paste0(
      "`", name, "`, used by `subset` or `offset`, must be a column of `data`, a vector with one ",
      "value per row, or a short constant."
    ))
  }
  out$constants[name] <- list(check_constant(value, name, n, max_constant_length))
  out
}

# A public constant: atomic, short, and not one value per row.
check_constant <- function(value, name, n, limit) {
  what <- if (name == "a literal value") name else paste0("`", name, "`")
  if (is.list(value) || !(is.atomic(value) || is.null(value)) || isS4(value)) {
    dp_abort(paste0(
      what, " is used by the formula but is neither a column of `data` nor a short constant; ",
      "name the columns of `data` themselves."
    ))
  }
  if (length(value) > 1L && (length(value) == n || NROW(value) == n)) {
    dp_abort(paste0(
      what, " has one value per row but is not a column of `data`; put it into `data`."
    ))
  }
  if (length(value) > limit) {
    dp_abort(paste0(
      what, " is too long for a public constant of the formula (at most ", limit, " values)."
    ))
  }
  kept <- c("names", "dim", "dimnames", "class", "levels", "tzone", "units")
  extra <- setdiff(names(attributes(value)), kept)
  for (a in extra) attr(value, a) <- NULL
  value
}

bind_function <- function(out, name, fun, env, n) {
  home <- function_home(name, fun, env)
  if (identical(home, "base")) {
    return(out)
  }
  if (!is.null(home)) {
    out$packages[[name]] <- home
  } else {
    out$functions[[name]] <- portable_function(fun, name, n)
  }
  out
}

# The package that a function of this name is found in again, or NULL.
function_home <- function(name, fun, env) {
  while (!identical(env, emptyenv()) &&
    !exists(name, envir = env, mode = "function", inherits = FALSE)) {
    env <- parent.env(env)
  }
  own <- environment(fun)
  label <- environmentName(env)
  package <- if (identical(env, baseenv()) || identical(env, .BaseNamespaceEnv)) {
    "base"
  } else if (isNamespace(env)) {
    getNamespaceName(env)[[1L]]
  } else if (startsWith(label, "package:")) {
    substring(label, 9L)
  } else if (!is.null(own) && isNamespace(own)) {
    getNamespaceName(own)[[1L]]
  } else {
    return(NULL)
  }
  if (!package %in% loadedNamespaces()) {
    return(NULL)
  }
  same <- identical(get0(name, envir = asNamespace(package), inherits = FALSE), fun)
  if (same) package else NULL
}

# A user's function that may be stored: no source text, no attributes, and an
# environment that is the global one, a namespace, or a small one of constants.
portable_function <- function(fun, name, n, depth = 0L) {
  if (is.primitive(fun)) {
    return(fun)
  }
  env <- environment(fun)
  arguments <- strip_source(formals(fun))
  fun <- as.function(c(as.list(arguments), list(strip_source(body(fun)))), envir = env)
  if (is_shared_environment(env)) {
    return(fun)
  }
  top <- topenv(env)
  if (!is_shared_environment(top)) top <- globalenv()
  bound <- c(names(arguments), assigned_names(body(fun)))
  symbols <- expression_symbols(body(fun), bound)
  defaults <- expression_symbols(as.expression(drop_empty(as.list(arguments))), bound)
  names <- unique(unlist(c(symbols[1:2], defaults[1:2]), use.names = FALSE))
  environment(fun) <- closure_environment(names, env, top, name, n, depth)
  fun
}

is_shared_environment <- function(env) {
  identical(env, globalenv()) || identical(env, baseenv()) || isNamespace(env)
}

drop_empty <- function(parts) {
  parts[!vapply(parts, is_empty_symbol, NA)]
}

closure_environment <- function(names, env, top, fun_name, n, depth) {
  kept <- new.env(parent = top)
  for (name in names) {
    home <- env
    while (!identical(home, top) && !identical(home, emptyenv()) &&
      !exists(name, envir = home, inherits = FALSE)) {
      home <- parent.env(home)
    }
    if (identical(home, top) || identical(home, emptyenv())) next
    value <- get(name, envir = home, inherits = FALSE)
    if (is.function(value) && depth >= 5L) refuse_closure(fun_name, name)
    value <- if (is.function(value)) {
      portable_function(value, name, n, depth + 1L)
    } else {
      tryCatch(
        check_constant(value, name, n, max_closure_constant_length),
        dp_error = function(e) refuse_closure(fun_name, name)
      )
    }
    assign(name, value, envir = kept)
  }
  kept
}

refuse_closure <- function(fun_name, name) {
  dp_abort(paste0(
    "function `", fun_name, "`, used by the formula, needs the object `", name,
    "` of the place where it was made; a fit must not hold such objects. ",
    "Pass short constants as arguments instead."
  ))
}

# The environment to evaluate terms in, made new for each evaluation.
binding_env <- function(bindings) {
  env <- new.env(parent = baseenv())
  list2env(bindings$constants, envir = env)
  list2env(bindings$functions, envir = env)
  for (name in names(bindings$packages)) {
    assign(name, get(name, envir = asNamespace(bindings$packages[[name]])), envir = env)
  }
  env
}
