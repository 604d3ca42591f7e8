# dp_tune(): what it costs, what it reads when, that one held-out row moves a score by one, and that
# it chooses well.

pair <- alist(
  small = dp_lm(y ~ x2, epsilon = 1, delta = 1e-6),
  large = dp_lm(y ~ x1 + x2 + f, epsilon = 1, delta = 1e-6)
)
wide <- fixture(12000)

tuned <- local({
  set.seed(5)
  dp_tune(pair, wide, epsilon = 0.5, control = repeatable)
})

# ---- the choice -----------------------------------------------------------------

test_that("the better formula is chosen, and its methods are forwarded", {
  expect_s3_class(tuned, c("dp_tune", "dp_fit"), exact = TRUE)
  expect_identical(tuned$labels[[tuned$chosen]], "large")
  expect_equal(nobs(tuned), 12000)
  expect_identical(tuned$holdout, 2400L)
  expect_identical(coef(tuned), coef(tuned$fit))
  expect_identical(formula(tuned), formula(tuned$fit))
  expect_identical(predict(tuned, big[1:5, ]), predict(tuned$fit, big[1:5, ]))
  expect_output(print(tuned), "Chosen: large")
  expect_output(print(summary(tuned)), "[*] large")
  expect_null(names(tuned$labels))
})

test_that("without noise the choice is the smallest sum of losses on the rows held out", {
  calls <- alist(
    dp_lm(y ~ x1, epsilon = Inf), dp_lm(y ~ x2 + f, epsilon = Inf), dp_lm(y ~ f, epsilon = Inf)
  )
  set.seed(8)
  fit <- dp_tune(calls, wide, epsilon = Inf, loss = "absolute", control = repeatable)
  set.seed(8)
  split <- split_rows(wide, 0.2, repeatable)
  held <- as.data.frame(split$held)
  sums <- vapply(list(y ~ x1, y ~ x2 + f, y ~ f), function(formula) {
    sum(abs(held$y - predict(lm(formula, split$fit), held)))
  }, 0)
  expect_identical(fit$chosen, which.min(sums))
  expect_identical(privacy(fit)$epsilon, Inf)
  expect_output(print(fit), "NOT PRIVATE")
})

test_that("hardly better candidates are told apart by chance, by the law of the mechanism", {
  skip_on_cran()
  # two columns of excess losses, one row of them clipped
  losses <- cbind(rep(c(0, 1), c(60, 40)), rep(c(1, 0), c(60, 40)))
  plan <- choice_plan(100, 0.05, 0.5)
  picks <- vapply(seq_len(4000), function(i) {
    set.seed(i)
    choose_fit(losses, plan, repeatable)$chosen
  }, 0L)
  p <- plogis(0.05 / 2 * 20)
  expect_gt(2 * pnorm(-abs(sum(picks == 1) - 4000 * p) / sqrt(4000 * p * (1 - p))), alarm)
})

test_that("logistic, sparse and robust candidates; rows left out by one count for none", {
  set.seed(2)
  logistic <- quiet(dp_tune(
    alist(a = dp_glm(b ~ x1 + x2, epsilon = 2, delta = 1e-6),
          b = dp_glm(b ~ f, epsilon = 2, delta = 1e-6)),
    wide, epsilon = 1, control = repeatable
  ))
  expect_identical(logistic$loss, "logistic")
  expect_identical(logistic$labels[[logistic$chosen]], "a")
  expect_s3_class(predict(logistic, wide[1:3, ], type = "class"), NA)
  z <- wide
  z$x1[7] <- NA
  several <- quiet(dp_tune(
    alist(dp_lasso(y ~ x1 + x2, radius = 3, epsilon = 2, delta = 1e-6, na.action = na.omit),
          dp_sparse(y ~ x1 + x2, sparsity = 1, epsilon = 2, delta = 1e-6, na.action = na.omit),
          dp_lm(y ~ x2, loss = "huber", epsilon = 2, delta = 1e-6, subset = x2 > 0)),
    z, epsilon = 1, control = repeatable
  ))
  expect_identical(several$loss, "absolute")
  expect_identical(several$labels, paste("call", 1:3))
  expect_true(is.finite(several$bound))
})

# ---- what it costs -----------------------------------------------------------------

