# Real data with heavy tails, nothing known unless a row says so: error on rows kept aside.
#   R_LIBS=.Rlib Rscript bench/real.R [repetitions] [folder of the blog files]
# check_times (package modeldata): MAE of check_time on log1p covariates. spam (kernlab): accuracy
# on log1p covariates. blog (UCI BlogFeedback, files blog_train_s7.csv.gz, blog_test_s5.csv.gz):
# MSE of log1p(comments) on log1p of V51 to V60, negative numbers as zero.
source("bench/tools.R")

reps <- repetitions(40L)
folder <- commandArgs(TRUE)[2L]

mae <- function(b, x, y) mean(abs(y - drop(cbind(1, x) %*% b)))
mse <- function(b, x, y) mean((y - drop(cbind(1, x) %*% b))^2)
accuracy <- function(b, x, y) mean((drop(cbind(1, x) %*% b) > 0) == y)

# Each fit is a function of x and y that gives coefficients, the intercept first.
private <- function(loss, delta = 1e-6, target = "robust") {
  force(loss)
  function(x, y) {
    coef(dp_lm(x, y, epsilon = 1, delta = delta, loss = loss, target = target, control = control))
  }
}
linear_fits <- list(
  "dp_lm" = private("squared"), "dp_lm, mean" = private("squared", target = "mean"),
  "dp_lm, huber" = private("huber"),
  "dp_lm, biweight" = private("biweight"),
  "dp_lm without noise" = function(x, y) coef(dp_lm(x, y, epsilon = Inf, control = control)),
  lm = function(x, y) {
    b <- stats::lm.fit(cbind(1, x), y)$coefficients
    ifelse(is.na(b), 0, b)
  },
  rlm = function(x, y) suppressWarnings(coef(MASS::rlm(cbind(1, x), y, maxit = 100))),
  "no covariates" = function(x, y) c(mean(y), rep(0, ncol(x)))
)

# Scales that somebody who knows such data, but not these, could give: see `spam_scales`.
logistic <- function(scale) {
  force(scale)
  function(x, y) {
    coef(dp_glm(x, y, epsilon = 1, delta = 1e-5, scale = scale, control = control))
  }
}

# log1p of a share in per cent; of a mean run length of capitals, the longest, and the total.
guessed <- c(rep(0.3, 48), rep(0.15, 6), 0.6, 1.3, 1.5)
spam_fits <- function(x) {
  list(
    "dp_glm" = logistic(NULL),
    "dp_glm, scale = 1" = logistic(list(x = list(center = 0, scale = 1))),
    "dp_glm, scale guessed" = logistic(list(x = list(center = 0, scale = guessed))),
    "dp_glm, scale = sd of all rows" = logistic(list(
      x = list(center = colMeans(x), scale = apply(x, 2L, stats::sd))
    )),
    glm = function(x, y) {
      fit <- stats::glm.fit(cbind(1, x), y, family = stats::binomial())
      fit$coefficients
    },
    "no covariates" = function(x, y) c(mean(y) - 0.5, rep(0, ncol(x)))
  )
}

check_times_data <- function() {
  place <- new.env()
  utils::data("check_times", package = "modeldata", envir = place)
  frame <- as.data.frame(place$check_times)
  frame$package <- NULL
  x <- log1p(data.matrix(frame[names(frame) != "check_time"]))
  every_fifth(list(
    name = "check_times", measure = "MAE", x = x, y = frame$check_time, score = mae,
    fits = linear_fits, wanted = "41.6"
  ))
}

spam_data <- function() {
  place <- new.env()
  utils::data("spam", package = "kernlab", envir = place)
  x <- log1p(data.matrix(place$spam[names(place$spam) != "type"]))
  every_fifth(list(
    name = "spam", measure = "accuracy", x = x, y = as.numeric(place$spam$type == "spam"),
    score = accuracy, fits = spam_fits(x), wanted = "0.88; with a public scale 0.91"
  ))
}

