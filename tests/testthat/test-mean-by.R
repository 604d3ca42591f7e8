# Means by group: sensitivity with records moved between groups, what is spent, laws, cases.

several <- function(sizes = c(a = 3000, b = 1500, c = 0, d = 60), seed = 811) {
  set.seed(seed)
  g <- factor(rep(names(sizes), sizes), levels = names(sizes))
  list(x = stats::rt(sum(sizes), 3) + as.integer(g), g = g)
}

fit_by <- function(x, g, epsilon = 2, ..., seed = 812) {
  set.seed(seed)
  quiet(dp_mean(x, epsilon, by = g, ..., control = repeatable))
}

# ---- sensitivity ------------------------------------------------------------------

# Rows 1 to 20 of groups 1 and 2; row 9, of group 1, moves about.
moved <- function(statistic, d = 1L) {
  set.seed(813)
  x <- matrix(stats::rt(20 * d, 2), 20L)
  code <- rep(1:2, each = 10L)
  cases <- list()
  records <- wild_records(d, 2L)
  for (record in records[seq.int(1L, length(records), by = 2L)]) for (to in c(1:3, NA)) {
    y <- x
    y[9L, ] <- record[seq_len(d)]
    cases <- c(cases, list(statistic(y, list(code = replace(code, 9L, to),
                                             levels = letters[1:3]))))
  }
  c(list(statistic(x, list(code = code, levels = letters[1:3]))), cases)
}

# Statistics of all groups, stacked.
stacked <- function(x, by, one) {
  rows_of <- group_reader(x, by)
  do.call(rbind, lapply(seq_along(by$levels), function(g) one(rows_of(g))))
}

test_that("a row that moves changes the sums of two groups by no more than is charged", {
  cases <- expand.grid(d = 1:2, shared = c(FALSE, TRUE), kind = c("laplace", "gaussian"),
                       place = c(0, 1e5), stringsAsFactors = FALSE)
  for (i in seq_len(nrow(cases))) {
    case <- cases[i, ]
    law <- split_law(case$kind, 20, case$d, 0.7)
    limits <- with_room(list(lower = rep(-1.3, case$d) + case$place,
                             upper = rep(0.9, case$d) + case$place,
                             shared = rep(case$shared, case$d)))
    k <- split_cells(limits)
    stats <- moved(function(x, by) {
      stacked(x + case$place, by, function(v) {
        rows <- new_rows(shared_out(v, limits), inv_scale = rep(law$limit, k * case$d))
        release_split(rows, law, exact = TRUE)
      })
    }, case$d)
    size <- if (case$kind == "laplace") function(v) sum(abs(v)) else l2
    ratio <- largest_change(stats, size) / (0.7 * 2^law$bits)
    expect_lte(ratio, 1)
    # nothing wasted: a row may go from one limit here to the other there
    expect_gt(ratio, 0.999)
  }
})

test_that("what a value adds to both limits is one row, rounded", {
  law <- split_law("laplace", 5000, 1, 1)
  limits <- with_room(list(lower = -1 / 3, upper = 1e8 / 7, shared = FALSE))
  set.seed(814)
  v <- matrix(c(stats::runif(2000, -1, 1.5e7), SPECIAL, NA), ncol = 1L)
  parts <- shared_out(v, limits)
  there <- !is.na(v)
  expect_true(all(parts[there, ] >= 0 & parts[there, ] <= 1))
  each <- round(parts[there, ] * law$limit)
  expect_true(all(abs(rowSums(each) - law$limit) <= 1))
  expect_true(all(is.na(parts[!there, ])))
})

test_that("the step that both roundings may add is charged", {
  law <- split_law("laplace", 20, 1, 0.5)
  room <- 0.5 * 2^law$bits / 2
  limits <- list(lower = 0, upper = 1, half = 0.5, shared = FALSE)
  # half a step and a little more, which 1 - u cannot hold
  for (limit in law$limit + 0:1) {
    v <- matrix(0.5 / limit * (1 + 2^-52))
    rows <- new_rows(shared_out(v, limits), inv_scale = rep(law$limit, 2L))
    expect_lte(sum(from_int64(release_split(rows, law, exact = TRUE))), room)
  }
})