test_that("the cost is that of the costlier part, charged once", {
  budget <- privacy_budget(4, 1e-5)
  quiet(dp_tune(pair, big, epsilon = 0.5, budget = budget))
  calls <- as.data.frame(budget)
  expect_identical(nrow(calls), 1L)
  expect_identical(calls$what, "dp_tune")
  fits <- privacy_compose(tuned$parts$fits, delta = 2e-6, ordered = TRUE)
  expect_identical(privacy(tuned)$epsilon, tuned$parts$fits$epsilon)
  expect_equal(privacy(tuned)$epsilon, fits$epsilon, tolerance = 1e-9)
  expect_identical(privacy(tuned)$delta, 2e-6)
  expect_identical(tuned$parts$choice$epsilon, 0.5)
  expect_identical(privacy(tuned$fit), privacy(tuned))
  # two fits at (1, 1e-6) each, not 2.5
  expect_lt(privacy(tuned)$epsilon, 1.6)
  set.seed(1)
  choosy <- quiet(dp_tune(pair, big, epsilon = 5, control = repeatable))
  expect_identical(privacy(choosy)$epsilon, 5)
  expect_equal(choosy$parts$fits$epsilon, tuned$parts$fits$epsilon, tolerance = 1e-12)
})

# A list of events covers both parts: its curve lies above that of each.
expect_covers <- function(fits, choice, delta = 1e-6) {
  list <- parallel_events(fits, choice, delta)
  at <- c(0, 0.1, 0.5, 1, 2)
  total <- vapply(at, function(e) events_delta(list, e), 0)
  for (part in list(fits, choice)) {
    own <- vapply(at, function(e) total_delta(compose_events(part, TRUE), e), 0)
    # the mu of a selection is exact at one point of its curve only
    testthat::expect_true(all(total >= own * (1 - 1e-6)))
  }
  invisible(list)
}

test_that("one list of events covers the fits and the choice", {
  choice <- list(exponential_event(0.1), exponential_event(0.2))
  gaussian <- list(gaussian_event(0.2, 3))
  expect_identical(expect_covers(gaussian, choice), gaussian)
  short <- expect_covers(list(gaussian_event(0.05)), choice)
  expect_equal(compose_events(short)$gdp, compose_events(choice)$gdp, tolerance = 1e-9)
  mixed <- list(exponential_event(0.02, 20), gaussian_event(0.01))
  expect_covers(mixed, choice)
  pure <- list(laplace_event(0.4))
  expect_identical(compose_events(expect_covers(pure, choice, 0))$epsilon, 0.4)
  expect_equal(compose_events(expect_covers(pure, list(exponential_event(3)), 0))$epsilon, 3)
  many <- list(exponential_event(0.05, 200))
  expect_identical(expect_covers(many, choice), c(many, choice))
})

test_that("pure candidates need no delta", {
  set.seed(4)
  fit <- quiet(dp_tune(
    alist(dp_lasso(y ~ x1 + x2, radius = 1, epsilon = 2, delta = 0),
          dp_lasso(y ~ x1 + x2, radius = 3, epsilon = 2, delta = 0)),
    big, epsilon = 1, control = repeatable
  ))
  expect_identical(privacy(fit)$delta, 0)
  expect_equal(privacy(fit)$epsilon, 4)
  expect_equal(epsilon_at(fit, 0), 4)
})

# ---- one row --------------------------------------------------------------------------

test_that("one row held out moves each score by one at most, and no other row's part", {
  candidates <- alist(
    dp_lm(y ~ x1 + x2, epsilon = Inf), dp_lm(y ~ f + offset(x2), epsilon = Inf),
    dp_glm(b ~ x1, epsilon = Inf)
  )[c(1, 2)]
  set.seed(3)
  split <- split_rows(d, 0.25, repeatable)
  env <- candidate_env(split$fit, repeatable, environment())
  planned <- Map(plan_candidate, candidates, c("a", "b"), list(env))
  fits <- Map(run_candidate, candidates, planned, c("a", "b"), list(env))
  units <- function(columns, loss, bound) {
    held <- Map(held_schema, planned, list(columns), c("a", "b"))
    use <- lapply(held, curator_check, na.action = "na.omit")
    excess <- excess_losses(held_losses(fits, held, use, loss, repeatable))
    list(scores = held_scores(excess, bound), spread = row_spread(excess))
  }
  wild <- c(SPECIAL, NaN, NA, Inf, -Inf, 1e100, -1e100, 1.7e308, 1e153, -3)
  moved <- 0
  for (loss in c("squared", "absolute")) for (bound in c(1e-100, 0.3, 1e100)) {
    base <- units(split$held, loss, bound)
    expect_identical(base$scores, round(base$scores))
    for (v in wild) for (name in c("x1", "x2", "y")) {
      columns <- split$held
      columns[[name]][[4]] <- v
      other <- units(columns, loss, bound)
      expect_lte(max(abs(other$scores - base$scores)), SCORE_UNIT)
      expect_identical(other$spread[-4], base$spread[-4])
      moved <- max(moved, abs(other$scores - base$scores))
    }
  }
  expect_identical(moved, SCORE_UNIT)
})

