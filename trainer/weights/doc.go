// Package weights makes models of the weights that a user trained in PyTorch Geometric or DGL: a state_dict, written by
//
//	safetensors.torch.save_file(model.state_dict(), "model.safetensors")
//
// becomes the model of package infer with those weights, W_O.
//
// # Which tensor is which
//
// A user's module has the user's names. PyTorch Geometric's own layers append fixed names, so that the tail of a
// tensor's name is its kind and the rest names its layer; any prefix (module., _orig_mod., …) is part of the layer's
// name.
//
//	model  layers  tensors of a layer, [out, in] and [out]
//	sgc    1       weight, bias                      SGConv (lin.weight, lin.bias) or a Linear; K is no tensor, 2
//	                                                 unless said otherwise
//	gcn    2 to 8  lin.weight, bias                  GCNConv
//	sage   2 to 8  lin_l.weight, lin_l.bias, lin_r.weight
//	                                                 SAGEConv with the mean
//	dirsage        lin.weight, lin.bias, conv_out.lin_l.weight, conv_in.lin_l.weight and their biases
//	rgcn           root, bias, weight, of all relations, and comp where these are of a basis
//	       2 to 8  DirGNNConv around SAGEConv; α is no tensor
//	appnp  2       weight, bias                      Linear; α and the number of hops are no tensors
//	cheby  2       lins.0.weight, lins.1.weight, bias
//	                                                 ChebConv of K = 2; with lins.2.weight of K = 3
//
// DGL's layers have other tails: GraphConv weight ([in, out]) and bias, SAGEConv fc_neigh.weight, fc_self.weight and
// fc_self.bias; SGConv (fc.weight, fc.bias) and the Linear layers of APPNPConv are read as they are. GraphConv adds no
// loops: its model must have been trained on a graph of dgl.add_self_loop.
//
// A bias that is missing is 0. Layers stand in the order of the number in their names if the names differ in it alone
// (conv1, conv2; layers.0, layers.2), else in the one order in which their shapes fit; if none fits, or several do, the
// file is refused. Every tensor must have a place: one that is left over would be part of the user's model and not of
// the served one.
//
// Settings that a state_dict lacks are taken as PyTorch Geometric's defaults: relu between two layers; GCNConv
// normalised, with self-loops, not improved; SAGEConv with the mean and without normalize; ChebConv with normalization
// "sym" and λ_max 2. If the model computes something else, its accuracy on T is not the one in PyTorch Geometric.
//
//	state.go   the file
//	layers.go  from names to layers
//	models.go  from layers to a model
//	hetero.go  to_hetero(SAGEConv), and projections of features by type, as one rgcn
//	relations.go  the matrices of DirGNNConv and RGCNConv as one for each relation
//	dgl.go     DGL's names for the same tensors
package weights