test_that("limits without room get some, at any place", {
  for (at in c(0, 5, -1e300, 1e-300, -1e308)) {
    limits <- with_room(list(lower = at, upper = at))
    expect_gt(limits$half, 0)
    expect_true(is.finite(limits$half))
    expect_lte(limits$upper - at, max(2^-28 * abs(at), 1e-280))
  }
  wide <- with_room(list(lower = -1e308, upper = 1e308))
  expect_identical(wide$half, 1e308)
})

test_that("a row that moves leaves one cell and enters another, of all groups' tables", {
  law <- count_law("laplace", 20, 1, 2)
  stats <- moved(function(x, by) {
    stacked(x, by, function(v) {
      rows <- new_rows(v, which = 0)
      release_octaves(rows, "columns", octave_cells(-9, 9, signed = TRUE), law, exact = TRUE)
    })
  })
  expect_identical(largest_change(stats, function(v) sum(abs(v))), 2 * law$unit)
  expect_lte(largest_change(stats, l2), sqrt(2) * law$unit * (1 + 1e-9))
})

test_that("second moments of two groups move by one range", {
  plan <- new_by_plan("laplace", c(all_center = 0, all_tails = 0, center = 0, tails = 0,
                                   variance = 0.03, sums = 0.97),
                      list(n = 20, d = 1L, groups = 3, bounded = TRUE, paid = TRUE))
  law <- sum_law("laplace", 20, 1, plan$cost[["variance"]])
  stats <- moved(function(x, by) {
    stacked(x, by, function(v) {
      square <- pmin(abs(v), 1)^2
      release_sums(new_rows(square, center = 0.5, inv_scale = 2 * law$limit), law, exact = TRUE)
    })
  })
  expect_lte(largest_change(stats, function(v) sum(abs(v))), 2 * law$limit)
  expect_gt(largest_change(stats, function(v) sum(abs(v))), 1.99 * law$limit)
})

test_that("penalties of the medians of two groups move by half of those of one", {
  c0 <- 0.037
  code <- floor(2^32 * c0)
  special <- SPECIAL[!is.na(SPECIAL)]
  set.seed(815)
  for (m in c(0L, 1L, 2L, 7L, 40L)) {
    x <- c(round(stats::rt(m, 2), 1))
    points <- c(x, x + 1e-6, -1e300, 1e300, 0, special)
    penalty <- function(v) {
      .Call(dpheavy:::C_quantile_scores, c(v, NaN), 0.5, c0, -Inf, Inf, points)[, 2L]
    }
    base <- penalty(x)
    for (extra in c(special, 0.3, x)) {
      expect_lte(max(abs(penalty(c(x, extra)) - base)), ceiling(code / 2))
    }
    if (m > 0L) for (new in c(-1e308, 0, Inf)) {
      expect_lte(max(abs(penalty(replace(x, 1L, new)) - base)), code)
    }
  }
})

# ---- what is spent -----------------------------------------------------------------

# Cost of each release, of d columns, as if it were of one group; moves between two cost no more
# (above).
by_costs <- list(
  release_octaves = function(f, d) {
    c(sqrt(2 * d), 2 * d) * f$law$unit / 2^f$law$noise[[2L]]
  },
  release_split = function(f, d) {
    c(sqrt(2 * d), 2 * d) * (f$law$limit + 1) / 2^f$law$noise[[2L]]
  },
  release_sums = function(f, d) {
    c(2 * sqrt(d), 2 * d) * f$law$limit / 2^f$law$noise[[2L]]
  },
  release_quantiles = function(f, d) c(0, 2 * f$c)
)

# One line per release: its name, mu or zero, epsilon0 or zero.
releases_of <- function(expr, d = 1) {
  seen <- NULL
  note <- function(name, frame) {
    cost <- by_costs[[name]](frame, d)
    gaussian <- name != "release_quantiles" && frame$law$noise[[1L]] == 2
    seen <<- rbind(seen, data.frame(name = name, mu = if (gaussian) cost[[1L]] else 0,
                                    pure = if (gaussian) 0 else cost[[2L]],
                                    bits = if (is.null(frame$law)) 0 else frame$law$noise[[2L]]))
  }
  tracing(names(by_costs), note, expr)
  seen
}

