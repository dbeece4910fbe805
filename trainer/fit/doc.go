// Package fit finds the weights W of a model on T or on S.
//
// SGC is multinomial logistic regression on propagated features, so its fit is convex:
//
//	min over W (d×C), b (C):  Σ_i ω_i CE(softmax(F_i W + b), y_i) / Σ_i ω_i + wd·‖W‖²        (the bias is free)
//
// with F = Â²X on T (the labelled rows) and F = cluster means of Â²X on S. It is solved by L-BFGS (gonum/optimize) from
// the gradient in closed form. F is a [Design]: a map with a forward and an adjoint product, so that a sparse X is never
// made dense; see [NewPropagated].
package fit
