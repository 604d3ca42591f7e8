# Makes data/danish.rda from the R package fitdistrplus (GPL >= 2).
# Run from the project's folder: Rscript data-raw/danish.R

source <- new.env()
utils::data("danishmulti", package = "fitdistrplus", envir = source)

danish <- source$danishmulti
rownames(danish) <- NULL

stopifnot(
  nrow(danish) == 2167L,
  identical(names(danish), c("Date", "Building", "Contents", "Profits", "Total")),
  inherits(danish$Date, "Date"),
  !anyNA(danish),
  all(danish$Total > 0)
)

save(danish, file = file.path("data", "danish.rda"), compress = "xz", version = 2)