test_that("all groups together spend what is booked, and each is looked at as often", {
  z <- several()
  x2 <- cbind(a = z$x, b = -z$x)
  calls <- list(
    list(z$x, 2), list(z$x, 2, 1e-6), list(z$x, 2, bound = 9), list(x2, 6), list(z$x > 1, 1),
    list(z$x, 1, bound = 9, interval = TRUE), list(x2, 2, 1e-6, bound = 9, interval = TRUE),
    list(x2[, rep(1:2, 10)], 9, 1e-6)
  )
  for (call in calls) {
    fit <- NULL
    d <- NCOL(call[[1L]])
    seen <- releases_of(fit <- do.call(fit_by, c(list(call[[1L]], z$g), call[-1L])), d)
    stages <- unique(seen)
    times <- vapply(seq_len(nrow(stages)), function(i) {
      sum(seen$name == stages$name[[i]] & seen$mu == stages$mu[[i]] &
            seen$pure == stages$pure[[i]])
    }, 0)
    each <- ifelse(stages$name == "release_quantiles", d, 1)
    expect_true(all((times / each) %in% c(1, 4)))
    # of all rows together: a median and a table
    bounded <- is.logical(call[[1L]]) || !is.null(call$bound)
    expect_identical(sum(times / each == 1), if (bounded) 0L else 2L)
    booked <- compose_events(privacy(fit)$events)
    spent <- c(sum(stages$mu^2), sum(stages$pure * each))
    expect_true(all(spent <= c(booked$mu2, booked$pure) * (1 + 1e-9)), label = toString(spent))
    expect_true(all(spent >= 0.98 * c(booked$mu2, booked$pure)), label = toString(spent))
  }
})

test_that("grids of noise follow the public n, not the sizes of groups", {
  z <- several(c(a = 300, b = 20))
  by <- list(code = as.integer(z$g), levels = c("a", "b"))
  n <- 1e13
  for (bound in list(NULL, matrix(c(-9, 9), 1L))) {
    plan <- plan_mean_by(n, 1, 2, 1, 0, !is.null(bound), NULL, TRUE)
    seen <- releases_of(fit_mean_by(matrix(z$x), by, plan, bound, repeatable))
    seen <- seen[seen$name != "release_quantiles", ]
    expect_true(all(seen$bits < 30))
    expect_identical(nrow(unique(seen)), if (is.null(bound)) 3L else 2L)
  }
})

test_that("medians are drawn with room for two groups' rounding", {
  expect_gte(GROUP_SLACK, 2 * (2^-30 + 2^-32))
  plan <- plan_mean_by(4560, 1, 4, 2, 0, FALSE, NULL)
  c <- (plan$own$center - GROUP_SLACK) / 2
  expect_lte(2 * c + GROUP_SLACK, plan$own$center)
  z <- several()
  drawn <- releases_of(fit_by(z$x, z$g))
  expect_equal(min(drawn$pure[drawn$name == "release_quantiles"]),
               min(plan$own$center - GROUP_SLACK, plan$all$center - QUANTILE_SLACK))
})

test_that("the number of groups changes shares of the budget only within bounds", {
  kinds <- function(groups, n = 1e5) plan_mean_by(n, 1, groups, 1, 0, FALSE, NULL)$cost
  expect_equal(sum(kinds(2)), 1)
  expect_equal(sum(kinds(1e5)), 1)
  expect_gt(kinds(1e5)[["sums"]], 0.6)
  bounded <- plan_mean_by(100, 1, 1e4, 1, 0, TRUE, NULL)
  expect_identical(bounded$cost, plan_mean_by(100, 1, 2, 1, 0, TRUE, NULL)$cost)
})

