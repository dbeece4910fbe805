// Package weights makes models of the weights that a user trained in PyTorch Geometric: a state_dict, written by
//
//	safetensors.torch.save_file(model.state_dict(), "model.safetensors")
//
// becomes the model of package infer with those weights, W_O.
//
// # Which tensor is which
//
// A user's module has the user's names. What PyTorch Geometric's own layers add to them is fixed, so that the tail
// of a tensor's name says what it is and the rest which layer it belongs to; any prefix (module., _orig_mod., …) is
// part of the layer's name.
//
//	model  layers  tensors of a layer, [out, in] and [out]
//	sgc    1       weight, bias                      SGConv (lin.weight, lin.bias) or a Linear; K is no tensor, 2 unless said otherwise
//	gcn    2 to 8  lin.weight, bias                  GCNConv
//	sage   2 to 8  lin_l.weight, lin_l.bias, lin_r.weight
//	                                                 SAGEConv with the mean
//	appnp  2       weight, bias                      Linear; α and the number of hops are no tensors
//	cheby  2       lins.0.weight, lins.1.weight, bias
//	                                                 ChebConv of K = 2; with lins.2.weight of K = 3
//
// A bias that is missing is 0. Layers stand in the order of the number in their names where that is all in which
// the names differ (conv1, conv2; layers.0, layers.2), else in the one order in which their shapes fit; where that
// is no order or several, the file is refused. Every tensor must have a place: one that is left over would be part
// of what the user's model computes and of nothing that is served.
//
// What a state_dict does not tell is taken to be as PyTorch Geometric has it by default: relu between two layers;
// GCNConv normalised, with self-loops, not improved; SAGEConv with the mean and without normalize; ChebConv with
// normalization "sym" and λ_max 2. A model that computes something else shows in its accuracy on T, which is then
// not the one in PyTorch Geometric.
//
//	state.go   the file
//	layers.go  from names to layers
//	models.go  from layers to a model
package weights
