# Blog feedback (UCI): log1p(comments) on all 280 columns, log1p of those that are never negative.
#   R_LIBS=.Rlib Rscript bench/blog.R [repetitions] <folder>
# with blog_train_s7.csv.gz and blog_test_s5.csv.gz in the folder.
source("bench/tools.R")

reps <- repetitions(20L)
folder <- commandArgs(TRUE)[2L]
read_part <- function(name) as.matrix(utils::read.csv(gzfile(file.path(folder, name))))
train <- read_part("blog_train_s7.csv.gz")
test <- read_part("blog_test_s5.csv.gz")
own <- 1:280
positive <- colSums(rbind(train[, own], test[, own]) < 0) == 0
design <- function(part) {
  x <- unname(part[, own])
  x[, positive] <- log1p(x[, positive])
  x
}
x <- design(train)
y <- log1p(train[, 281L])
new <- design(test)
wanted <- log1p(test[, 281L])
error <- function(fit) mean((wanted - predict(fit, new))^2)

fits <- list(
  `dp_lasso, radius 1` = function() dp_lasso(x, y, 1, 1e-5, radius = 1, control = control),
  `dp_lasso, radius 2` = function() dp_lasso(x, y, 1, 1e-5, radius = 2, control = control),
  `dp_lasso, radius 4` = function() dp_lasso(x, y, 1, 1e-5, radius = 4, control = control),
  `dp_sparse, 10 slopes` = function() dp_sparse(x, y, 1, 1e-5, sparsity = 10, control = control),
  `dp_sparse, by itself` = function() dp_sparse(x, y, 1, 1e-5, control = control)
)
rows <- lapply(names(fits), function(name) {
  got <- vapply(seq_len(reps), function(r) {
    set.seed(bench_seed + r)
    error(outcome(fits[[name]]())$value)
  }, 0)
  data.frame(fit = name, mse = three(stats::median(got)), quartiles = spread(got),
             worst = three(max(got)), check.names = FALSE)
})
lasso <- if (requireNamespace("glmnet", quietly = TRUE)) {
  set.seed(bench_seed)
  fit <- glmnet::cv.glmnet(x, y)
  mean((wanted - stats::predict(fit, new, s = "lambda.min"))^2)
}
write_table(
  "blog", sprintf("Blog feedback, n = %d, 280 columns, epsilon = 1, delta = 1e-5", nrow(x)),
  do.call(rbind, rows),
  sprintf("Test MSE, %d repetitions. Mean of the training rows: %s; cv.glmnet, not private: %s.",
          reps, three(mean((wanted - mean(y))^2)), if (is.null(lasso)) "-" else three(lasso))
)