test_that("a row that moves between groups loses what is claimed", {
  skip_on_cran()
  plan <- plan_mean_by(4, 1, 2, 1, 0, TRUE, NULL)
  lost <- function(factor, runs = 900L) {
    plan$cost[["sums"]] <- plan$cost[["sums"]] * factor
    bound <- matrix(c(-1, 1), 1L)
    hits <- function(g) {
      sum(vapply(seq_len(runs), function(i) {
        fit <- fit_mean_by(matrix(c(-1, -1, 0, 1)), list(code = g, levels = c("a", "b")), plan,
                           bound, repeatable)
        high <- fit$sizes * (fit$coefficients + 1) / 2
        high[[1L]] >= 1 && high[[2L]] <= 0.5
      }, NA))
    }
    set.seed(816)
    there <- hits(c(1L, 2L, 2L, 1L))
    gone <- hits(c(1L, 2L, 2L, 2L))
    log(stats::qbeta(alarm / 2, there, runs - there + 1)) -
      log(stats::qbeta(1 - alarm / 2, gone + 1, runs - gone))
  }
  expect_lte(lost(1), 1)
  expect_gt(lost(6), 1)
})

# ---- laws --------------------------------------------------------------------------

test_that("with one level it is dp_mean() of the rows, whatever is asked", {
  z <- several()
  one <- factor(rep("all", length(z$x)))
  same <- function(x, ...) {
    a <- fit_by(x, one, ...)
    set.seed(812)
    b <- quiet(dp_mean(x, 2, ..., control = repeatable))
    for (name in c("coefficients", "noise_sd", "limits", "errors", "bias")) {
      expect_identical(unname(a[[name]])[TRUE], unname(b[[name]])[TRUE])
    }
    expect_identical(privacy(a), privacy(b))
    a
  }
  fit <- same(z$x)
  expect_identical(names(coef(fit)), "all")
  expect_identical(fit$sizes, c(all = length(z$x)))
  expect_identical(fit$size_sd, c(all = 0))
  same(z$x, bound = c(-3, 9), interval = TRUE)
  same(cbind(p = z$x, q = 1 - z$x), delta = 1e-6)
  gone <- same(replace(z$x, 1:9, NA), na.rm = TRUE)
  expect_gt(gone$size_sd, 1)
})

test_that("sizes and bounded means have the law that is stated", {
  skip_on_cran()
  x <- matrix(c(-1, -0.5, 0.2, 1, 1, 0.4, NA))
  g <- c(1L, 1L, 1L, 1L, 2L, 2L, 2L)
  for (delta in c(0, 1e-6)) {
    plan <- plan_mean_by(7, 1, 3, 1, delta, TRUE, NULL)
    if (delta > 0) {
      plan <- by_plan("gaussian", ledger_allowance(NULL, 1, delta, "gaussian")$mu,
                      plan[c("n", "d", "groups", "bounded", "paid")])
    }
    set.seed(817)
    runs <- replicate(800, {
      fit <- fit_mean_by(x, list(code = g, levels = letters[1:3]), plan, matrix(c(-1, 1), 1L),
                         repeatable)
      c(fit$sizes, fit$size_sd)
    })
    high <- c(sum(x[1:4] + 1), sum(x[5:6] + 1), 0) / 2
    scale <- if (plan$kind == "laplace") 2 else sqrt(2) / plan$cost[["sums"]]
    sd <- scale * if (plan$kind == "laplace") 2 else sqrt(2)
    expect_equal(unname(runs[4:6, 1L]), rep(sd, 3L), tolerance = 1e-6)
    for (k in 1:3) {
      p <- if (plan$kind == "laplace") {
        # the sum of two Laplace variables
        function(q) ifelse(q < 0, 0, 1) + sign(-q) * exp(-abs(q) / scale) * (2 + abs(q) / scale) / 4
      } else {
        function(q) stats::pnorm(q, 0, sd)
      }
      expect_gt(stats::ks.test(runs[k, ] - c(4, 2, 0)[[k]], p)$p.value, alarm)
    }
  }
})

