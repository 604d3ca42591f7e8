test_that("settings have the documented defaults and are checked by name", {
  control <- dp_control()
  expect_s3_class(control, "dp_control")
  expect_identical(
    unclass(control)[c("calibration", "batches", "threads", "rng", "progress")],
    list(calibration = "tight", batches = "full", threads = 1, rng = "secure", progress = FALSE)
  )
  for (name in c("iterations", "step", "smoothness", "strong_convexity", "gradient_bound")) {
    expect_true(name %in% names(control))
    expect_null(control[[name]])
  }
  expect_identical(control$xi, 0.05)
  expect_identical(dp_control(batches = "split")$batches, "split")
  wrong <- list(
    calibration = list("exact", 1, NULL), batches = list("mini", NA),
    rng = list("Mersenne", 1, NULL),
    iterations = list(0, -1, 1.5, "3", NA, c(1, 2), Inf), step = list(0, -1, "a", NA, Inf),
    threads = list(0, 1.5, "2", NA, 1e9), progress = list(NA, 1, "yes", c(TRUE, FALSE)),
    xi = list(0, 0.6, NA, "a", c(0.1, 0.2)), smoothness = list(0, -1, Inf, "a", c(1, 2)),
    strong_convexity = list(0, -1, NA), gradient_bound = list(0, Inf, "a")
  )
  for (name in names(wrong)) {
    for (value in wrong[[name]]) {
      error <- tryCatch(do.call(dp_control, setNames(list(value), name)), error = identity)
      expect_s3_class(error, "dp_error")
      expect_match(conditionMessage(error), paste0("`", name, "`"), fixed = TRUE)
    }
  }
  expect_error(dp_control(iteration = 3, foo = 2), "unused argument|unknown argument")
})

test_that("what this version lacks is refused by one clear sentence", {
  expect_error(dp_control(calibration = "print"), "calibration", class = "dp_error")
  paper <- dp_control(calibration = "paper")
  expect_error(dp_mean(1:9, 1, bound = 9, control = paper), "dp_mean", class = "dp_error_input")
  expect_error(dp_quantile(1:9, 0.5, 1, control = paper), "dp_quantile", class = "dp_error_input")
  expect_error(dp_lm(cbind(1:9), 1:9, 1, 1e-6, control = paper), "dp_lm", class = "dp_error_input")
  paper <- function(call) expect_refusal(call, "dp_glm", "dp_error_input")
  paper(function(b) dp_glm(cbind(1:9), 1:9 > 4, 1, 1e-6, budget = b,
                           control = dp_control(calibration = "paper")))
  split <- dp_control(batches = "split")
  refused <- function(call) expect_refusal(call, "split", "dp_error_input")
  refused(function(b) dp_mean(1:9, 1, bound = 9, control = split, budget = b))
  refused(function(b) dp_quantile(1:9, 0.5, 1, control = split, budget = b))
  refused(function(b) dp_lasso(cbind(1:9), 1:9, 1, 1e-6, radius = 1, control = split, budget = b))
  refused(function(b) dp_lasso(cbind(1:9), 1:9, 1, 0, radius = 1, control = split, budget = b))
  refused(function(b) dp_sco(cbind(1:9), 1:9, 1, 1e-6, constraint = l1_ball(1), control = split,
                             budget = b))
})

test_that("settings print, one a line", {
  expect_output(print(dp_control()), "calibration +tight")
  expect_output(print(dp_control(iterations = 5)), "iterations +5")
  expect_length(capture.output(print(dp_control())), 12)
  expect_output(print(dp_control(smoothness = 2)), "smoothness +2")
})

test_that("progress reports stages that depend on public numbers only", {
  set.seed(126)
  control <- dp_control(progress = TRUE)
  stages <- function(z) conditions_of(dp_lm(y ~ x1, z, 4, del, control = control))
  a <- stages(big)
  expect_true(length(a) >= 6)
  z <- big
  z$x1[1] <- 1e300
  z$y <- rev(z$y)
  expect_identical(stages(z), a)
  expect_silent(dp_lm(y ~ x1, big, 4, del))
})

test_that("the number of threads does not change the answer", {
  run <- function(threads) {
    set.seed(61)
    coef(dp_lm(y ~ x1 + f, big, eps, del, control = dp_control(rng = "R", threads = threads)))
  }
  expect_identical(run(4), run(1))
})

test_that("a list that is no dp_control is refused", {
  for (control in list(list(), NULL, "R", list(rng = "R"))) {
    refused <- function(call) expect_refusal(call, "`control`")
    refused(function(b) dp_mean(d$y, eps, bound = 5, control = control, budget = b))
    refused(function(b) dp_quantile(d$y, 0.5, eps, control = control, budget = b))
    refused(function(b) dp_lm(y ~ x1, d, eps, del, control = control, budget = b))
  }
})

test_that("a long fit says how much time is left, at most every other second", {
  now <- 0
  clock <- with_replaced(new_clock, proc.time = function() c(elapsed = now))(
    list(progress = TRUE), 100, every = 2
  )
  said <- character()
  for (t in 1:100) {
    said <- c(said, conditions_of(clock(t, paste("round", t))))
    now <- now + 0.5
  }
  expect_length(said, 25L)
  expect_identical(
    said[1:2], paste0("simpleMessage: ", c("round 1", "round 5, about 48 s left"), "\n")
  )
  expect_length(conditions_of(new_clock(list(progress = FALSE), 3)(1, "round")), 0L)
  expect_identical(duration(c(50)), "50 s")
  expect_identical(duration(600), "10 min")
  expect_identical(duration(36000), "10.0 h")
})
