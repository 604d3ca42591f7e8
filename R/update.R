# A fit again, on other data. A fit stores which public arguments it was given, and no data.

# Arguments of the formula methods that can be kept; the others are the data's or the ledger's.
KEPT_ARGUMENTS <- c(
  "epsilon", "delta", "radius", "sparsity", "loss", "family", "penalty", "scale", "gradient",
  "constraint", "solver", "refit", "moment", "na.action", "unit", "unit_weight", "max_rows",
  "target", "control"
)

# In bytes: no fit grows by a large polytope.
KEPT_SIZE <- 8000

# What a formula method was given, from its frame: `values` without attributes that could hold
# data, and the names of what cannot be kept (code, large objects, conditions on rows).
stored_arguments <- function(frame) {
  given <- function(name) {
    exists(name, frame, inherits = FALSE) && !eval(call("missing", as.name(name)), frame)
  }
  names <- Filter(given, KEPT_ARGUMENTS)
  values <- lapply(stats::setNames(names, names), function(name) {
    stored_argument(name, get(name, frame, inherits = FALSE))
  })
  keep <- vapply(values, is_storable, NA)
  list(
    values = values[keep],
    forgotten = c(names[!keep], Filter(given, c("subset", "offset")))
  )
}

stored_argument <- function(name, value) {
  switch(name, family = "binomial",
    na.action = if (resolve_na_action(value) == "omit") "na.omit" else "na.fail",
    unit = if (inherits(value, "formula")) stored_formula(value) else new.env(),
    plain_argument(value)
  )
}

plain_argument <- function(v) {
  if (is.list(v)) {
    structure(lapply(v, plain_argument), names = names(v), class = oldClass(v))
  } else if (is.matrix(v)) {
    matrix(as.vector(v), nrow(v))
  } else if (is.atomic(v)) {
    stats::setNames(as.vector(v), names(v))
  } else {
    v
  }
}

is_storable <- function(v) {
  (inherits(v, "formula") || !holds_code(v)) && utils::object.size(v) <= KEPT_SIZE
}

holds_code <- function(v) {
  if (is.list(v)) any(vapply(v, holds_code, NA)) else !is.atomic(v) && !is.null(v)
}

#' Fit again
#'
#' The same regression on other data, or with another formula or other settings. Before anything is
#' read a message says what the new fit spends.
#'
#' @param object A fit by formula of [dp_lm()], [dp_glm()], [dp_lasso()], [dp_sparse()] or
#'   [dp_sco()].
#' @param formula. A change of the formula, as in [stats::update.formula()], or nothing.
#' @param data A data frame; needed, for a fit holds no data.
#' @param ... Arguments of the front that replace those of the fit. A `subset`, an `offset`, a
#'   `budget`, a loss of your own and large objects are not kept in a fit: give them again.
#' @param evaluate `FALSE` returns the call.
#' @return The new fit, or the call.
#' @section Privacy:
#' A new fit is a new release: it costs what it says. On rows that have been used before both costs
#' add up; the message says to what, if neither depends on the answers of the other. No ledger is
#' charged unless `budget` is given.
#' @examples
#' fit <- dp_lm(log(wage) ~ education, data = cps1988[1:14000, ], epsilon = 1, delta = 1e-6)
#' update(fit, . ~ . + experience, data = cps1988[14001:28155, ], epsilon = 0.5)
#' @rdname dp_update
#' @importFrom stats update
#' @export
update.dp_fit <- function(object, formula., data, ..., evaluate = TRUE) {
  evaluate <- check_flag(evaluate, "evaluate")
  kept <- object$arguments
  if (is.null(kept) || is.null(object$schema$formula)) {
    dp_abort("update() is for regressions by formula; make this fit anew.")
  }
  if (missing(data)) dp_abort("`data` is needed: a private fit holds no data.")
  given <- as.list(substitute(list(...)))[-1L]
  lacking <- setdiff(kept$forgotten, names(given))
  if (length(lacking) > 0L) {
    dp_abort(sprintf("a fit does not keep its %s: give %s again, or NULL.", listed(lacking),
                     if (length(lacking) == 1L) "it" else "them"))
  }
  formula <- object$schema$formula
  if (!missing(formula.)) {
    formula <- tryCatch(stats::update.formula(formula, formula.), error = function(e) {
      dp_abort("`formula.` must be a change of the formula, e.g. . ~ . + x2; name what follows it.")
    })
  }
  # a call, which becomes a formula where it is evaluated: an environment here could hold data
  attributes(formula) <- NULL
  front <- call("::", quote(dpheavy), as.name(paste0("dp_", object$front)))
  new <- as.call(c(
    front, list(formula = formula, data = substitute(data)),
    kept$values[setdiff(names(kept$values), names(given))], given
  ))
  if (!evaluate) {
    return(new)
  }
  old <- object$privacy
  withCallingHandlers(
    eval(new, parent.frame()), dp_charge = function(charge) announce_update(charge, old)
  )
}

announce_update <- function(charge, old) {
  unit <- if (has_units(charge$schema)) "unit" else "row"
  new <- new_privacy(charge$epsilon, charge$delta, charge$events, unit = unit)
  both <- if (new$neighbours == old$neighbours) privacy_compose(old, new)
  pair <- function(p) {
    sprintf("(%s, %s)", format_number(p$epsilon), format_number(p$delta))
  }
  message(paste0(
    sprintf("update() makes a new fit, which spends (epsilon, delta) = %s of the %ss of `data`",
            pair(new), unit),
    if (!is.null(both)) {
      sprintf("; for %ss that the old one has used, both together spend %s.", unit, pair(both))
    } else {
      "; the old fit protects something else, so that the two do not add up."
    }
  ))
}
