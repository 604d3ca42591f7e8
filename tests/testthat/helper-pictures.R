# What a picture of 6.5 x 3.8 inches says and where, in points from its lower left corner: read
# from an uncompressed PDF file.
drawn_text <- function(code) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, width = 6.5, height = 3.8, compress = FALSE, useKerning = FALSE)
  tryCatch(force(code), finally = grDevices::dev.off())
  on.exit(unlink(file))
  number <- "(-?[0-9.]+)"
  place <- sprintf("Tf (?:%s ){4}%s %s Tm \\((.*)\\) Tj$", number, number, number)
  found <- regmatches(lines <- readLines(file, warn = FALSE), regexec(place, lines, perl = TRUE))
  found <- do.call(rbind, Filter(length, found))
  data.frame(x = as.numeric(found[, 3]), y = as.numeric(found[, 4]), text = found[, 5])
}