test_that("means, sizes and spreads are right with hardly any noise", {
  set.seed(818)
  z <- several(c(a = 4000, b = 3000, c = 2000))
  x <- z$x * c(1, 1000, 1e-6)[as.integer(z$g)] + c(0, 1e6, -3)[as.integer(z$g)]
  fit <- fit_by(x, z$g, 1e4)
  plain <- tapply(x, z$g, mean)
  expect_true(all(abs(coef(fit) - plain) < 0.02 * tapply(x, z$g, stats::sd)))
  expect_equal(fit$sizes, c(a = 4000, b = 3000, c = 2000), tolerance = 1e-3)
  expect_equal(fit$errors[, "sampling"] * sqrt(fit$sizes), c(tapply(x, z$g, stats::sd)),
               tolerance = 0.3)
  expect_false(any(fit$shared))
  clamped <- pmin(pmax(z$x, 0), 3)
  bounded <- fit_by(z$x, z$g, 1e5, bound = c(0, 3), interval = TRUE)
  expect_equal(coef(bounded), c(tapply(clamped, z$g, mean)), tolerance = 1e-3)
  expect_equal(bounded$errors[, "sampling"], c(tapply(clamped, z$g, stats::sd)) /
                 sqrt(c(4000, 3000, 2000)), tolerance = 1e-2)
})

test_that("without noise it is tapply()", {
  z <- several()
  x2 <- cbind(u = z$x, v = z$x^2)
  fit <- quiet(dp_mean(x2, Inf, by = z$g))
  expect_equal(matrix(coef(fit), 2L), t(apply(x2, 2L, tapply, z$g, mean)), ignore_attr = TRUE)
  expect_identical(unname(fit$sizes), rep(c(3000, 1500, 0, 60), each = 2L))
  expect_warning(dp_mean(z$x, Inf, by = z$g), "no values in `c`", class = "dp_dominated")
})

test_that("intervals hold the means of large and small groups", {
  skip_on_cran()
  sizes <- c(large = 20000, small = 300, large2 = 8000, small2 = 500)
  hit <- replicate(40, {
    seed <- sample.int(1e6, 1L)
    z <- several(sizes, seed)
    ends <- confint(fit_by(z$x, z$g, 1, seed = seed))
    ends[, 1L] <= 1:4 & 1:4 <= ends[, 2L]
  })
  expect_gt(mean(hit, na.rm = TRUE), 0.88)
  expect_gt(mean(!is.na(hit)), 0.95)
})

# ---- too few rows -------------------------------------------------------------------

test_that("empty and tiny groups are NA with a warning, never absurd numbers", {
  set.seed(819)
  sizes <- c(big = 6000, none = 0, tiny = 10, few = 400, far = 300)
  for (i in 1:10) {
    z <- several(sizes, seed = i)
    x <- z$x + ifelse(z$g == "far", 1e9, 0)
    set.seed(i)
    expect_warning(fit <- dp_mean(x, 1, by = z$g, control = repeatable), class = "dp_dominated")
    expect_identical(is.na(coef(fit)), !fit$found)
    expect_false(any(fit$found[c("none", "tiny", "far")]))
    expect_lt(max(abs(coef(fit) - 1:5), na.rm = TRUE), 3)
    for (name in c("noise_sd", "limits", "errors", "bias")) {
      expect_identical(anyNA(fit[[name]]), TRUE)
    }
    expect_true(all(is.finite(fit$sizes)))
  }
})

test_that("a summary by group says so", {
  fit <- dp_mean(big$y, epsilon = 4, by = big$f)
  expect_output(print(summary(fit)), "^Private means by group\n")
})

test_that("the advice for a lost group names no `bound` that was given", {
  by <- factor(rep(1:40, 5))
  advice <- function(...) {
    tryCatch(dp_mean(rep(1:4, 50), 0.5, by = by, ..., control = repeatable),
             dp_dominated = conditionMessage)
  }
  set.seed(832)
  expect_match(advice(bound = c(0, 80)), "join levels, or give a larger `epsilon`", fixed = TRUE)
  expect_no_match(advice(bound = c(0, 80)), "bound")
})

test_that("a median drawn far off makes no zero of a small group", {
  set.seed(820)
  for (i in 1:25) {
    z <- several(c(a = 3000, b = 700, c = 600, d = 650), seed = 900 + i)
    fit <- fit_by(z$x + 50, z$g, 1, seed = i)
    expect_true(all(abs(coef(fit) - 50) < 20, na.rm = TRUE))
  }
})

