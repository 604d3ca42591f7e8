# The vertices that a Frank-Wolfe step chooses from, as scores of exact integer sums.
#
# With G the k exact integer sums of gradient coordinates (each moves by at most 2 limit) and W
# whole numbers, the score of vertex v is -sum_j W_vj G_j. All products and sums are whole numbers
# below 2^53 in size, so that they are exact in doubles in any order, and a score moves by at most
# 2 limit times the largest sum_j |W_vj|. l1 ball and simplex never form their vertices.

check_vertices <- function(vertices) {
  sparse <- inherits(vertices, "dgCMatrix")
  numbers <- if (sparse) vertices@x else vertices
  if (!sparse && (!is.matrix(vertices) || !is.numeric(vertices)) || length(dim(vertices)) != 2L ||
    nrow(vertices) < 1L || ncol(vertices) < 1L || !all(is.finite(numbers)) ||
    any(abs(numbers) > 1e100) || any(numbers != 0 & abs(numbers) < 1e-100)) {
    dp_abort(paste(
      "`vertices` must be a numeric matrix (or a dgCMatrix) of finite numbers, zero or between",
      "1e-100 and 1e100 in size, one row per vertex and one column per slope."
    ))
  }
  if (!sparse) storage.mode(vertices) <- "double"
  if (sparse) vertices@Dimnames <- list(NULL, NULL) else vertices <- unname(vertices)
  vertices
}

is_vertex_set <- function(constraint) {
  constraint$name %in% c("l1_ball", "unit_simplex", "polytope")
}

# Bits of the whole numbers W: vertices are rounded to 2^-VERTEX_BITS of the largest entry.
VERTEX_BITS <- 16

# `scale`: units of the columns, the caller's per standardised one; `cap`: how far from zero an l1
# ball's vertices may be, one number per slope. `norm`: the largest sum_j |W_vj|.
vertex_set <- function(constraint, p, scale = rep(1, p), cap = NULL) {
  if (constraint$name == "polytope") {
    v <- constraint$vertices
    if (ncol(v) != p) {
      dp_abort(sprintf("`vertices` must have one column per slope: %d, not %d.", p, ncol(v)))
    }
    scaled <- scale_columns(v, scale / max(scale))
    most <- max(abs(scaled))
    if (!(most > 0)) dp_abort("all `vertices` are zero.")
    w <- round(scaled * (2^VERTEX_BITS / most))
    sums <- if (inherits(w, "Matrix")) Matrix::rowSums(abs(w)) else rowSums(abs(w))
    return(list(kind = "polytope", w = w, norm = max(sums), vertices = v, p = p))
  }
  radius <- rep_len(constraint$radius, p)
  if (!is.null(cap) && constraint$name == "l1_ball") radius <- pmin(radius, cap)
  reach <- radius * scale
  w <- if (all(reach == reach[[1L]])) rep(1, p) else round(reach / max(reach) * 2^VERTEX_BITS)
  list(kind = constraint$name, w = w, norm = max(w), radius = radius, p = p)
}

scale_columns <- function(v, scale) {
  if (inherits(v, "dgCMatrix")) {
    v@x <- v@x * rep(scale, diff(v@p))
    return(v)
  }
  v * rep(scale, each = nrow(v))
}

# Scores of all vertices: of the l1 ball first +r e_j, then -r e_j.
vertex_scores <- function(set, sums) {
  scores <- stored_scores(set, sums)
  if (set$kind == "l1_ball") c(scores, -scores) else scores
}

# Those of an l1 ball without their negatives.
stored_scores <- function(set, sums) {
  if (set$kind == "polytope") -as.vector(set$w %*% sums) else -set$w * sums
}

# A private choice among all vertices.
select_vertex <- function(set, sums, law, how, key) {
  select_top(stored_scores(set, sums), 1, law, how, key, mirrored = set$kind == "l1_ball")
}

# A vertex as a vector of slopes, in the caller's units.
vertex <- function(set, index) {
  if (set$kind == "polytope") {
    return(as.vector(set$vertices[index, ]))
  }
  one <- only_entry(set, index)
  replace(numeric(set$p), one$at, one$value)
}

# Of a vertex of an l1 ball or a simplex.
only_entry <- function(set, index) {
  at <- (index - 1L) %% set$p + 1L
  negative <- set$kind == "l1_ball" && index > set$p
  list(at = at, value = if (negative) -set$radius[[at]] else set$radius[[at]])
}

# b + eta (v - b), v a vertex.
towards_vertex <- function(b, set, index, eta) {
  if (set$kind == "polytope") {
    return(b + eta * (vertex(set, index) - b))
  }
  one <- only_entry(set, index)
  b <- (1 - eta) * b
  b[[one$at]] <- b[[one$at]] + eta * one$value
  b
}

# An inner point to start from that favours no vertex.
vertex_start <- function(set) {
  switch(set$kind, l1_ball = numeric(set$p), unit_simplex = rep(1 / set$p, set$p),
         polytope = if (inherits(set$vertices, "Matrix")) Matrix::colMeans(set$vertices) else
           colMeans(set$vertices))
}
