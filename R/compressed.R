# A matrix in compressed columns as C walks over it (dph_sparse.h): the slots of a dgCMatrix, by
# reference and without the class, so that package Matrix need not be there.

is_sparse <- function(x) inherits(x, "dp_columns")

sparse_columns <- function(x, arg = "x") {
  ok <- is.double(x@x) && is.integer(x@i) && is.integer(x@p) && is.integer(x@Dim) &&
    length(x@Dim) == 2L && length(x@i) == length(x@x) && length(x@p) == x@Dim[[2L]] + 1
  if (!ok) abort_damaged_matrix(arg)
  structure(
    list(x = x@x, i = x@i, p = x@p, dim = x@Dim, dimnames = x@Dimnames), class = "dp_columns"
  )
}

abort_damaged_matrix <- function(arg) {
  dp_abort(paste0(
    "`", arg, "` is a damaged sparse matrix: each column must hold its rows once, in rising ",
    "order; make it anew.",
    if (arg == "x") " This refusal is for the data holder: do not publish it."
  ))
}

# A front that walks over compressed columns takes a dgCMatrix, no other sparse matrix.
read_matrix <- function(x, sparse, arg = "x") {
  if (!inherits(x, c("Matrix", "dgCMatrix"))) {
    return(x)
  }
  if (!sparse) {
    dp_abort(sprintf("`%s` is a sparse matrix, which is not supported here; use as.matrix(%s).",
                     arg, arg))
  }
  if (!inherits(x, "dgCMatrix")) {
    dp_abort(sprintf(paste(
      "`%s` must be a matrix of numbers or a dgCMatrix of package Matrix: use",
      "as(as(as(%s, \"dMatrix\"), \"generalMatrix\"), \"CsparseMatrix\")."
    ), arg, arg))
  }
  sparse_columns(x, arg)
}

#' @export
dim.dp_columns <- function(x) x$dim

#' @export
dimnames.dp_columns <- function(x) x$dimnames

#' @export
anyNA.dp_columns <- function(x, recursive = FALSE) anyNA(x$x)

# For the data holder, before anything is charged: C refuses the same, but after.
check_sound <- function(x, arg = "x") {
  if (!.Call(C_sparse_sound, x)) abort_damaged_matrix(arg)
}

# Centres would fill the matrix.
check_sparse_centres <- function(known, schema) {
  center <- known$center[-length(known$center)]
  if (is_sparse(schema$live$x) && any(center != 0, na.rm = TRUE)) {
    dp_abort(paste(
      "`scale$x$center` must be 0 for a sparse `x`, for centring would fill it: leave it out,",
      "or use as.matrix(x)."
    ))
  }
}

# Columns as a dense matrix.
take_columns <- function(x, chosen) {
  if (!is_sparse(x)) {
    return(x[, chosen, drop = FALSE])
  }
  out <- matrix(0, nrow(x), length(chosen))
  for (j in seq_along(chosen)) {
    at <- entries_of(x, chosen[[j]])
    out[x$i[at] + 1L, j] <- x$x[at]
  }
  out
}

entries_of <- function(x, j) x$p[[j]] + seq_len(x$p[[j + 1L]] - x$p[[j]])

# x b, from the entries whose column has a coefficient that is not zero.
sparse_product <- function(x, b) {
  factor <- rep.int(b, diff(x$p))
  at <- which(factor != 0)
  out <- numeric(nrow(x))
  if (length(at) > 0L) {
    sums <- rowsum(x$x[at] * factor[at], x$i[at], reorder = FALSE)
    out[as.integer(rownames(sums)) + 1L] <- sums
  }
  out
}
