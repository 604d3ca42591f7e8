# The picture of README.md, from bench/results/paper-regression.md: man/figures/README-error.png.
#   Rscript bench/picture.R
lines <- grep("^[|] [0-9]", readLines("bench/results/paper-regression.md"), value = TRUE)
cells <- lapply(strsplit(lines, "|", fixed = TRUE), function(v) trimws(v[-1L]))
numbers <- function(column) as.numeric(sub(" .*", "", vapply(cells, `[[`, "", column)))
n <- numbers(1)
shown <- list(
  list(2, "published algorithm, convex", "#D55E00", 1),
  list(3, "published algorithm, strongly convex", "#D55E00", 2),
  list(4, "the same moment known, accounted exactly", "#0072B2", 2),
  list(5, "dp_lm(target = \"robust\"): nothing known", "#0072B2", 1),
  list(6, "lm(), not private", "black", 3)
)

grDevices::png("man/figures/README-error.png", 1400, 800, res = 170)
graphics::par(mar = c(4, 4.6, 0.6, 1.6), las = 1)
graphics::plot(range(n), c(1e-6, 30), log = "xy", type = "n", axes = FALSE, xlab = "rows",
               ylab = "squared error of the slopes (of zeros: 1)")
graphics::axis(1, n, c("1,000", "10,000", "100,000", "1,000,000"))
graphics::axis(2, 10^c(-6, -4, -2, 0), parse(text = paste0("10^", c(-6, -4, -2, 0))))
graphics::abline(h = 1, col = "grey80")
for (s in shown) {
  graphics::lines(n, numbers(s[[1L]]), type = "b", col = s[[3L]], lty = s[[4L]], lwd = 2, pch = 16)
}
graphics::legend(
  "bottomleft", vapply(shown, `[[`, "", 2L), col = vapply(shown, `[[`, "", 3L),
  lty = vapply(shown, `[[`, 0, 4L), lwd = 2, bty = "n", cex = 0.85, seg.len = 3.5
)
invisible(grDevices::dev.off())
