// Package preprocess turns raw features into the features of a model.
//
//	preprocess.go  Parameters, which an artifact carries; Projection, which folds them into a model's first weights;
//	               Inputs, the nodes of a graph as a model reads them; the largest feature that is trained with and
//	               predicted
package preprocess