test_that("constant groups and zeros are found", {
  g <- factor(rep(c("p", "q", "r"), c(3000, 3000, 3000)))
  x <- c(rep(5, 3000), rep(-1e-7, 3000), ifelse(seq_len(3000) %% 5 == 0, 3, 0))
  expect_warning(fit <- dp_mean(x, 20, by = g), "`p`, `q` are equal", class = "dp_dominated")
  expect_warning({
    zero <- dp_mean(c(x[6001:9000], 0 * x), 20, by = factor(rep(0:3, each = 3000)))
  }, "`1`, `2`, `3` are equal", class = "dp_dominated")
  expect_identical(unname(coef(zero)[2:4]), numeric(3))
  expect_identical(unname(zero$noise_sd[2:4]), numeric(3))
  expect_true(all(is.na(confint(zero)[2:4, ])))
  expect_equal(coef(fit)[["p"]], 5, tolerance = 1e-6)
  expect_equal(coef(fit)[["q"]], -1e-7, tolerance = 1e-6)
  expect_equal(coef(fit)[["r"]], 0.6, tolerance = 0.05)
  expect_equal(unname(fit$sizes), rep(3000, 3), tolerance = 0.01)
})

test_that("wild values give finite means, or none, and the same shape", {
  set.seed(823)
  g <- factor(sample(letters[1:4], 4000, TRUE), letters[1:5])
  wild <- SPECIAL[!is.na(SPECIAL)]
  sets <- c(
    lapply(wild, rep, times = 4000), list(sample(wild, 4000, TRUE), stats::rcauchy(4000)^99,
                                         stats::rnorm(4000) * 1e300, stats::rnorm(4000) * 1e-310)
  )
  for (x in sets) for (d in 1:2) for (epsilon in c(4, 1e6)) {
    fit <- fit_by(if (d == 1L) x else cbind(a = x, b = rev(x)), g, epsilon, seed = d)
    expect_true(all(is.finite(coef(fit)) == fit$found))
    expect_true(all(is.finite(fit$sizes)))
    expect_false(any(is.nan(c(fit$errors, fit$bias, fit$noise_sd, fit$limits))))
  }
  bounded <- fit_by(sets[[12L]], g, bound = c(-1e308, 1e307))
  expect_true(all(is.finite(coef(bounded)[1:4])))
})

# ---- groups as they come ------------------------------------------------------------

test_that("groups may be factors, logical, or combinations, of any order of rows", {
  z <- several(c(a = 3000, b = 3000))
  g2 <- factor(rep(c("u", "v"), 3000), levels = c("v", "u"))
  exact <- function(by, x = z$x) coef(quiet(dp_mean(x, Inf, by = by)))
  expect_equal(exact(z$g == "b"), c(`FALSE` = mean(z$x[1:3000]), `TRUE` = mean(z$x[3001:6000])))
  both <- exact(list(z$g, one = g2))
  expect_named(both, c("a:v", "a:u", "b:v", "b:u"))
  expect_equal(both, c(tapply(z$x, interaction(z$g, g2, lex.order = TRUE, sep = ":"), mean)))
  expect_identical(both, exact(data.frame(z$g, g2)))
  mixed <- sample.int(6000)
  expect_equal(exact(z$g[mixed], z$x[mixed]), exact(z$g))
  expect_identical(exact(factor(z$g, ordered = TRUE)), exact(z$g))
  expect_named(exact(addNA(z$g)), c("a", "b", "NA"))
})