test_that("a loss is that of its row alone, finite, and right", {
  eta <- c(-2, 0.5, 800, -800)
  y <- c(0, 1, 1, 0)
  expect_equal(prediction_loss("logistic", eta, y, TRUE),
               c(log1p(exp(-2)), log1p(exp(-0.5)), 0, 0))
  expect_equal(prediction_loss("squared", eta, y, FALSE), (eta - y)^2 / 2)
  expect_equal(prediction_loss("squared", eta, y, TRUE), (plogis(eta) - y)^2 / 2)
  expect_identical(prediction_loss("squared", 1e200, -1e200, FALSE), LARGEST_LOSS)
  eta <- row_predictor(list(x = cbind(c(1, NaN, Inf, 2), 1:4), offset = 1:4),
                       list(n = 4, intercept = TRUE), c(1, 2, 3))
  expect_equal(eta, c(1 + 2 + 3 + 1, NaN, NaN, 1 + 4 + 12 + 4))
})

test_that("the rows of the two parts are drawn without the data", {
  other <- wide
  other[] <- lapply(wide, rev)
  set.seed(6)
  one <- split_rows(cbind(wide, i = seq_len(12000)), 0.1, repeatable)
  set.seed(6)
  two <- split_rows(cbind(other, i = seq_len(12000)), 0.1, repeatable)
  expect_identical(one$held$i, two$held$i)
  expect_identical(sort(c(one$held$i, one$fit$i)), seq_len(12000))
  expect_length(one$held$i, 1200L)
  expect_false(identical(one$held$i, seq_len(1200)))
})

# ---- refusals ---------------------------------------------------------------------------

test_that("what cannot be tuned is refused before anything is charged", {
  run <- function(calls, ..., data = big) {
    function(budget) dp_tune(calls, data, epsilon = 0.2, ..., budget = budget)
  }
  one <- quote(dp_lm(y ~ x1, epsilon = 0.3, delta = 1e-7))
  with <- function(...) list(as.call(c(as.list(one), list(...))))
  expect_refusal(run(list(function(data) dp_lm(y ~ x1, data, 1, 1e-6))), "not evaluated")
  expect_refusal(run(list(quote(lm(y ~ x1)))), "must be calls of dp_lm")
  expect_refusal(run(list(quote(dp_mean(y, epsilon = 1)))), "must be calls of dp_lm")
  expect_refusal(run(list(quote((function(...) dp_lm(...))(y ~ x1)))), "must be calls of dp_lm")
  expect_refusal(run(with(budget = quote(b))), "`budget`: leave it out")
  expect_refusal(run(with(data = quote(d))), "`data`: leave it out")
  expect_refusal(run(list(quote(dp_lm(x = x1, y = y, epsilon = 1, delta = 1e-6)))), "by formula")
  expect_refusal(run(c(list(one), with(weights = 1))), "`call 2` of `calls`: `weights`")
  expect_refusal(run(list(a = quote(dp_lm(y ~ zzz, epsilon = 1, delta = 1e-6)))), "zzz")
  expect_refusal(run(list(one, quote(dp_lm(log(y) ~ x1, epsilon = 0.3, delta = 1e-7)))),
                 "same response")
  expect_refusal(run(list(one), loss = "logistic"), "needs logistic")
  expect_refusal(run(list(one), holdout = 0), "holdout")
  expect_refusal(run(list(one), bound = -1), "bound")
  expect_refusal(run(list(a = one, a = one)), "differ")
  z <- big
  z$x1[[9]] <- NA
  expect_refusal(run(list(one), data = z), "missing values")
  outside <- rep(TRUE, 3200)
  expect_refusal(run(with(subset = quote(outside))), "columns of `data`")
  expect_refusal(run(list(quote(dp_lm(y ~ x1, epsilon = Inf)))), "Inf")
  expect_refusal(run(list(quote(dp_lm(y ~ x1, epsilon = 9, delta = 1e-7)))), "does not allow")
})

