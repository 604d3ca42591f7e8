# What dpheavy does, on two real data sets: `make demo` or `sh tools/setup.sh demo`.
# Each private answer stands beside the one that any other package would give.

library(dpheavy)

title <- function(text) {
  cat("\n\n== ", text, " ", strrep("=", max(3L, 70L - nchar(text))), "\n\n", sep = "")
}

# ---- 1. One mean ---------------------------------------------------------------

title("1. The mean of 2167 fire insurance losses")

# Nothing is known beforehand about the losses: not their centre, their scale or a
# bound. The whole answer is protected by epsilon = 1 with delta = 0.
private_mean <- dp_mean(danish$Total, epsilon = 1, delta = 0)

print(private_mean)
cat(sprintf(
  "\nprivate mean %.3f, plain mean %.3f, standard error of the plain mean %.3f\n",
  coef(private_mean), mean(danish$Total), sd(danish$Total) / sqrt(nrow(danish))
))

# ---- 2. A linear regression ----------------------------------------------------

title("2. Log wages of 28155 men, by formula with factors")

# Every fifth man is kept aside to compare the predictions.
aside <- seq_len(nrow(cps1988)) %% 5 == 0
train <- cps1988[!aside, ]
test <- cps1988[aside, ]

wages <- log(wage) ~ education + experience + I(experience^2) + ethnicity + smsa +
  region + parttime

private_fit <- dp_lm(wages, data = train, epsilon = 1, delta = 1e-6)
plain_fit <- lm(wages, data = train)

print(private_fit)

title("summary(private_fit)")
print(summary(private_fit))

title("privacy(private_fit): what was spent, and on what")
print(privacy(private_fit))

title("Coefficients, private and plain")
print(cbind(private = coef(private_fit), lm = coef(plain_fit)), digits = 3)

# No fit above has seen the men kept aside.
actual <- log(test$wage)
private_prediction <- predict(private_fit, test)
plain_prediction <- predict(plain_fit, test)
mse <- function(prediction) mean((actual - prediction)^2)

cat(sprintf(
  "\nmean squared error on the %d men kept aside: private %.4f, lm %.4f, no model %.4f\n",
  nrow(test), mse(private_prediction), mse(plain_prediction), mse(mean(log(train$wage)))
))

# ---- 3. A picture --------------------------------------------------------------

# How far does the noise move the mean? Repeated answers about the same people would
# add up their privacy loss, so this is a simulation on public data, with R's own
# random numbers (rng = "R") to make it repeatable. Real releases never use them.
set.seed(1)
epsilons <- c(0.5, 1, 2, 4)
repeated <- lapply(epsilons, function(epsilon) {
  replicate(40, unname(coef(
    dp_mean(danish$Total, epsilon = epsilon, delta = 0, control = dp_control(rng = "R"))
  )))
})

open_picture <- function(folder) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  if (!capabilities("png")) {
    path <- file.path(folder, "demo.pdf")
    pdf(path, width = 11, height = 8.5)
    return(path)
  }
  path <- file.path(folder, "demo.png")
  type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
  png(path, width = 1100, height = 850, res = 110, type = type)
  path
}

path <- open_picture("build")
par(mfrow = c(2, 2), mar = c(4.2, 4.2, 3, 1), las = 1)

boxplot(repeated,
  names = epsilons, xlab = "epsilon", ylab = "private mean",
  main = "Danish losses: 40 private means each", col = "grey90"
)
abline(h = mean(danish$Total), col = "red3")
legend("topright", "plain mean", col = "red3", lty = 1, bty = "n")

# The slopes, one line each: a dot for the private fit, a cross for lm.
slopes <- cbind(coef(private_fit), coef(plain_fit))[-1, ]
rows <- rev(seq_len(nrow(slopes)))
par(mar = c(4.2, 8, 3, 1))
plot(range(slopes), range(rows),
  type = "n", yaxt = "n", xlab = "slope", ylab = "", main = "Slopes of log(wage)"
)
abline(h = rows, v = 0, col = "grey85")
axis(2, at = rows, labels = rownames(slopes), cex.axis = 0.8)
points(slopes[, 1], rows, pch = 19)
points(slopes[, 2], rows, pch = 4, col = "red3", lwd = 2)
legend("topleft", c("private", "lm"),
  pch = c(19, 4), col = c("black", "red3"), bg = "white", cex = 0.8
)
par(mar = c(4.2, 4.2, 3, 1))

shown <- seq(1, nrow(test), by = 4)
plot(plain_prediction[shown], private_prediction[shown],
  xlab = "lm", ylab = "private", main = "Predicted log(wage), men kept aside",
  pch = 19, cex = 0.4, col = "grey50"
)
abline(0, 1, col = "red3")

plot(private_fit)

invisible(dev.off())
cat("\nThe plot is in ", path, "\n", sep = "")