blog_data <- function() {
  read <- function(file) utils::read.csv(file.path(folder, file))
  train <- read("blog_train_s7.csv.gz")
  test <- read("blog_test_s5.csv.gz")
  both <- rbind(train, test)
  list(
    name = "blog", measure = "MSE", x = log1p(pmax(data.matrix(both[paste0("V", 51:60)]), 0)),
    y = log1p(both$comments), test = rep(c(FALSE, TRUE), c(nrow(train), nrow(test))),
    own_test = TRUE, score = mse, fits = linear_fits, wanted = "0.58"
  )
}

every_fifth <- function(data) c(data, list(test = seq_along(data$y) %% 5 == 0))

# One fit, scored on `test`; a refusal counts as missing.
one <- function(data, fit, train, test, seed) {
  set.seed(seed)
  got <- outcome(suppressWarnings(fit(data$x[train, , drop = FALSE], data$y[train])))$value
  if (is.null(got)) NA else data$score(got, data$x[test, , drop = FALSE], data$y[test])
}

# As many rows aside as are given, drawn anew; or, where they have a file of their own, four
# fifths of the others to fit.
random_split <- function(data, seed) {
  set.seed(seed)
  if (isTRUE(data$own_test)) {
    others <- which(!data$test)
    return(list(train = sample(others, round(0.8 * length(others))), test = which(data$test)))
  }
  test <- sample.int(length(data$y), sum(data$test))
  list(train = -test, test = test)
}

rows <- function(data) {
  seeds <- bench_seed + seq_len(reps)
  do.call(rbind, lapply(names(data$fits), function(name) {
    noisy <- startsWith(name, "dp_") && name != "dp_lm without noise"
    fixed <- vapply(if (noisy) seeds else seeds[[1L]], function(s) {
      one(data, data$fits[[name]], !data$test, data$test, s)
    }, 0)
    random <- vapply(seeds, function(s) {
      split <- random_split(data, s)
      one(data, data$fits[[name]], split$train, split$test, s)
    }, 0)
    worst <- if (data$measure == "accuracy") min else max
    data.frame(
      data = data$name, n = sum(!data$test), d = ncol(data$x), measure = data$measure,
      fit = name, "given rows aside" = four(median(fixed)),
      "quartiles, noise" = if (noisy) spread4(fixed) else "",
      "random rows" = four(median(random)), "quartiles, noise and rows" = spread4(random),
      worst = four(worst(random)), wanted = if (startsWith(name, "dp_")) data$wanted else "",
      check.names = FALSE
    )
  }))
}

four <- function(x) formatC(x, digits = 4, format = "g", flag = "#", width = 1)
spread4 <- function(x) {
  paste(four(stats::quantile(x, c(0.25, 0.75), na.rm = TRUE, names = FALSE)), collapse = "-")
}

sources <- list()
for (package in c("modeldata", "kernlab")) {
  if (requireNamespace(package, quietly = TRUE)) {
    sources[[package]] <- if (package == "modeldata") check_times_data() else spam_data()
  } else {
    message("Left out, not installed: ", package, "; install.packages(\"", package, "\")")
  }
}
if (is.na(folder)) message("Left out: blog; give the folder of its files.") else {
  sources$blog <- blog_data()
}
write_table("real", "Real data, epsilon = 1", do.call(rbind, lapply(sources, rows)), sprintf(paste(
  "%d repetitions, seeds %d + 1, ...; delta = 1e-6 (spam 1e-5). Given rows aside: every fifth",
  "(blog: its own test file); random: as many rows aside drawn for each repetition (blog: four",
  "fifths of the training rows drawn). no covariates: the mean. The scales guessed",
  "for spam: 0.3 for log1p of a word's share in per cent, 0.15 for that of a sign, and 0.6, 1.3,",
  "1.5 for the run lengths of capitals."
), reps, bench_seed))
