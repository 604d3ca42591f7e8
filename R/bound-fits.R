# error_bound() of each kind of fit: from facts that the fit holds, all public.

moment_text <- function(f, of) {
  sprintf("E|%s|^%s <= %s, about zero, as `moment` says", of, format(f$order), format(f$u))
}

independent <- "rows are independent draws of one law"

# ---- means ---------------------------------------------------------------------------

bound_mean <- function(fit, f) {
  if (f$na_rm) {
    dp_abort("no bound is proved with na.rm = TRUE: the theorems are about complete data.",
             "dp_error_bound")
  }
  n <- fit$n
  d <- f$d
  size <- if (f$groups > 0) floor(n / f$groups) else n
  parts <- coordinate_error(f, size, fit$noise_sd[[1L]], fit$noise, d, f$xi)
  value <- sum(parts)
  about <- switch(f$estimator,
    truncated = bound_text("Theorem 1", "Theorem 2"), mom = bound_text("Theorems 3 and 4", NULL),
    catoni = list(source = paste0(HU, ": the one-dimensional estimator"), status = paste(
      "the estimator and its sensitivity are printed; the bound is derived, with a sharper",
      "constant than the paper's order"
    ))
  )
  new_bound(
    value, sprintf("|mean - its expectation|, of %s",
                   if (d == 1) "the mean" else sprintf("each of %.0f columns together", d)),
    parts, f$xi, about$source, about$status,
    c(independent, moment_text(f, "x_j")), mean_order(fit, f), mean_lower(fit, f),
    l2 = sqrt(d) * value
  )
}

bound_text <- function(theorem, lower) {
  list(source = paste0(TAO, ": ", theorem, if (!is.null(lower)) paste(", lower bound:", lower)),
       status = paste(
         "the theorem is printed, its formulas are lost in the text at hand: rate inferred from",
         "the abstract and the remarks, value derived"
       ))
}

mean_order <- function(fit, f) {
  p <- privacy(fit)
  x <- root_log(p$delta) * log(2 / f$xi) / (fit$n * p$epsilon)
  switch(f$estimator,
    truncated = new_order(
      "O(u^(1/(1+v)) (sqrt(log(1/delta)) log(1/xi) / (n epsilon))^(v/(1+v)))",
      mean_rate(f$u, f$v, x)
    ),
    mom = new_order(
      "O(sqrt(d) u^(1/(1+v)) (log(d/xi) / n)^(v/(1+v)) + tau d^2 / (epsilon n)), in l2",
      sqrt(f$d) * mean_rate(f$u, f$v, log(2 * f$d / f$xi) / fit$n) +
        f$level * f$d^2 / (p$epsilon * fit$n)
    ),
    catoni = new_order("O(sqrt(u log(1/xi) / (n epsilon)))",
                       sqrt(f$u * log(2 / f$xi) / (fit$n * p$epsilon)))
  )
}

mean_lower <- function(fit, f) {
  p <- privacy(fit)
  new_order("Omega(u^(1/(1+v)) (1 / (n epsilon))^(v/(1+v))), with constant probability, inferred",
            mean_rate(f$u, f$v, 1 / (fit$n * p$epsilon)))
}

# ---- gradient descent -----------------------------------------------------------------

bound_sco <- function(fit, f) {
  if (f$estimator == "shrunken") {
    dp_abort(paste(
      "no bound is proved for shrunken data in an l2 ball: Algorithm 2 of Hu et al. is for",
      "constraint = l1_ball(r)."
    ), "dp_error_bound")
  }
  batch <- if (f$split) floor(fit$n / f$steps) else fit$n
  size <- if (f$groups > 0) floor(batch / f$groups) else batch
  sd <- max(fit$sd, na.rm = TRUE)
  parts <- coordinate_error(f, size, sd, "gaussian", f$d * f$steps, f$xi)
  error <- sqrt(f$d) * sum(parts)
  if (!f$paper) {
    return(bound_gradient(fit, f, error, sqrt(f$d) * parts))
  }
  strong <- f$split
  radius <- fit$constraint$radius
  if (strong) bound_strong(fit, f, error, radius) else bound_convex(fit, f, error, radius)
}

gradient_moment <- function(f) moment_text(f, "gradient_j(w)")

