// Package preprocess turns raw features into the features of a model.
package preprocess
