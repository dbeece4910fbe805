// Package fit finds the weights W of a model on T or on S.
//
// SGC, and any linear model, is multinomial logistic regression on propagated features, so its fit is convex:
//
//	min over W (d×C), b (C):  Σ_i ω_i CE(softmax(F_i W + b), y_i) / Σ_i ω_i + wd·‖W‖²        (the bias is free)
//
// with F = Â²X (Σ_t w_t Â^t X) on T (the labelled rows) and F = its cluster means on S. It is solved by L-BFGS
// (gonum/optimize) from the gradient in closed form. F is a [Design]: a map with a forward and an adjoint product, so
// that a sparse X is never made dense; see [NewPropagated].
//
// # The models with hidden layers
//
// GCN, GraphSAGE, APPNP and Cheby (K = 2), of two layers here, minimise the same loss over their own logits o by
// full-batch Adam; see [GNN]. X n×d stands for the preprocessed features, P n×n for the model's operator
// (hopOf), δ for dropout, p n×h for the hidden layer's input, a = δ(relu(p)) n×h for its output:
//
//	gcn     p = P δ(X) W1 + b1                  o = P a W2 + b2                     P = Â
//	sage    p = P δ(X) Wn1 + δ(X) Ws1 + b1      o = P a Wn2 + a Ws2 + b2            P = D^-1 A
//	cheby   the same, W[0] = Ws and W[1] = −Wn                                      P = D^-½ A D^-½
//	appnp   p = δ(X) W1 + b1                    z⁰ = a W2 + b2                      P = Â
//	                                            z^{t+1} = (1−α) P z^t + α z⁰, o = z^K
//
// [OnOriginal] poses the problem on T or on any other graph, [OnSynthetic] on the clusters of T, where the first layer
// reads cluster means of PX and X, and every later one P' = cluster means of P·I. Backward passes are written by hand,
// each beside its forward pass, and held to finite differences. Dropout leaves out entries of sparse features before
// they are centred, as is usual, and of dense features after: a sparse X is never made dense, and dropout then saves
// half of its products. Dense products are package gemm's. Without dropout of the features P·pre(X) can be kept
// ([OnOriginalKept]), if the first layer reads nothing else.
//
// A fit tells of every epoch ([GNNOptions].Report), and ends between two products when its context does.
//
// All sums have one order, so that the same data, options and build give the same weights on any number of
// processors.
package fit