# `tight` steps under a preconditioner that is found privately: what holds is each gradient's bound.
bound_gradient <- function(fit, f, error, parts) {
  new_bound(
    error, sprintf("|private gradient - its expectation|_2 at fixed points, of %.0f together",
                   f$steps),
    parts, f$xi, paste0(TAO, if (f$estimator == "mom") ": Theorems 3 and 4" else
      if (f$estimator == "catoni") paste0(": Theorem 3's like for the estimator of ", HU) else
        ": Theorem 3 with one group"),
    paste("derived; no theorem covers the whole fit, whose steps use a preconditioner found",
          "privately: calibration = \"paper\" has Theorems 6 and 7"),
    c(independent, paste0(gradient_moment(f), ", in units of the standardised problem"),
      "points that do not depend on the rows (exact with split batches only)")
  )
}

bound_strong <- function(fit, f, error, radius) {
  alpha <- f$strong_convexity %||% (f$lambda + (fit$loss == "mean"))
  beta <- f$smoothness %||% (1 + f$lambda)
  q <- sqrt(alpha^2 + beta^2) / (alpha + beta)
  parts <- c(start = q^f$steps * 2 * radius, gradients = error / ((alpha + beta) * (1 - q)))
  distance <- sum(parts)
  d <- f$d
  p <- privacy(fit)
  dimension <- lower_dimension(d, p$delta)
  new_bound(
    distance, sprintf("|w - w*|_2; the excess risk then is at most %s",
                      format(beta / 2 * distance^2, digits = 3L)),
    parts, f$xi, paste0(TAO, ": Theorem 7 (privacy: Theorem 5; lower bound: Theorem 8)"),
    paste("rate printed in the abstract, its formula inferred; value derived, for T batches of",
          "their own (the paper's line 8 read as it must be for its privacy)"),
    c(independent, paste0(gradient_moment(f), " for all w in the ball"),
      sprintf("the risk has second derivatives between %s and %s", format(alpha), format(beta)),
      "its minimiser lies in the ball, with gradient zero"),
    new_order("O~(u^(2/(1+v)) d^((1+4v)/(1+v)) / (epsilon n)^(2v/(1+v))), of the risk",
              mean_rate(f$u, f$v, 1 / (p$epsilon * fit$n))^2 * d^((1 + 4 * f$v) / (1 + f$v))),
    new_order(sprintf("Omega(u^(2/(1+v)) d (%s / (epsilon n))^(2v/(1+v))), of the risk, inferred",
                      dimension_text(p$delta)),
              d * mean_rate(f$u, f$v, dimension / (p$epsilon * fit$n))^2),
    risk = beta / 2 * distance^2
  )
}

dimension_text <- function(delta) if (delta > 0) "sqrt(d log(1/delta))" else "d"

bound_convex <- function(fit, f, error, radius) {
  diameter <- 2 * radius
  steepest <- f$gradient_bound + error
  # the average starts after the first step: the last iterate's risk stands for the start's
  ends <- diameter * f$gradient_bound / f$steps
  parts <- c(steps = diameter^2 / (2 * f$step * f$steps) + ends, length = f$step * steepest^2 / 2,
             gradients = diameter * error)
  d <- f$d
  p <- privacy(fit)
  dimension <- lower_dimension(d, p$delta)
  e <- mean_rate(f$u, f$v, 1 / (p$epsilon * fit$n)) * d^((1 + 4 * f$v) / (2 + 2 * f$v))
  new_bound(
    sum(parts), "excess risk L(w) - L(w*)", parts, f$xi,
    paste0(TAO, ": Theorem 6 (privacy: Theorem 5; lower bound: Theorem 9)"),
    paste("rate printed in the abstract, tau and its formula inferred; value derived, taking the",
          "iterates as if they did not depend on the rows, as the paper does"),
    c(independent, paste0(gradient_moment(f), " for all w in the ball"),
      sprintf("the risk is convex, its gradient at most %s long", format(f$gradient_bound)),
      "each step's gradient errs as at a fixed point (the rows are used again)"),
    new_order("O~(E + E^3), E = u^(1/(1+v)) d^((1+4v)/(2+2v)) / (epsilon n)^(v/(1+v))", e + e^3),
    new_order(sprintf("Omega(u^(1/(1+v)) sqrt(d) (%s / (epsilon n))^(v/(1+v))), inferred",
                      dimension_text(p$delta)),
              sqrt(d) * mean_rate(f$u, f$v, dimension / (p$epsilon * fit$n)))
  )
}

