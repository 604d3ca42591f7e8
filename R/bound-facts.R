# What error_bound() needs of a plan: small public numbers, kept in fits that a moment bound was
# given for.

moment_facts <- function(moment, control) {
  c(list(u = moment$bound, v = moment$order - 1, order = moment$order, xi = control$xi),
    control[c("smoothness", "strong_convexity", "gradient_bound")])
}

mean_facts <- function(plan, moment, control) {
  c(moment_facts(moment, control),
    list(d = plan$d, level = plan$level, reach = plan$level * plan$reach, groups = plan$groups,
         estimator = plan$gradient$name, beta = plan$gradient$beta, na_rm = plan$na_rm))
}

regression_facts <- function(plan, spec, schema) {
  if (is.null(spec$moment) || !plan$private) {
    return(NULL)
  }
  gradient <- spec$gradient
  c(moment_facts(spec$moment, spec$control), list(
    d = length(schema$columns), intercept = schema$intercept, level = plan$level,
    groups = plan$groups %||% 0, beta = gradient$beta, estimator = gradient$name,
    paper = spec$control$calibration == "paper", pure = isTRUE(plan$pure),
    split = isTRUE(plan$split), steps = plan$rounds %||% sum(plan$steps),
    step = if (spec$control$calibration == "paper") plan$eta,
    cost = if (is_vertex_set(spec$constraint)) plan$cost[["choice"]],
    reach = plan$reach %||% if (gradient$name == "catoni") catoni_reach(gradient$beta) else 1,
    sparsity = spec$constraint$s, lambda = spec$penalty$lambda, tuning = spec$loss$tuning,
    sigma = spec$loss$sigma,
    vertices = if (is_vertex_set(spec$constraint)) {
      fw_vertices(spec$constraint, length(schema$columns) - schema$intercept)
    },
    size = if (is_vertex_set(spec$constraint)) fw_size(spec$constraint)
  ))
}