test_that("a call that changes after the charge spends nothing else", {
  k <- 0
  changing <- function() {
    k <<- k + 1
    if (k == 1) 0.3 else 3
  }
  calls <- alist(dp_lm(y ~ x1, epsilon = changing(), delta = 1e-6))
  expect_error(quiet(dp_tune(calls, big, epsilon = 0.2)), "something else each time")
  # the same cost, but of another model
  k <- 0
  either <- function() {
    k <<- k + 1
    if (k == 1) y ~ x1 else y ~ x2
  }
  calls <- alist(dp_lm(either(), epsilon = 0.3, delta = 1e-6))
  expect_error(quiet(dp_tune(calls, big, epsilon = 0.2)), "something else each time")
})

test_that("a call that makes two fits of the same cost is found out", {
  calls <- alist(dp_lm(y ~ x1, epsilon = 0.3, delta = if (is.list(
    dp_lm(y ~ x1, .dp_rows, epsilon = 0.3, delta = 1e-6)
  )) 1e-6))
  expect_error(quiet(dp_tune(calls, big, epsilon = 0.2)), "more than one fit")
})

test_that("what a candidate says comes with its label", {
  lacking <- 1
  rm(lacking)
  calls <- alist(a = dp_lm(y ~ x1, epsilon = lacking, delta = 1e-6))
  expect_error(dp_tune(calls, big, epsilon = 0.2), "`a` of `calls`: .*lacking",
               class = "dp_error_input")
  expect_error(dp_tune(alist(dp_lm()), big, epsilon = 0.2), "`call 1` of `calls`: .*\"x\"",
               class = "dp_error_input")
  calls <- alist(few = dp_lm(y ~ x1, epsilon = 0.01, delta = 1e-7))
  said <- conditions_of(dp_tune(calls, big, epsilon = 0.2, holdout = 0.5))
  expect_match(said, "^dp_small_n: `few` of `calls`: n = ", all = FALSE)
  expect_match(said, "^dp_dominated: `few` of `calls`: no scale", all = FALSE)
  expect_no_match(said, "^[a-z_]+: (n = [0-9]+ is small for this epsilon and|no scale)")
})

test_that("a front may stand in a call as the function itself", {
  calls <- list(as.call(list(dp_lm, y ~ x1, epsilon = 1, delta = 1e-6)))
  expect_s3_class(quiet(dp_tune(calls, big, epsilon = 0.5)), "dp_tune")
})

test_that("units in a call are refused: their rows would be in both parts", {
  z <- transform(big, id = rep(seq_len(nrow(big) / 2), 2))
  expect_error(dp_tune(alist(dp_lm(y ~ x1, epsilon = 1, delta = 1e-6, unit = ~id)), z, 1),
               "in one part")
  through <- function(...) dp_tune(alist(dp_lm(y ~ x1, epsilon = 1, delta = 1e-6, ...)), z, 1)
  expect_error(through(unit = ~id), "in one part")
})

test_that("few rows held out are warned about", {
  calls <- alist(dp_lm(y ~ x1, epsilon = 1, delta = 1e-6))
  expect_warning(dp_tune(calls, big, epsilon = 0.05, holdout = 0.1), class = "dp_small_n")
})

# ---- leaks -------------------------------------------------------------------------------

test_that("no row and no call survives in what is returned", {
  z <- canary_data()
  secret <- CANARY_NUMBERS[[1L]]
  expect_clean(dp_tune(
    list(a = quote(dp_lm(y ~ x1 + f, epsilon = 1, delta = 1e-6)),
         bquote(dp_lm(y ~ x2, epsilon = 1, delta = 1e-6, subset = x1 < .(secret)))),
    z, epsilon = 0.5
  ))
  fit <- quiet(dp_tune(pair, z, epsilon = 0.5))
  expect_lt(length(serialize(fit, NULL)), 60000)
})

test_that("what is said does not depend on a row", {
  texts <- lapply(c(0.1, 1e308, -1e300, Inf), function(v) {
    z <- big
    z$x1[[11]] <- v
    z$y[[12]] <- v
    public_conditions(dp_tune(pair, z, epsilon = 0.02, holdout = 0.1))
  })
  expect_length(unique(texts), 1L)
  expect_gt(length(texts[[1L]]), 0L)
})
