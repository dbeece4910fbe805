// Package perceptron answers by an arrival's own features alone ([Perceptron]), and lets such an answer and a model's
// on S count together ([Expert]).
package perceptron