test_that("wrong groups are refused with the fix, before anything is spent", {
  x <- big$y
  refused <- function(by, naming, ...) {
    expect_refusal(function(b) dp_mean(x, 1, by = by, ..., budget = b), naming, "dp_error_input")
  }
  for (by in list(as.character(big$f), as.integer(big$f), ~f, list(big$f, "a"), Sys.Date(), "f",
                  matrix(TRUE, 4000, 1))) {
    refused(by, "factor\\(g, levels = c\\(...\\)\\)")
  }
  refused(big$f[-1L], "one entry per row")
  refused(list(big$f, big$f[-1L]), "one entry per row")
  refused(list(), "empty list")
  refused(factor(rep(NA, 4000)), "no levels")
  refused(list(factor(1, 1:2000), factor(1, 1:2000)), "one entry per row")
  refused(rep(list(factor(rep(1, 4000), 1:2000)), 2), "more than 1000000 levels")
  refused(big$f, "without `sparsity`", sparsity = 1)
  refused(big$f, "method \"winsorized\"", method = "catoni", bound = 3)
  expect_refusal(function(b) dp_mean(x[1:300], 1, by = big$f[1:300], budget = b), "too few rows",
                 "dp_error_small_n")
})

test_that("missing groups are the curator's to refuse, and add nothing with na.rm", {
  x <- big$y
  g <- big$f
  g[3:9] <- NA
  expect_refusal(function(b) dp_mean(x, 1, by = g, budget = b), "`by` has missing values",
                 "dp_error_missing")
  x[20:40] <- NA
  fit <- quiet(dp_mean(x, Inf, by = g, na.rm = TRUE))
  expect_equal(coef(fit), c(tapply(x, g, mean, na.rm = TRUE)))
  expect_identical(sum(fit$sizes), sum(!is.na(x) & !is.na(g)) + 0)
  expect_true(all(is.finite(coef(fit_by(x, g, 20, na.rm = TRUE)))))
  none <- factor(rep(NA, 4000), levels = c("a", "b"))
  expect_true(all(is.na(coef(fit_by(x, none, 20, na.rm = TRUE)))))
  broken <- structure(c(0L, 9L, NA, rep(1:2, length.out = 3997)), levels = c("a", "b"),
                      class = "factor")
  expect_identical(sum(fit_by(big$y, broken, Inf, na.rm = TRUE)$sizes), 3997)
})

test_that("many levels cost as little as few", {
  skip_on_cran()
  g <- factor(sample(1:1e4, 4000, TRUE), levels = 1:1e4)
  fit <- fit_by(big$y, g, 1, bound = c(-5, 5))
  expect_length(coef(fit), 1e4)
  expect_identical(privacy(fit)$events, privacy(fit_by(big$y, big$f, 1, bound = c(-5, 5)))$events)
  # all but a few are empty or hold one row
  expect_lt(mean(fit$found), 0.01)
})

test_that("a budget is charged once, in its own currency", {
  z <- several()
  b <- privacy_budget(2, 1e-6)
  quiet(dp_lm(big$x1, big$y, 0.5, 1e-7, budget = b))
  quiet(dp_mean(z$x, 0.5, 1e-7, by = z$g, budget = b))
  expect_identical(nrow(as.data.frame(b)), 2L)
  fit <- quiet(dp_mean(z$x, remaining(b), 1e-7, by = z$g, bound = 5, budget = b))
  expect_s3_class(fit, "dp_mean_by")
  pure <- privacy_budget(1)
  quiet(dp_mean(z$x, 1, by = z$g, budget = pure))
  expect_equal(spent(pure), 1)
})

# ---- leaks --------------------------------------------------------------------------

test_that("fits by group hold no data, and neighbours say the same", {
  z <- canary_data()
  set.seed(821)
  expect_clean(dp_mean(z$y, 2, by = z$f, control = repeatable))
  expect_clean(dp_mean(z[c("x1", "y")], 4, by = z["f"], control = repeatable))
  expect_clean(dp_mean(as.matrix(z[c("x1", "y")]), 4, bound = 5, by = z$f, control = repeatable))
  expect_clean(dp_mean(z$y, Inf, by = z$f))
  expect_clean(do.call(dp_mean, list(z$y, 4, by = z$f, control = repeatable)))
  after <- function(x, g) {
    set.seed(822)
    said <- public_conditions(dp_mean(x, 2, by = g, na.rm = TRUE, control = repeatable))
    c(said, stats::runif(1L))
  }
  base <- after(z$y, z$f)
  for (x in list(replace(z$y, 1L, 1e308), replace(z$y, 1:4000, 0), replace(z$y, 1:3990, NA))) {
    for (g in list(z$f, replace(z$f, TRUE, "lo"), replace(z$f, 5:4000, NA))) {
      # as many draws, too, whoever is where
      expect_identical(after(x, g), base)
    }
  }
})

