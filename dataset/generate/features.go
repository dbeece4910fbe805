package generate

import (
	"math"
	"math/rand/v2"
	"slices"

	"rivulet/graph"
)

const (
	topicShare   = 25  // a topic has one word in topicShare of the language
	zipfExponent = 0.8 // of the language at large
	lengthSpread = 0.6 // deviation of the logarithm of a node's number of words
)

// drawWords draws the words of each node: flags, so that Val is nil.
func (g Generator) drawWords(b *blocks, r *rand.Rand) *graph.CSR {
	language := g.drawLanguage(r)
	communityTopics := g.drawTopics(g.Communities, r)
	classTopics := g.drawTopics(g.Classes, r)
	m := &graph.CSR{Rows: g.Nodes, Cols: g.Features, RowPtr: make([]int, g.Nodes+1)}
	m.ColIdx = make([]int32, 0, int(min(g.Words, float64(g.Features))*float64(g.Nodes)))
	position := make([]int32, g.Nodes)
	for p, i := range b.node {
		position[i] = int32(p)
	}
	for i := range g.Nodes {
		k := b.community[position[i]]
		start := len(m.ColIdx)
		for range g.drawLength(r) {
			word := int32(0)
			switch u := r.Float64(); {
			case u < g.CommunityTopic:
				word = communityTopics[k][r.IntN(len(communityTopics[k]))]
			case u < g.CommunityTopic+g.ClassTopic:
				topic := classTopics[b.class[k]]
				word = topic[r.IntN(len(topic))]
			default:
				word = language.words[pickBetween(language.cumulative, 0, g.Features, r)]
			}
			m.ColIdx = append(m.ColIdx, word)
		}
		slices.Sort(m.ColIdx[start:])
		m.ColIdx = m.ColIdx[:start+len(slices.Compact(m.ColIdx[start:]))]
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	return m
}

// drawLength draws a node's number of words, log-normal with mean g.Words; at least one and at most 4d.
func (g Generator) drawLength(r *rand.Rand) int {
	words := g.Words * math.Exp(lengthSpread*r.NormFloat64()-lengthSpread*lengthSpread/2)
	return int(max(1, math.Round(min(words, 4*float64(g.Features)))))
}

// language is Zipf's law over all words, in random order.
type language struct {
	words      []int32
	cumulative []float64
}

func (g Generator) drawLanguage(r *rand.Rand) language {
	l := language{permutation(g.Features, r), make([]float64, g.Features+1)}
	for rank := range g.Features {
		l.cumulative[rank+1] = l.cumulative[rank] + math.Pow(float64(rank+1), -zipfExponent)
	}
	return l
}

// drawTopics draws n lists of distinct words.
func (g Generator) drawTopics(n int, r *rand.Rand) [][]int32 {
	topics := make([][]int32, n)
	size := max(1, g.Features/topicShare)
	for t := range topics {
		topics[t] = permutation(g.Features, r)[:size:size]
	}
	return topics
}

// drawDense draws x_i = CommunityTopic·μ + ClassTopic·ν + ε, all of standard normal entries.
func (g Generator) drawDense(b *blocks, r *rand.Rand) *graph.Dense {
	normal := func(rows int) *graph.Dense {
		x := graph.NewDense(rows, g.Features)
		for k := range x.Data {
			x.Data[k] = float32(r.NormFloat64())
		}
		return x
	}
	communities, classes, x := normal(g.Communities), normal(g.Classes), normal(g.Nodes)
	for p, i := range b.node {
		k := b.community[p]
		graph.Axpy(x.Row(int(i)), float32(g.CommunityTopic), communities.Row(int(k)))
		graph.Axpy(x.Row(int(i)), float32(g.ClassTopic), classes.Row(int(b.class[k])))
	}
	return x
}
