# CPS 1988 log wages: mean squared error on the rows kept aside, against lm.
source("bench/tools.R")

reps <- repetitions(40L)
aside <- seq_len(nrow(cps1988)) %% 5 == 0
train <- cps1988[!aside, ]
test <- cps1988[aside, ]
model <- log(wage) ~ education + experience + I(experience^2) + ethnicity + smsa + region + parttime

mse <- function(fit) mean((log(test$wage) - predict(fit, test))^2)

private <- function(target) {
  vapply(bench_seed + seq_len(reps), function(s) {
    set.seed(s)
    mse(dp_lm(model, data = train, epsilon = 1, delta = 1e-6, target = target, control = control))
  }, 0)
}
plain <- mse(lm(model, train))
rlm <- mse(MASS::rlm(model, train))
row <- function(target) {
  e <- private(target)
  data.frame(
    n = nrow(train), target = target, "median MSE" = sprintf("%.4f", median(e)),
    quartiles = paste(sprintf("%.4f", quantile(e, c(0.25, 0.75))), collapse = "-"),
    "95 %" = sprintf("%.4f", quantile(e, 0.95)), lm = sprintf("%.4f", plain),
    "ratio to lm" = sprintf("%.4f", median(e) / plain), rlm = sprintf("%.4f", rlm),
    "no model" = sprintf("%.4f", mean((log(test$wage) - mean(log(train$wage)))^2)),
    check.names = FALSE
  )
}
write_table(
  "cps", "CPS 1988 log wages, epsilon = 1, delta = 1e-6, nothing known",
  rbind(row("robust"), row("mean")), sprintf("%d repetitions, seeds %d + 1, ...", reps, bench_seed)
)