# ---- methods ------------------------------------------------------------------------

test_that("methods know levels, columns and sizes", {
  z <- several(c(a = 3000, b = 2500, c = 0))
  fit <- fit_by(z$x, z$g)
  expect_s3_class(fit, c("dp_mean_by", "dp_mean", "dp_fit"), exact = TRUE)
  table <- as.data.frame(fit, conf.int = TRUE)
  expect_named(table, c("level", "term", "estimate", "std.error", "conf.low", "conf.high", "size",
                        "size.sd"))
  expect_identical(table$level, c("a", "b", "c"))
  expect_identical(is.na(table$conf.low), c(FALSE, FALSE, TRUE))
  expect_identical(tidy_of(fit, TRUE, 0.9)$conf.low,
                   unname(confint(fit, level = 0.9)[, 1L]))
  v <- vcov(fit)
  expect_identical(v[1, 2], 0)
  expect_true(is.na(v[3, 3]))
  two <- fit_by(data.frame(p = z$x, q = -z$x), z$g, 6)
  expect_identical(names(coef(two)), c("a:p", "a:q", "b:p", "b:q", "c:p", "c:q"))
  expect_identical(as.data.frame(two)$column, rep(c("p", "q"), 3L))
  expect_identical(is.na(vcov(two)[1L, 2:4]), c(`a:q` = TRUE, `b:p` = FALSE, `b:q` = FALSE))
  expect_output(print(fit), "Private means by group, 3 levels.*Size: with noise")
  expect_output(print(summary(two)), "Sampling.*not told from noise")
  expect_identical(glance.dp_fit(fit)$front, "dp_mean")
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  for (shown in list(fit, two, fit_by(z$x, z$g, Inf))) expect_identical(plot(shown), shown)
  none <- quiet(dp_mean(z$x, 1, by = factor(rep(NA, 5500), letters), na.rm = TRUE))
  expect_identical(plot(none), none)
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(fit), "ggplot")
  expect_s3_class(ggplot2::autoplot(two)$facet, "FacetWrap")
  many <- fit_by(data.frame(p = z$x, q = 1), factor(z$g, levels = c("a", "b", 1:58)), bound = 9)
  drawn <- ggplot2::autoplot(many)$data
  expect_identical(c(table(drawn$column)), c(p = 40L, q = 40L))
})

test_that("a plan by group books what the fit books, and tells its error", {
  skip_on_cran()
  z <- several(c(a = 3000, b = 3000, c = 3000))
  p <- dp_plan("mean", 9000, 1, 1, by = 3, assume = list(tail = "t3"))
  expect_identical(p$events, as.data.frame(privacy(fit_by(z$x, z$g, 1))))
  small <- dp_plan("mean", 40 * 400, 1, 1, by = 40, assume = list(tail = "t3"))
  root <- function(groups, rows) {
    sizes <- stats::setNames(rep(rows, groups), seq_len(groups))
    errors <- vapply(seq_len(8L), function(i) {
      z <- several(sizes, seed = 830 + i)
      coef(fit_by(z$x - as.integer(z$g) + 1, z$g, 1, seed = i)) - 1
    }, numeric(groups))
    sqrt(mean(errors^2, na.rm = TRUE))
  }
  for (ratio in c(p$error[["total"]] / root(3, 3000), small$error[["total"]] / root(40, 400))) {
    expect_gt(ratio, 1 / 1.6)
    expect_lt(ratio, 1.6)
  }
  expect_true(p$sensible)
  expect_false(dp_plan("mean", 4000, 1, 1, by = 40)$sensible)
  expect_identical(dp_plan("mean", 9000, 1, 1, by = 1)$events, dp_plan("mean", 9000, 1, 1)$events)
  bounded <- dp_plan("mean", 900, 1, 1, by = 3, bound = c(-9, 9))
  expect_identical(bounded$events$scale, 2)
  expect_error(dp_plan("mean", 900, 1, 1, by = "a"), "`by`", class = "dp_error_input")
})
