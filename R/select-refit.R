# How the fits of chosen columns are made, for each loss: a plan, its events, its checks, the fit.
# Records are clipped whole, as in dp_lm() and dp_glm(), centres and scales are known, and nothing
# is spent on intervals, which would not allow for the choice. k: coefficients.

REFIT_TUNED <- list(x = 0, y = 0, zero = FALSE)

refit_kind <- function(spec) {
  switch(spec$loss$name, logistic = refit_glm(spec), user = refit_sco(spec), refit_lm(spec))
}

refit_lm <- function(spec) {
  control <- spec$control
  robust <- is_robust(spec$loss)
  list(
    plan = function(n, k, mu) {
      plan <- plan_lm(n, k, REFIT_TUNED, mu, spec$delta, control, grad_clipped(), spec$loss,
                      intervals = FALSE)
      finish_plan(plan, steps = if (robust) c(24, rep(60, 12)) else 24)
    },
    events = function(plan, k) lm_events(plan, REFIT_TUNED),
    check = function(plan, n, k) check_lm_laws(plan, n, k, REFIT_TUNED),
    fit = function(problem, schema, plan, known) fit_lm(problem, schema, plan, known, control)
  )
}

refit_glm <- function(spec) {
  control <- spec$control
  list(
    plan = function(n, k, mu) {
      plan_glm(n, k, REFIT_TUNED, mu, control, grad_clipped(), intervals = FALSE)
    },
    events = function(plan, k) lm_events(plan, REFIT_TUNED),
    check = function(plan, n, k) check_lm_laws(plan, n, k, REFIT_TUNED),
    fit = function(problem, schema, plan, known) fit_glm(problem, schema, plan, known, control)
  )
}

refit_sco <- function(spec) {
  spec$gradient <- grad_clipped()
  spec$constraint <- no_constraint()
  spec$moment <- NULL
  list(
    plan = function(n, k, mu) {
      plan <- plan_sco(n, k, REFIT_TUNED, mu, spec)
      plan$n <- n
      if (plan$private) plan else plain_plan(plan, spec)
    },
    events = function(plan, k) sco_events(plan, REFIT_TUNED, k, plan$n, spec),
    check = function(plan, n, k) check_sco_laws(plan, n, k, REFIT_TUNED, spec),
    fit = function(problem, schema, plan, known) {
      fit_sco(problem, schema, plan, known, spec, spec$control)
    }
  )
}