# ---- Frank-Wolfe ----------------------------------------------------------------------

bound_fw <- function(fit, f, smoothness) {
  if (f$intercept) {
    dp_abort("no bound is proved with a free intercept: give intercept = FALSE.", "dp_error_bound")
  }
  if (f$estimator == "shrunken") {
    return(bound_shrunken(fit, f, smoothness))
  }
  smoothness <- smoothness %||% f$smoothness
  if (is.null(smoothness)) {
    dp_abort(paste(
      "`smoothness` is missing: the largest second derivative of the risk in a pair of",
      "coordinates, e.g. max_j E x_j^2 for the squared loss."
    ), "dp_error_bound")
  }
  r <- f$size
  size <- if (f$split) floor(fit$n / f$steps) else fit$n
  t <- f$steps
  half <- f$xi / 2
  gradient <- switch(f$estimator,
    truncated = truncation_error(f$u, f$v, f$level, size, f$d * t, half),
    winsorized = truncation_error(f$u, f$v, f$level, size, f$d * t, half, clip_bias(f$v)),
    catoni = catoni_error(f$u, f$level, f$beta, size, f$d * t, half)
  )
  choice <- choice_error(r * 2 * f$level * f$reach / size, fit, f, half)
  fw_bound(fit, f, smoothness, 2 * r * gradient, choice)
}

# Shortfall of the chosen of all vertices in t rounds: weights exp(epsilon0 q / (2 Delta)).
choice_error <- function(sensitivity, fit, f, fail) {
  2 * sensitivity / f$cost * log(f$vertices * f$steps / fail)
}

fw_bound <- function(fit, f, smoothness, gradient, choice) {
  t <- f$steps
  curvature <- 4 * smoothness * f$size^2
  convex <- fit$loss != "biweight"
  p <- privacy(fit)
  x <- fit$n * p$epsilon
  logs <- log(fit$n * f$vertices * f$d / f$xi)
  if (convex) {
    steps <- 2 * curvature / (t + 2)
    rate <- new_order("O~(|W|_1^(4/3) (alpha tau log(n |V| d / xi) / (n epsilon))^(1/3))",
                      f$size^(4 / 3) * (smoothness * f$u * logs / x)^(1 / 3))
    what <- "excess risk L(w) - L(w*)"
    result <- if (fit$loss == "squared" && !is.null(fit$constraint) &&
      fit$constraint$name == "l1_ball") "Algorithm 1, its theorem and Corollary 1 (LASSO)" else
        "Algorithm 1, convex losses"
  } else {
    if (is.null(f$sigma) || !f$paper) {
      dp_abort(paste(
        "no bound is proved: the theorem on robust regression needs loss_biweight(c, sigma =)",
        "with a public scale and calibration = \"paper\"."
      ), "dp_error_bound")
    }
    most <- (f$tuning * f$sigma)^2 / 6
    eta <- 1 / sqrt(t)
    steps <- most / (eta * t) + eta * curvature / 2
    rate <- new_order("O~((n epsilon)^(-1/4))", x^(-1 / 4))
    what <- "Frank-Wolfe gap max <w_t - v, gradient(w_t)> over v in W, average over the rounds"
    result <- "Algorithm 1, robust regression"
  }
  parts <- c(steps = steps, gradient, choice = choice)
  new_bound(
    sum(parts), what, parts, f$xi, paste0(HU, ": ", result),
    paste("rate printed, its parameters inferred; value derived",
          if (f$split) "" else "for full batches, as if iterates did not depend on the rows"),
    c(independent, paste0(gradient_moment(f), " for all w in W"),
      sprintf("a coordinate of the risk's gradient changes by at most %s per unit of l1 distance",
              format(smoothness)),
      if (convex) "the loss is convex" else "the loss is at most c^2 sigma^2 / 6"),
    rate
  )
}

# Algorithm 2: the gradient is linear in w, so that the rows may be used again.
bound_shrunken <- function(fit, f, smoothness) {
  if (fit$loss != "squared" || fit$constraint$name != "l1_ball") {
    dp_abort("no bound is proved: Algorithm 2 of Hu et al. is for the squared loss on an l1 ball.",
             "dp_error_bound")
  }
  smoothness <- smoothness %||% f$smoothness %||% sqrt(f$u)
  r <- f$size
  n <- fit$n
  k <- f$level
  t <- log(4 * f$d * (f$d + 1) / f$xi)
  gradient <- (1 + r) * c(bias = 2 * f$u / k^2,
                          deviation = sqrt(2 * f$u * t / n) + 2 * k^2 * t / (3 * n))
  choice <- choice_error(2 * max(k, 1) * k * r * (1 + r) / n, fit, f, f$xi / 2)
  out <- fw_bound(fit, f, smoothness, 2 * r * gradient, choice)
  x <- n * privacy(fit)$epsilon
  out$source <- paste0(HU, ": Algorithm 2 (LASSO)")
  out$status <- paste("rate printed, K and T inferred; value derived: bias by Hoelder's",
                      "inequality, deviation of all products of two columns together")
  out$assumptions <- c(independent, sprintf(
    "fourth moments of every column and of the response are at most %s", format(f$u)
  ), sprintf("E x_j^2 <= %s", format(smoothness)))
  out$rate <- new_order("O~(log(d) / (n epsilon)^(2/5))", log(f$d) / x^(2 / 5))
  out
}

# ---- sparse -----------------------------------------------------------------------------

# Half of the chance for the s choices, half for the s values.
bound_peel <- function(fit, xi) {
  s <- length(fit$selected)
  d <- length(fit$coefficients)
  events <- privacy(fit)$events
  gaussian <- events[[2L]]$mechanism == "gaussian"
  noise <- fit$scale[["values"]] * if (gaussian) 1 else sqrt(2)
  values <- noise_error(if (gaussian) "gaussian" else "laplace", noise, s, xi / 2)
  # noisy max: two draws of noise stand between an entry and the one that is taken for it
  draws <- if (privacy(fit)$calibration == "paper") 2 else 1
  choice <- draws * fit$scale[["selection"]] * log(2 * d * s / xi)
  new_bound(
    values, sprintf(paste(
      "|released value - entry|, of all %.0f chosen; no entry that was left out is larger in size",
      "than a chosen one by more than %s"
    ), s, format(choice, digits = 3L)),
    c(values = values, choice = choice), xi, paste0(TAO, ": Algorithm 4, inside Theorem 10"),
    "the algorithm is printed; the bound is derived from the laws of its noise",
    "nothing about the data: the chance is that of the noise"
  )
}

# Orders: s* is what the caller says is not zero, the sparsity of the fit.
bound_sparse <- function(fit, f) {
  s <- f$sparsity
  p <- privacy(fit)
  d <- f$d - f$intercept
  x <- fit$n * p$epsilon
  catoni <- f$estimator %in% c("catoni", "shrunken")
  value <- if (!catoni) {
    s^((1 + 2 * f$v) / (1 + f$v)) * mean_rate(f$u, f$v, log(d) * root_log(p$delta) / x)^2
  } else if (f$estimator == "catoni") {
    f$u * s^1.5 * log(d) * root_log(p$delta) / x
  } else {
    s^2 * log(d)^2 * root_log(p$delta)^2 / x
  }
  text <- if (!catoni) {
    "O~(s^((1+2v)/(1+v)) u^(2/(1+v)) (log(d) sqrt(log(1/delta)) / (n epsilon))^(2v/(1+v)))"
  } else if (f$estimator == "catoni") {
    "O~(tau s^(3/2) log(d) sqrt(log(1/delta)) / (n epsilon))"
  } else {
    "O~(s^2 log(d)^2 log(1/delta) / (n epsilon))"
  }
  source <- if (!catoni) paste0(TAO, ": Theorem 10, lower bound: Theorem 11") else
    paste0(HU, if (f$estimator == "catoni") ": Algorithm 5" else ": Algorithm 3")
  size <- if (p$delta > 0) sqrt(s * log(d) * log(1 / p$delta)) else s * log(d)
  new_bound(
    NA_real_, "excess risk L(w) - L(w*)", numeric(), f$xi, source,
    "rate printed or inferred, up to the condition number; no constants are known",
    c(independent, gradient_moment(f), "restricted strong convexity and smoothness of the risk"),
    new_order(text, value),
    new_order("Omega(u^(2/(1+v)) (sqrt(s log(d) log(1/delta)) / (n epsilon))^(2v/(1+v))), inferred",
              mean_rate(f$u, f$v, size / x)^2)
  )
}
